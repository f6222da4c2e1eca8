//! One call from judgement to reply: judge, forward, record.
//!
//! The three steps are one straight line on purpose. Whatever goes wrong on it ends in a reply that
//! says so: without a judgement nothing is sent, and without a record nothing is shown.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use actix::Recipient;
use bytes::Bytes;
use tokio::sync::watch;
use tracing::error;

use super::messages::{
    AskJudgement, CallOutcome, Gate, JudgeAsk, JudgeCall, Judgement, RecordOutput, Ticket,
};
use super::upstream::{Call, Progress};
use crate::clock;
use crate::mcp::{
    Forward, Modes, Offer, Outcome, Reply, Reverse, Span, Wanted, created, pages_first, spliced,
};
use crate::policy::BLOCKED;

/// A call and all that it needs on its way.
pub(super) struct Flight {
    pub(super) gate: Rc<Gate>,
    pub(super) judge: JudgeCall,
    pub(super) forward: Forward,
    pub(super) offer: Offer,
    pub(super) upstream: Arc<Recipient<Call>>,
    pub(super) progress: Option<Arc<Recipient<Progress>>>,
    /// Set when the client gives the call up.
    pub(super) cancelled: Rc<Cell<bool>>,
    /// How the client can ask its human.
    pub(super) modes: Modes,
}

/// Brings the call to its end. The reply to a cancelled call is dropped by the session.
pub(super) async fn carry(flight: Flight) -> Reply {
    let Flight { gate, judge, forward, offer, upstream, progress, cancelled, modes } = flight;
    let (session, call, tool) = (judge.session, judge.call, judge.tool.clone());
    // A client that opens no pages for a server makes nothing of an error that asks for it.
    let asker = modes.url.then(|| JudgeCall { arguments: None, ..judge.clone() });
    let ticket = match gate.judge.send(judge).await {
        Ok(Judgement::Forward { ticket }) => ticket,
        Ok(Judgement::Refuse { text }) => return Reply::Refused(text),
        // FAIL CLOSED: a gate that does not answer has not allowed anything.
        Err(_) => {
            error!("the gate does not answer; call {call} is refused");
            let text = "[bouncer blocked] the part of Bouncer that judges calls is not running. Trying again will \
                        not help; the user has to restart Bouncer.";
            return Reply::Refused(text.to_owned());
        }
    };
    let (sent, wanted) = (forward.params.len(), forward.wanted);
    let start = clock::instant();
    let outcome = match offer {
        _ if cancelled.get() => Outcome::Cancelled,
        // FAIL CLOSED: what clients are not offered is not sent, whatever the judgement.
        Offer::Withheld => Outcome::Lost("this tool is withheld; trying again will not help".to_owned()),
        Offer::Shown => {
            let request = Call { session, call, forward, progress };
            upstream.send(request).await.unwrap_or_else(|_| Outcome::Lost("The server is gone.".to_owned()))
        }
    };
    let record = RecordOutput {
        session,
        call,
        ticket: Ticket(ticket.0),
        tool,
        task: match &outcome {
            Outcome::Result(raw) if wanted == Wanted::Task => created(raw).map(Into::into),
            _ => None,
        },
        outcome: recorded(&outcome),
        latency: clock::instant().saturating_duration_since(start),
        sent,
    };
    // ORDER: recorded before seen.
    if !matches!(gate.record.send(record).await, Ok(Ok(()))) {
        error!("the result of call {call} could not be recorded and is withheld");
        return Reply::Broken(
            "Bouncer could not record the result of this call, so it is withheld".to_owned(),
        );
    }
    match outcome {
        Outcome::Result(raw) => Reply::Result(raw),
        Outcome::Error(raw) => match asker {
            Some(asker) => Box::pin(pages(&gate, &asker, raw)).await,
            None => Reply::Error(raw),
        },
        Outcome::Cancelled => Reply::Broken("the call was cancelled".to_owned()),
        Outcome::Lost(why) | Outcome::Broken(why) => Reply::Broken(why),
    }
}

/// An error as the client sees it. Pages that it would send its human to are judged as those are that an
/// upstream asks for in a request of its own.
async fn pages(gate: &Gate, call: &JudgeCall, raw: Bytes) -> Reply {
    let refused = |why: &str| {
        Reply::Refused(format!("{BLOCKED} The server wants the user to go to a web page: {why}."))
    };
    let spans = match pages_first(&raw) {
        Ok(spans) if spans.is_empty() => return Reply::Error(raw),
        Ok(spans) => spans,
        Err(why) => return refused(&why),
    };
    let mut shown: Vec<(Span, Bytes)> = Vec::new();
    for span in spans {
        let (_still, over) = watch::channel(false);
        let ask = JudgeAsk {
            session: call.session,
            call: call.call,
            client: call.client.clone(),
            upstream: call.tool.upstream.clone(),
            reverse: Reverse::Elicit,
            modes: Modes { form: false, url: true },
            params: raw.slice(span.clone()),
            asker: call.asker.clone(),
            patience: call.patience,
            over,
        };
        match gate.ask.send(ask).await {
            Ok(AskJudgement::Pass { params }) => shown.push((span, params)),
            Ok(AskJudgement::Refuse { why, .. }) => {
                return refused(why.strip_prefix(BLOCKED).unwrap_or(&why).trim_start());
            }
            // FAIL CLOSED: a gate that does not answer has not let anything through.
            Err(_) => return refused("the part of Bouncer that judges this is not running"),
        }
    }
    Reply::Error(spliced(&raw, &shown))
}

fn recorded(outcome: &Outcome) -> CallOutcome {
    match outcome {
        Outcome::Result(raw) => CallOutcome::Result(raw.clone()),
        Outcome::Error(raw) => CallOutcome::Error(raw.clone()),
        Outcome::Cancelled => CallOutcome::Cancelled,
        Outcome::Lost(why) | Outcome::Broken(why) => CallOutcome::Lost(why.clone()),
    }
}
