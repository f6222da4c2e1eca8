//! One client: its connection, its calls in flight, its open questions.
//!
//! The actor only translates between `mcp::Session` and the world. Each call is a future of its own
//! (`carry.rs`: judge, forward, record), so no call waits for another; its reply is dropped if the client has
//! given the call up meanwhile.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use actix::fut::ActorFuture;
use actix::prelude::*;
use futures_util::future::FutureExt;
use tokio::sync::oneshot;
use tracing::warn;

use super::carry::{Flight, carry};
use super::messages::{
    Answer, Asker, CallNumber, Elicit, Gate, JudgeCall, LateAnswer, Patience, RecordNotice, RecordRefusal,
    SessionId,
};
use super::pump::{Outlet, Pump, Pumped, Stream};
use super::upstream::{Cancel, Heard, Listen, Port, Progress, SetLevel, UpstreamChanged, Watch, tell};
use super::work::Work;
use crate::mcp::{
    Advertised, Catalog, Forward, Frame, Lines, Offer, Reply, Said, Session, SessionCommand as Command,
    SessionEvent as Event, SessionTimer as Timer,
};
use crate::provenance::{Source, escaped};
use crate::transport::{Reader, Writer};

mod relays;
mod waiting;

use relays::Relaying;
use waiting::Waiting;

/// What a session is told once.
pub struct Setting {
    /// Its number.
    pub session: SessionId,
    /// The upstreams by name.
    pub upstreams: BTreeMap<Arc<str>, Port>,
    /// Names and prefixes, in the order in which tools are listed.
    pub catalog: Catalog,
    /// What `initialize` is answered with.
    pub advertised: Advertised,
    /// How long lists wait for upstreams that are starting.
    pub list_wait: Duration,
    /// Requests that may wait for their answers.
    pub open_requests: u32,
    /// The longest message.
    pub max_message: usize,
    /// The gate.
    pub gate: Gate,
    /// Told when the client has left and nothing is to be answered any more.
    pub left: oneshot::Sender<()>,
}

/// A notice of an upstream is recorded, or could not be: then there is no event.
#[derive(Message)]
#[rtype(result = "()")]
struct Noted {
    upstream: Arc<str>,
    bytes: usize,
    event: Option<Event>,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Fired(Timer, u64);

/// The wait for this question is over; answered with whether it was still open.
#[derive(Message)]
#[rtype(result = "()")]
struct Expired(u64);

/// Nobody waits for the answer to this question any more.
#[derive(Message)]
#[rtype(result = "()")]
struct GivenUp(u64);

/// Write out what is queued, and answer when that is done or cannot be done.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Flush;

/// What does the client call itself? The answer is hostile text; empty before the handshake.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "String")]
pub struct NameClient;

/// A call and its reply.
type Finished = (u64, Reply);

struct Question {
    asked: u64,
    reply: Option<oneshot::Sender<Answer>>,
    late: Option<Recipient<LateAnswer>>,
}

struct Open {
    upstream: Arc<str>,
    cancelled: Rc<Cell<bool>>,
}

/// Where others reach the session: every call needs one or the other.
struct Doors {
    asker: Asker,
    progress: Arc<Recipient<Progress>>,
}

impl Doors {
    fn of(me: &Addr<SessionActor>) -> Self {
        Self { asker: Arc::new(me.clone().recipient()), progress: Arc::new(me.clone().recipient()) }
    }
}

/// The actor.
pub struct SessionActor {
    id: SessionId,
    doors: Option<Doors>,
    session: Session,
    upstreams: BTreeMap<Arc<str>, Port>,
    gate: Rc<Gate>,
    stream: Stream,
    calls: BTreeMap<u64, Open>,
    questions: BTreeMap<u64, Question>,
    relaying: BTreeMap<u64, Relaying>,
    waiting: Waiting,
    /// Notices of upstreams that came, and those that were recorded.
    notices: u64,
    noted: u64,
    /// Calls that have ended, each with the notices that came before.
    finished: VecDeque<(u64, Finished)>,
    /// Calls on their way.
    under_way: Work<Finished>,
    timers: BTreeMap<Timer, u64>,
    next_timer: u64,
    left: Option<oneshot::Sender<()>>,
    has_ended: bool,
    commands: Vec<Command>,
}

/// How long a client that closed our stdin is still served what it asked before.
const DRAIN: Duration = Duration::from_millis(400);
/// How long the last lines may take to be written.
const LAST_WRITE: Duration = Duration::from_millis(300);
const MAILBOX: usize = 4096;
/// Characters of the name of a refused request that are recorded.
const NAMED: usize = 200;
/// Bytes that wait for the client when reports of progress are no longer added.
const UNREAD: usize = 1 << 20;

impl SessionActor {
    /// A session over these two streams.
    pub fn new(setting: Setting, reader: Reader, writer: Writer) -> Self {
        let lines = Lines::new(setting.max_message);
        Self {
            id: setting.session,
            doors: None,
            session: Session::new(
                setting.catalog,
                setting.list_wait,
                setting.advertised,
                setting.open_requests,
            ),
            upstreams: setting.upstreams,
            gate: Rc::new(setting.gate),
            stream: Stream { reader, writer: Outlet::new(writer), lines },
            calls: BTreeMap::new(),
            questions: BTreeMap::new(),
            relaying: BTreeMap::new(),
            waiting: Waiting::default(),
            notices: 0,
            noted: 0,
            finished: VecDeque::new(),
            under_way: Work::new(),
            timers: BTreeMap::new(),
            next_timer: 0,
            left: Some(setting.left),
            has_ended: false,
            commands: Vec::new(),
        }
    }

    fn event(&mut self, event: Event, ctx: &mut Context<Self>) {
        let mut commands = std::mem::take(&mut self.commands);
        self.session.step(event, &mut commands);
        for command in commands.drain(..) {
            self.act(command, ctx);
        }
        self.commands = commands;
        if self.has_ended && self.session.is_idle() {
            self.leave();
        }
    }

    fn act(&mut self, command: Command, ctx: &mut Context<Self>) {
        match command {
            Command::Send(line) => self.stream.writer.push(line),
            Command::Call { call, forward, arguments, offer } => {
                self.call(call, forward, arguments, offer, ctx);
            }
            Command::Cancel(call, reason) => self.cancel(call, reason),
            Command::Level(level) => {
                for upstream in self.upstreams.values() {
                    tell(&upstream.level, SetLevel { session: self.id, level });
                }
            }
            Command::Answered(question, said) => self.answered(question, said),
            Command::Relayed(id, body) => self.relayed(id, body),
            Command::RelayedProgress(id, params) => self.relayed_progress(id, params),
            Command::Meet(capabilities) => self.meet(&capabilities, ctx),
            Command::RootsChanged => self.roots_changed(),
            Command::Refused(name, why) => {
                let client = self.session.client().clone();
                let name = escaped(&name, NAMED);
                tell(&self.gate.refusal, RecordRefusal { session: self.id, client, name, why });
            }
            Command::Timer(timer, after) => self.set_timer(timer, after, ctx),
            Command::Note(text) => warn!("{text}"),
        }
    }

    fn call(
        &mut self,
        call: u64,
        forward: Forward,
        arguments: Option<bytes::Bytes>,
        offer: Offer,
        ctx: &mut Context<Self>,
    ) {
        let upstream = forward.tool.upstream.clone();
        let Some(port) = self.upstreams.get(&upstream).map(|port| port.call.clone()) else {
            let reply = Reply::Broken("the tool belongs to no server".to_owned());
            return self.event(Event::Finished(call, reply), ctx);
        };
        let doors = self.doors.get_or_insert_with(|| Doors::of(&ctx.address()));
        let has_token = forward.token.is_some();
        let judge = JudgeCall {
            session: self.id,
            call: CallNumber(call),
            client: self.session.client().clone(),
            method: forward.method,
            tool: forward.tool.clone(),
            arguments,
            asker: self.session.can_ask().then(|| Arc::clone(&doors.asker)),
            patience: if has_token { Patience::Long } else { Patience::Short },
        };
        let cancelled = Rc::new(Cell::new(false));
        self.calls.insert(call, Open { upstream, cancelled: cancelled.clone() });
        let progress = has_token.then(|| Arc::clone(&doors.progress));
        let modes = self.session.modes();
        let flight = Flight {
            gate: self.gate.clone(),
            judge,
            forward,
            offer,
            upstream: port,
            progress,
            cancelled,
            modes,
        };
        let panicked =
            Reply::Broken("Bouncer failed at this call; whether the server got it is unknown".to_owned());
        self.under_way.add(carry(flight).map(move |reply| (call, reply)), (call, panicked));
    }

    fn cancel(&mut self, call: u64, reason: Option<bytes::Bytes>) {
        let Some(open) = self.calls.remove(&call) else { return };
        open.cancelled.set(true);
        if let Some(upstream) = self.upstreams.get(&open.upstream) {
            let request = upstream.cancel.send(Cancel { session: self.id, call: CallNumber(call), reason });
            actix::spawn(async move {
                let _ = request.await;
            });
        }
    }

    fn answered(&mut self, question: u64, said: Said) {
        let Some(open) = self.questions.remove(&question) else { return };
        let answer = match said {
            Said::Accept(content) => Answer::Accept(content),
            Said::Decline => Answer::Decline,
            Said::Cancel => Answer::Cancel,
            Said::Gone => Answer::Gone,
        };
        match (open.reply, open.late) {
            (Some(reply), _) => {
                let _ = reply.send(answer);
            }
            (None, Some(late)) => tell(&late, LateAnswer { question: open.asked, answer }),
            (None, None) => {}
        }
    }

    fn set_timer(&mut self, timer: Timer, after: Duration, ctx: &Context<Self>) {
        self.next_timer += 1;
        let number = self.next_timer;
        self.timers.insert(timer, number);
        let me = ctx.address();
        actix::spawn(async move {
            tokio::time::sleep(after).await;
            let _ = me.send(Fired(timer, number)).await;
        });
    }

    /// Records what an upstream sent, then shows it.
    fn note(&mut self, notice: RecordNotice, event: Event, ctx: &Context<Self>) {
        let (upstream, bytes) = (notice.upstream.clone(), notice.message.len());
        if !self.waiting.admit(&upstream, bytes) {
            return;
        }
        self.notices += 1;
        let (gate, me) = (self.gate.clone(), ctx.address());
        // ORDER: recorded before seen; what cannot be recorded is not shown. It is shown through the
        // mailbox, since what an actor writes from a future of its own may lie unwritten until its next turn.
        actix::spawn(async move {
            let recorded = matches!(gate.notice.send(notice).await, Ok(Ok(())));
            let _ = me.send(Noted { upstream, bytes, event: recorded.then_some(event) }).await;
        });
    }

    /// Gives the replies whose turn it is.
    fn finish(&mut self, ctx: &mut Context<Self>) {
        // ORDER: what an upstream sent before its answer is shown before it.
        while self.finished.front().is_some_and(|(before, _)| *before <= self.noted) {
            let Some((_, (call, reply))) = self.finished.pop_front() else { return };
            self.calls.remove(&call);
            self.event(Event::Finished(call, reply), ctx);
        }
    }

    /// Says once that the client is gone. Questions end with it.
    fn leave(&mut self) {
        if let Some(left) = self.left.take() {
            let _ = left.send(());
        }
        self.questions.clear();
        self.relaying.clear();
        // An actor that holds its own address never ends for want of others.
        self.doors = None;
    }
}

impl Pumped for SessionActor {
    fn stream(&mut self, _generation: u64) -> Option<&mut Stream> {
        Some(&mut self.stream)
    }

    fn go_on(&mut self, ctx: &mut Context<Self>, cx: &mut task::Context<'_>) {
        while let Poll::Ready(Some(ended)) = self.under_way.poll_next(cx) {
            self.finished.push_back((self.notices, ended));
            self.finish(ctx);
        }
    }

    fn frame(&mut self, frame: Frame, ctx: &mut Context<Self>) {
        self.event(Event::Frame(frame), ctx);
    }

    fn ended(&mut self, ctx: &mut Context<Self>) {
        self.has_ended = true;
        for (_, question) in std::mem::take(&mut self.questions) {
            if let Some(reply) = question.reply {
                let _ = reply.send(Answer::Gone);
            }
        }
        if self.session.is_idle() {
            self.leave();
        } else {
            ctx.run_later(DRAIN, |this, _| this.leave());
        }
    }
}

impl Actor for SessionActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        for upstream in self.upstreams.values() {
            tell(&upstream.listen, Listen(ctx.address().recipient()));
            let request = upstream.watch.send(Watch(ctx.address().recipient()));
            actix::spawn(async move {
                let _ = request.await;
            });
        }
        ctx.spawn(Pump::new(0));
    }
}

impl Handler<Noted> for SessionActor {
    type Result = ();

    fn handle(&mut self, noted: Noted, ctx: &mut Self::Context) {
        let Noted { upstream, bytes, event } = noted;
        self.waiting.leave(&upstream, bytes);
        self.noted += 1;
        if let Some(event) = event {
            self.event(event, ctx);
        }
        self.finish(ctx);
    }
}

impl Handler<Fired> for SessionActor {
    type Result = ();

    fn handle(&mut self, Fired(timer, number): Fired, ctx: &mut Self::Context) {
        if self.timers.get(&timer) == Some(&number) {
            self.timers.remove(&timer);
            self.event(Event::Timer(timer), ctx);
        }
    }
}

impl Handler<UpstreamChanged> for SessionActor {
    type Result = ();

    fn handle(&mut self, message: UpstreamChanged, ctx: &mut Self::Context) {
        self.event(Event::Upstream(message.upstream, message.standing), ctx);
    }
}

impl Handler<Progress> for SessionActor {
    type Result = ();

    fn handle(&mut self, message: Progress, ctx: &mut Self::Context) {
        // A client that does not read has no use for more progress, nor has one that heard of the call's end.
        if self.stream.writer.queued() > UNREAD || !self.session.hears_progress(message.call.0) {
            return;
        }
        let notice = RecordNotice {
            upstream: message.upstream,
            call: message.call,
            source: Source::Notification,
            message: message.params.clone(),
        };
        self.note(notice, Event::Progress(message.call.0, message.params, message.token), ctx);
    }
}

impl Handler<Heard> for SessionActor {
    type Result = ();

    fn handle(&mut self, message: Heard, ctx: &mut Self::Context) {
        // A client that does not read has no use for more of them.
        if self.stream.writer.queued() > UNREAD {
            return;
        }
        let Heard { upstream, method, params } = message;
        let notice = RecordNotice {
            upstream: upstream.clone(),
            call: CallNumber(0),
            source: Source::Notification,
            message: params.clone().unwrap_or_default(),
        };
        self.note(notice, Event::Heard(upstream, method, params), ctx);
    }
}

impl Handler<Elicit> for SessionActor {
    type Result = ResponseFuture<Answer>;

    fn handle(&mut self, message: Elicit, ctx: &mut Self::Context) -> Self::Result {
        if self.has_ended {
            return Box::pin(async { Answer::Gone });
        }
        let (reply, answer) = oneshot::channel();
        let question = self.session.mint();
        self.questions
            .insert(question, Question { asked: message.question, reply: Some(reply), late: message.late });
        let ask =
            Event::Ask { question, call: message.call.0, message: message.message, schema: message.schema };
        self.event(ask, ctx);
        let me = ctx.address();
        let mut over = message.over;
        Box::pin(async move {
            let given_up = async {
                // Who cannot say that they gave up is still there.
                let is_over = match &mut over {
                    Some(over) => over.wait_for(|over| *over).await.is_ok(),
                    None => false,
                };
                if !is_over {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                answer = answer => answer.unwrap_or(Answer::Gone),
                () = tokio::time::sleep(message.wait) => {
                    let _ = me.send(Expired(question)).await;
                    Answer::TimedOut
                }
                () = given_up => {
                    let _ = me.send(GivenUp(question)).await;
                    Answer::Gone
                }
            }
        })
    }
}

impl Handler<Expired> for SessionActor {
    type Result = ();

    fn handle(&mut self, Expired(question): Expired, ctx: &mut Self::Context) {
        let Some(open) = self.questions.get_mut(&question) else { return };
        open.reply = None;
        if open.late.is_none() {
            self.questions.remove(&question);
            self.event(Event::Withdraw(question), ctx);
        }
    }
}

impl Handler<GivenUp> for SessionActor {
    type Result = ();

    fn handle(&mut self, GivenUp(question): GivenUp, ctx: &mut Self::Context) {
        if self.questions.remove(&question).is_some() {
            self.event(Event::Withdraw(question), ctx);
        }
    }
}

impl Handler<NameClient> for SessionActor {
    type Result = String;

    fn handle(&mut self, _: NameClient, _: &mut Self::Context) -> Self::Result {
        self.session.client().to_string()
    }
}

impl Handler<Flush> for SessionActor {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        Box::pin(LastWrite(Box::pin(tokio::time::sleep(LAST_WRITE))))
    }
}

/// Ends when nothing is left to write, or when the client does not read it in time.
struct LastWrite(Pin<Box<tokio::time::Sleep>>);

impl ActorFuture<SessionActor> for LastWrite {
    type Output = ();

    fn poll(
        mut self: Pin<&mut Self>,
        actor: &mut SessionActor,
        _: &mut Context<SessionActor>,
        cx: &mut task::Context<'_>,
    ) -> Poll<()> {
        if actor.stream.writer.poll_flush(cx).is_ready() { Poll::Ready(()) } else { self.0.as_mut().poll(cx) }
    }
}
