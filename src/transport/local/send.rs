//! The hook's side: the prompt is written to every Bouncer of the state folder, and each answer is
//! waited for until a moment that the caller sets.
//!
//! A Bouncer that is starting may open its socket a moment later, so until one of them says that
//! these are its user's words the folder is looked at again. Nothing here fails: a prompt that could
//! not be handed over is one that nobody typed.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::clock;

use super::place::{self, Kind};
use super::wire::{self, Prompt};

/// Pause between two looks at the folder.
const PAUSE: Duration = Duration::from_millis(1);

/// Hands the prompt to the Bouncers of a state folder, and returns how many have stored it as their
/// user's words. Returns at `until` at the latest.
pub fn send(state: &Path, prompt: &Prompt, until: Instant) -> usize {
    let folder = place::folder(state);
    let line = prompt.to_line();
    let mut met = Vec::new();
    let mut typed = 0;
    loop {
        // ORDER: all are written to before one is waited for, so that one that hangs delays none.
        let mut waiting = Vec::new();
        if place::is_private(&folder) {
            for (pid, path) in place::sockets(&folder, Kind::Prompts) {
                if !met.contains(&pid)
                    && let Some(stream) = connect(&path)
                {
                    met.push(pid);
                    waiting.extend(write(stream, &line, until));
                }
            }
        }
        for stream in waiting {
            typed += usize::from(read(stream, until) == Some(wire::TYPED));
        }
        let left = until.saturating_duration_since(clock::instant());
        if typed > 0 || left.is_zero() {
            return typed;
        }
        // Waiting for nothing but the time, which a signal may cut short.
        let pause = Timespec::try_from(PAUSE.min(left)).ok();
        let _ = rustix::event::poll(&mut [], pause.as_ref());
    }
}

/// Connects without ever waiting: a Bouncer with a full queue does not answer in time anyway.
pub(super) fn connect(path: &Path) -> Option<UnixStream> {
    let address = SocketAddrUnix::new(path).ok()?;
    let flags = SocketFlags::empty();
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    rustix::io::ioctl_fionbio(&socket, true).ok()?;
    rustix::net::connect(&socket, &address).ok()?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false).ok()?;
    Some(stream)
}

fn write(mut stream: UnixStream, line: &[u8], until: Instant) -> Option<UnixStream> {
    stream.set_nonblocking(true).ok()?;
    let mut rest = line;
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(length) if length > 0 => rest = rest.get(length..)?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ready(&stream, PollFlags::OUT, until)?;
            }
            _ => return None,
        }
    }
    Some(stream)
}

fn read(mut stream: UnixStream, until: Instant) -> Option<&'static [u8]> {
    let mut answer = Vec::new();
    let mut part = [0; 16];
    while !answer.ends_with(b"\n") && answer.len() < part.len() {
        ready(&stream, PollFlags::IN, until)?;
        let length = stream.read(&mut part).ok().filter(|length| *length > 0)?;
        answer.extend_from_slice(part.get(..length)?);
    }
    [wire::TYPED, wire::PASTED].into_iter().find(|known| *known == answer)
}

/// Waits until the stream can be read or written; `None` when the time is over. The time limits of a
/// socket are rounded up by the system to several milliseconds; those of `poll` are not.
fn ready(stream: &UnixStream, flags: PollFlags, until: Instant) -> Option<()> {
    let left = until.saturating_duration_since(clock::instant());
    let left = Timespec::try_from(left).ok()?;
    let mut watched = [PollFd::new(stream, flags)];
    rustix::event::poll(&mut watched, Some(&left)).ok().filter(|ready| *ready > 0).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Origin;
    use crate::transport::local::PromptSocket;

    fn soon() -> Instant {
        clock::instant() + Duration::from_secs(5)
    }

    fn prompt(text: &str) -> Prompt {
        Prompt { text: text.to_owned(), origin: Origin::Typed }
    }

    #[test]
    fn words_are_acknowledged_when_stored_and_pasted_from_our_own_process() {
        let state = tempfile::tempdir().expect("a folder");
        let (socket, mut deliveries) = PromptSocket::open(state.path()).expect("a socket");
        let reader = std::thread::spawn(move || {
            let delivery = deliveries.blocking_recv().expect("a delivery");
            let prompt = delivery.prompt.clone();
            delivery.stored();
            prompt
        });
        // This process is Bouncer itself, which is not below its client: its words are pasted.
        let line = prompt("Mail to a@b.example");
        let stream = connect(socket.path()).expect("a connection");
        let stream = write(stream, &line.to_line(), soon()).expect("room");
        assert_eq!(read(stream, soon()), Some(wire::PASTED));
        let got = reader.join().expect("a prompt");
        assert_eq!(got, Prompt { origin: Origin::Pasted, ..line });
    }

    #[test]
    fn nobody_there_or_dead_returns_at_the_moment_set() {
        let state = tempfile::tempdir().expect("a folder");
        let until = clock::instant() + Duration::from_millis(5);
        assert_eq!(send(state.path(), &prompt("x"), until), 0);
        let folder = place::folder(state.path());
        place::make(&folder).expect("a folder");
        drop(std::os::unix::net::UnixListener::bind(folder.join("1.sock")).expect("a socket"));
        assert_eq!(send(state.path(), &prompt("x"), clock::instant() + Duration::from_millis(5)), 0);
        let (socket, _deliveries) = PromptSocket::open(state.path()).expect("a socket");
        assert_eq!(place::sockets(&folder, Kind::Prompts).len(), 1, "the dead one is removed");
        // Stuck: it takes the words and never says so.
        let until = clock::instant() + Duration::from_millis(5);
        assert_eq!(send(state.path(), &prompt("x"), until), 0);
        let path = socket.path().to_owned();
        drop(socket);
        assert!(!path.exists());
    }
}
