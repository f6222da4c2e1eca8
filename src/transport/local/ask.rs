//! The asking side of the control socket: which Bouncers run, and one question to one of them.
//!
//! A Bouncer that is gone, stuck or of another version is an error value, never a hang.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::control_wire::{Reply, Request};
use super::place::{self, Kind};
use super::send::connect;

/// How long a Bouncer may take to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Longest answer, in bytes.
const ANSWER: u64 = 8 * 1024 * 1024;

/// The Bouncers of a state folder: process and control socket. Some may have died.
pub fn running(state: &Path) -> Vec<(u32, PathBuf)> {
    let folder = place::folder(state);
    if place::is_private(&folder) { place::sockets(&folder, Kind::Control) } else { Vec::new() }
}

/// Whether a Bouncer still listens behind its socket.
pub fn is_heard(socket: &Path) -> bool {
    connect(socket).is_some()
}

/// Asks one Bouncer.
///
/// # Errors
/// It has gone, does not answer in time, or answers something else.
pub fn ask(socket: &Path, request: &Request) -> io::Result<Reply> {
    let mut stream = connect(socket).ok_or(io::ErrorKind::ConnectionRefused)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&request.to_line())?;
    let mut answer = Vec::new();
    stream.take(ANSWER).read_to_end(&mut answer)?;
    Reply::from_line(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::local::ControlSocket;

    #[test]
    fn a_bouncer_and_what_it_started_are_not_heard() {
        let state = tempfile::tempdir().expect("a folder");
        assert!(running(state.path()).is_empty());
        let (socket, mut asked) = ControlSocket::open(state.path()).expect("a socket");
        let found = running(state.path());
        let [(pid, path)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(*pid, std::process::id());
        // This process has the socket, so it counts as a Bouncer.
        assert!(matches!(ask(path, &Request::Holds), Ok(Reply::NotHeard(_))));
        assert!(asked.try_recv().is_err(), "nothing was handed on");
        drop(socket);
        assert!(ask(path, &Request::Holds).is_err());
    }
}
