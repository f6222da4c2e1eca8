//! Config and policy are read again: on SIGHUP, and with `--watch` when one of the files changes.
//!
//! INVARIANT: nothing loosens. What does not load leaves all as it is. A server that is new or changed
//! is not started, and a looser rule does not count, before a person restarts the client's session;
//! until then `bouncer status` and stderr name them. A server that was taken out is stopped, the others
//! are not touched, and what tightens of the policy is in force at once (`policy::Rules`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix::prelude::*;
use tracing::{error, warn};

use crate::actors::gate::{GateActor, TakePolicy};
use crate::actors::status::{NoteReload, StatusActor, waits};
use crate::actors::upstream::{Remove, UpstreamActor};
use crate::clock;
use crate::config::{self, Config, UpstreamConfig};
use crate::pack::{Diagnostic, builtin_packs, load_policy};
use crate::policy::{MOST_POLICIES, Policy};
use crate::provenance::escaped;
use crate::transport::ReloadReport;

use super::Settings;
use super::gate::guarded;

/// Whether the files are looked at once a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watching {
    /// They are read again on SIGHUP only.
    #[default]
    Off,
    /// They are read again whenever one of them changed.
    On,
}

/// What is read again, and when.
#[derive(Debug, Clone, Default)]
pub struct Reread {
    /// The policy files that the command line names, after those of the config.
    pub extra_policies: Vec<PathBuf>,
    /// Whether the files are watched.
    pub watching: Watching,
}

/// Who is told of a reload.
pub(super) struct Parts {
    pub(super) upstreams: BTreeMap<Arc<str>, Addr<UpstreamActor>>,
    pub(super) gate: Addr<GateActor>,
    pub(super) status: Option<Addr<StatusActor>>,
}

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Waits for signals and changes from now on.
pub(super) fn start(settings: Settings, reread: Reread, parts: Parts) -> io::Result<()> {
    let hangups = Hangups::new()?;
    let Reread { extra_policies, watching } = reread;
    let files = settings.config.deciding_files(&extra_policies);
    let reloader = Reloader { config: settings.config, extra_policies, files, parts };
    actix::spawn(attend(reloader, hangups, watching));
    Ok(())
}

async fn attend(mut reloader: Reloader, mut hangups: Hangups, watching: Watching) {
    let mut seen = stamps(&reloader.files).await;
    loop {
        tokio::select! {
            () = hangups.next() => {}
            () = changed(&reloader.files, &seen), if watching == Watching::On => {}
        }
        // ORDER: the stamps first, so that a change while the files are read is read too.
        seen = stamps(&reloader.files).await;
        let before = reloader.files.clone();
        reloader.again().await;
        if reloader.files != before {
            seen = stamps(&reloader.files).await;
        }
    }
}

/// What tells one state of a file from another; `None` where it is not there.
type Stamp = Option<(Option<SystemTime>, u64, u64)>;

async fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let files = files.to_owned();
    let look = move || files.iter().map(|file| stamp(file)).collect();
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

fn stamp(file: &Path) -> Stamp {
    let found = std::fs::metadata(file).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let inode = 0;
    Some((found.modified().ok(), found.len(), inode))
}

/// Ends when a file is not as it was seen.
async fn changed(files: &[PathBuf], seen: &[Stamp]) {
    loop {
        tokio::time::sleep(LOOK).await;
        if stamps(files).await != seen {
            return;
        }
    }
}

struct Reloader {
    /// The config in force.
    config: Config,
    extra_policies: Vec<PathBuf>,
    /// The files that decide, of the config that was read last.
    files: Vec<PathBuf>,
    parts: Parts,
}

/// What was read.
struct Loaded {
    config: Config,
    policy: Policy,
}

fn read(file: &Path, extra: &[PathBuf]) -> (Vec<PathBuf>, Result<Loaded, Vec<Diagnostic>>) {
    let config = match config::load(file, &|name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(problems) => return (Vec::new(), Err(problems)),
    };
    let files = config.deciding_files(extra);
    let loaded = builtin_packs().and_then(|packs| load_policy(&config.policy_sources(extra), packs));
    (files, loaded.map(|(policy, _)| Loaded { config, policy }))
}

impl Reloader {
    async fn again(&mut self) {
        let (file, extra) = (self.config.file.clone(), self.extra_policies.clone());
        let read = tokio::task::spawn_blocking(move || read(&file, &extra)).await;
        let Ok((files, loaded)) = read else {
            return self.failed(vec!["reading them failed, which is a bug".to_owned()]).await;
        };
        if !files.is_empty() {
            self.files = files;
        }
        match loaded {
            Ok(loaded) => self.take(loaded).await,
            Err(problems) => {
                self.failed(problems.iter().filter(|p| p.is_error()).map(ToString::to_string).collect())
                    .await;
            }
        }
    }

    /// FAIL CLOSED: what does not load changes nothing, and is said.
    async fn failed(&self, problems: Vec<String>) {
        for problem in &problems {
            error!("{problem}");
        }
        error!("config and policy were read again and do not load: what was in force before still is");
        self.report(ReloadReport { problems, ..ReloadReport::default() }, None, Vec::new()).await;
    }

    async fn take(&mut self, loaded: Loaded) {
        let files: Vec<PathBuf> =
            self.files.iter().skip(1).map(|file| PathBuf::from(guarded(file))).collect();
        let policy =
            TakePolicy { policy: loaded.policy, files: self.files.iter().map(|f| guarded(f)).collect() };
        let ruled = match self.parts.gate.send(policy).await {
            Ok(Ok(ruled)) => ruled,
            Ok(Err(_)) => {
                let why = format!("this run has read {MOST_POLICIES} policies; restart the client's session");
                return self.failed(vec![why]).await;
            }
            // A gate that is gone refuses every call.
            Err(_) => return self.failed(vec!["the gate is gone".to_owned()]).await,
        };
        let (removed, waiting) = difference(&self.config, &loaded.config);
        for name in &removed {
            warn!("upstream `{}` was taken out of the config and is stopped", escaped(name, 80));
            if let Some(upstream) = self.parts.upstreams.get(name) {
                // One that is gone has stopped.
                let _ = upstream.send(Remove).await;
            }
        }
        // ORDER: one that comes back later is new, whatever it was before.
        self.config.upstreams.retain(|upstream| !removed.iter().any(|name| **name == *upstream.name));
        let lines = waiting.iter().cloned().chain(ruled.iter().map(waits));
        for line in lines {
            warn!("not in force before the client's session is restarted: {}", escaped(&line, 400));
        }
        warn!("config and policy were read again");
        self.report(ReloadReport { waiting, ..ReloadReport::default() }, Some(files), removed).await;
    }

    async fn report(&self, report: ReloadReport, policies: Option<Vec<PathBuf>>, removed: Vec<Arc<str>>) {
        let report = ReloadReport { at: clock::unix_millis(), ..report };
        if let Some(status) = &self.parts.status {
            // Without it a reload only cannot be looked at.
            let _ = status.send(NoteReload { report, policies, removed }).await;
        }
    }
}

/// Which upstreams are gone, and what waits for a restart, a line each.
fn difference(now: &Config, read: &Config) -> (Vec<Arc<str>>, Vec<String>) {
    let of = |config: &Config, name: &str| config.upstreams.iter().find(|u| u.name == name).cloned();
    let mut gone = Vec::new();
    let mut waiting = Vec::new();
    for running in &now.upstreams {
        match of(read, &running.name) {
            None => gone.push(Arc::from(running.name.as_str())),
            // Where an entry stands in the file is no part of it.
            Some(other) if UpstreamConfig { at: running.at, ..other.clone() } == *running => {}
            Some(_) => waiting.push(format!("upstream `{}` is changed; it runs on as it was", running.name)),
        }
    }
    let new = read.upstreams.iter().filter(|upstream| of(now, &upstream.name).is_none());
    waiting.extend(new.map(|upstream| format!("upstream `{}` is new; it is not started", upstream.name)));
    let keys = [
        ("limits", now.limits == read.limits),
        ("list_wait", now.list_wait == read.list_wait),
        ("question_wait", now.question_wait == read.question_wait),
        ("pins", now.pins == read.pins),
    ];
    let other = keys.into_iter().filter(|(_, is_same)| !is_same);
    waiting.extend(other.map(|(key, _)| format!("`{key}` is changed")));
    (gone, waiting)
}

/// The signal that asks us to read again.
struct Hangups {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangups {
    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { signal: signal(SignalKind::hangup())? })
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        if self.signal.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    #[cfg(not(unix))]
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}
