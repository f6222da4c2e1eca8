//! The person at the terminal: who they are, and what they answer.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use crate::provenance::escaped;

/// The user's name, number and terminal, for the record of an answer.
pub(super) fn person() -> String {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    let name = if name.is_empty() { "the user".to_owned() } else { escaped(&name, 64) };
    #[cfg(unix)]
    {
        let terminal = rustix::termios::ttyname(io::stdin(), Vec::new()).ok();
        let terminal = terminal.map(|path| format!(" on {}", escaped(&path.to_string_lossy(), 64)));
        let user = rustix::process::getuid().as_raw();
        format!("{name} (uid {user}){}", terminal.unwrap_or_default())
    }
    #[cfg(not(unix))]
    name
}

/// One line from the terminal; empty at its end.
pub(super) fn read_answer() -> String {
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    if read.is_ok() { answer } else { String::new() }
}

/// Asks on the terminal; anything but a yes is a no, and what was typed before the question is no answer.
pub(super) fn agrees(out: &mut dyn Write, question: &str) -> bool {
    forget_typed();
    let _ = write!(out, "{question} [y/N] ");
    let _ = out.flush();
    matches!(read_answer().trim().to_lowercase().as_str(), "y" | "yes")
}

/// Waits this long, throws away what was typed meanwhile, and says whether the terminal is still
/// there.
pub(super) fn throw_away_typed(wait: Duration) -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdin = io::stdin();
        // No event is asked for: only the terminal's end is waited for.
        let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
        let wait = Timespec::try_from(wait).ok();
        let ended = poll(&mut watched, wait.as_ref()).is_ok_and(|events| events > 0);
        forget_typed();
        !ended
    }
    #[cfg(not(unix))]
    {
        std::thread::park_timeout(wait);
        true
    }
}

/// Throws away what was typed up to now: it was no answer to what comes next.
pub(super) fn forget_typed() {
    #[cfg(unix)]
    {
        // A terminal that cannot be flushed can still be read.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}
