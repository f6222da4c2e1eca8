//! The exit codes of all commands, in one place. `bouncer --help`, `docs/policy-reference.md` and the README
//! repeat them.

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

impl Exit {
    /// Every code with what it means.
    pub const MEANINGS: [(Self, &'static str); 8] = [
        (Self::Done, "done"),
        (Self::Bug, "a bug of Bouncer"),
        (Self::Usage, "the command line was wrong"),
        (Self::Config, "a config, a policy or a log cannot be read"),
        (Self::CheckFailed, "a check failed: something needs a decision, or a case came out wrong"),
        (Self::NoUpstream, "no server could be reached"),
        (Self::AuditBroken, "the chain of the audit log is broken, or its tail was cut off"),
        (Self::ActorLost, "a shared part of a running Bouncer was lost"),
    ];
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_list_every_code() {
        let read = |name: &str| {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            std::fs::read_to_string(path).unwrap()
        };
        let (reference, readme) = (read("docs/policy-reference.md"), read("README.md"));
        let codes = readme.lines().find(|line| line.starts_with("Exit codes: ")).unwrap();
        for (exit, meaning) in Exit::MEANINGS {
            let row = format!("| {} | {meaning} |", exit as u8);
            assert!(reference.contains(&row), "docs/policy-reference.md lacks {row}");
            let short = meaning.split(':').next().unwrap();
            assert!(
                codes.contains(&format!("{} {short}", exit as u8)),
                "README lacks {} {short}",
                exit as u8
            );
        }
    }
}
