//! The taint actor: feeds the history and asks it.
//!
//! Indexing runs on a thread of its own, off the reply path. What is noted and what is asked travel
//! through one queue, so a trace waits for everything that was shown before it, and "recorded before
//! seen" holds without a lock. A thread that is gone answers nothing, and no answer is a deny.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use actix::prelude::*;
use bytes::Bytes;
use serde_json::Value;
use tokio::sync::oneshot;

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
    pub query: Query,
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
    backlog: Backlog,
    held: Vec<Work>,
    handover: Option<SpawnHandle>,
}

/// How long and how many are held. More at once means fewer wakes and warmer caches, and a large result is
/// on its way to the client before its indexing takes the processor. A question waits for nothing longer
/// than it would have waited anyway: it hands over what is held.
const HELD_FOR: Duration = Duration::from_millis(25);
const HELD: usize = 256;

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
        let backlog = Backlog::default();
        let left = backlog.clone();
        std::thread::Builder::new().name("provenance".to_owned()).spawn(move || {
            let mut history = History::new(limits, key);
            while let Ok(piece) = work.recv() {
                for work in piece {
                    step(&mut history, work, &left);
                }
            }
        })?;
        Ok(Self { queue, backlog, held: Vec::new(), handover: None })
    }

    /// What waits to be indexed.
    pub fn backlog(&self) -> Backlog {
        self.backlog.clone()
    }

    /// Holds a note; it is handed over soon.
    fn note(&mut self, work: Work, ctx: &mut Context<Self>) {
        self.held.push(work);
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
        self.held.push(work);
        self.hand_over(ctx);
    }

    fn hand_over(&mut self, ctx: &mut Context<Self>) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() && self.queue.send(held).is_err() {
            // FAIL CLOSED: a thread that is gone knows nothing any more. With the mailbox closed every call
            // is refused.
            ctx.stop();
        }
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
        self.backlog.add(bytes);
        self.note(Work::Shown(Box::new(msg)), ctx);
        if !self.backlog.is_full() {
            return Soon::Now(());
        }
        let backlog = self.backlog.clone();
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
    type Result = ResponseFuture<Result<Traced, TaintLost>>;

    fn handle(&mut self, msg: TraceCall, ctx: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        self.ask(Work::Trace(Box::new(msg), reply), ctx);
        Box::pin(async move { answer.await.map_err(|_| TaintLost) })
    }
}
