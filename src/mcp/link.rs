//! The link to one upstream as a state machine: handshake, listing, calls, restarts. Events in,
//! commands out; the actor that drives it owns the process and the clock.
//!
//! One link outlives many processes of its upstream. What it promises: a call is sent once or not at
//! all, ends exactly once, and is sent only to a process whose entry for that tool is byte for byte
//! the one that was judged. Ids are our own integers, so an upstream never sees a client's.
//! `link/lists.rs` keeps the upstream's lists, `listing.rs` paces them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::provenance::escaped as escape;

use super::capability::{Capabilities, Capability, Level};
use super::catalog::Tool;
use super::entry::Entry;
use super::envelope::{self, Body, Id, Incoming, Junk, Sender};
use super::export;
use super::framing::{Frame, Skim};
use super::listing::List;
use super::method::{Address, Method};
use super::offered::Offered;
use super::scan::{self, Span};
use super::tasks::{Wanted, created};

mod lists;
mod restarts;
mod reverse;

use lists::Lists;
pub use reverse::{Answer, Request};

/// The revision offered to upstreams.
pub const LATEST: &str = "2025-11-25";
/// All revisions of the handshake era, oldest first.
pub const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", LATEST];

/// A request on its way to an upstream: the client's raw params and where in them Bouncer writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// What is asked.
    pub method: Method,
    /// The tool as it was judged; for what is no tool, what stands for it.
    pub tool: Arc<Tool>,
    /// The raw `params` of the client.
    pub params: Bytes,
    /// Values in them that are replaced: a name by the upstream's own.
    pub edits: Vec<(Span, Bytes)>,
    /// The value of `_meta.progressToken` in them, if there is one.
    pub token: Option<Span>,
    /// What it is answered with.
    pub wanted: Wanted,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The raw `result`.
    Result(Bytes),
    /// The raw `error`.
    Error(Bytes),
    /// Cancelled before an answer came.
    Cancelled,
    /// The upstream is away or left; in our own words, for the model.
    Lost(String),
    /// The upstream broke the protocol; in our own words, for the client.
    Broken(String),
}

/// What a process said of itself and its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its tools, each name once.
    pub tools: Vec<Arc<Tool>>,
    /// `instructions` of the handshake.
    pub instructions: Option<String>,
    /// Raw `serverInfo` of the handshake.
    pub server_info: Option<Bytes>,
    /// What it declared.
    pub capabilities: Capabilities,
}

/// A timer of the link; a new one of a kind replaces the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The process has to be ready by then.
    Start,
    /// List this again.
    List(List),
    /// Start a new process.
    Restart,
    /// Calls that wait for the upstream have waited long enough.
    Queue,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A new process runs and can be written to.
    Opened,
    /// It sent this.
    Frame(Frame),
    /// It is gone, or could not be started. The text is our own words, for model and operator.
    Closed(String),
    /// Send this call under an id from [`Link::mint`].
    Call(u64, Forward),
    /// The client cancelled the call, with this raw reason.
    Cancel(u64, Option<Bytes>),
    /// Clients want log messages from this level on.
    Level(Level),
    /// The client is known, and what of it the upstream is offered. No process is greeted before.
    Meet(Offered),
    /// The answer to the request of the upstream with this number.
    Answer(u64, Answer),
    /// The client reports progress of that request, in these raw params.
    AskProgress(u64, Bytes),
    /// The client's roots are others than before.
    RootsChanged,
    /// A timer has run out.
    Timer(Timer),
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Write this line to the process.
    Write(Bytes),
    /// The call with this id has ended.
    Done(u64, Outcome),
    /// Progress of the call with this id: raw params, and where its token stands in them.
    Progress(u64, Bytes, Span),
    /// The upstream asks something of the client; [`Event::Answer`] follows unless it ends before.
    Ask(Request),
    /// Nobody waits for the answer to that request any more. The raw reason is the upstream's.
    Unask(u64, Option<Bytes>),
    /// The first listing of a process, or a changed one.
    Listed(Listed),
    /// Another list of it, for the first time or changed.
    Entries(List, Vec<Arc<Entry>>),
    /// A notification for clients: its method and raw params.
    Heard(Bytes, Option<Bytes>),
    /// The upstream is away, for this reason.
    Down(String),
    /// End the process; [`Event::Closed`] follows.
    Kill,
    /// Start a new process.
    Open,
    /// Send [`Event::Timer`] after this time.
    Timer(Timer, Duration),
    /// Tell the operator; untrusted text in it is escaped.
    Note(String),
}

/// What a link is told once.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The upstream's configured name.
    pub name: Arc<str>,
    /// The prefix of its exported names.
    pub prefix: Arc<str>,
    /// From the start of a process to its first whole listing.
    pub start_limit: Duration,
    /// Starts within a minute; then it waits until the minute is over.
    pub starts_per_minute: u32,
}

/// How long a call waits for an upstream that is on its way back.
const QUEUE_LIMIT: Duration = Duration::from_secs(30);
/// Subscriptions that a new process is told of, and the bytes of one.
const SUBSCRIPTIONS: usize = 10_000;
const SUBSCRIBED: usize = 2_048;
/// Tasks of one upstream whose reports of progress are passed on; those of the oldest no longer are.
const TASKED: usize = 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No process.
    Away,
    /// A process runs, and the client is not known yet.
    Waiting,
    /// `initialize` is out, under this id.
    Greeting(u64),
    /// The first listing of the process's tools is under way.
    Listing,
    /// Calls are sent.
    Ready,
}

/// The state machine.
#[derive(Debug)]
pub struct Link {
    terms: Terms,
    phase: Phase,
    next_id: u64,
    in_flight: BTreeSet<u64>,
    offered: Option<Offered>,
    requests: reverse::Requests,
    waiting: VecDeque<(u64, Forward)>,
    lists: Lists,
    capabilities: Capabilities,
    tools: BTreeMap<Arc<str>, Arc<Tool>>,
    /// What every new process is told again: the level of log messages, and the uris subscribed to that the
    /// upstream listed. One that a client made was judged for that one request.
    level: Option<Level>,
    subscriptions: BTreeSet<String>,
    /// Requests in flight that change the subscriptions.
    subscribing: BTreeMap<u64, (Method, String)>,
    /// Calls in flight that ask for a task, and those that were answered with one: they report on.
    tasks_asked: BTreeSet<u64>,
    tasked: BTreeSet<u64>,
    instructions: Option<String>,
    server_info: Option<Bytes>,
    failures: u32,
    /// When the processes of the last minute were opened.
    starts: VecDeque<Duration>,
    ready_since: Duration,
    why_closing: Option<String>,
}

impl Link {
    /// A link without a process.
    pub fn new(terms: Terms) -> Self {
        Self {
            terms,
            phase: Phase::Away,
            next_id: 0,
            in_flight: BTreeSet::new(),
            offered: None,
            requests: reverse::Requests::default(),
            waiting: VecDeque::new(),
            lists: Lists::default(),
            capabilities: Capabilities::default(),
            tools: BTreeMap::new(),
            level: None,
            subscriptions: BTreeSet::new(),
            subscribing: BTreeMap::new(),
            tasks_asked: BTreeSet::new(),
            tasked: BTreeSet::new(),
            instructions: None,
            server_info: None,
            failures: 0,
            starts: VecDeque::new(),
            ready_since: Duration::ZERO,
            why_closing: None,
        }
    }

    /// A new id, never used before on this link.
    pub fn mint(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Takes an event at `now`, a monotonic time from any origin, and appends what is to be done.
    pub fn step(&mut self, now: Duration, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Opened => self.opened(now, out),
            Event::Frame(Frame::Line(line)) => self.line(now, &line, out),
            Event::Frame(Frame::TooLong(skim)) => self.too_long(&skim, out),
            Event::Closed(why) => self.closed(now, &why, out),
            Event::Call(id, call) => self.call(id, call, out),
            Event::Cancel(id, reason) => self.cancel(id, reason.as_deref(), out),
            Event::Level(level) => self.set_level(level, out),
            Event::Meet(offered) => self.meet(offered, out),
            Event::Answer(number, answer) => self.answered(number, &answer, out),
            Event::AskProgress(number, params) => self.ask_progress(number, &params, out),
            Event::RootsChanged => self.roots_changed(out),
            Event::Timer(timer) => self.timer(timer, out),
        }
    }

    fn greet(&mut self, out: &mut Vec<Command>) {
        let id = self.mint();
        self.phase = Phase::Greeting(id);
        self.why_closing = None;
        let capabilities = self.offered.as_ref().map_or_else(|| b"{}".to_vec(), Offered::raw);
        let head = format!("{{\"protocolVersion\":\"{LATEST}\",\"capabilities\":");
        let tail = concat!(
            ",\"clientInfo\":{\"name\":\"bouncer\",\"title\":\"Bouncer\",\"version\":\"",
            env!("CARGO_PKG_VERSION"),
            "\"}}"
        );
        let params = [head.as_bytes(), &capabilities, tail.as_bytes()].concat();
        out.push(Command::Write(envelope::request(id, "initialize", &params)));
        out.push(Command::Timer(Timer::Start, self.terms.start_limit));
    }

    fn line(&mut self, now: Duration, line: &Bytes, out: &mut Vec<Command>) {
        match envelope::read(line, Sender::Upstream) {
            Incoming::Response { id, body } => match id.as_ref().and_then(Id::number) {
                Some(id) => self.response(now, id, body, out),
                None => note("it sent an answer without a usable id", out),
            },
            Incoming::Request { id, method, .. } if &*method == b"ping" => {
                out.push(Command::Write(envelope::result(&id, b"{}")));
            }
            Incoming::Request { id, method, params } => self.asked(&id, &method, params, out),
            Incoming::Notification { method, params } => self.notification(now, &method, params, out),
            Incoming::Batch(entries) => {
                for entry in entries {
                    // One level: an entry that is itself a batch is no message.
                    if !entry.starts_with(b"[") {
                        self.line(now, &entry, out);
                    }
                }
            }
            Incoming::Invalid { why, .. } => note(&format!("it sent a message that is ignored: {why}"), out),
            Incoming::Junk(Junk::Blank) => {}
            Incoming::Junk(Junk::ContentLength) if self.phase != Phase::Ready => self.give_up(
                "it frames its messages with Content-Length headers, and MCP's stdio transport is one JSON message a line",
                out,
            ),
            Incoming::Junk(_) => {
                let text = escape(&String::from_utf8_lossy(line.get(..400).unwrap_or(line)), 160);
                note(&format!("a line on its stdout is no JSON-RPC message and is skipped: {text}"), out);
            }
        }
    }

    fn response(&mut self, now: Duration, id: u64, body: Body, out: &mut Vec<Command>) {
        if self.in_flight.remove(&id) {
            self.subscribed(id, &body);
            self.task_made(id, &body);
            let outcome = match body {
                Body::Result(raw) => Outcome::Result(raw),
                Body::Error(raw) => Outcome::Error(raw),
                Body::Ambiguous => Outcome::Broken(format!(
                    "server `{}` answered with both result and error, or with one of them twice",
                    escape(&self.terms.name, 80)
                )),
            };
            self.call_ended(id, out);
            out.push(Command::Done(id, outcome));
        } else if self.phase == Phase::Greeting(id) {
            self.greeted(body, out);
        } else if let Some((list, walk)) = self.lists.answered(id) {
            self.page(now, list, walk, body, out);
        }
        // Anything else is late (its call was cancelled) or was never asked for.
    }

    fn greeted(&mut self, body: Body, out: &mut Vec<Command>) {
        let Body::Result(raw) = body else {
            self.give_up("it refused the handshake (`initialize` ended in an error)", out);
            return;
        };
        let at = |name: &str| scan::member(&raw, name).map(|span| raw.slice(span));
        let version = at("protocolVersion").and_then(|raw| scan::text(&raw).map(Cow::into_owned));
        if !version.as_deref().is_some_and(|version| REVISIONS.contains(&version)) {
            let version = escape(version.as_deref().unwrap_or("none"), 40);
            note(
                &format!("it speaks the unknown protocol revision `{version}`; going on as with {LATEST}"),
                out,
            );
        }
        self.capabilities = at("capabilities").map(|raw| Capabilities::read(&raw)).unwrap_or_default();
        self.instructions = at("instructions").and_then(|raw| scan::text(&raw).map(Cow::into_owned));
        self.server_info = at("serverInfo");
        self.phase = Phase::Listing;
        out.push(Command::Write(envelope::notification("notifications/initialized", None)));
        if let Some(level) = self.level {
            self.set_level(level, out);
        }
        self.begin_lists(out);
        for uri in self.subscriptions.clone() {
            let id = self.mint();
            let params = serde_json::json!({ "uri": uri }).to_string();
            out.push(Command::Write(envelope::request(id, "resources/subscribe", params.as_bytes())));
        }
    }

    /// Asks the process for log messages from this level on, if it has any.
    fn set_level(&mut self, level: Level, out: &mut Vec<Command>) {
        self.level = Some(level);
        if matches!(self.phase, Phase::Listing | Phase::Ready) && self.capabilities.has(Capability::Logging) {
            let id = self.mint();
            let params = format!("{{\"level\":\"{}\"}}", level.as_str());
            out.push(Command::Write(envelope::request(id, "logging/setLevel", params.as_bytes())));
        }
    }

    /// A call that was answered with a task goes on to report progress.
    fn task_made(&mut self, id: u64, body: &Body) {
        if !self.tasks_asked.remove(&id) {
            return;
        }
        if matches!(body, Body::Result(raw) if created(raw).is_some()) {
            if self.tasked.len() >= TASKED {
                self.tasked.pop_first();
            }
            self.tasked.insert(id);
        }
    }

    /// Remembers what is subscribed to, for the next process.
    fn subscribed(&mut self, id: u64, body: &Body) {
        match (self.subscribing.remove(&id), body) {
            (Some((Method::Unsubscribe, uri)), _) => {
                self.subscriptions.remove(&uri);
            }
            (Some((_, uri)), Body::Result(_)) if self.subscriptions.len() < SUBSCRIPTIONS => {
                self.subscriptions.insert(uri);
            }
            _ => {}
        }
    }

    fn announce(&mut self, out: &mut Vec<Command>) {
        let (tools, notes) =
            export::tools(&self.terms.name, &self.terms.prefix, self.lists.entries(List::Tools));
        for line in notes {
            note(&line, out);
        }
        self.tools = tools.iter().map(|tool| (tool.name.clone(), tool.clone())).collect();
        out.push(Command::Listed(Listed {
            tools,
            instructions: self.instructions.clone(),
            server_info: self.server_info.clone(),
            capabilities: self.capabilities.clone(),
        }));
        if self.phase != Phase::Ready {
            self.phase = Phase::Ready;
            for (id, call) in std::mem::take(&mut self.waiting) {
                self.send(id, &call, out);
            }
        }
    }

    fn notification(&mut self, now: Duration, method: &Bytes, params: Option<Bytes>, out: &mut Vec<Command>) {
        if self.list_changed(now, method, out) {
            return;
        }
        match (&method[..], params) {
            (b"notifications/cancelled", Some(params)) => self.given_up(&params, out),
            (b"notifications/progress", Some(params)) => {
                let Some(token) = scan::member(&params, "progressToken") else { return };
                let id = Id::read(params.slice(token.clone())).and_then(|id| id.number());
                let runs = |id: &u64| self.in_flight.contains(id) || self.tasked.contains(id);
                if let Some(id) = id.filter(runs) {
                    out.push(Command::Progress(id, params, token));
                }
            }
            // About nothing that a client would know.
            (b"notifications/progress" | b"notifications/cancelled" | b"notifications/initialized", _) => {}
            (_, params) => out.push(Command::Heard(method.clone(), params)),
        }
    }

    fn too_long(&mut self, skim: &Skim, out: &mut Vec<Command>) {
        let id = skim.id.clone().and_then(Id::read).and_then(|id| id.number());
        let name = escape(&self.terms.name, 80);
        let what = format!(
            "server `{name}` answered with a message of {} bytes, which is too large; `limits.message_bytes` in the configuration raises the limit",
            skim.length
        );
        match id.filter(|_| !skim.is_request) {
            Some(id) if self.in_flight.remove(&id) => {
                self.subscribing.remove(&id);
                self.tasks_asked.remove(&id);
                self.call_ended(id, out);
                out.push(Command::Done(id, Outcome::Broken(what)));
            }
            _ => {
                note("it sent a message over the limit of `limits.message_bytes`, which is skipped", out);
            }
        }
    }

    fn call(&mut self, id: u64, call: Forward, out: &mut Vec<Command>) {
        match self.phase {
            Phase::Ready => self.send(id, &call, out),
            Phase::Away if self.backoff() > QUEUE_LIMIT / 10 => {
                let name = escape(&self.terms.name, 80);
                let why = format!("The server `{name}` stopped and is not back yet. Try again in a minute.");
                out.push(Command::Done(id, Outcome::Lost(why)));
            }
            _ => {
                if self.waiting.is_empty() {
                    out.push(Command::Timer(Timer::Queue, QUEUE_LIMIT));
                }
                self.waiting.push_back((id, call));
            }
        }
    }

    fn send(&mut self, id: u64, call: &Forward, out: &mut Vec<Command>) {
        // INVARIANT: what was judged is what is called. A tool that changed since then is not sent.
        let is_same = self
            .tools
            .get(&call.tool.name)
            .is_some_and(|tool| Arc::ptr_eq(tool, &call.tool) || tool.listed == call.tool.listed);
        if call.method == Method::CallTool && !is_same {
            let why = "The server changed this tool while the call was on its way, so it was not sent. \
                       List the tools again before calling it."
                .to_owned();
            out.push(Command::Done(id, Outcome::Lost(why)));
            return;
        }
        let number = id.to_string();
        let mut edits: Vec<(Span, &[u8])> =
            call.edits.iter().map(|(span, value)| (span.clone(), &value[..])).collect();
        if let Some(token) = &call.token {
            edits.push((token.clone(), number.as_bytes()));
        }
        edits.sort_by_key(|(span, _)| span.start);
        let mut params = Vec::with_capacity(call.params.len() + 64);
        scan::splice(&call.params, &edits, &mut params);
        if matches!(call.method, Method::Subscribe(Address::Listed) | Method::Unsubscribe)
            && let Some(uri) = scan::member(&call.params, "uri").filter(|uri| uri.len() <= SUBSCRIBED)
            && let Some(uri) = scan::text(scan::slice(&call.params, &uri))
        {
            self.subscribing.insert(id, (call.method, uri.into_owned()));
        }
        if call.wanted == Wanted::Task {
            self.tasks_asked.insert(id);
        }
        self.in_flight.insert(id);
        out.push(Command::Write(envelope::request(id, call.method.name(), &params)));
    }

    fn cancel(&mut self, id: u64, reason: Option<&[u8]>, out: &mut Vec<Command>) {
        if self.in_flight.remove(&id) {
            self.subscribing.remove(&id);
            self.tasks_asked.remove(&id);
            let params = match reason {
                Some(reason) => {
                    [b"{\"requestId\":", id.to_string().as_bytes(), b",\"reason\":", reason, b"}"].concat()
                }
                None => format!("{{\"requestId\":{id}}}").into_bytes(),
            };
            self.call_ended(id, out);
            out.push(Command::Write(envelope::notification("notifications/cancelled", Some(&params))));
        } else {
            let before = self.waiting.len();
            self.waiting.retain(|(waiting, _)| *waiting != id);
            if self.waiting.len() == before {
                return;
            }
        }
        out.push(Command::Done(id, Outcome::Cancelled));
    }

    fn timer(&mut self, timer: Timer, out: &mut Vec<Command>) {
        match (timer, self.phase) {
            (Timer::Start, Phase::Greeting(_) | Phase::Listing) => {
                let limit = self.terms.start_limit.as_secs();
                self.give_up(&format!("it was not ready within {limit} s"), out);
            }
            (Timer::List(list), Phase::Listing | Phase::Ready) => self.list_again(list, out),
            (Timer::Restart, Phase::Away) => out.push(Command::Open),
            (Timer::Queue, phase) if phase != Phase::Ready => {
                self.fail_waiting("is taking too long to come back", out);
            }
            _ => {}
        }
    }

    /// Ends a process that cannot be worked with.
    fn give_up(&mut self, why: &str, out: &mut Vec<Command>) {
        if self.why_closing.is_none() {
            self.why_closing = Some(why.to_owned());
            out.push(Command::Kill);
        }
    }

    fn fail_waiting(&mut self, what: &str, out: &mut Vec<Command>) {
        let name = escape(&self.terms.name, 80);
        for (id, _) in std::mem::take(&mut self.waiting) {
            let why = format!("The server `{name}` {what}, so this call was not sent. Try again later.");
            out.push(Command::Done(id, Outcome::Lost(why)));
        }
    }
}

fn note(what: &str, out: &mut Vec<Command>) {
    out.push(Command::Note(what.to_owned()));
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
