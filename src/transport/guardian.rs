//! What is left to do when Bouncer itself is killed: a second, tiny process of our own that ends the
//! process groups of all upstreams when the pipe from us breaks.
//!
//! The parent-death signal (`child.rs`) reaches a server that we started, but not what a launcher
//! started for it. The guardian holds nothing but the numbers of the groups, and leaves with us when
//! there are none.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};

use super::group::{Force, Group};

/// The hidden subcommand: `bouncer __guard`, with `+GROUP` and `-GROUP` lines on stdin.
pub const GUARD: &str = "__guard";
/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long its own end is waited for.
const LEAVES_WITHIN: Duration = Duration::from_millis(200);

/// Our end of the guardian.
#[derive(Default)]
pub struct Guardian {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    groups: BTreeSet<u32>,
    guard: Option<(Child, std::fs::File)>,
}

impl Guardian {
    /// Starts the process. Without it (the system refuses) the parent-death signal is all there is.
    pub fn start(&self) {
        if !cfg!(unix) || self.state.borrow().guard.is_some() {
            return;
        }
        if let Ok(guard) = start() {
            let mut state = self.state.borrow_mut();
            for group in &state.groups {
                // A guardian that is gone guards nothing; there is nobody to tell.
                let _ = writeln!(&guard.1, "+{group}");
            }
            state.guard = Some(guard);
        }
    }

    /// A group is there.
    pub(super) fn watch(&self, group: u32) {
        let mut state = self.state.borrow_mut();
        state.groups.insert(group);
        if let Some((_, pipe)) = &mut state.guard {
            let _ = writeln!(pipe, "+{group}");
        }
    }

    /// A group has ended.
    pub(super) fn forget(&self, group: u32) {
        let mut state = self.state.borrow_mut();
        state.groups.remove(&group);
        if let Some((_, pipe)) = &mut state.guard {
            let _ = writeln!(pipe, "-{group}");
        }
    }

    /// Lets the process leave, so that it is gone before we are.
    pub async fn end(&self) {
        let guard = self.state.borrow_mut().guard.take();
        if let Some((mut process, pipe)) = guard {
            drop(pipe);
            let _ = tokio::time::timeout(LEAVES_WITHIN, process.wait()).await;
        }
    }
}

fn start() -> io::Result<(Child, std::fs::File)> {
    let ours = std::env::current_exe()?;
    let mut command = Command::new(ours);
    command.arg(GUARD).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    command.process_group(0);
    let mut process = command.spawn()?;
    let pipe = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    #[cfg(unix)]
    let pipe = std::fs::File::from(pipe.into_owned_fd()?);
    #[cfg(not(unix))]
    let pipe = std::fs::File::from(pipe.into_owned_handle()?);
    Ok((process, pipe))
}

/// What runs under [`GUARD`]: reads until the pipe breaks, then ends what is left.
pub fn guard() {
    let mut groups = BTreeSet::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let group = line.get(1..).and_then(|digits| digits.parse::<u32>().ok());
        match (line.as_bytes().first(), group) {
            (Some(b'+'), Some(group)) => {
                groups.insert(group);
            }
            (Some(b'-'), Some(group)) => {
                groups.remove(&group);
            }
            _ => {}
        }
    }
    let left: Vec<Group> = groups.into_iter().map(Group::numbered).filter(Group::is_there).collect();
    for group in &left {
        group.signal(Force::Term);
    }
    let (_nobody, silence) = std::sync::mpsc::channel::<()>();
    for _ in 0..GRACE.as_millis() / LOOK_EVERY.as_millis() {
        if !left.iter().any(Group::is_there) {
            return;
        }
        // Nothing is ever sent: this is the pause between two looks.
        let _ = silence.recv_timeout(LOOK_EVERY);
    }
    for group in left.iter().filter(|group| group.is_there()) {
        group.signal(Force::Kill);
    }
}
