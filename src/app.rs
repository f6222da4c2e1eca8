//! Wiring: settings in, running system out, and the order in which it stops.
//!
//! Nothing is decided here. Everything on the path of a call runs on one arbiter, the system's own
//! thread. To stop: the client first (no new calls), then the upstreams (their last answers still
//! pass the gate), then what is left to write, then the shared actors with the system. Read `actors` next.

mod control;
mod gate;
mod reload;
mod survey;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::{Semaphore, oneshot};
use tracing::warn;

use crate::actors::session::{Flush, SessionActor, Setting as SessionSetting};
use crate::actors::upstream::{Setting as UpstreamSetting, Stop, UpstreamActor};
use crate::actors::{CallNumber, Gate, RecordNotice, SessionId};
use crate::config::{Config, InheritEnv, UpstreamConfig, log_file, log_folder};
use crate::mcp::{Catalog, Sampling, Terms};
use crate::policy::Policy;
use crate::provenance::Source;
use crate::transport::{Guardian, Inherit, Launch, is_heard, running, stdin, stdout};

pub use gate::{guard, guard_over, working_folder};
pub use reload::{Reread, Watching};
pub use survey::{Surveyed, survey};

/// What `bouncer run` is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The config.
    pub config: Config,
    /// The folder of what outlives this process.
    pub state: PathBuf,
    /// The audit log, where it is not in the state folder.
    pub audit: Option<PathBuf>,
    /// The files that the policy was read from: no call may change them.
    pub policy_files: Vec<PathBuf>,
}

impl Settings {
    /// The audit log.
    fn audit_file(&self) -> PathBuf {
        self.audit.clone().unwrap_or_else(|| self.state.join("audit.jsonl"))
    }
}

/// Why the system did not run.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Our own stdin or stdout cannot be used.
    #[error("stdin and stdout cannot be used: {0}")]
    Stdio(io::Error),
    /// The state folder cannot be made.
    #[error("state folder `{path}` cannot be made: {cause}")]
    State {
        /// The folder.
        path: PathBuf,
        /// The system's words.
        cause: io::Error,
    },
    /// The audit log cannot be opened.
    #[error("audit log `{path}` cannot be opened: {cause}\n  help: give another place with `--audit FILE`")]
    Audit {
        /// The log.
        path: PathBuf,
        /// The system's words.
        cause: io::Error,
    },
    /// As many Bouncers as may are running already.
    #[error(
        "over the state folder `{state}` as many Bouncers run as may: {most} (`limits.sessions` in the configuration)\n  \
         help: `bouncer status` shows them; end a client, or raise the limit"
    )]
    Sessions {
        /// How many may run.
        most: u32,
        /// The state folder.
        state: PathBuf,
    },
    /// The runtime did not start.
    #[error("the runtime did not start: {0}")]
    Runtime(io::Error),
}

/// From the start of a process to its first whole listing, where the config says nothing. Package
/// runners download first.
const START_LIMIT: Duration = Duration::from_secs(120);
/// More cold starts than this at once only slow each other down.
const STARTS_AT_ONCE: usize = 8;
const GUARD_AFTER: Duration = Duration::from_secs(1);
/// The end of everything, if something does not end.
const STOP_LIMIT: Duration = Duration::from_millis(3_400);

/// Serves one client on stdin and stdout until it leaves or the process is asked to end.
///
/// # Errors
/// The system could not be started; nothing was served.
pub fn run(settings: Settings, policy: Policy, reread: Reread) -> Result<(), Fault> {
    private_folder(&settings.state)?;
    private_folder(&log_folder(&settings.state))?;
    let most = settings.config.limits.sessions;
    if running(&settings.state).iter().filter(|(_, socket)| is_heard(socket)).count() >= most as usize {
        return Err(Fault::Sessions { most, state: settings.state });
    }
    let system = System::new();
    system.block_on(serve(settings, policy, reread))
}

/// Makes a folder that only the user can look into.
fn private_folder(path: &Path) -> Result<(), Fault> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path).map_err(|cause| Fault::State { path: path.to_owned(), cause })
}

async fn serve(settings: Settings, policy: Policy, reread: Reread) -> Result<(), Fault> {
    let (reader, writer) = (stdin().map_err(Fault::Stdio)?, stdout().map_err(Fault::Stdio)?);
    let mut signals = Signals::new().map_err(Fault::Runtime)?;
    let sampling: BTreeMap<String, Sampling> = settings
        .config
        .upstreams
        .iter()
        .filter(|upstream| policy.admits_sampling(&upstream.name))
        .map(|upstream| (upstream.name.clone(), Sampling::On))
        .collect();
    let running = gate::start(&settings, policy)?;
    let gate = running.gate.clone();
    let guardian = Rc::new(Guardian::default());
    let guarding = guardian.clone();
    actix::spawn(async move {
        // Not at once: servers that start need the processor more.
        tokio::time::sleep(GUARD_AFTER).await;
        guarding.start();
    });
    let starts = Arc::new(Semaphore::new(STARTS_AT_ONCE));
    let max_message = settings.config.limits.message;
    let mut upstreams = BTreeMap::new();
    let mut shelves = Vec::new();
    // Tools are listed in the order of names, so that moving an entry in the config changes nothing.
    let sorted: BTreeMap<&str, &UpstreamConfig> =
        settings.config.upstreams.iter().map(|config| (config.name.as_str(), config)).collect();
    for config in sorted.into_values() {
        let mut setting = upstream(config, &settings, &gate, &guardian, &starts);
        setting.sampling = sampling.get(&config.name).copied().unwrap_or_default();
        let name = setting.terms.name.clone();
        shelves.push((name.clone(), setting.terms.prefix.clone()));
        upstreams.insert(name, UpstreamActor::new(setting).start());
    }
    let mut advertised = running.advertised.clone();
    for (upstream, text) in std::mem::take(&mut advertised.instructions) {
        // ORDER: recorded before seen; what could not be recorded is not shown.
        let notice = RecordNotice {
            upstream: upstream.clone(),
            call: CallNumber(0),
            source: Source::Instructions,
            message: serde_json::Value::from(text.as_str()).to_string().into(),
        };
        if matches!(gate.notice.send(notice).await, Ok(Ok(()))) {
            advertised.instructions.push((upstream, text));
        }
    }
    let (left, has_left) = oneshot::channel();
    let setting = SessionSetting {
        session: SessionId(1),
        upstreams: upstreams.iter().map(|(name, upstream)| (name.clone(), upstream.into())).collect(),
        catalog: Catalog::new(shelves),
        advertised,
        list_wait: settings.config.list_wait,
        open_requests: settings.config.limits.open_requests,
        max_message,
        gate,
        left,
    };
    let session = SessionActor::new(setting, reader, writer).start();
    let desk = control::start(&settings, &upstreams, &session, &running);
    let parts = reload::Parts {
        upstreams: upstreams.clone(),
        gate: running.policies.clone(),
        status: desk.as_ref().map(|desk| desk.status.clone()),
    };
    reload::start(settings, reread, parts).map_err(Fault::Runtime)?;
    // A task of its own, because what is awaited here is looked at in every turn of the loop.
    let end = actix::spawn(async move {
        tokio::select! {
            _ = has_left => {}
            () = signals.any() => {}
        }
    });
    // A task that panicked is an end too.
    let _ = end.await;
    stop(&session, upstreams.into_values().collect()).await;
    guardian.end().await;
    Ok(())
}

/// ORDER: the upstreams end before the last write, so that what they still answered is written.
async fn stop(session: &Addr<SessionActor>, upstreams: Vec<Addr<UpstreamActor>>) {
    let endings: Vec<_> = upstreams.iter().map(|upstream| actix::spawn(upstream.send(Stop))).collect();
    let all = async {
        for ending in endings {
            let _ = ending.await;
        }
    };
    if tokio::time::timeout(STOP_LIMIT, all).await.is_err() {
        warn!("a server did not end in time");
    }
    let _ = session.send(Flush).await;
}

fn upstream(
    config: &UpstreamConfig,
    settings: &Settings,
    gate: &Gate,
    guardian: &Rc<Guardian>,
    starts: &Arc<Semaphore>,
) -> UpstreamSetting {
    let name: Arc<str> = config.name.as_str().into();
    let prefix = config.prefix.as_deref().map_or_else(|| name.clone(), Arc::from);
    let tools = config.tools.clone();
    UpstreamSetting {
        terms: Terms {
            name,
            prefix,
            start_limit: config.start_timeout.unwrap_or(START_LIMIT),
            starts_per_minute: settings.config.limits.restarts_per_minute,
        },
        launch: Launch {
            command: config.command.clone(),
            args: config.args.clone(),
            env: config.env.clone(),
            inherit: match &config.inherit_env {
                InheritEnv::Fixed => Inherit::Fixed,
                InheritEnv::Names(names) => Inherit::Names(names.clone()),
                InheritEnv::All => Inherit::All,
            },
            cwd: config.cwd.clone(),
        },
        max_message: settings.config.limits.message,
        log_lines: settings.config.limits.log_lines,
        call_limit: config.call_timeout,
        log: Some(log_file(&settings.state, &config.name)),
        sampling: Sampling::Off,
        admits: Box::new(move |tool| tools.admits(tool)),
        starts: starts.clone(),
        guardian: guardian.clone(),
        gate: gate.clone(),
    }
}

/// The signals that ask us to end.
struct Signals {
    #[cfg(unix)]
    term: tokio::signal::unix::Signal,
    #[cfg(unix)]
    int: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    async fn any(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
