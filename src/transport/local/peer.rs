//! Who may speak as the user: a process that the client started, and that no server of ours did.
//!
//! The client is Bouncer's nearest ancestor that is not a launcher. It is looked up once, when
//! Bouncer starts, so that a Bouncer whose client has gone trusts nobody, whoever inherits it. An
//! agent with an unrestricted shell of the same user can still type as the user; the threat model
//! says so.

use tokio::net::UnixStream;

use super::process::{self, Process};

/// Programs that only start another one.
const LAUNCHERS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "busybox", "cmd", "cmd.exe", "npx", "npm", "pnpm",
    "pnpx", "bunx", "uvx", "uv", "env", "timeout", "nohup", "nice", "setsid", "stdbuf", "time",
];
/// Scripts of interpreters that only start another program.
const LAUNCHER_SCRIPTS: &[&str] = &["npx", "npx-cli.js", "npm", "npm-cli.js", "pnpm", "pnpm.cjs", "pnpx"];
/// Interpreters whose script is looked at.
const INTERPRETERS: &[&str] = &["node", "nodejs", "bun", "MainThread"];

/// A process of this user at the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    /// Its id, where the system tells it.
    pub(super) pid: Option<u32>,
}

/// Who is at the other end; `None` for another user's process.
pub(super) fn of_this_user(stream: &UnixStream) -> Option<Peer> {
    let peer = stream.peer_cred().ok()?;
    let own = peer.uid() == rustix::process::getuid().as_raw();
    own.then(|| Peer { pid: peer.pid().and_then(|pid| u32::try_from(pid).ok()) })
}

/// Whether a process is a Bouncer or was started, over any number of others, by one. `bouncers` are the
/// processes that had a socket; one that died may have left it, and its id may be another program's
/// by now, so that the name has to be ours too.
pub(super) fn is_below_a_bouncer(pid: u32, bouncers: &[u32]) -> bool {
    let own = std::process::id();
    let name = process::line_of(own).into_iter().next().map(|process| process.name);
    has_bouncer(&process::line_of(pid), bouncers, own, name.as_deref())
}

fn has_bouncer(line: &[Process], bouncers: &[u32], own: u32, name: Option<&str>) -> bool {
    // FAIL CLOSED: a process that cannot be looked up may be one.
    line.is_empty()
        || line.iter().any(|process| {
            process.pid == own
                || bouncers.contains(&process.pid) && name.is_none_or(|name| name == process.name)
        })
}

/// The client of this process, as it was when Bouncer started.
#[derive(Debug, Clone)]
pub(super) struct Client {
    own: u32,
    client: Option<Process>,
}

impl Client {
    /// Looks the client up.
    pub(super) fn of_this_process() -> Self {
        let own = std::process::id();
        Self { own, client: client_of(&process::line_of(own)) }
    }

    /// The client's program and process, if there is one. The name is the program's own: hostile text.
    pub(super) fn name(&self) -> Option<(String, u32)> {
        self.client.as_ref().map(|client| (client.name.clone(), client.pid))
    }

    /// Whether a process may speak as the user of this client.
    pub(super) fn vouches_for(&self, pid: u32) -> bool {
        self.client.as_ref().is_some_and(|client| descends(&process::line_of(pid), client, self.own))
    }
}

/// The client in Bouncer's own line, which begins with Bouncer itself.
fn client_of(line: &[Process]) -> Option<Process> {
    let client = line.iter().skip(1).find(|process| !is_launcher(process))?;
    // Whoever loses his parent comes to the first process, so that one tells nothing.
    (client.pid > 1).then(|| client.clone())
}

fn is_launcher(process: &Process) -> bool {
    let name = process.name.as_str();
    // npm sets its own title: "npm exec bouncer".
    let title = name.split_whitespace().next().unwrap_or_default();
    let title = title.trim_start_matches('-');
    LAUNCHERS.contains(&title)
        || INTERPRETERS.contains(&name) && LAUNCHER_SCRIPTS.contains(&process.script.as_str())
}

/// Whether the line begins below the client and not below Bouncer.
fn descends(line: &[Process], client: &Process, own: u32) -> bool {
    let above = line.iter().skip(1);
    let known = |process: &Process| process.pid == client.pid && process.started == client.started;
    above.clone().any(known) && !line.iter().any(|process| process.pid == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(processes: &[(u32, &str, &str)]) -> Vec<Process> {
        processes
            .iter()
            .enumerate()
            .map(|(index, (pid, name, script))| Process {
                pid: *pid,
                parent: processes.get(index + 1).map_or(0, |(pid, ..)| *pid),
                started: format!("at {pid}"),
                name: (*name).to_owned(),
                script: (*script).to_owned(),
            })
            .collect()
    }

    #[test]
    fn the_client_is_the_nearest_that_is_no_launcher() {
        let check = |processes: &[(u32, &str, &str)], expected: Option<u32>| {
            assert_eq!(client_of(&line(processes)).map(|process| process.pid), expected);
        };
        check(&[(9, "bouncer", ""), (8, "python3", "drive.py"), (1, "init", "")], Some(8));
        check(
            &[
                (9, "bouncer", ""),
                (8, "sh", ""),
                (7, "npm exec bounce", ""),
                (6, "claude", ""),
                (1, "init", ""),
            ],
            Some(6),
        );
        check(&[(9, "bouncer", ""), (8, "node", "npx"), (6, "node", "cli.js"), (1, "init", "")], Some(6));
        check(&[(9, "bouncer", ""), (8, "-zsh", ""), (1, "init", "")], None);
        check(&[(9, "bouncer", ""), (1, "launchd", "")], None);
        check(&[], None);
    }

    #[test]
    fn what_a_bouncer_started_is_told_from_who_has_its_old_number() {
        let check = |processes: &[(u32, &str, &str)], expected: bool| {
            assert_eq!(has_bouncer(&line(processes), &[7, 9], 9, Some("bouncer")), expected, "{processes:?}");
        };
        check(&[(20, "bouncer", ""), (19, "bash", ""), (1, "init", "")], false);
        check(&[(20, "bouncer", ""), (19, "node", ""), (7, "bouncer", ""), (6, "claude", "")], true);
        check(&[(20, "bouncer", ""), (9, "renamed", "")], true);
        check(&[(20, "bouncer", ""), (7, "bash", ""), (1, "init", "")], false);
        check(&[], true);
    }

    #[test]
    fn only_the_clients_own_children_vouch() {
        let client = line(&[(6, "claude", ""), (1, "init", "")]);
        let client = client.first().expect("a process");
        let check = |processes: &[(u32, &str, &str)], expected: bool| {
            assert_eq!(descends(&line(processes), client, 9), expected, "{processes:?}");
        };
        check(&[(20, "bouncer", ""), (19, "sh", ""), (6, "claude", ""), (1, "init", "")], true);
        // A server of ours.
        check(&[(20, "bouncer", ""), (19, "node", ""), (9, "bouncer", ""), (6, "claude", "")], false);
        // Another client, and a process that lost its parent.
        check(&[(20, "bouncer", ""), (5, "cursor", ""), (1, "init", "")], false);
        check(&[(20, "bouncer", ""), (1, "init", "")], false);
        check(&[(6, "claude", ""), (1, "init", "")], false);
        check(&[], false);
        // The id was given to another process since.
        let mut reused = line(&[(20, "bouncer", ""), (6, "other", "")]);
        if let Some(process) = reused.last_mut() {
            process.started = "later".to_owned();
        }
        assert!(!descends(&reused, client, 9));
    }
}
