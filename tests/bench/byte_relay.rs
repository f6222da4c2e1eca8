//! A relay of bytes and nothing else: starts a program and copies between its pipes and our own.
//!
//! It is the floor that `tests/bench/gateway` holds the proxy against: what one more process on the
//! way costs when it does not look at what passes.

#![expect(clippy::print_stderr, reason = "a tool of the benches tells its user what went wrong")]

use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};

/// Bytes moved at once, as much as a pipe holds.
const CHUNK: usize = 64 * 1024;

fn main() -> ExitCode {
    match relay() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("byte_relay: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Copies until the program's output ends.
fn relay() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let program =
        arguments.next().ok_or_else(|| io::Error::other("usage: byte_relay PROGRAM [ARGUMENT…]"))?;
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    std::thread::spawn(move || copy(io::stdin().lock(), stdin));
    copy(stdout, io::stdout().lock())?;
    child.wait().map(drop)
}

/// Copies each chunk as it comes.
fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = from.read(&mut chunk)?;
        let Some(part) = chunk.get(..read).filter(|part| !part.is_empty()) else { return Ok(()) };
        to.write_all(part)?;
        to.flush()?;
    }
}
