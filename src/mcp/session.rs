//! One client's session as a state machine, in the handshake era: events in, commands out.
//!
//! It owns the client's ids: each is answered at most once, with the bytes it came in. It answers
//! `initialize`, `ping` and lists itself, hands every `tools/call` on to be judged, and puts
//! Bouncer's own questions to the client. It decides nothing about a call; the actor that drives it
//! asks the gate. `session/forwarding.rs` finds who a request is for, `session/lists.rs` answers lists,
//! `requests.rs` reads the params of requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::provenance::escaped as escape;

use super::capability::Level;
use super::catalog::{Catalog, Shows, Standing};
use super::envelope::{self, Body, Id, Incoming, Junk, Sender};
use super::framing::{Frame, Skim};
use super::link::Forward;
use super::listing::List;
use super::method::{Method, RefusalForm};
use super::offered::{Modes, Reverse};
use super::requests::{self, Advertised, Greeting};
use super::scan::{self, Span};
use super::tasks::{Tasks, Wanted};

mod forwarding;
mod lists;
mod relayed;
mod tasks;

use lists::Known;

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The client sent this.
    Frame(Frame),
    /// An upstream stands otherwise than before.
    Upstream(Arc<str>, Standing),
    /// A call has ended.
    Finished(u64, Reply),
    /// An upstream reports progress of a call: raw params, and where the token stands in them.
    Progress(u64, Bytes, Span),
    /// An upstream sent this notification: its method and raw params.
    Heard(Arc<str>, Bytes, Option<Bytes>),
    /// Put a question to the human, under an id from [`Session::mint`].
    Ask {
        /// The id.
        question: u64,
        /// The call that waits for the answer.
        call: u64,
        /// The text.
        message: String,
        /// `requestedSchema`.
        schema: Value,
    },
    /// Nobody waits for the answer to this question any more.
    Withdraw(u64),
    /// This upstream asks the client something, under an id from [`Session::mint`]: the raw params as they
    /// may be shown, where it had any.
    Relay(u64, Arc<str>, Reverse, Option<Bytes>),
    /// Nobody waits for the answer to that any more, for this raw reason.
    Unrelay(u64, Option<Bytes>),
    /// A timer has run out.
    Timer(Timer),
}

/// How a call ended, as the client is to see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The upstream's raw `result`.
    Result(Bytes),
    /// The upstream's raw `error`.
    Error(Bytes),
    /// A tool result of our own words with `isError: true`.
    Refused(String),
    /// A JSON-RPC error of our own words.
    Broken(String),
}

/// What the human said.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// `accept`, with the content.
    Accept(Value),
    /// `decline`, or an action that is not known.
    Decline,
    /// `cancel`, or an error.
    Cancel,
    /// The call was cancelled.
    Gone,
}

/// A timer of the session; a new one of a kind replaces the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Lists have waited long enough for upstreams that are starting.
    Lists,
    /// Tell the client which of its lists are stale.
    Changed,
    /// Report progress of calls whose question is open.
    Progress,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Write this line to the client.
    Send(Bytes),
    /// Have this request judged, forwarded and recorded; [`Event::Finished`] follows.
    Call {
        /// The session's number of the call.
        call: u64,
        /// What is forwarded if it may be.
        forward: Forward,
        /// What is judged: the raw `arguments` of a tool, the params of any other request.
        arguments: Option<Bytes>,
        /// Whether the tool is shown, or held back and only judged.
        offer: Offer,
    },
    /// The client cancelled the call, with this raw reason. Nothing is answered any more.
    Cancel(u64, Option<Bytes>),
    /// The client wants log messages from this level on.
    Level(Level),
    /// A question has its answer.
    Answered(u64, Said),
    /// What an upstream asked has its answer.
    Relayed(u64, Body),
    /// The client reports progress of what an upstream asked, in these raw params.
    RelayedProgress(u64, Bytes),
    /// The client is known: its raw capabilities.
    Meet(Bytes),
    /// The client's roots are others than before.
    RootsChanged,
    /// A request was refused before it could be judged: the name or uri it asked for, and why.
    Refused(String, String),
    /// Send [`Event::Timer`] after this time.
    Timer(Timer, Duration),
    /// Tell the operator; untrusted text in it is escaped.
    Note(String),
}

/// Whether a tool is shown to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// It is.
    Shown,
    /// It is held back: never forwarded, whatever the judgement says.
    Withheld,
}

/// Between two reports of progress while a question is open.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum Pending {
    Call(u64),
    List(List),
}

#[derive(Debug)]
struct Call {
    id: Id,
    method: Method,
    upstream: Arc<str>,
    token: Option<Bytes>,
    beats: u32,
    wanted: Wanted,
    /// The task that it is about, by our id.
    about: Option<String>,
}

/// The state machine.
#[derive(Debug)]
pub struct Session {
    catalog: Catalog,
    list_wait: Duration,
    /// Requests that may wait for their answers.
    open_requests: u32,
    advertised: Advertised,
    greeting: Greeting,
    is_greeted: bool,
    pending: BTreeMap<Bytes, (Id, Pending)>,
    calls: BTreeMap<u64, Call>,
    next_call: u64,
    next_question: u64,
    questions: BTreeMap<u64, u64>,
    lists: Known,
    relayed: relayed::Relayed,
    tasks: Tasks,
    is_met: bool,
}

impl Session {
    /// A session before its handshake. Lists wait for starting upstreams at most `list_wait` from the
    /// first list on; at most `open_requests` wait for their answers.
    pub fn new(catalog: Catalog, list_wait: Duration, advertised: Advertised, open_requests: u32) -> Self {
        Self {
            catalog,
            list_wait,
            open_requests,
            advertised,
            greeting: Greeting::default(),
            is_greeted: false,
            pending: BTreeMap::new(),
            calls: BTreeMap::new(),
            next_call: 0,
            next_question: 0,
            questions: BTreeMap::new(),
            lists: Known::default(),
            relayed: relayed::Relayed::default(),
            tasks: Tasks::default(),
            is_met: false,
        }
    }

    /// `clientInfo.name`: hostile text.
    pub fn client(&self) -> &Arc<str> {
        &self.greeting.client
    }

    /// Whether the client declared form elicitation.
    pub fn can_ask(&self) -> bool {
        self.greeting.modes.form
    }

    /// Whether the client hears of the progress of a call: while it runs, and while its task does.
    pub fn hears_progress(&self, call: u64) -> bool {
        self.calls.contains_key(&call) || self.tasks.token(call).is_some()
    }

    /// How the client can ask its human.
    pub fn modes(&self) -> Modes {
        self.greeting.modes
    }

    /// Whether nothing is left to be answered.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// A new id for a question.
    pub fn mint(&mut self) -> u64 {
        self.next_question += 1;
        self.next_question
    }

    /// Takes an event and appends what is to be done.
    pub fn step(&mut self, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Frame(Frame::Line(line)) => self.line(&line, out),
            Event::Frame(Frame::TooLong(skim)) => too_long(skim, out),
            Event::Upstream(name, standing) => self.upstream(&name, standing, out),
            Event::Finished(call, reply) => self.finished(call, reply, out),
            Event::Progress(call, params, token) => self.progress(call, &params, token, out),
            Event::Heard(upstream, method, params) => self.heard(&upstream, &method, params, out),
            Event::Ask { question, call, message, schema } => {
                self.ask(question, call, &message, &schema, out);
            }
            Event::Withdraw(question) => self.withdraw(question, out),
            Event::Relay(id, upstream, reverse, params) => {
                let params = params.map(|params| self.tasks.related(&upstream, params));
                self.relay(id, reverse, params.as_deref(), out);
            }
            Event::Unrelay(id, reason) => self.unrelay(id, reason.as_deref(), out),
            Event::Timer(timer) => self.timer(timer, out),
        }
    }

    fn line(&mut self, line: &Bytes, out: &mut Vec<Command>) {
        match envelope::read(line, Sender::Client) {
            Incoming::Batch(entries) => self.batch(&entries, out),
            message => self.message(message, out),
        }
    }

    fn batch(&mut self, entries: &[Bytes], out: &mut Vec<Command>) {
        // Only the revision of 2025-03-26 has batches; there each entry is a message of its own.
        let is_negotiated = self.greeting.version == requests::BATCH_REVISION;
        for entry in entries {
            match envelope::read(entry, Sender::Client) {
                Incoming::Batch(_) => {
                    out.push(Command::Refused(String::new(), "a batch within a batch".to_owned()));
                }
                message if is_negotiated => self.message(message, out),
                Incoming::Request { id, .. } => {
                    let why = "batches are not part of the negotiated protocol revision";
                    self.reject(&id, why, out);
                }
                _ => {}
            }
        }
    }

    fn message(&mut self, message: Incoming, out: &mut Vec<Command>) {
        match message {
            Incoming::Request { id, method, params } => self.request(id, &method, params, out),
            Incoming::Notification { method, params } => match (&*method, params) {
                (b"notifications/cancelled", Some(params)) => self.cancelled(&params, out),
                (b"notifications/progress", Some(params)) => self.relayed_progress(params, out),
                (b"notifications/roots/list_changed", _) => out.push(Command::RootsChanged),
                _ => {}
            },
            Incoming::Response { id, body } => self.response(id.as_ref(), &body, out),
            Incoming::Invalid { id: Some(id), why } => self.reject(&id, &why, out),
            Incoming::Invalid { id: None, why } => out.push(Command::Refused(String::new(), why)),
            Incoming::Junk(Junk::Blank) | Incoming::Batch(_) => {}
            Incoming::Junk(Junk::ContentLength) => out.push(Command::Note(
                "the client frames its messages with Content-Length headers; MCP's stdio transport is one JSON message a line"
                    .to_owned(),
            )),
            Incoming::Junk(Junk::Encoding) => out.push(Command::Note("a line from the client is not UTF-8 and is skipped".to_owned())),
            Incoming::Junk(Junk::Text) => out.push(Command::Note("a line from the client is not JSON and is skipped".to_owned())),
        }
    }

    /// Answers a request that may not be acted on, and has that recorded.
    fn reject(&self, id: &Id, why: &str, out: &mut Vec<Command>) {
        if !self.pending.contains_key(&id.key()) {
            out.push(Command::Send(envelope::error(id, envelope::INVALID_REQUEST, why)));
        }
        out.push(Command::Refused(String::new(), why.to_owned()));
    }

    fn request(&mut self, id: Id, method: &[u8], params: Option<Bytes>, out: &mut Vec<Command>) {
        if self.pending.contains_key(&id.key()) {
            // INVARIANT: an id is answered once, and that answer belongs to the request in flight.
            out.push(Command::Refused(
                String::new(),
                "the id of a request in flight was used again".to_owned(),
            ));
            return;
        }
        if u32::try_from(self.pending.len()).is_ok_and(|open| open >= self.open_requests) && method != b"ping"
        {
            let why = format!(
                "{} requests are open; `limits.open_requests` in the configuration raises the limit",
                self.pending.len()
            );
            return self.reject(&id, &why, out);
        }
        // A client that asks for something without a handshake has declared nothing.
        if !self.is_met && !matches!(method, b"initialize" | b"ping") {
            self.meet(out);
        }
        match method {
            b"tools/call" => self.call(id, params, out),
            b"resources/read" | b"resources/subscribe" | b"resources/unsubscribe" => {
                self.resource(id, method, params, out);
            }
            b"prompts/get" => self.prompt(id, params, out),
            b"completion/complete" => self.complete(id, params, out),
            b"logging/setLevel" => set_level(&id, params.as_deref().unwrap_or_default(), out),
            b"tasks/get" => self.task(id, Method::GetTask, params, out),
            b"tasks/result" => self.task(id, Method::TaskResult, params, out),
            b"tasks/cancel" => self.task(id, Method::CancelTask, params, out),
            b"tasks/list" => self.list_tasks(&id, params.as_deref(), out),
            b"ping" => out.push(Command::Send(envelope::result(&id, b"{}"))),
            b"initialize" => {
                self.greeting = Greeting::read(params.as_deref().unwrap_or_default());
                let shows = if self.greeting.modes.form { Shows::AlsoReworded } else { Shows::Accepted };
                self.catalog.show(shows);
                let answer = self.greeting.answer(&self.advertised);
                out.push(Command::Send(envelope::result(&id, answer.as_bytes())));
                self.is_greeted = true;
                self.meet(out);
            }
            other => match List::asked(other).filter(|list| self.offers(*list)) {
                Some(list) => self.list(id, list, params.as_deref(), out),
                None => not_offered(&id, other, out),
            },
        }
    }

    fn meet(&mut self, out: &mut Vec<Command>) {
        self.is_met = true;
        out.push(Command::Meet(self.greeting.capabilities.clone()));
    }

    /// Passes on what an upstream tells its clients.
    fn heard(&mut self, upstream: &str, method: &[u8], params: Option<Bytes>, out: &mut Vec<Command>) {
        let Ok(method) = std::str::from_utf8(method) else { return };
        let params = if method == tasks::STATUS {
            let Some(params) = params.and_then(|raw| self.task_news(upstream, &raw)) else { return };
            Some(params)
        } else {
            params.map(|raw| self.tasks.related(upstream, raw))
        };
        let params = params.as_deref();
        let uri = params.and_then(|params| {
            let uri = scan::member(params, "uri").filter(|_| method == "notifications/resources/updated")?;
            scan::text(scan::slice(params, &uri))
        });
        // News of a uri that clients read from another upstream would mislead them.
        let is_anothers =
            uri.is_some_and(|uri| self.catalog.claimed(&uri).is_some_and(|owner| **owner != *upstream));
        if self.is_greeted && !is_anothers {
            out.push(Command::Send(envelope::raw_notification(method, params)));
        }
    }

    /// Numbers a request and hands it on to be judged, forwarded and recorded.
    fn forward(
        &mut self,
        id: Id,
        forward: Forward,
        arguments: Option<Bytes>,
        offer: Offer,
        out: &mut Vec<Command>,
    ) {
        self.next_call += 1;
        let number = self.next_call;
        let token = forward.token.as_ref().map(|token| forward.params.slice(token.clone()));
        self.pending.insert(id.key(), (id.clone(), Pending::Call(number)));
        let call = Call {
            id,
            method: forward.method,
            upstream: forward.tool.upstream.clone(),
            token,
            beats: 0,
            wanted: forward.wanted,
            about: None,
        };
        self.calls.insert(number, call);
        out.push(Command::Call { call: number, forward, arguments, offer });
    }

    fn upstream(&mut self, name: &str, standing: Standing, out: &mut Vec<Command>) {
        out.extend(self.catalog.set(name, standing).into_iter().map(Command::Note));
        self.lists_changed(out);
    }

    fn finished(&mut self, number: u64, reply: Reply, out: &mut Vec<Command>) {
        // A question of the call stays open: a late answer still grants. The asker withdraws it if not.
        let Some(call) = self.calls.remove(&number) else { return };
        self.pending.remove(&call.id.key());
        out.push(Command::Send(match reply {
            Reply::Result(raw) => envelope::result(&call.id, &self.shown(number, &call, raw)),
            Reply::Error(raw) => envelope::raw_error(&call.id, &raw),
            Reply::Refused(text) => match call.method.refusal() {
                RefusalForm::ToolResult => envelope::refusal(&call.id, &text),
                RefusalForm::Error => envelope::error(&call.id, envelope::REFUSED, &text),
            },
            Reply::Broken(why) => envelope::error(&call.id, envelope::INTERNAL_ERROR, &why),
        }));
        self.tell_early(&call, out);
    }

    fn cancelled(&mut self, params: &Bytes, out: &mut Vec<Command>) {
        let at = |name: &str| scan::member(params, name).map(|span| params.slice(span));
        let Some(id) = at("requestId").and_then(Id::read) else { return };
        // An id that is not in flight is not remembered: a later request may use it.
        let Some((_, pending)) = self.pending.remove(&id.key()) else { return };
        if let Pending::Call(number) = pending {
            self.calls.remove(&number);
            self.close_questions(number, out);
            let reason = at("reason").filter(|raw| raw.starts_with(b"\""));
            out.push(Command::Cancel(number, reason));
        }
    }

    fn progress(&mut self, number: u64, params: &[u8], token: Span, out: &mut Vec<Command>) {
        let running = self.calls.get(&number).and_then(|call| call.token.as_deref());
        let Some(ours) = running.or_else(|| self.tasks.token(number)) else { return };
        let mut raw = Vec::with_capacity(params.len() + ours.len());
        scan::splice(params, &[(token, ours)], &mut raw);
        out.push(Command::Send(envelope::notification("notifications/progress", Some(&raw))));
    }

    fn ask(&mut self, question: u64, number: u64, message: &str, schema: &Value, out: &mut Vec<Command>) {
        // Between calls (0) a client may still be asked about what it gives a server of itself.
        if !self.greeting.modes.form || (number != 0 && !self.calls.contains_key(&number)) {
            out.push(Command::Answered(question, Said::Gone));
            return;
        }
        let mut params = serde_json::json!({ "message": message, "requestedSchema": schema });
        if self.greeting.names_modes()
            && let Some(params) = params.as_object_mut()
        {
            params.insert("mode".to_owned(), "form".into());
        }
        self.questions.insert(question, number);
        out.push(Command::Send(envelope::request(
            question,
            "elicitation/create",
            params.to_string().as_bytes(),
        )));
        self.beat(out);
    }

    /// Tells the client of every call whose question is open that it is still alive.
    fn beat(&mut self, out: &mut Vec<Command>) {
        let mut is_waiting = false;
        for number in self.questions.values() {
            let Some(call) = self.calls.get_mut(number) else { continue };
            let Some(token) = call.token.as_deref() else { continue };
            is_waiting = true;
            call.beats += 1;
            // Progress has to grow; far below 1, so that the upstream's own may follow.
            let head = b"{\"progressToken\":";
            let rest = format!(
                ",\"progress\":{:.6},\"message\":\"waiting for the user's approval\"}}",
                f64::from(call.beats) * 1e-6
            );
            let params = [&head[..], token, rest.as_bytes()].concat();
            out.push(Command::Send(envelope::notification("notifications/progress", Some(&params))));
        }
        if is_waiting {
            out.push(Command::Timer(Timer::Progress, PROGRESS_EVERY));
        }
    }

    fn response(&mut self, id: Option<&Id>, body: &Body, out: &mut Vec<Command>) {
        let Some(question) = id.and_then(Id::number) else { return };
        if self.relayed_answer(question, body, out) {
            return;
        }
        if self.questions.remove(&question).is_some() {
            out.push(Command::Answered(question, requests::said(body)));
        }
    }

    fn withdraw(&mut self, question: u64, out: &mut Vec<Command>) {
        if self.questions.remove(&question).is_some() {
            let params = format!("{{\"requestId\":{question}}}");
            out.push(Command::Send(envelope::notification(
                "notifications/cancelled",
                Some(params.as_bytes()),
            )));
        }
    }

    /// The client gave the call up: what was asked for it is not asked any more.
    fn close_questions(&mut self, number: u64, out: &mut Vec<Command>) {
        let open = self.questions.iter().filter(|(_, call)| **call == number);
        let open: Vec<u64> = open.map(|(question, _)| *question).collect();
        for question in open {
            self.withdraw(question, out);
            out.push(Command::Answered(question, Said::Gone));
        }
    }

    fn timer(&mut self, timer: Timer, out: &mut Vec<Command>) {
        match timer {
            Timer::Lists => self.lists_waited(out),
            Timer::Changed => self.tell_changed(out),
            Timer::Progress => self.beat(out),
        }
    }
}

/// `logging/setLevel` is answered here: every upstream is told, also those that start later.
fn set_level(id: &Id, params: &[u8], out: &mut Vec<Command>) {
    let level = scan::member(params, "level").map(|span| scan::slice(params, &span));
    if let Some(level) = level.and_then(|raw| serde_json::from_slice(raw).ok()) {
        out.push(Command::Send(envelope::result(id, b"{}")));
        out.push(Command::Level(level));
    } else {
        let why = "`level` of a logging/setLevel is none of the eight levels";
        out.push(Command::Send(envelope::error(id, envelope::INVALID_PARAMS, why)));
    }
}

fn not_offered(id: &Id, method: &[u8], out: &mut Vec<Command>) {
    let method = escape(&String::from_utf8_lossy(method), 60);
    let why = format!("Bouncer does not offer the method `{method}`");
    out.push(Command::Send(envelope::error(id, envelope::METHOD_NOT_FOUND, &why)));
}

fn too_long(skim: Skim, out: &mut Vec<Command>) {
    let why = format!(
        "a message of {} bytes is too large; `limits.message_bytes` in the configuration raises the limit",
        skim.length
    );
    match skim.id.and_then(Id::read).filter(|_| skim.is_request) {
        Some(id) => out.push(Command::Send(envelope::error(&id, envelope::INVALID_REQUEST, &why))),
        None => out.push(Command::Note(format!("the client sent {why}"))),
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
