//! Ending a process and everything it started: its process group.
//!
//! A launcher (npx, uvx, a shell) leaves its own children behind when only it is ended, so each upstream gets a
//! group of its own and the whole group is ended. Where there are no process groups, the process is.

use std::rc::Rc;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::guardian::Guardian;
use crate::clock;

/// From the close of stdin to SIGTERM.
const POLITE: Duration = Duration::from_secs(2);
/// From SIGTERM to SIGKILL.
const FIRM: Duration = Duration::from_secs(1);
/// What a group gets to leave after its leader did.
const STRAGGLERS: Duration = Duration::from_millis(200);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until the process has left by itself, or `stop` is sent or dropped (its stdin is then
/// closed already); ends what is left of its group, and says how the process ended.
pub(super) async fn see_out(
    mut process: Child,
    stop: oneshot::Receiver<()>,
    guardian: Rc<Guardian>,
) -> String {
    let id = process.id();
    let group = Group::of(&process);
    if let Some(id) = id {
        guardian.watch(id);
    }
    let mut ended = tokio::select! {
        ended = process.wait() => Some(ended),
        _ = stop => None,
    };
    let start = clock::instant();
    // When the group is told to leave: at once (but for a moment's grace) when its leader has.
    let mut term_at = if ended.is_some() { STRAGGLERS } else { POLITE };
    let mut kill_at = term_at + FIRM;
    let mut told = Told::Nothing;
    while ended.is_none() || group.is_there() {
        let waited = clock::instant().saturating_duration_since(start);
        match told {
            Told::Nothing if waited >= term_at => {
                group.signal(Force::Term);
                told = Told::Term;
            }
            Told::Term if waited >= kill_at => {
                group.signal(Force::Kill);
                let _ = process.start_kill();
                told = Told::Kill;
            }
            // What SIGKILL does not end, nothing does.
            Told::Kill if ended.is_some() && waited >= kill_at + FIRM => break,
            _ => {}
        }
        if ended.is_some() {
            sleep(LOOK_EVERY).await;
        } else if let Ok(now) = timeout(LOOK_EVERY, process.wait()).await {
            ended = Some(now);
            let waited = clock::instant().saturating_duration_since(start);
            term_at = term_at.min(waited + STRAGGLERS);
            kill_at = kill_at.min(term_at + FIRM);
        }
    }
    if let Some(id) = id {
        guardian.forget(id);
    }
    match ended {
        Some(Ok(status)) => describe(status),
        _ => "its end could not be observed".to_owned(),
    }
}

/// What a group has been told.
#[derive(Clone, Copy)]
enum Told {
    Nothing,
    Term,
    Kill,
}

/// How a process ended, in our own words.
fn describe(status: std::process::ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return format!("it was killed by signal {signal}");
        }
    }
    match status.code() {
        Some(code) => format!("it ended with status {code}"),
        None => "it ended".to_owned(),
    }
}

/// How hard a group is asked to leave.
#[derive(Debug, Clone, Copy)]
pub(super) enum Force {
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

/// A process group.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    /// The group that was made for this process: its id is the process's.
    fn of(process: &Child) -> Self {
        process.id().map_or(Self { id: None }, Self::numbered)
    }

    /// The group with this number.
    pub(super) fn numbered(group: u32) -> Self {
        Self { id: i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw) }
    }

    /// Signals all its members.
    pub(super) fn signal(&self, force: Force) {
        let signal = match force {
            Force::Term => rustix::process::Signal::TERM,
            Force::Kill => rustix::process::Signal::KILL,
        };
        if let Some(id) = self.id {
            // It may have left in between; then there is nobody to tell.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }

    /// Whether anyone in it is alive.
    pub(super) fn is_there(&self) -> bool {
        let Some(id) = self.id else { return false };
        rustix::process::test_kill_process_group(id).is_ok() && has_living_member(id)
    }
}

/// Whether anyone in the group is more than a zombie that nobody has collected yet, which a signal
/// would reach but not end.
#[cfg(target_os = "linux")]
fn has_living_member(group: rustix::process::Pid) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return true };
    let group = group.as_raw_nonzero().to_string();
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let is_process = name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_process {
            return false;
        }
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { return false };
        // proc_pid_stat(5): the fields after the command's closing parenthesis are state, parent, group.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        let state = fields.next();
        fields.nth(1) == Some(group.as_str()) && !matches!(state, Some("Z" | "X"))
    })
}

#[cfg(all(unix, not(target_os = "linux")))]
fn has_living_member(_group: rustix::process::Pid) -> bool {
    true
}

#[cfg(not(unix))]
impl Group {
    fn of(_process: &Child) -> Self {
        Self {}
    }

    pub(super) fn numbered(_group: u32) -> Self {
        Self {}
    }

    pub(super) fn is_there(&self) -> bool {
        false
    }

    pub(super) fn signal(&self, _force: Force) {}
}
