//! What an upstream asks of the client, from its request to the answer that it gets.
//!
//! A request goes to the one session whose calls run at that upstream, through the gate on its way there
//! and on its way back: one line, as in `carry.rs`. Whatever goes wrong on it ends in an error for the
//! upstream; without a judgement nothing reaches the client, and without one no answer leaves it.

use std::sync::Arc;
use std::time::Duration;

use actix::{Message, Recipient};
use bytes::Bytes;
use tokio::sync::watch;
use tracing::error;

use super::messages::{
    AnswerJudgement, AskJudgement, Asker, CallNumber, Gate, JudgeAnswer, JudgeAsk, Patience, SessionId,
};
use crate::mcp::{Body, LinkAnswer as Answer, Modes, Reverse};

/// JSON-RPC codes of our own answers to an upstream.
pub(super) const NOT_ASSOCIATED: i32 = -32600;
const INTERNAL: i32 = -32603;

/// How long a human or their model may take, and how long a program.
const HUMAN_LIMIT: Duration = Duration::from_secs(600);
const PROGRAM_LIMIT: Duration = Duration::from_secs(30);

/// A session as an upstream sees it.
#[derive(Clone)]
pub struct Face {
    /// The name that the client gave itself: hostile text.
    pub client: Arc<str>,
    /// Puts a request to the client.
    pub relay: Recipient<Relay>,
    /// Hears that nobody waits for an answer any more.
    pub unrelay: Recipient<Unrelay>,
    /// Puts Bouncer's own questions; `None` when the client cannot show them.
    pub asker: Option<Asker>,
}

/// A client is known.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Meet {
    /// Its raw capabilities.
    pub capabilities: Bytes,
    /// Its session, and where that is asked; `None` where there is nobody.
    pub session: Option<(SessionId, Face)>,
}

/// The client's roots are others than before.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct RootsChanged;

/// Put a request of an upstream to the client.
pub struct Relay {
    /// What is asked.
    pub reverse: Reverse,
    /// The raw params as they may be shown, where it had any.
    pub params: Option<Bytes>,
    /// The upstream's number of the request: what [`Unrelay`] names.
    pub number: u64,
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// Who hears of the client's progress.
    pub progress: Recipient<AskProgress>,
    /// How long to wait.
    pub wait: Duration,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayedAnswer {
    /// The client's answer.
    Answer(Body),
    /// Nothing came in time.
    TimedOut,
    /// The client left, or nobody waits any more.
    Gone,
}

impl Message for Relay {
    type Result = RelayedAnswer;
}

/// Nobody waits for the answer to this request any more.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Unrelay {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// Its number of the request.
    pub number: u64,
    /// The upstream's raw reason.
    pub reason: Option<Bytes>,
}

/// The client reports progress of a request of an upstream.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct AskProgress {
    /// The upstream's number of the request.
    pub number: u64,
    /// Raw params of the notification.
    pub params: Bytes,
}

/// A request and all that it needs on its way.
pub(super) struct Errand {
    pub(super) gate: Gate,
    pub(super) face: Face,
    pub(super) session: SessionId,
    /// The call that it belongs to; 0 for roots that are asked for between calls.
    pub(super) call: CallNumber,
    pub(super) patience: Patience,
    pub(super) upstream: Arc<str>,
    pub(super) number: u64,
    pub(super) reverse: Reverse,
    pub(super) modes: Modes,
    /// Absent where the request had none.
    pub(super) params: Option<Bytes>,
    pub(super) progress: Recipient<AskProgress>,
    /// Becomes true when nobody waits for the answer any more.
    pub(super) over: watch::Receiver<bool>,
}

/// Brings the request to its answer.
pub(super) async fn convey(errand: Errand) -> Answer {
    let ask = JudgeAsk {
        session: errand.session,
        call: errand.call,
        client: errand.face.client.clone(),
        upstream: errand.upstream.clone(),
        reverse: errand.reverse,
        modes: errand.modes,
        params: errand.params.clone().unwrap_or_else(|| Bytes::from_static(b"{}")),
        asker: errand.face.asker.clone(),
        patience: errand.patience,
        over: errand.over.clone(),
    };
    let judged = match errand.gate.ask.send(ask).await {
        Ok(AskJudgement::Pass { params }) => params,
        Ok(AskJudgement::Refuse { code, why }) => return Answer::Refused(code, why),
        // FAIL CLOSED: a gate that does not answer has not let anything through.
        Err(_) => return unjudged(),
    };
    if *errand.over.borrow() {
        return Answer::Refused(NOT_ASSOCIATED, "the call has ended".to_owned());
    }
    let relay = Relay {
        reverse: errand.reverse,
        params: errand.params.is_some().then_some(judged),
        number: errand.number,
        upstream: errand.upstream.clone(),
        progress: errand.progress.clone(),
        wait: if errand.reverse == Reverse::ListRoots { PROGRAM_LIMIT } else { HUMAN_LIMIT },
    };
    let answer = errand.face.relay.send(relay).await.unwrap_or(RelayedAnswer::Gone);
    let judge = JudgeAnswer {
        session: errand.session,
        call: errand.call,
        client: errand.face.client.clone(),
        upstream: errand.upstream.clone(),
        reverse: errand.reverse,
        answer: answer.clone(),
        asker: errand.face.asker.clone(),
        patience: errand.patience,
        over: errand.over.clone(),
    };
    match errand.gate.answer.send(judge).await {
        Ok(AnswerJudgement::Pass) => plain(answer),
        Ok(AnswerJudgement::Refuse { code, why }) => Answer::Refused(code, why),
        // FAIL CLOSED: an answer that was not judged and recorded does not leave.
        Err(_) => unjudged(),
    }
}

fn unjudged() -> Answer {
    error!("the gate does not answer; a request of a server to the client is refused");
    Answer::Refused(INTERNAL, "the part of Bouncer that judges requests is not running".to_owned())
}

/// The answer as the upstream gets it.
fn plain(answer: RelayedAnswer) -> Answer {
    match answer {
        RelayedAnswer::Answer(Body::Result(raw)) => Answer::Result(raw),
        RelayedAnswer::Answer(Body::Error(raw)) => Answer::Error(raw),
        RelayedAnswer::Answer(Body::Ambiguous) => {
            Answer::Refused(INTERNAL, "the client answered with both result and error".to_owned())
        }
        RelayedAnswer::TimedOut => Answer::Refused(INTERNAL, "the client did not answer in time".to_owned()),
        RelayedAnswer::Gone => Answer::Refused(INTERNAL, "the client is gone".to_owned()),
    }
}
