//! The program on a terminal of its own: what a person sees and types.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::scene::{DEADLINE, left};

/// A running program whose three streams are one terminal.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<String>,
    seen: String,
    passed: usize,
}

impl Terminal {
    /// Starts `bouncer` with these arguments.
    pub(crate) fn start(arguments: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let (master, name) = open();
        let slave = || File::options().read(true).write(true).open(&name).expect("a terminal");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
        command.args(arguments).stdin(Stdio::from(slave())).stdout(Stdio::from(slave()));
        command.stderr(Stdio::from(slave()));
        change(&mut command);
        let child = command.spawn().expect("the program starts");
        drop(command);
        let mut reader = File::from(master.try_clone().expect("a second handle"));
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // A terminal that nobody has open reads as an error.
            while let Ok(length @ 1..) = reader.read(&mut part) {
                if sender.send(String::from_utf8_lossy(&part[..length]).into_owned()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard: File::from(master), screen, seen: String::new(), passed: 0 }
    }

    /// Waits until the screen shows `text`, after what a wait before has passed, and returns what
    /// stands up to its end.
    pub(crate) fn shows(&mut self, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let rest = &self.seen[self.passed..];
            if let Some(at) = rest.find(text) {
                let end = at + text.len();
                let passed = rest[..end].to_owned();
                self.passed += end;
                return passed;
            }
            match self.screen.recv_timeout(left(deadline)) {
                Ok(part) => self.seen.push_str(&part),
                Err(error) => panic!("waited in vain for {text:?}: {error}; seen:\n{}", self.seen),
            }
        }
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("the terminal is open");
    }

    /// Waits for the program's end; its exit code and all that the screen showed.
    pub(crate) fn ends(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + DEADLINE;
        while let Ok(part) = self.screen.recv_timeout(left(deadline)) {
            self.seen.push_str(&part);
        }
        let status = self.child.wait().expect("a child of ours");
        (status.code(), std::mem::take(&mut self.seen))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A new terminal: the side of the person, and the name of the other.
fn open() -> (OwnedFd, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).expect("ours");
    unlockpt(&master).expect("ours");
    let name = ptsname(&master, Vec::new()).expect("it has a name");
    (master, name.into_string().expect("a plain name"))
}
