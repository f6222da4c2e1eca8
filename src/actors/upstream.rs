//! One upstream: its process, its link, the calls that wait for it.
//!
//! The actor only translates between `mcp::Link` and the world: it starts processes, moves bytes, runs
//! timers, and takes each listing to the gate before anyone hears of it (`upstream/lists.rs`). It may die
//! alone; a mailbox error ends the calls that asked it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use actix::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tracing::warn;

use super::messages::{CallNumber, Gate, SessionId};
use super::pump::{Outlet, Pump, Pumped, Stream};
use super::soon::Promise;
use crate::clock;
use crate::mcp::{
    Frame, Level, Lines, Link, LinkCommand as Command, LinkEvent as Event, LinkTimer as Timer, Outcome,
    Sampling, Standing, Terms, Wanted,
};
use crate::provenance::escaped;
use crate::transport::{Child, ErrorLog, Guardian, Launch, spawn};

mod asks;
mod lists;
mod port;

use asks::Asks;
use lists::Shelf;
pub use port::{Call, Cancel, Heard, Listen, Port, Progress, Remove, SetLevel, Stop, UpstreamChanged, Watch};

#[derive(Message)]
#[rtype(result = "()")]
struct Fired(Timer, u64);

/// A call took longer than calls may.
#[derive(Message)]
#[rtype(result = "()")]
struct Overdue(u64, Duration);

#[derive(Message)]
#[rtype(result = "()")]
struct Exited {
    generation: u64,
    how: String,
    last_words: String,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Started(OwnedSemaphorePermit);

/// What an upstream actor is told once.
pub struct Setting {
    /// Name, prefix and time limit.
    pub terms: Terms,
    /// How its process is started.
    pub launch: Launch,
    /// The longest message.
    pub max_message: usize,
    /// Different notes of it.
    pub log_lines: u32,
    /// How long a call may take; `None`: as long as the client waits.
    pub call_limit: Option<Duration>,
    /// Where its stderr goes.
    pub log: Option<PathBuf>,
    /// Whether it may use the client's model.
    pub sampling: Sampling,
    /// Whether a tool of this name exists for clients.
    pub admits: Box<dyn Fn(&str) -> bool>,
    /// Shared by all upstreams: how many may start at once.
    pub starts: Arc<Semaphore>,
    /// Knows what to end when we are killed.
    pub guardian: Rc<Guardian>,
    /// The gate.
    pub gate: Gate,
}

struct Waiter {
    reply: Promise<Outcome>,
    /// Ends the wait, where calls have a time limit.
    deadline: Option<JoinHandle<()>>,
    key: (SessionId, CallNumber),
    progress: Option<Arc<Recipient<Progress>>>,
    wanted: Wanted,
    /// Requests that the upstream made of the client while it ran.
    asked: u32,
}

/// The actor.
pub struct UpstreamActor {
    setting: Setting,
    link: Link,
    origin: Instant,
    standing: Standing,
    watchers: Vec<Recipient<UpstreamChanged>>,
    listeners: Vec<Recipient<Heard>>,
    shelf: Shelf,
    /// From which level on each session wants log messages.
    levels: BTreeMap<SessionId, Level>,
    stream: Option<Stream>,
    /// Dropped to end the process.
    life: Option<oneshot::Sender<()>>,
    /// Counts processes, so that news of an earlier one is told apart.
    generation: u64,
    waiters: BTreeMap<u64, Waiter>,
    keys: BTreeMap<(SessionId, CallNumber), u64>,
    /// Who hears of the progress of tasks.
    tasked: BTreeMap<u64, (CallNumber, Arc<Recipient<Progress>>)>,
    asks: Asks,
    timers: BTreeMap<Timer, u64>,
    next_timer: u64,
    permit: Option<OwnedSemaphorePermit>,
    stopping: Vec<oneshot::Sender<()>>,
    is_stopping: bool,
    /// How it stands is said for good.
    is_removed: bool,
    /// What the operator should know of the last end, beside what the model is told.
    detail: String,
    notes: BTreeSet<String>,
    commands: Vec<Command>,
}

/// A start that takes longer than this no longer keeps others from starting.
const START_SHARE: Duration = Duration::from_secs(10);
const MAILBOX: usize = 4096;
/// Tasks whose reports of progress are passed on.
const TASKED: usize = 1_024;
/// How many of the longest messages may wait for a server to read them.
const UNREAD: usize = 4;

impl UpstreamActor {
    /// An actor that starts its process when it is started.
    pub fn new(setting: Setting) -> Self {
        let link = Link::new(setting.terms.clone());
        Self {
            setting,
            link,
            origin: clock::instant(),
            standing: Standing::Starting,
            watchers: Vec::new(),
            listeners: Vec::new(),
            shelf: Shelf::default(),
            levels: BTreeMap::new(),
            stream: None,
            life: None,
            generation: 0,
            waiters: BTreeMap::new(),
            keys: BTreeMap::new(),
            tasked: BTreeMap::new(),
            asks: Asks::default(),
            timers: BTreeMap::new(),
            next_timer: 0,
            permit: None,
            stopping: Vec::new(),
            is_stopping: false,
            is_removed: false,
            detail: String::new(),
            notes: BTreeSet::new(),
            commands: Vec::new(),
        }
    }

    fn name(&self) -> &Arc<str> {
        &self.setting.terms.name
    }

    fn event(&mut self, event: Event, ctx: &mut Context<Self>) {
        let now = clock::instant().saturating_duration_since(self.origin);
        let mut commands = std::mem::take(&mut self.commands);
        self.link.step(now, event, &mut commands);
        for command in commands.drain(..) {
            self.act(command, ctx);
        }
        self.commands = commands;
    }

    fn act(&mut self, command: Command, ctx: &mut Context<Self>) {
        match command {
            Command::Write(line) => {
                let most = self.setting.max_message.saturating_mul(UNREAD);
                if let Some(stream) = &mut self.stream {
                    stream.writer.push(line);
                    if stream.writer.queued() > most {
                        self.note("it does not read what it is sent and is ended");
                        self.leave();
                    }
                }
            }
            Command::Done(id, outcome) => self.done(id, outcome),
            Command::Progress(id, params, token) => {
                let waiter = self.waiters.get(&id).map(|waiter| (waiter.key.1, waiter.progress.as_ref()));
                let tasked = || self.tasked.get(&id).map(|(call, progress)| (*call, Some(progress)));
                if let Some((call, Some(progress))) = waiter.or_else(tasked) {
                    let upstream = self.name().clone();
                    // A full mailbox loses a report of progress, nothing else.
                    let _ = progress.try_send(Progress { upstream, call, params, token });
                }
            }
            Command::Ask(request) => self.ask(request, ctx),
            Command::Unask(number, reason) => self.unask(number, reason),
            Command::Listed(listed) => self.listed(listed, ctx),
            Command::Entries(list, entries) => self.entries(list, entries, ctx),
            Command::Heard(method, params) => self.heard(&method, params.as_ref()),
            Command::Down(why) => self.down(&why),
            Command::Kill => self.leave(),
            Command::Open => self.ask_to_start(ctx),
            Command::Timer(timer, after) => self.set_timer(timer, after, ctx),
            Command::Note(text) => self.note(&text),
        }
    }

    /// Tells the operator something once. A hostile server has endless things to be said of it.
    fn note(&mut self, text: &str) {
        let most = usize::try_from(self.setting.log_lines).unwrap_or(usize::MAX);
        if self.notes.len() < most && self.notes.insert(text.to_owned()) {
            let last = if self.notes.len() == most {
                "; nothing more is said of it (`limits.log_lines` in the configuration)"
            } else {
                ""
            };
            warn!("upstream `{}`: {text}{last}", escaped(self.name(), 80));
        }
    }

    fn done(&mut self, id: u64, outcome: Outcome) {
        if let Some(waiter) = self.waiters.remove(&id) {
            self.keys.remove(&waiter.key);
            if let Some(deadline) = waiter.deadline {
                deadline.abort();
            }
            // A call that was answered with a task goes on to report progress.
            if waiter.wanted == Wanted::Task
                && let (Some(progress), Outcome::Result(_)) = (waiter.progress, &outcome)
            {
                if self.tasked.len() >= TASKED {
                    self.tasked.pop_first();
                }
                self.tasked.insert(id, (waiter.key.1, progress));
            }
            waiter.reply.keep(outcome);
        }
    }

    fn stand(&mut self, standing: Standing) {
        if self.is_removed {
            return;
        }
        self.standing = standing;
        self.watchers.retain(Recipient::connected);
        for watcher in &self.watchers {
            tell(watcher, UpstreamChanged { upstream: self.name().clone(), standing: self.standing.clone() });
        }
    }

    fn down(&mut self, why: &str) {
        let standing = Standing::Down(why.to_owned());
        // A server that fails again and again for one reason is told once.
        if self.standing != standing && !self.is_stopping {
            warn!("upstream `{}` is not available: {why}{}", escaped(self.name(), 80), self.detail);
        }
        self.stand(standing);
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

    /// Waits for its turn, so that many cold starts do not starve each other.
    fn ask_to_start(&mut self, ctx: &Context<Self>) {
        let starts = self.setting.starts.clone();
        let me = ctx.address();
        actix::spawn(async move {
            if let Ok(permit) = starts.acquire_owned().await {
                // Starting a process takes a millisecond or more; what clients sent goes first.
                tokio::task::yield_now().await;
                let _ = me.send(Started(permit)).await;
            }
        });
    }

    fn start(&mut self, permit: OwnedSemaphorePermit, ctx: &mut Context<Self>) {
        if self.is_stopping || self.stream.is_some() {
            return;
        }
        self.generation += 1;
        match spawn(&self.setting.launch) {
            Ok(child) => {
                self.permit = Some(permit);
                ctx.run_later(START_SHARE, |this, _| this.permit = None);
                self.attend(child, ctx);
                self.event(Event::Opened, ctx);
            }
            Err(fault) => {
                self.detail = format!("; {fault}");
                self.event(Event::Closed(fault.brief()), ctx);
            }
        }
    }

    fn attend(&mut self, child: Child, ctx: &mut Context<Self>) {
        let (life, stop) = oneshot::channel();
        let (reader, writer, mut errors, end) = child.split(stop, self.setting.guardian.clone());
        self.life = Some(life);
        self.stream =
            Some(Stream { reader, writer: Outlet::new(writer), lines: Lines::new(self.setting.max_message) });
        ctx.spawn(Pump::new(self.generation));
        let mut log = ErrorLog::open(self.setting.log.as_deref());
        let me = ctx.address();
        let generation = self.generation;
        actix::spawn(async move {
            let mut buffer = vec![0; 8192];
            let mut is_open = true;
            let mut end = std::pin::pin!(end);
            let how = loop {
                let read = std::future::poll_fn(|cx| errors.poll_read(cx, &mut buffer));
                tokio::select! {
                    biased;
                    read = read, if is_open => match read {
                        Ok(count) if count > 0 => log.write(buffer.get(..count).unwrap_or_default()),
                        _ => is_open = false,
                    },
                    how = &mut end => break how,
                }
            };
            let _ = me.send(Exited { generation, how, last_words: log.last_words() }).await;
        });
    }

    /// Asks the process to leave; [`Exited`] follows when it has.
    fn leave(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.writer.close();
        }
        self.life = None;
    }
}

/// Sends without waiting, and without losing the message when the mailbox is full.
pub(super) fn tell<M>(recipient: &Recipient<M>, message: M)
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    let request = recipient.send(message);
    actix::spawn(async move {
        let _ = request.await;
    });
}

impl Pumped for UpstreamActor {
    fn stream(&mut self, generation: u64) -> Option<&mut Stream> {
        if generation == self.generation { self.stream.as_mut() } else { None }
    }

    fn frame(&mut self, frame: Frame, ctx: &mut Context<Self>) {
        self.event(Event::Frame(frame), ctx);
    }

    fn ended(&mut self, _ctx: &mut Context<Self>) {
        // It closed its stdout: nothing more can come of it.
        self.leave();
    }
}

impl Actor for UpstreamActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.ask_to_start(ctx);
    }
}

impl Handler<Started> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, message: Started, ctx: &mut Self::Context) {
        self.start(message.0, ctx);
    }
}

impl Handler<Fired> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, Fired(timer, number): Fired, ctx: &mut Self::Context) {
        if self.timers.get(&timer) == Some(&number) {
            self.timers.remove(&timer);
            self.event(Event::Timer(timer), ctx);
        }
    }
}

impl Handler<Exited> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, message: Exited, ctx: &mut Self::Context) {
        if message.generation != self.generation {
            return;
        }
        // What it wrote before its end still counts.
        if let Some(mut stream) = self.stream.take() {
            let mut frames = Vec::new();
            let mut idle = std::task::Context::from_waker(std::task::Waker::noop());
            while let Poll::Ready(true) = stream.pull(&mut idle, |frame| frames.push(frame)) {}
            frames.extend(stream.lines.finish());
            for frame in frames {
                self.event(Event::Frame(frame), ctx);
            }
        }
        self.life = None;
        self.permit = None;
        self.detail = match message.last_words.as_str() {
            "" => String::new(),
            words => format!("; last on its stderr: {words}"),
        };
        self.event(Event::Closed(message.how), ctx);
        for stopped in self.stopping.drain(..) {
            let _ = stopped.send(());
        }
    }
}

impl Handler<Call> for UpstreamActor {
    type Result = Promise<Outcome>;

    fn handle(&mut self, message: Call, ctx: &mut Self::Context) -> Self::Result {
        let (reply, answer) = Promise::new();
        if self.is_stopping {
            reply.keep(Outcome::Lost("The server is being stopped.".to_owned()));
            return answer;
        }
        let key = (message.session, message.call);
        let id = self.link.mint();
        let deadline = self.setting.call_limit.map(|limit| {
            let me = ctx.address();
            actix::spawn(async move {
                tokio::time::sleep(limit).await;
                let _ = me.send(Overdue(id, limit)).await;
            })
        });
        let wanted = message.forward.wanted;
        let waiter = Waiter { reply, deadline, key, progress: message.progress, wanted, asked: 0 };
        self.waiters.insert(id, waiter);
        self.keys.insert(key, id);
        self.event(Event::Call(id, message.forward), ctx);
        answer
    }
}

impl Handler<Overdue> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, Overdue(id, limit): Overdue, ctx: &mut Self::Context) {
        if !self.waiters.contains_key(&id) {
            return;
        }
        let lost = format!(
            "The server did not answer within {} s (`call_timeout` in the configuration), so the outcome of this \
             call is unknown.",
            limit.as_secs()
        );
        self.done(id, Outcome::Lost(lost));
        self.event(Event::Cancel(id, None), ctx);
    }
}

impl Handler<Cancel> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, message: Cancel, ctx: &mut Self::Context) {
        if let Some(id) = self.keys.get(&(message.session, message.call)).copied() {
            self.event(Event::Cancel(id, message.reason), ctx);
        }
    }
}

impl Handler<Watch> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, Watch(watcher): Watch, _: &mut Self::Context) {
        tell(&watcher, UpstreamChanged { upstream: self.name().clone(), standing: self.standing.clone() });
        self.watchers.push(watcher);
    }
}

impl Handler<Listen> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, Listen(listener): Listen, _: &mut Self::Context) {
        self.listeners.push(listener);
    }
}

impl Handler<SetLevel> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, message: SetLevel, ctx: &mut Self::Context) {
        self.levels.insert(message.session, message.level);
        // Sessions share the process, so it is asked for what the most curious of them wants.
        if let Some(level) = self.levels.values().min().copied() {
            self.event(Event::Level(level), ctx);
        }
    }
}

impl Handler<Remove> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, _: Remove, _: &mut Self::Context) {
        self.stand(Standing::Ready(Arc::default()));
        (self.is_stopping, self.is_removed) = (true, true);
        self.leave();
    }
}

impl Handler<Stop> for UpstreamActor {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Stop, _: &mut Self::Context) -> Self::Result {
        self.is_stopping = true;
        if self.stream.is_none() {
            return Box::pin(async {});
        }
        self.leave();
        let (stopped, gone) = oneshot::channel();
        self.stopping.push(stopped);
        Box::pin(async move {
            let _ = gone.await;
        })
    }
}
