//! The taint actor: feeds the history and asks it.
//!
//! Indexing runs on a thread of its own, off the reply path. What is noted and what is asked travel
//! through one queue, so a trace waits for everything that was shown before it. Where the thread has
//! nothing to do and little is to be done, the actor does it itself: waking a thread and being woken by
//! it costs more than a small call. A thread that is gone answers nothing, and no answer is a deny.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use actix::prelude::*;
use bytes::Bytes;
use serde_json::Value;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::soon::Soon;
use crate::policy::{History, Making, OwnPlace, Query, Shown, SpentSum, Traced};
use crate::provenance::{Limits, Origin, Sent, Source, Vouched};

/// How often, and how often at most, a held back result looks again.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: u32 = 6_000;

/// Bytes that wait to be indexed.
#[derive(Debug, Clone, Default)]
pub struct Backlog(Arc<AtomicUsize>);

impl Backlog {
    /// Bytes that may wait before results are held back.
    const MOST: usize = 128 * 1024 * 1024;

    /// Whether results are to be held back.
    pub fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed) > Self::MOST
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    fn take(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What a call sends, noted before it is forwarded. Needs no answer: what is noted or asked later stands
/// behind it, and an actor whose thread is gone takes no messages.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct NoteSent {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// The tool's own name.
    pub tool: Arc<str>,
    /// The session's number of the call.
    pub call: u64,
    /// The arguments.
    pub arguments: Arc<Value>,
    /// Whether everything in them was vouched for.
    pub vouched: Vouched,
    /// The typed sums that vouched for what it pays: they are spent.
    pub spends: Vec<SpentSum>,
    /// Where it goes, and the ids that it is about.
    pub making: Arc<Making>,
}

/// What an upstream put before the model. Answered when it is queued, not when it is indexed, and only
/// once the [`Backlog`] is not full.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct NoteShown {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// The tool whose result it is; `None` for listings and the like.
    pub tool: Option<Arc<str>>,
    /// The session's number of the call; 0 where there is none.
    pub call: u64,
    /// What it is.
    pub source: Source,
    /// The raw JSON.
    pub message: Bytes,
    /// The own-data fields that policy declares for the tool.
    pub own_data: Arc<[OwnPlace]>,
    /// The arguments of the call, for a result.
    pub arguments: Option<Arc<Value>>,
    /// What the call made, and for whom.
    pub making: Arc<Making>,
    /// Whether a human's answer let the call pass.
    pub granted: Vouched,
}

/// What the user said. Answered when it is stored.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), TaintLost>")]
pub struct NotePrompt {
    /// The text.
    pub text: String,
    /// Who wrote it.
    pub origin: Origin,
}

/// What is known about a call?
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Traced, TaintLost>")]
pub struct TraceCall {
    /// What is asked.
    pub query: Arc<Query>,
    /// The arguments.
    pub arguments: Arc<Value>,
}

/// The index is gone: nothing can be traced any more, so nothing may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the provenance index is gone")]
pub struct TaintLost;

enum Work {
    Sent(NoteSent),
    Shown(Box<NoteShown>),
    Prompt(NotePrompt, oneshot::Sender<()>),
    Trace(Box<TraceCall>, oneshot::Sender<Traced>),
}

/// Feeds the indexing thread.
///
/// What is noted is held here for a moment and handed over in one piece, because waking the thread for
/// every note would cost the reply path more than the note itself. A question hands over at once what
/// stands before it, so the order in which the thread sees everything is that of the mailbox.
pub struct TaintActor {
    queue: mpsc::Sender<Vec<Work>>,
    shared: Arc<Indexed>,
    held: Vec<Work>,
    /// Bytes of messages, arguments and prompts that are held.
    bytes: usize,
    handover: Option<SpawnHandle>,
}

/// The history, and what is on its way into it.
struct Indexed {
    history: Mutex<History>,
    backlog: Backlog,
    /// Pieces that were handed over and are not yet worked off. Only the actor hands over, so it may work
    /// itself while there are none, and the order stays that of the mailbox.
    pieces: AtomicUsize,
    /// Bytes of the history.
    size: AtomicUsize,
}

impl Indexed {
    /// Works off a piece.
    ///
    /// FAIL CLOSED: a history that somebody panicked over is never asked again; its lock stays poisoned.
    fn work_off(&self, piece: Vec<Work>) -> Result<(), TaintLost> {
        let mut history = self.history.lock().map_err(|_| TaintLost)?;
        for work in piece {
            step(&mut history, work, &self.backlog);
        }
        self.size.store(history.bytes(), Ordering::Relaxed);
        Ok(())
    }
}

/// How long and how many are held. More at once means fewer wakes and warmer caches, and a large result is
/// on its way to the client before its indexing takes the processor. A question waits for nothing longer
/// than it would have waited anyway: it hands over what is held.
const HELD_FOR: Duration = Duration::from_millis(25);
const HELD: usize = 256;

/// Bytes that are worked off without the thread, where a question waits for them: some ten microseconds a
/// kilobyte.
const LITTLE: usize = 4 * 1024;
/// Bytes of a history that a question reads in a few milliseconds at the very worst. Beyond it the thread is
/// asked, because everything else stands still while the actor works.
const SHORT: usize = 2 * 1024 * 1024;

impl TaintActor {
    /// Starts the indexing thread.
    ///
    /// # Errors
    ///
    /// The system gives no thread or no randomness.
    pub fn start_thread(limits: Limits) -> std::io::Result<Self> {
        let mut key = [0_u8; 16];
        getrandom::fill(&mut key).map_err(|error| std::io::Error::other(error.to_string()))?;
        let (queue, work) = mpsc::channel();
        let shared = Arc::new(Indexed {
            history: Mutex::new(History::new(limits, key)),
            backlog: Backlog::default(),
            pieces: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
        });
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new().name("provenance".to_owned()).spawn(move || {
            while let Ok(piece) = work.recv() {
                if theirs.work_off(piece).is_err() {
                    return;
                }
                theirs.pieces.fetch_sub(1, Ordering::Release);
            }
        })?;
        Ok(Self { queue, shared, held: Vec::new(), bytes: 0, handover: None })
    }

    /// What waits to be indexed.
    pub fn backlog(&self) -> Backlog {
        self.shared.backlog.clone()
    }

    fn hold(&mut self, work: Work) {
        self.bytes = self.bytes.saturating_add(work.bytes());
        self.held.push(work);
    }

    /// Holds a note; it is handed over soon.
    fn note(&mut self, work: Work, ctx: &mut Context<Self>) {
        self.hold(work);
        if self.held.len() >= HELD {
            self.hand_over(ctx);
        } else if self.handover.is_none() {
            self.handover = Some(ctx.run_later(HELD_FOR, |actor, ctx| {
                actor.handover = None;
                actor.hand_over(ctx);
            }));
        }
    }

    /// Asks something; everything noted before goes first.
    fn ask(&mut self, work: Work, ctx: &mut Context<Self>) {
        self.hold(work);
        let idle = self.shared.pieces.load(Ordering::Acquire) == 0;
        if !idle || self.bytes > LITTLE || self.shared.size.load(Ordering::Relaxed) > SHORT {
            return self.hand_over(ctx);
        }
        self.bytes = 0;
        let held = std::mem::take(&mut self.held);
        if !matches!(catch_unwind(AssertUnwindSafe(|| self.shared.work_off(held))), Ok(Ok(()))) {
            // FAIL CLOSED: an index that is gone knows nothing any more. With the mailbox closed every call is
            // refused.
            ctx.stop();
        }
    }

    fn hand_over(&mut self, ctx: &mut Context<Self>) {
        self.bytes = 0;
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        self.shared.pieces.fetch_add(1, Ordering::Relaxed);
        if self.queue.send(held).is_err() {
            // FAIL CLOSED: as above.
            ctx.stop();
        }
    }
}

impl Work {
    /// About how much there is to read, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Sent(sent) => text_of(&sent.arguments),
            Self::Shown(shown) => shown.message.len(),
            Self::Prompt(prompt, _) => prompt.text.len(),
            Self::Trace(call, _) => text_of(&call.arguments),
        }
    }
}

/// Bytes of the texts, names and numbers in a value.
fn text_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_of).sum::<usize>() + items.len(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + text_of(value)).sum(),
        _ => 8,
    }
}

fn step(history: &mut History, work: Work, left: &Backlog) {
    match work {
        Work::Sent(sent) => {
            history.sent(&Sent {
                upstream: &sent.upstream,
                tool: &sent.tool,
                call: sent.call,
                arguments: &sent.arguments,
                vouched: sent.vouched,
            });
            history.spent(&sent.spends);
            history.goes(&sent.upstream, &sent.making);
        }
        Work::Shown(shown) => {
            history.shown(&Shown {
                upstream: &shown.upstream,
                tool: shown.tool.as_deref(),
                call: shown.call,
                source: shown.source,
                message: &shown.message,
                own_data: &shown.own_data,
                arguments: shown.arguments.as_deref(),
                making: &shown.making,
                granted: shown.granted,
            });
            left.take(shown.message.len());
        }
        Work::Prompt(prompt, reply) => {
            history.prompt(&prompt.text, prompt.origin);
            // A caller that is gone needs no answer, here and below.
            let _ = reply.send(());
        }
        // Who waits no longer was refused.
        Work::Trace(_, reply) if reply.is_closed() => {}
        Work::Trace(call, reply) => drop(reply.send(history.trace(&call.query, &call.arguments))),
    }
}

impl Actor for TaintActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(4_096);
    }
}

impl Handler<NoteSent> for TaintActor {
    type Result = ();

    fn handle(&mut self, msg: NoteSent, ctx: &mut Self::Context) {
        self.note(Work::Sent(msg), ctx);
    }
}

impl Handler<NoteShown> for TaintActor {
    type Result = Soon<Self, ()>;

    fn handle(&mut self, msg: NoteShown, ctx: &mut Self::Context) -> Self::Result {
        let bytes = msg.message.len();
        self.shared.backlog.add(bytes);
        self.note(Work::Shown(Box::new(msg)), ctx);
        if !self.shared.backlog.is_full() {
            return Soon::Now(());
        }
        let backlog = self.backlog();
        // A flood of results is slowed down to the speed of indexing instead of growing memory.
        let wait = async move {
            for _ in 0..LOOKS {
                tokio::time::sleep(LOOK).await;
                if !backlog.is_full() {
                    break;
                }
            }
        };
        Soon::Later(Box::pin(wait.into_actor(self)))
    }
}

impl Handler<NotePrompt> for TaintActor {
    type Result = ResponseFuture<Result<(), TaintLost>>;

    fn handle(&mut self, msg: NotePrompt, ctx: &mut Self::Context) -> Self::Result {
        let (reply, done) = oneshot::channel();
        self.ask(Work::Prompt(msg, reply), ctx);
        Box::pin(async move { done.await.map_err(|_| TaintLost) })
    }
}

impl Handler<TraceCall> for TaintActor {
    type Result = Soon<Self, Result<Traced, TaintLost>>;

    fn handle(&mut self, msg: TraceCall, ctx: &mut Self::Context) -> Self::Result {
        let (reply, mut answer) = oneshot::channel();
        self.ask(Work::Trace(Box::new(msg), reply), ctx);
        match answer.try_recv() {
            Ok(traced) => Soon::Now(Ok(traced)),
            Err(TryRecvError::Closed) => Soon::Now(Err(TaintLost)),
            Err(TryRecvError::Empty) => {
                let wait = async move { answer.await.map_err(|_| TaintLost) };
                Soon::Later(Box::pin(wait.into_actor(self)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Content, Effect};
    use crate::provenance::{Standing, extract};

    fn asked(to: &str, extra: usize) -> TraceCall {
        let arguments = serde_json::json!({"to": to, "body": "b".repeat(extra)});
        let destinations = extract(&arguments, &|path| match path {
            "to" => Standing::Authority(None),
            _ => Standing::Ignored,
        });
        let query = Query {
            upstream: "mail".to_owned(),
            effect: Effect::Send,
            besides: Vec::new(),
            drafts: false,
            object: None,
            destinations: destinations.destinations,
            targets: Vec::new(),
            about: Vec::new(),
            commands: Vec::new(),
            amounts: Vec::new(),
            content: Content::Left,
        };
        TraceCall { query: Arc::new(query), arguments: Arc::new(arguments) }
    }

    fn shown(address: &str, length: usize) -> NoteShown {
        let text = format!("{address} {}", "w ".repeat(length / 2));
        NoteShown {
            upstream: "web".into(),
            tool: None,
            call: 0,
            source: Source::Result,
            message: serde_json::json!({ "text": text }).to_string().into(),
            own_data: Arc::new([]),
            arguments: None,
            making: Arc::default(),
            granted: Vouched::No,
        }
    }

    #[actix::test]
    async fn a_question_sees_all_before_it_whoever_indexes() {
        let taint = TaintActor::start_thread(Limits::default()).unwrap().start();
        // Small and large ones by turns, so that the thread is at work when a small question comes.
        for (round, length) in
            [10, 20_000, 10, 3_000, 3_000, 200_000, 10, 3_000_000, 10, 10].into_iter().enumerate()
        {
            for extra in [0, 10_000, 0] {
                let address = format!("drop{round}x{extra}@evil.test");
                taint.try_send(shown(&address, length)).unwrap();
                let traced = taint.send(asked(&address, extra)).await.unwrap().unwrap();
                let found = traced.destinations.first().is_some_and(|found| !found.trace.places.is_empty());
                assert!(found, "{round} {extra}");
            }
        }
    }

    #[actix::test]
    async fn whom_a_call_goes_to_is_known_when_it_is_sent() {
        let taint = TaintActor::start_thread(Limits::default()).unwrap().start();
        let to = asked("eve@outside.test", 0).query.destinations.clone();
        let making = Making { to, on: vec!["dr-44x".to_owned()], ..Making::default() };
        let sent = NoteSent {
            upstream: "mail".into(),
            tool: "update_draft".into(),
            call: 1,
            arguments: Arc::new(serde_json::json!({"draft_id": "dr-44x", "to": "eve@outside.test"})),
            vouched: Vouched::Yes,
            spends: Vec::new(),
            making: Arc::new(making),
        };
        taint.try_send(sent).unwrap();
        let arguments = serde_json::json!({"draft_id": "dr-44x"});
        let mut send = asked("", 0);
        Arc::make_mut(&mut send.query).destinations =
            extract(&arguments, &|_| Standing::Authority(None)).destinations;
        send.arguments = Arc::new(arguments);
        let traced = taint.send(send).await.unwrap().unwrap();
        let texts: Vec<&str> = traced.destinations.iter().map(|it| it.destination.text.as_str()).collect();
        assert_eq!(texts, ["dr-44x", "eve@outside.test"]);
    }

    #[actix::test]
    async fn a_history_that_somebody_panicked_over_answers_nothing() {
        let actor = TaintActor::start_thread(Limits::default()).unwrap();
        let shared = Arc::clone(&actor.shared);
        let taint = actor.start();
        assert!(taint.send(asked("a@b.test", 0)).await.unwrap().is_ok());
        std::thread::spawn(move || {
            let _held = shared.history.lock();
            panic!("for the test");
        })
        .join()
        .unwrap_err();
        assert_eq!(taint.send(asked("a@b.test", 0)).await.unwrap().unwrap_err(), TaintLost);
        assert!(taint.send(asked("a@b.test", 0)).await.is_err());
    }
}
