//! `bouncer hook CLIENT [EVENT]`: hands the user's prompt to the Bouncer of that client.
//!
//! A client runs this before every prompt, so it never fails and never delays: whatever happens it
//! ends with exit code 0 within 30 ms, and prints only what the client takes for "go on". Even a
//! command line that is wrong ends so, because some clients take exit code 2 for a refusal.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::clients::hooks::{self, HookClient};
use crate::clock;
use crate::config::state_folder;
use crate::transport::{Prompt, send_prompt};

use super::Exit;

/// From the start of the process to its end, less what starting and ending take.
const PATIENCE: Duration = Duration::from_millis(21);
/// Longest payload, in bytes.
const PAYLOAD: usize = 4 * 1024 * 1024;

/// Runs the hook with the arguments after `hook`. Never fails.
pub(super) fn hook(arguments: &[OsString]) -> Exit {
    let until = clock::instant() + PATIENCE;
    let given = Given::of(arguments);
    if let Some(client) = given.client {
        let payload = read_input(until);
        let said = hooks::read(client, given.event.as_deref(), &payload);
        let env = |name: &str| std::env::var(name).ok();
        if let Some(said) = said
            && let Some(state) = state_folder(given.state, &env)
        {
            send_prompt(&state, &Prompt { text: said.text, origin: said.origin }, until);
        }
        // A client that does not read the answer has no use for an error.
        let _ = std::io::stdout().write_all(client.answer().as_bytes());
    } else {
        let names: Vec<&str> = HookClient::ALL.into_iter().map(HookClient::name).collect();
        let _ = writeln!(
            std::io::stderr(),
            "usage: bouncer hook CLIENT [EVENT] [--state DIR]\n  CLIENT is one of {}",
            names.join(", ")
        );
    }
    Exit::Done
}

/// The command line, read without ever failing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Given {
    client: Option<HookClient>,
    event: Option<String>,
    state: Option<PathBuf>,
}

impl Given {
    fn of(arguments: &[OsString]) -> Self {
        let mut given = Self::default();
        let mut plain = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.to_str() {
                Some("--state") => given.state = rest.next().map(PathBuf::from),
                Some(text) if text.starts_with("--state=") => {
                    given.state = text.split_once('=').map(|(_, path)| PathBuf::from(path));
                }
                Some(text) if !text.starts_with('-') => plain.push(text.to_owned()),
                _ => {}
            }
        }
        let mut plain = plain.into_iter();
        given.client = plain.next().and_then(|name| HookClient::of_name(&name));
        given.event = plain.next();
        given
    }
}

/// Standard input up to its end, to the end of the time, or to the end of a JSON text that is not
/// followed by more.
#[cfg(unix)]
fn read_input(until: Instant) -> Vec<u8> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let mut payload = Vec::new();
    let mut part = vec![0; 64 * 1024];
    while payload.len() < PAYLOAD {
        let left = until.saturating_duration_since(clock::instant());
        // Some clients leave the pipe open; what reads as JSON is then enough.
        let pause = if payload.is_empty() { left } else { left.min(Duration::from_millis(3)) };
        let wait = Timespec::try_from(pause).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut watched, Some(&wait)) {
            Ok(0) | Err(_) => {
                if left.is_zero() || serde_json::from_slice::<serde::de::IgnoredAny>(&payload).is_ok() {
                    break;
                }
            }
            Ok(_) => match rustix::io::read(&stdin, part.as_mut_slice()) {
                Ok(0) | Err(_) => break,
                Ok(length) => payload.extend_from_slice(part.get(..length).unwrap_or_default()),
            },
        }
    }
    payload
}

#[cfg(not(unix))]
fn read_input(_until: Instant) -> Vec<u8> {
    use std::io::Read;
    let mut payload = Vec::new();
    let _ = std::io::stdin().take(PAYLOAD as u64).read_to_end(&mut payload);
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_read_whatever_they_hold() {
        let check =
            |arguments: &[&str], client: Option<HookClient>, event: Option<&str>, state: Option<&str>| {
                let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
                let expected =
                    Given { client, event: event.map(str::to_owned), state: state.map(PathBuf::from) };
                assert_eq!(Given::of(&arguments), expected);
            };
        check(&["claude-code", "--state", "/s"], Some(HookClient::ClaudeCode), None, Some("/s"));
        check(
            &["--state=/s", "copilot", "userPromptSubmitted"],
            Some(HookClient::Copilot),
            Some("userPromptSubmitted"),
            Some("/s"),
        );
        check(&["user-prompt", "--unknown"], Some(HookClient::Any), None, None);
        check(&["nobody"], None, None, None);
        check(&["cursor", "--state"], Some(HookClient::Cursor), None, None);
        check(&[], None, None, None);
    }
}
