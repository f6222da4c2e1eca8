//! The seam between the relay and the gate: what a session tells the shared actors, and what they
//! may ask of a session.
//!
//! The relay owns bytes and ids, the gate owns verdicts; neither knows more of the other than these
//! messages. Payloads cross as [`Bytes`] slices of the line they came in, so handing one over costs
//! a reference count. Every question here fails closed: a mailbox error of [`JudgeCall`] is a
//! refusal, of [`RecordOutput`] a withheld result, of [`RecordListing`] a listing that is not shown; so is
//! the answer [`NotRecorded`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix::{Message, Recipient};
use bytes::Bytes;
use tokio::sync::watch;

use super::reverse::RelayedAnswer;
use crate::mcp::{Capabilities, Method, Modes, Reverse, Tool};
use crate::provenance::Source;

/// A client session, unique within the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The session's number of a `tools/call`, counted from 1 in order of arrival, refused ones too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallNumber(pub u64);

impl fmt::Display for CallNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The gate's own number of a call it let through; it comes back with the call's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// How long the client will wait for an answer to this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// The call carried no progress token: most clients give up after 60 s.
    Short,
    /// The call carried a progress token, so the session reports progress while a question is open.
    Long,
}

/// May this request be forwarded? Answered once for each `tools/call` whose tool is in the catalogue, and
/// for each other request that goes on to an upstream.
#[derive(Debug, Clone)]
pub struct JudgeCall {
    /// The session that calls.
    pub session: SessionId,
    /// Its number of this call.
    pub call: CallNumber,
    /// `clientInfo.name` as the client gave it: hostile text, escape before showing.
    pub client: Arc<str>,
    /// What is asked.
    pub method: Method,
    /// The tool, with its upstream and its entry exactly as the upstream listed it; for any other
    /// request what stands for it, with the upstream.
    pub tool: Arc<Tool>,
    /// What is judged, as raw JSON of any form: `params.arguments` of a tool, the params without `_meta`
    /// of any other request; `None` when absent. Holds no duplicate keys.
    pub arguments: Option<Bytes>,
    /// Who can put a question to the human; `None` when the client did not declare form elicitation.
    pub asker: Option<Asker>,
    /// How long a question may stay open.
    pub patience: Patience,
}

/// The answer to [`JudgeCall`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The verdict is recorded: send the call, and report its outcome under this ticket.
    Forward {
        /// The gate's number of the call.
        ticket: Ticket,
    },
    /// The call is not sent. The client gets this text in a result with `isError: true`.
    Refuse {
        /// The whole text, `[bouncer blocked] …`.
        text: String,
    },
}

impl Message for JudgeCall {
    type Result = Judgement;
}

/// How a forwarded call ended.
#[derive(Debug, Clone)]
pub enum CallOutcome {
    /// The raw `result` object, to be recorded before the client sees it.
    Result(Bytes),
    /// The raw `error` object of the upstream: hostile text, recorded like a result.
    Error(Bytes),
    /// The client cancelled it; whatever the upstream still answers is dropped.
    Cancelled,
    /// No usable answer came (crash, time limit, over-long or malformed answer). Our own words,
    /// without upstream text.
    Lost(String),
}

/// A forwarded call has ended. Awaited before the reply goes to the client.
#[derive(Debug, Clone)]
pub struct RecordOutput {
    /// The session that called.
    pub session: SessionId,
    /// Its number of the call.
    pub call: CallNumber,
    /// The ticket of the call's [`Judgement::Forward`].
    pub ticket: Ticket,
    /// The tool that was called.
    pub tool: Arc<Tool>,
    /// The upstream's id of the task that the answer names, where one was asked for: the call's result is
    /// still to come.
    pub task: Option<Arc<str>>,
    /// What came of it.
    pub outcome: CallOutcome,
    /// From handing the call to the upstream to its end.
    pub latency: Duration,
    /// Bytes of the message sent to the upstream.
    pub sent: usize,
}

/// It is not recorded, so nobody may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it could not be recorded")]
pub struct NotRecorded;

impl Message for RecordOutput {
    type Result = Result<(), NotRecorded>;
}

/// A `tools/call` that never came to a judgement: an unknown name, duplicate keys, a null id.
#[derive(Debug, Clone)]
pub struct RecordRefusal {
    /// The session that called.
    pub session: SessionId,
    /// `clientInfo.name`: hostile text.
    pub client: Arc<str>,
    /// The name or uri asked for, as far as it was read: escaped and cut.
    pub name: String,
    /// Why it was refused, in our own words.
    pub why: String,
}

impl Message for RecordRefusal {
    type Result = ();
}

/// An upstream has listed its tools, for the first time or after a change. Awaited before any
/// session shows the list.
#[derive(Debug, Clone)]
pub struct RecordListing {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// The entries as raw JSON objects in the order listed, each name once.
    pub tools: Vec<Arc<Tool>>,
    /// `instructions` of the handshake, decoded: hostile text.
    pub instructions: Option<String>,
    /// Raw `serverInfo` of the handshake: hostile text.
    pub server_info: Option<Bytes>,
    /// What it declared.
    pub capabilities: Capabilities,
}

/// The answer to [`RecordListing`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admission {
    /// Tools, by their own names, that are not shown, each with the reason for the operator. A call
    /// to one still comes as [`JudgeCall`], so that it gets the gate's own words, and is never sent.
    pub withheld: BTreeMap<Arc<str>, String>,
    /// Those of them whose description alone changed, with the description of before: a client that
    /// can ask is shown that one, and its first call asks about the new words.
    pub reworded: BTreeMap<Arc<str>, String>,
}

impl Message for RecordListing {
    type Result = Result<Admission, NotRecorded>;
}

/// What is withheld of an upstream's last listing now? A person may have accepted it meanwhile.
#[derive(Debug, Clone)]
pub struct AdmitAgain {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
}

impl Message for AdmitAgain {
    /// `None` for an upstream that has not listed.
    type Result = Option<Admission>;
}

/// Who puts questions to the human behind a session. Shared, because every call carries it and hardly one
/// asks.
pub(super) type Asker = Arc<Recipient<Elicit>>;

/// Put a question to the human behind a session (`elicitation/create`, form mode).
#[derive(Debug, Clone)]
pub struct Elicit {
    /// The asker's own number of the question; comes back in [`LateAnswer`].
    pub question: u64,
    /// The call that waits for the answer: progress is reported for it, and cancelling it closes
    /// the question with [`Answer::Gone`].
    pub call: CallNumber,
    /// The text shown.
    pub message: String,
    /// `requestedSchema`.
    pub schema: serde_json::Value,
    /// How long to wait before [`Answer::TimedOut`].
    pub wait: Duration,
    /// Who hears an answer that comes after the wait. `None`: the question is withdrawn instead.
    pub late: Option<Recipient<LateAnswer>>,
    /// Becomes true when nobody waits any more: then the question is withdrawn, with [`Answer::Gone`].
    pub over: Option<watch::Receiver<bool>>,
}

/// The answer to [`Elicit`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// `action: accept` with this `content`; `Null` where it was absent.
    Accept(serde_json::Value),
    /// `action: decline`, or any action that the protocol does not know.
    Decline,
    /// `action: cancel`, or an error instead of an answer.
    Cancel,
    /// Nothing came in time.
    TimedOut,
    /// The call was cancelled or the client left.
    Gone,
}

impl Message for Elicit {
    type Result = Answer;
}

/// An answer that came after [`Answer::TimedOut`] was given.
#[derive(Debug, Clone)]
pub struct LateAnswer {
    /// [`Elicit::question`].
    pub question: u64,
    /// The answer; never `TimedOut`.
    pub answer: Answer,
}

impl Message for LateAnswer {
    type Result = ();
}

/// Text of an upstream that is about to be passed on and is no answer to a call: progress, log messages,
/// lists. It reaches the model as surely as a result does. Awaited before the client sees it.
#[derive(Debug, Clone)]
pub struct RecordNotice {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// The session's number of the call it is about; 0 where it is about none.
    pub call: CallNumber,
    /// What it is.
    pub source: Source,
    /// The raw JSON.
    pub message: Bytes,
}

impl Message for RecordNotice {
    type Result = Result<(), NotRecorded>;
}

/// An upstream asks something of the client while its call runs. May the client see it?
#[derive(Debug, Clone)]
pub struct JudgeAsk {
    /// The session whose call runs.
    pub session: SessionId,
    /// Its number of the call.
    pub call: CallNumber,
    /// `clientInfo.name`: hostile text.
    pub client: Arc<str>,
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// What is asked.
    pub reverse: Reverse,
    /// How the human may be asked.
    pub modes: Modes,
    /// The raw params: hostile text.
    pub params: Bytes,
    /// Who can put a question of our own to the human.
    pub asker: Option<Asker>,
    /// How long such a question may stay open.
    pub patience: Patience,
    /// Becomes true when nobody waits for the answer any more.
    pub over: watch::Receiver<bool>,
}

/// The answer to [`JudgeAsk`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskJudgement {
    /// It is recorded, and goes to the client.
    Pass {
        /// The params as the client gets them.
        params: Bytes,
    },
    /// It does not. The upstream gets this error.
    Refuse {
        /// JSON-RPC code.
        code: i32,
        /// Why, in our own words.
        why: String,
    },
}

impl Message for JudgeAsk {
    type Result = AskJudgement;
}

/// The client has answered. May the upstream see the answer? Asked once for each [`AskJudgement::Pass`].
#[derive(Debug, Clone)]
pub struct JudgeAnswer {
    /// The session that was asked.
    pub session: SessionId,
    /// Its number of the call.
    pub call: CallNumber,
    /// `clientInfo.name`: hostile text.
    pub client: Arc<str>,
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// What was asked.
    pub reverse: Reverse,
    /// What came.
    pub answer: RelayedAnswer,
    /// Who can put a question of our own to the human.
    pub asker: Option<Asker>,
    /// How long such a question may stay open.
    pub patience: Patience,
    /// Becomes true when nobody waits for it any more.
    pub over: watch::Receiver<bool>,
}

/// The answer to [`JudgeAnswer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerJudgement {
    /// It is recorded, and goes to the upstream.
    Pass,
    /// It does not. The upstream gets this error.
    Refuse {
        /// JSON-RPC code.
        code: i32,
        /// Why, in our own words.
        why: String,
    },
}

impl Message for JudgeAnswer {
    type Result = AnswerJudgement;
}

/// The gate as the relay sees it: the recipients of the messages above.
#[derive(Clone)]
pub struct Gate {
    /// Judges calls.
    pub judge: Recipient<JudgeCall>,
    /// Hears how forwarded calls ended.
    pub record: Recipient<RecordOutput>,
    /// Hears of requests that never came to a judgement.
    pub refusal: Recipient<RecordRefusal>,
    /// Admits listings.
    pub listing: Recipient<RecordListing>,
    /// Admits them again.
    pub again: Recipient<AdmitAgain>,
    /// Hears what else is passed on.
    pub notice: Recipient<RecordNotice>,
    /// Judges what upstreams ask of the client.
    pub ask: Recipient<JudgeAsk>,
    /// Judges what the client answers them.
    pub answer: Recipient<JudgeAnswer>,
}
