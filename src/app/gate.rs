//! The gate of a run: the policy, the shared actors, and the socket that hears the user.
//!
//! FAIL CLOSED: a policy that does not load becomes one that refuses everything, said on stderr; a
//! log or an index that cannot be opened stops the start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::prelude::*;

use crate::actors::approval::{ApprovalActor, UserIsThere};
use crate::actors::audit::AuditActor;
use crate::actors::budget::BudgetActor;
use crate::actors::gate::{GateActor, Settings as GateSettings, Shared, UpstreamFacts};
use crate::actors::last_run::LastRun;
use crate::actors::pins::{Pins, state_key};
use crate::actors::taint::{NotePrompt, TaintActor};
use crate::actors::{Gate, GrantsFile, UserPrompt, relay_prompts};
use crate::clock;
use crate::config::{UpstreamConfig, usual_state_folders};
use crate::mcp::Advertised;
use crate::policy::guard::moved;
use crate::policy::{Guard, Policy};
use crate::provenance::Limits;
use crate::transport::PromptSocket;

use super::{Fault, Settings};

/// The gate, and what must live as long as it.
pub(super) struct Running {
    pub(super) gate: Gate,
    pub(super) approval: Addr<ApprovalActor>,
    /// Takes policies that were read again.
    pub(super) policies: Addr<GateActor>,
    /// What `initialize` is answered with.
    pub(super) advertised: Advertised,
    /// Dropped to take the socket away.
    _socket: Option<PromptSocket>,
}

/// Starts the shared actors.
pub(super) fn start(settings: &Settings, policy: Policy) -> Result<Running, Fault> {
    let audit_path = settings.audit_file();
    let audit = AuditActor::open(&audit_path)
        .map_err(|cause| Fault::Audit { path: audit_path.clone(), cause })?
        .start();
    let limits = Limits { bytes: settings.config.limits.history };
    let taint = TaintActor::start_thread(limits).map_err(Fault::Runtime)?;
    let backlog = taint.backlog();
    let taint = taint.start();
    let budget = BudgetActor::default().start();
    let config = &settings.config;
    let upstreams: BTreeMap<Arc<str>, UpstreamFacts> =
        config.upstreams.iter().map(|upstream| (upstream.name.as_str().into(), facts(upstream))).collect();
    let launches =
        upstreams.iter().map(|(name, facts)| (name.to_string(), state_key(&facts.identity))).collect();
    let last_run = LastRun::read(&settings.state);
    let keys: Vec<(&str, String)> =
        upstreams.iter().map(|(name, facts)| (&**name, state_key(&facts.identity))).collect();
    let advertised = last_run.advertised(&settings.state, config.pins, &keys);
    let approval =
        ApprovalActor::new(GrantsFile::of(&settings.state), launches, config.question_wait).start();
    let socket = listen(&settings.state, &taint, &approval);
    let shared = Shared {
        reserve: budget.recipient(),
        lookup: approval.clone().recipient(),
        hold: approval.clone().recipient(),
        trace: taint.clone().recipient(),
        sent: taint.clone().recipient(),
        shown: taint.recipient(),
        backlog,
        verdict: audit.clone().recipient(),
        outcome: audit.recipient(),
    };
    let gate = GateActor::new(
        GateSettings {
            policy,
            pins: Pins::new(&settings.state, config.pins),
            last_run,
            guard: guard(settings),
            upstreams,
            process: format!("{:x}-{}", clock::unix_millis(), std::process::id()),
            since: None,
        },
        shared,
    )
    .start();
    let policies = gate.clone();
    let gate = Gate {
        judge: gate.clone().recipient(),
        record: gate.clone().recipient(),
        refusal: gate.clone().recipient(),
        listing: gate.clone().recipient(),
        again: gate.clone().recipient(),
        notice: gate.clone().recipient(),
        ask: gate.clone().recipient(),
        answer: gate.recipient(),
    };
    Ok(Running { gate, approval, policies, advertised, _socket: socket })
}

/// What no call may change with these settings.
pub fn guard(settings: &Settings) -> Guard {
    let (config, audit) = (&settings.config, settings.audit_file());
    let files = [settings.state.as_path(), &audit, &config.file].into_iter();
    guard_over(files.chain(settings.policy_files.iter().map(PathBuf::as_path)))
}

/// Variables that move a client's folder out of the home folder, each with that folder's name.
const MOVED: [(&str, &str); 3] =
    [("CLAUDE_CONFIG_DIR", ".claude"), ("CODEX_HOME", ".codex"), ("COPILOT_HOME", ".copilot")];

/// A guard over files and folders of Bouncer's own, over the folders that other Bouncers of this user keep
/// their state in, and over the files of clients that a variable has moved.
pub fn guard_over<'p>(own: impl Iterator<Item = &'p Path>) -> Guard {
    let env = |name: &str| std::env::var(name).ok();
    let usual = usual_state_folders(&env);
    let folders =
        MOVED.iter().filter_map(|(name, dotted)| Some((env(name).filter(|it| !it.is_empty())?, dotted)));
    let elsewhere = folders.flat_map(|(folder, dotted)| moved(dotted, &guarded(Path::new(&folder))));
    Guard {
        own: own.map(guarded).chain(usual.iter().map(|path| guarded(path))).chain(elsewhere).collect(),
        home: env("HOME").or_else(|| env("USERPROFILE")),
    }
}

/// The folder that relative paths of an upstream start in, where it is known.
pub fn working_folder(upstream: &UpstreamConfig) -> Option<String> {
    let cwd = upstream.cwd.clone().or_else(|| std::env::current_dir().ok());
    cwd.and_then(|cwd| cwd.to_str().map(str::to_owned))
}

/// A file as the guard names it.
pub(super) fn guarded(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.to_string_lossy().into_owned()
}

fn facts(upstream: &UpstreamConfig) -> UpstreamFacts {
    UpstreamFacts { identity: upstream.identity(), cwd: working_folder(upstream) }
}

/// Hears the user's prompts. Without the socket nothing counts as typed, which only ever asks more.
fn listen(state: &Path, taint: &Addr<TaintActor>, approval: &Addr<ApprovalActor>) -> Option<PromptSocket> {
    match PromptSocket::open(state) {
        Ok((socket, deliveries)) => {
            let listener = Listener { taint: taint.clone(), approval: approval.clone() }.start();
            actix::spawn(relay_prompts(deliveries, listener.recipient()));
            Some(socket)
        }
        Err(error) => {
            tracing::warn!("the user's prompts cannot be heard: {error}");
            None
        }
    }
}

/// Tells the history what the user said, and the approvals that the user is there.
struct Listener {
    taint: Addr<TaintActor>,
    approval: Addr<ApprovalActor>,
}

impl Actor for Listener {
    type Context = Context<Self>;
}

impl Handler<UserPrompt> for Listener {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, prompt: UserPrompt, _: &mut Self::Context) -> Self::Result {
        let (taint, approval) = (self.taint.clone(), self.approval.clone());
        Box::pin(async move {
            let noted = taint.send(NotePrompt { text: prompt.text, origin: prompt.origin }).await;
            // A prompt that is not stored vouches for nothing: calls ask more, none asks less.
            if !matches!(noted, Ok(Ok(()))) || approval.send(UserIsThere).await.is_err() {
                tracing::warn!("a prompt of the user was not stored");
            }
        })
    }
}
