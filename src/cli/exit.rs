//! The exit codes of all commands, in one place. `docs/policy-reference.md` and the README repeat them.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// A bug of ours.
    Bug = 1,
    /// The command line was wrong.
    Usage = 2,
    /// A config or policy does not load.
    Config = 3,
    /// A check failed.
    CheckFailed = 4,
    /// No upstream could be reached.
    NoUpstream = 5,
    /// The audit chain is broken.
    AuditBroken = 6,
    /// A shared actor was lost.
    ActorLost = 7,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
