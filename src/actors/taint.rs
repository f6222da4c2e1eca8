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

use crate::policy::{Creates, History, OwnPlace, Query, Shown, Traced};
use crate::provenance::{Limits, Origin, Sent, Source, Vouched};

/// Bytes that may wait to be indexed before results are held back.
const BACKLOG: usize = 128 * 1024 * 1024;
/// How often, and how often at most, a held back result looks again.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: u32 = 6_000;

/// What a call sends, noted before it is forwarded.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), TaintLost>")]
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
}

/// What an upstream put before the model. Answered when it is queued, not when it is indexed.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<(), TaintLost>")]
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
    /// Whether the call made something whose id is the user's own at that upstream.
    pub creates: Creates,
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
    backlog: Arc<AtomicUsize>,
    held: Vec<Work>,
    handover: Option<SpawnHandle>,
    /// Whether the thread was found gone.
    lost: bool,
}

/// How long and how much is held.
const HELD_FOR: Duration = Duration::from_millis(2);
const HELD: usize = 64;

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
        let backlog = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&backlog);
        std::thread::Builder::new().name("provenance".to_owned()).spawn(move || {
            let mut history = History::new(limits, key);
            while let Ok(piece) = work.recv() {
                for work in piece {
                    step(&mut history, work, &left);
                }
            }
        })?;
        Ok(Self { queue, backlog, held: Vec::new(), handover: None, lost: false })
    }

    /// Holds a note; it is handed over soon.
    fn note(&mut self, work: Work, ctx: &mut Context<Self>) -> Result<(), TaintLost> {
        self.held.push(work);
        if self.held.len() >= HELD {
            return self.hand_over();
        }
        if self.handover.is_none() {
            self.handover = Some(ctx.run_later(HELD_FOR, |actor, _| {
                actor.handover = None;
                // FAIL CLOSED: a thread that is gone is remembered, and every later note says so.
                let _ = actor.hand_over();
            }));
        }
        if self.lost { Err(TaintLost) } else { Ok(()) }
    }

    /// Asks something; everything noted before goes first.
    fn ask(&mut self, work: Work) -> Result<(), TaintLost> {
        self.held.push(work);
        self.hand_over()
    }

    fn hand_over(&mut self) -> Result<(), TaintLost> {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() && self.queue.send(held).is_err() {
            self.lost = true;
        }
        if self.lost { Err(TaintLost) } else { Ok(()) }
    }
}

fn step(history: &mut History, work: Work, left: &AtomicUsize) {
    match work {
        Work::Sent(sent) => history.sent(&Sent {
            upstream: &sent.upstream,
            tool: &sent.tool,
            call: sent.call,
            arguments: &sent.arguments,
            vouched: sent.vouched,
        }),
        Work::Shown(shown) => {
            history.shown(&Shown {
                upstream: &shown.upstream,
                tool: shown.tool.as_deref(),
                call: shown.call,
                source: shown.source,
                message: &shown.message,
                own_data: &shown.own_data,
                arguments: shown.arguments.as_deref(),
                creates: shown.creates,
                granted: shown.granted,
            });
            left.fetch_sub(shown.message.len(), Ordering::Relaxed);
        }
        Work::Prompt(prompt, reply) => {
            history.prompt(&prompt.text, prompt.origin);
            // A caller that is gone needs no answer, here and below.
            let _ = reply.send(());
        }
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
    type Result = Result<(), TaintLost>;

    fn handle(&mut self, msg: NoteSent, ctx: &mut Self::Context) -> Self::Result {
        self.note(Work::Sent(msg), ctx)
    }
}

impl Handler<NoteShown> for TaintActor {
    type Result = ResponseFuture<Result<(), TaintLost>>;

    fn handle(&mut self, msg: NoteShown, ctx: &mut Self::Context) -> Self::Result {
        let waiting = self.backlog.fetch_add(msg.message.len(), Ordering::Relaxed);
        let sent = self.note(Work::Shown(Box::new(msg)), ctx);
        let backlog = Arc::clone(&self.backlog);
        Box::pin(async move {
            if sent.is_ok() && waiting > BACKLOG {
                // A flood of results is slowed down to the speed of indexing instead of growing memory.
                for _ in 0..LOOKS {
                    tokio::time::sleep(LOOK).await;
                    if backlog.load(Ordering::Relaxed) <= BACKLOG {
                        return sent;
                    }
                }
                return Err(TaintLost);
            }
            sent
        })
    }
}

impl Handler<NotePrompt> for TaintActor {
    type Result = ResponseFuture<Result<(), TaintLost>>;

    fn handle(&mut self, msg: NotePrompt, _: &mut Self::Context) -> Self::Result {
        let (reply, done) = oneshot::channel();
        let sent = self.ask(Work::Prompt(msg, reply));
        Box::pin(async move {
            sent?;
            done.await.map_err(|_| TaintLost)
        })
    }
}

impl Handler<TraceCall> for TaintActor {
    type Result = ResponseFuture<Result<Traced, TaintLost>>;

    fn handle(&mut self, msg: TraceCall, _: &mut Self::Context) -> Self::Result {
        let (reply, answer) = oneshot::channel();
        let sent = self.ask(Work::Trace(Box::new(msg), reply));
        Box::pin(async move {
            sent?;
            answer.await.map_err(|_| TaintLost)
        })
    }
}
