//! Ending a process and everything it started: its process group.
//!
//! A launcher (npx, uvx, a shell) leaves its own children behind when only it is ended, so each upstream gets a
//! group of its own and the whole group is ended. Where there are no process groups, the process is.

use std::time::Duration;

use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// From the close of stdin to SIGTERM.
const POLITE: Duration = Duration::from_secs(2);
/// From SIGTERM to SIGKILL.
const FIRM: Duration = Duration::from_secs(1);
/// What a group gets to leave after its leader did.
const STRAGGLERS: Duration = Duration::from_millis(200);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until the process has left by itself, or `stop` is sent or dropped (its stdin is then
/// closed already); ends what is left of its group, and says how the process ended.
pub(super) async fn see_out(mut process: Child, stop: oneshot::Receiver<()>) -> String {
    let group = Group::of(&process);
    let ended = tokio::select! {
        ended = process.wait() => Some(ended),
        _ = stop => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => end(&mut process, &group).await,
    };
    if !group.leaves_within(STRAGGLERS).await {
        group.signal(Force::Term);
        if !group.leaves_within(FIRM).await {
            group.signal(Force::Kill);
            group.leaves_within(FIRM).await;
        }
    }
    match ended {
        Ok(status) => describe(status),
        Err(_) => "its end could not be observed".to_owned(),
    }
}

async fn end(process: &mut Child, group: &Group) -> std::io::Result<std::process::ExitStatus> {
    if let Ok(ended) = timeout(POLITE, process.wait()).await {
        return ended;
    }
    group.signal(Force::Term);
    if let Ok(ended) = timeout(FIRM, process.wait()).await {
        return ended;
    }
    group.signal(Force::Kill);
    process.start_kill()?;
    process.wait().await
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

#[derive(Clone, Copy)]
enum Force {
    Term,
    Kill,
}

struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    /// The group that was made for this process: its id is the process's.
    fn of(process: &Child) -> Self {
        let id = process.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        Self { id }
    }

    fn signal(&self, force: Force) {
        let signal = match force {
            Force::Term => rustix::process::Signal::TERM,
            Force::Kill => rustix::process::Signal::KILL,
        };
        if let Some(id) = self.id {
            // It may have left in between; then there is nobody to tell.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }

    async fn leaves_within(&self, limit: Duration) -> bool {
        let mut waited = Duration::ZERO;
        while self.is_there() {
            if waited >= limit {
                return false;
            }
            sleep(LOOK_EVERY).await;
            waited += LOOK_EVERY;
        }
        true
    }

    fn is_there(&self) -> bool {
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

    fn signal(&self, _force: Force) {}

    async fn leaves_within(&self, _limit: Duration) -> bool {
        true
    }
}
