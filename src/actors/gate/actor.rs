//! The gate's face to the relay: one actor that judges calls, hears how they ended and admits listings.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll};

use actix::fut::ActorFuture;
use actix::prelude::*;
use futures_util::future::FutureExt;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::actors::approval::{Hold, Lookup};
use crate::actors::audit::{AppendOutcome, AppendVerdict, OutcomeRecord, Sealing};
use crate::actors::budget::Reserve;
use crate::actors::last_run::LastRun;
use crate::actors::messages::{
    Admission, AdmitAgain, AnswerJudgement, AskJudgement, CallOutcome, JudgeAnswer, JudgeAsk, JudgeCall,
    Judgement, NotRecorded, RecordListing, RecordNotice, RecordOutput, RecordRefusal, SessionId, Ticket,
};
use crate::actors::pins::{Compared, Pins, drift_notice, state_key};
use crate::actors::soon::{Promise, Soon};
use crate::actors::taint::{Backlog, NoteSent, NoteShown, TraceCall};
use crate::actors::work::Work;
use crate::clock;
use crate::mcp::Tool;
use crate::policy::{
    Change, DestinationFacts, Effect, Facts, Guard, Locality, Making, OwnPlace, PinState, Policy, Rules,
    ServerPin, links_read,
};
use crate::provenance::{Source, Vouched};

use super::judge::judge;
use super::reverse::{judge_answer, judge_ask};
use super::tools::{Known, Listed, Stamp, Tools, UpstreamFacts};

/// Links of one record and host that are told apart; what is beyond counts as used.
const LINKS: usize = 4_096;

/// The shared actors, as the gate needs them.
#[derive(Clone)]
pub struct Shared {
    /// Budgets.
    pub reserve: Recipient<Reserve>,
    /// Grants.
    pub lookup: Recipient<Lookup>,
    /// Holds.
    pub hold: Recipient<Hold>,
    /// Traces.
    pub trace: Recipient<TraceCall>,
    /// What is sent.
    pub sent: Recipient<NoteSent>,
    /// What is shown.
    pub shown: Recipient<NoteShown>,
    /// What of it waits to be indexed.
    pub backlog: Backlog,
    /// Verdicts for the audit log.
    pub verdict: Recipient<AppendVerdict>,
    /// Outcomes for the audit log.
    pub outcome: Recipient<AppendOutcome>,
}

/// What the gate is told at start.
pub struct Settings {
    /// The policy, or one that refuses everything.
    pub policy: Policy,
    /// What the upstreams were when they were first seen.
    pub pins: Pins,
    /// What the upstreams offered when they last ran.
    pub last_run: LastRun,
    /// What is protected whatever the policy says.
    pub guard: Guard,
    /// The upstreams by configured name.
    pub upstreams: BTreeMap<Arc<str>, UpstreamFacts>,
    /// A name for this process that no other process of the state folder has.
    pub process: String,
    /// When this Bouncer began to listen, in words.
    pub since: Option<String>,
}

/// A call that was let through and has not ended.
#[derive(Clone)]
pub(super) struct Forwarded {
    pub(super) arguments: Arc<Value>,
    pub(super) own_data: Arc<[OwnPlace]>,
    pub(super) making: Arc<Making>,
    pub(super) granted: Vouched,
    /// What its result is.
    pub(super) source: Source,
    /// For the request of a task's result: the tool that made the task, and the upstream's id of it.
    pub(super) task: Option<(Arc<str>, TaskKey)>,
}

/// A task by its upstream and that one's id of it.
pub(super) type TaskKey = (Arc<str>, Arc<str>);

/// Tasks whose calls are remembered. The result of one that is not is recorded as any other result.
const TASKS: usize = 4_096;

/// The rules of requests, by upstream, method and effect.
type RequestRules = BTreeMap<(Arc<str>, &'static str, Effect), Arc<Known>>;

/// What the gate knows. Lives on one arbiter; borrowed in synchronous sections only.
pub(super) struct Core {
    pub(super) shared: Shared,
    pub(super) rules: RefCell<Rules>,
    pub(super) guard: RefCell<Rc<Guard>>,
    pub(super) pins: Pins,
    pub(super) tools: RefCell<Tools>,
    pub(super) since: Option<String>,
    pub(super) upstreams: BTreeMap<Arc<str>, UpstreamFacts>,
    /// The rules of requests that are no tool calls, as far as they were needed.
    pub(super) requests: RefCell<RequestRules>,
    last_run: LastRun,
    process: String,
    /// The session that was named last.
    named: RefCell<Option<(SessionId, Rc<str>)>>,
    tickets: RefCell<BTreeMap<u64, Forwarded>>,
    /// Calls that were answered with a task and whose result is still to come.
    tasks: RefCell<BTreeMap<TaskKey, Forwarded>>,
    next: Cell<u64>,
    links: RefCell<BTreeMap<(String, u64, String), BTreeSet<String>>>,
    /// Whose turn it is to pay: a sum that is judged vouches for nobody else until it is noted as spent.
    pub(super) paying: Arc<Mutex<()>>,
}

impl Core {
    /// Whether an upstream keeps what it is given. One that is not known does not.
    pub(super) fn locality(&self, upstream: &str) -> Locality {
        self.upstreams
            .get(upstream)
            .map_or(Locality::Elsewhere, |facts| self.rules.borrow().locality(&facts.identity))
    }

    /// A name of the session that no session of another process has.
    pub(super) fn session_name(&self, session: SessionId) -> Rc<str> {
        let mut named = self.named.borrow_mut();
        if let Some((last, name)) = &*named
            && *last == session
        {
            return Rc::clone(name);
        }
        let name: Rc<str> = format!("{}-{session}", self.process).into();
        *named = Some((session, Rc::clone(&name)));
        name
    }

    /// What is protected whatever the policy says.
    pub(super) fn guard(&self) -> Rc<Guard> {
        Rc::clone(&self.guard.borrow())
    }

    pub(super) fn pin_state(&self, tool: &Tool) -> PinState {
        if let Some(why) = self.rules.borrow().refusal() {
            return PinState::NoPolicy(why.to_owned());
        }
        let tools = self.tools.borrow();
        let drift = tools.drift(tool);
        match tools.get(tool) {
            None => PinState::Unlisted,
            Some(_) if drift.is_empty() => PinState::Known,
            Some(_) => PinState::Drifted(drift.iter().map(Change::word).collect()),
        }
    }

    pub(super) fn forwarded(&self, call: Forwarded) -> Ticket {
        let number = self.next.get() + 1;
        self.next.set(number);
        self.tickets.borrow_mut().insert(number, call);
        Ticket(number)
    }

    /// How many distinct links of the record and host of this one were used before.
    pub(super) fn links_used(&self, facts: &DestinationFacts) -> usize {
        let links = self.links.borrow();
        let used = links_read(std::slice::from_ref(facts))
            .into_iter()
            .filter_map(|(key, urls)| {
                let used = links.get(&key)?;
                let seen = urls.iter().all(|url| used.contains(&url.text));
                // A link that was used before tells its host nothing new.
                Some(if seen { 0 } else { used.len() })
            })
            .max();
        if links.len() >= LINKS { usize::MAX } else { used.unwrap_or(0) }
    }

    pub(super) fn count_links(&self, facts: &Facts) {
        if facts.effect != Effect::Fetch {
            return;
        }
        let mut links = self.links.borrow_mut();
        for (key, urls) in links_read(&facts.destinations) {
            if links.len() < LINKS {
                links.entry(key).or_default().extend(urls.into_iter().map(|url| url.text));
            }
        }
    }
}

/// Judges calls.
pub struct GateActor {
    pub(super) core: Rc<Core>,
    judging: Work<()>,
}

impl GateActor {
    /// A gate over the shared actors.
    pub fn new(settings: Settings, shared: Shared) -> Self {
        let Settings { policy, pins, last_run, guard, upstreams, process, since } = settings;
        Self {
            core: Rc::new(Core {
                shared,
                rules: RefCell::new(Rules::new(policy)),
                guard: RefCell::new(Rc::new(guard)),
                pins,
                tools: RefCell::default(),
                since,
                upstreams,
                requests: RefCell::default(),
                last_run,
                process,
                named: RefCell::default(),
                tickets: RefCell::default(),
                tasks: RefCell::default(),
                next: Cell::new(0),
                links: RefCell::default(),
                paying: Arc::default(),
            }),
            judging: Work::new(),
        }
    }
}

impl Actor for GateActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(4_096);
        ctx.spawn(Judging);
    }
}

impl Handler<JudgeCall> for GateActor {
    type Result = Promise<Judgement>;

    fn handle(&mut self, msg: JudgeCall, _: &mut Self::Context) -> Self::Result {
        let (reply, answer) = Promise::new();
        // FAIL CLOSED: a judgement that panics keeps no promise, and whoever asked hears of none.
        self.judging.add(judge(Rc::clone(&self.core), msg).map(|judgement| reply.keep(judgement)), ());
        answer
    }
}

/// Goes on with the calls that are being judged.
struct Judging;

impl ActorFuture<GateActor> for Judging {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        gate: &mut GateActor,
        _: &mut Context<GateActor>,
        cx: &mut task::Context<'_>,
    ) -> Poll<()> {
        while let Poll::Ready(Some(())) = gate.judging.poll_next(cx) {}
        Poll::Pending
    }
}

impl Handler<RecordOutput> for GateActor {
    type Result = Soon<Self, Result<(), NotRecorded>>;

    /// ORDER: recorded before seen. A note in the mailbox of the index is recorded, since every later
    /// question stands behind it; it is waited for only where there is too much to index. What the log or the
    /// index takes no more is withheld.
    fn handle(&mut self, msg: RecordOutput, _: &mut Self::Context) -> Self::Result {
        let core = &self.core;
        let forwarded =
            core.tickets.borrow_mut().remove(&msg.ticket.0).map(|call| core.with_tasks(&msg, call));
        let ended = match core.shared.outcome.try_send(AppendOutcome { open: core.ended(&msg) }) {
            Ok(()) => None,
            Err(SendError::Full(ended)) => Some(ended),
            Err(SendError::Closed(_)) => {
                tracing::error!("{OUTCOME_LOST}");
                return Soon::Now(Err(NotRecorded));
            }
        };
        let shown = match shown(msg, forwarded) {
            Some(shown) if core.shared.backlog.is_full() => Some(shown),
            Some(shown) => match core.shared.shown.try_send(shown) {
                Ok(()) => None,
                Err(SendError::Full(shown)) => Some(shown),
                Err(SendError::Closed(_)) => {
                    tracing::error!("{INDEX_GONE}");
                    return Soon::Now(Err(NotRecorded));
                }
            },
            None => None,
        };
        if ended.is_none() && shown.is_none() {
            return Soon::Now(Ok(()));
        }
        let core = Rc::clone(core);
        let wait = async move {
            if let Some(shown) = shown {
                core.note(shown).await?;
            }
            if let Some(ended) = ended
                && !matches!(core.shared.outcome.send(ended).await, Ok(Ok(())))
            {
                tracing::error!("{OUTCOME_LOST}");
                return Err(NotRecorded);
            }
            Ok(())
        };
        Soon::Later(Box::pin(wait.into_actor(self)))
    }
}

const OUTCOME_LOST: &str = "an outcome could not be recorded in the audit log";

/// A result that the index did not take is lost to it: from now on nothing can be traced, and every
/// call is refused.
const INDEX_GONE: &str = "the provenance index is gone: calls that need it are refused";

impl Core {
    /// Notes what an upstream shows, and waits until there is room for it.
    async fn note(&self, shown: NoteShown) -> Result<(), NotRecorded> {
        self.shared.shown.send(shown).await.map_err(|_| {
            tracing::error!("{INDEX_GONE}");
            NotRecorded
        })
    }

    /// A call whose result is asked for through its task is recorded as what it was; of several results the
    /// first is its.
    pub(super) fn of_task(&self, upstream: &Arc<str>, id: &str) -> Option<Forwarded> {
        let key = (Arc::clone(upstream), Arc::from(id));
        let call = self.tasks.borrow().get(&key).cloned()?;
        let tool = call.task.map(|(tool, _)| tool)?;
        Some(Forwarded { task: Some((tool, key)), ..call })
    }

    /// Takes note of the task that a call was answered with, or of a task's result. What the call made
    /// stands in the result.
    fn with_tasks(&self, msg: &RecordOutput, call: Forwarded) -> Forwarded {
        let mut tasks = self.tasks.borrow_mut();
        match (&msg.task, &call.task, &msg.outcome) {
            (Some(id), _, _) => {
                let key = (Arc::clone(&msg.tool.upstream), Arc::clone(id));
                let first = Forwarded { making: Arc::default(), ..call.clone() };
                if tasks.len() < TASKS {
                    let task = Some((Arc::clone(&msg.tool.name), key.clone()));
                    tasks.insert(key, Forwarded { task, ..call });
                }
                first
            }
            (None, Some((_, key)), CallOutcome::Result(_)) => {
                tasks.remove(key);
                call
            }
            _ => call,
        }
    }

    /// The audit log's line of how a call ended.
    fn ended(&self, msg: &RecordOutput) -> String {
        let (outcome, received) = match &msg.outcome {
            CallOutcome::Result(raw) => ("result", raw.len()),
            CallOutcome::Error(raw) => ("error", raw.len()),
            CallOutcome::Cancelled => ("cancelled", 0),
            CallOutcome::Lost(_) => ("lost", 0),
        };
        let session = self.session_name(msg.session);
        let line = OutcomeRecord {
            kind: "outcome",
            ts: clock::unix_millis(),
            session: &session,
            call: msg.call.0,
            upstream: &msg.tool.upstream,
            tool: &msg.tool.name,
            outcome,
            latency_ms: u64::try_from(msg.latency.as_millis()).unwrap_or(u64::MAX),
            sent: msg.sent,
            received,
        };
        line.open()
    }
}

/// What the client is about to see of a call, where it sees anything of the upstream's.
fn shown(msg: RecordOutput, forwarded: Option<Forwarded>) -> Option<NoteShown> {
    let source = forwarded.as_ref().map_or(Source::Result, |forwarded| forwarded.source);
    let (message, source) = match msg.outcome {
        CallOutcome::Result(raw) => (raw, source),
        CallOutcome::Error(raw) => (raw, Source::Error),
        CallOutcome::Cancelled | CallOutcome::Lost(_) => return None,
    };
    let tool = forwarded.as_ref().and_then(|call| Some(Arc::clone(&call.task.as_ref()?.0)));
    let (arguments, own_data, making, granted) = match forwarded {
        Some(call) => (Some(call.arguments), call.own_data, call.making, call.granted),
        None => (None, Arc::from(Vec::new()), Arc::default(), Vouched::No),
    };
    Some(NoteShown {
        upstream: Arc::clone(&msg.tool.upstream),
        tool: Some(tool.unwrap_or_else(|| Arc::clone(&msg.tool.name))),
        call: msg.call.0,
        source,
        message,
        own_data,
        arguments,
        making,
        granted,
    })
}

impl Handler<RecordRefusal> for GateActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, msg: RecordRefusal, _: &mut Self::Context) -> Self::Result {
        let core = Rc::clone(&self.core);
        Box::pin(async move {
            let session = core.session_name(msg.session);
            let line = RefusedRecord {
                kind: "verdict",
                ts: clock::unix_millis(),
                session: &session,
                client: &msg.client,
                tool: &msg.name,
                verdict: "deny",
                contract: "pin",
                reason: &msg.why,
            };
            if !matches!(core.shared.outcome.send(AppendOutcome { open: line.open() }).await, Ok(Ok(()))) {
                tracing::error!("a refusal could not be recorded in the audit log");
            }
        })
    }
}

/// A request that never came to a judgement.
#[derive(serde::Serialize)]
struct RefusedRecord<'a> {
    kind: &'static str,
    ts: u64,
    session: &'a str,
    client: &'a str,
    tool: &'a str,
    verdict: &'static str,
    contract: &'static str,
    reason: &'a str,
}

/// Takes a listing in place of the upstream's earlier one and compares it with what is pinned. Tells
/// which tools are withheld.
async fn admit(core: &Rc<Core>, upstream: &Arc<str>, listed: Listed) -> Admission {
    let Some(facts) = core.upstreams.get(upstream) else { return Admission::default() };
    let (key, pin) = (Arc::from(state_key(&facts.identity)), Arc::clone(&listed.pin));
    core.last_run.note(&key, &listed.capabilities, listed.instructions.as_deref());
    let comparison = compare(core, &key, &pin).await;
    for (tool, changes) in comparison.1.drift.iter().filter(|_| core.pins.reports()) {
        tracing::warn!("{}", drift_notice(upstream, tool, changes, core.pins.mode()));
    }
    let mut tools = core.tools.borrow_mut();
    tools.install(&core.rules.borrow(), facts, &key, listed);
    tools.compared(&core.rules.borrow(), facts, upstream, &pin, withholding(core, comparison));
    tools.admission(upstream).unwrap_or_default()
}

/// Compares a listing with the pins as they are now.
async fn compare(core: &Rc<Core>, key: &str, listed: &ServerPin) -> (Stamp, Compared) {
    // ORDER: the stamp first, so that a change while the file is read is looked at again.
    let stamp = core.pins.stamp();
    (stamp, core.pins.compare(key, listed).await)
}

/// What of a comparison withholds.
fn withholding(core: &Rc<Core>, (stamp, compared): (Stamp, Compared)) -> (Stamp, Compared) {
    (stamp, if core.pins.withholds() { compared } else { Compared::default() })
}

impl Handler<AdmitAgain> for GateActor {
    type Result = ResponseFuture<Option<Admission>>;

    fn handle(&mut self, AdmitAgain { upstream }: AdmitAgain, _: &mut Self::Context) -> Self::Result {
        let core = Rc::clone(&self.core);
        Box::pin(async move {
            let facts = core.upstreams.get(&upstream)?;
            let (key, listed, stamp) = core.tools.borrow().to_compare(&upstream)?;
            if core.pins.stamp() != stamp {
                let comparison = withholding(&core, compare(&core, &key, &listed).await);
                let rules = core.rules.borrow();
                core.tools.borrow_mut().compared(&rules, facts, &upstream, &listed, comparison);
            }
            core.tools.borrow().admission(&upstream)
        })
    }
}

impl Handler<JudgeAsk> for GateActor {
    type Result = ResponseFuture<AskJudgement>;

    fn handle(&mut self, msg: JudgeAsk, _: &mut Self::Context) -> Self::Result {
        Box::pin(judge_ask(Rc::clone(&self.core), msg))
    }
}

impl Handler<JudgeAnswer> for GateActor {
    type Result = ResponseFuture<AnswerJudgement>;

    fn handle(&mut self, msg: JudgeAnswer, _: &mut Self::Context) -> Self::Result {
        Box::pin(judge_answer(Rc::clone(&self.core), msg))
    }
}

impl Handler<RecordNotice> for GateActor {
    type Result = ResponseFuture<Result<(), NotRecorded>>;

    fn handle(&mut self, msg: RecordNotice, _: &mut Self::Context) -> Self::Result {
        let core = Rc::clone(&self.core);
        Box::pin(async move {
            let shown = NoteShown {
                upstream: msg.upstream,
                tool: None,
                call: msg.call.0,
                source: msg.source,
                message: msg.message,
                own_data: Arc::from(Vec::new()),
                arguments: None,
                making: Arc::default(),
                granted: Vouched::No,
            };
            core.note(shown).await
        })
    }
}

impl Handler<RecordListing> for GateActor {
    type Result = ResponseFuture<Result<Admission, NotRecorded>>;

    fn handle(&mut self, msg: RecordListing, _: &mut Self::Context) -> Self::Result {
        let core = Rc::clone(&self.core);
        let listed = core.tools.borrow_mut().listed(&msg);
        Box::pin(async move {
            let admission = admit(&core, &msg.upstream, listed).await;
            let listed: Vec<_> = msg.tools.iter().map(|tool| tool.listed.clone()).collect();
            let instructions =
                msg.instructions.map(|text| bytes::Bytes::from(Value::String(text).to_string()));
            for message in listed.into_iter().chain(instructions).chain(msg.server_info) {
                let shown = NoteShown {
                    upstream: Arc::clone(&msg.upstream),
                    tool: None,
                    call: 0,
                    source: Source::Listing,
                    message,
                    own_data: Arc::new([]),
                    arguments: None,
                    making: Arc::default(),
                    granted: Vouched::No,
                };
                core.note(shown).await?;
            }
            Ok(admission)
        })
    }
}
