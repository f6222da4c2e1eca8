//! The approval actor: calls that wait for a human, and what humans have answered.
//!
//! One question is open at a time. Equal holds, and holds that are about targets of one record, share
//! a question; the first answer wins and silence is refusal. After an answer all that still wait look
//! again at what is now granted, so that nobody is asked what was just answered.

use std::collections::VecDeque;
use std::time::Duration;

use actix::prelude::*;
use serde_json::json;
use tokio::sync::oneshot;

use crate::clock;
use crate::policy::{Effect, GrantKey, Ledger, Offer, Question};

use super::messages::{Answer, CallNumber, Elicit, LateAnswer, Patience};

/// How long a question waits without and with progress reports (`docs/architecture.md`, the question).
const SHORT: Duration = Duration::from_secs(55);
const LONG: Duration = Duration::from_secs(600);
/// Questions in a row that may be refused or stay unanswered before no more are asked.
const IN_A_ROW: u32 = 5;
/// How long that lasts, unless the user types again.
const REST: Duration = Duration::from_secs(600);
/// Holds that may wait; more are refused.
const WAITING: usize = 256;
/// Questions whose late answer is still heard.
const LATE: usize = 64;

/// Ask a human about a call.
#[derive(Debug)]
pub struct Hold {
    /// The session that calls.
    pub session: u64,
    /// Its number of the call.
    pub call: CallNumber,
    /// Digest of upstream, tool and arguments.
    pub digest: String,
    /// The effect of the call.
    pub effect: Effect,
    /// What an answer would be about.
    pub keys: Vec<GrantKey>,
    /// What may be offered.
    pub offer: Offer,
    /// Holds with an equal group share a question: the same tool and the same record.
    pub group: Option<String>,
    /// The question.
    pub question: Question,
    /// Who can ask.
    pub asker: Option<Recipient<Elicit>>,
    /// How long it may wait.
    pub patience: Patience,
}

/// What became of a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HoldAnswer {
    /// A human said yes; the text names the grant for the audit log.
    Allowed(String),
    /// Something was answered meanwhile: gather and decide again.
    Again,
    /// A human said no.
    Refused,
    /// Nobody answered in time.
    Unanswered,
    /// The client cannot ask.
    NoHuman,
    /// Too many questions in a row went unanswered.
    Tired,
    /// The call was cancelled.
    Gone,
}

impl Message for Hold {
    type Result = HoldAnswer;
}

/// What is granted and refused for the destinations and flows of a call.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// The session that calls.
    pub session: u64,
    /// The effect of the call.
    pub effect: Effect,
    /// The keys of each destination or flow, in order; any of them may cover it.
    pub keys: Vec<Vec<GrantKey>>,
    /// The call itself.
    pub digest: String,
}

/// The answer to [`Lookup`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// For each entry of [`Lookup::keys`]: the grant, and how many prompts had been typed when it was refused.
    pub entries: Vec<(Option<String>, Option<u64>)>,
    /// Whether exactly this call was refused, likewise.
    pub call_refused: Option<u64>,
}

impl Message for Lookup {
    type Result = Found;
}

/// The user typed a prompt: they are there.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct UserIsThere;

struct Waiting {
    hold: Hold,
    reply: oneshot::Sender<HoldAnswer>,
}

/// Owns holds and grants.
#[derive(Default)]
pub struct ApprovalActor {
    ledger: Ledger,
    queue: VecDeque<Waiting>,
    open: Vec<Waiting>,
    question: u64,
    prompts: u64,
    in_a_row: u32,
    resting_since: Option<std::time::Instant>,
    late: VecDeque<(u64, Vec<LateHold>)>,
}

struct LateHold {
    session: u64,
    digest: String,
    effect: Effect,
    keys: Vec<GrantKey>,
}

impl Actor for ApprovalActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1_024);
    }
}

impl Handler<Lookup> for ApprovalActor {
    type Result = MessageResult<Lookup>;

    fn handle(&mut self, msg: Lookup, _: &mut Self::Context) -> Self::Result {
        let entries = msg
            .keys
            .iter()
            .map(|keys| {
                let granted = keys.iter().find_map(|key| self.ledger.granted(msg.session, msg.effect, key));
                let refused = keys.iter().find_map(|key| self.ledger.refused(msg.session, msg.effect, key));
                (granted.map(str::to_owned), refused)
            })
            .collect();
        let call_refused = self.ledger.refused(msg.session, msg.effect, &GrantKey::Call(msg.digest));
        MessageResult(Found { entries, call_refused })
    }
}

impl Handler<UserIsThere> for ApprovalActor {
    type Result = ();

    fn handle(&mut self, _: UserIsThere, _: &mut Self::Context) {
        self.prompts += 1;
        self.in_a_row = 0;
        self.resting_since = None;
    }
}

impl Handler<Hold> for ApprovalActor {
    type Result = ResponseFuture<HoldAnswer>;

    fn handle(&mut self, hold: Hold, ctx: &mut Self::Context) -> Self::Result {
        if let Some(grant) = self.ledger.take_once(hold.session, &hold.digest) {
            return Box::pin(async { HoldAnswer::Allowed(grant) });
        }
        if hold.asker.is_none() {
            return Box::pin(async { HoldAnswer::NoHuman });
        }
        if self.is_resting() || self.queue.len() >= WAITING {
            return Box::pin(async { HoldAnswer::Tired });
        }
        let (reply, answer) = oneshot::channel();
        self.queue.push_back(Waiting { hold, reply });
        self.ask_next(ctx);
        // FAIL CLOSED: a hold that is dropped without an answer was not answered.
        Box::pin(async { answer.await.unwrap_or(HoldAnswer::Unanswered) })
    }
}

impl Handler<LateAnswer> for ApprovalActor {
    type Result = ();

    fn handle(&mut self, msg: LateAnswer, _: &mut Self::Context) {
        let Some(at) = self.late.iter().position(|(question, _)| *question == msg.question) else { return };
        let Some((_, holds)) = self.late.remove(at) else { return };
        let decision = Decision::of(&msg.answer);
        for hold in holds {
            match decision {
                Decision::Once => self.ledger.keep_once(hold.session, &hold.digest),
                Decision::Session => {
                    self.ledger.grant(hold.session, hold.effect, &hold.keys);
                    self.ledger.keep_once(hold.session, &hold.digest);
                }
                Decision::Refused => self.ledger.refuse(hold.session, hold.effect, &hold.keys, self.prompts),
                Decision::Unanswered | Decision::Gone => {}
            }
        }
        if matches!(decision, Decision::Once | Decision::Session) {
            self.in_a_row = 0;
            self.resting_since = None;
        }
    }
}

/// What an answer means. Anything but `accept` with a choice that was offered is a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Once,
    Session,
    Refused,
    Unanswered,
    Gone,
}

impl Decision {
    fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Accept(content) => match content.get("decision").and_then(serde_json::Value::as_str) {
                Some("allow_once") => Self::Once,
                Some("allow_session") => Self::Session,
                _ => Self::Refused,
            },
            Answer::Decline | Answer::Cancel => Self::Refused,
            Answer::TimedOut => Self::Unanswered,
            Answer::Gone => Self::Gone,
        }
    }
}

impl ApprovalActor {
    fn is_resting(&mut self) -> bool {
        let over = self.resting_since.is_some_and(|since| clock::instant().duration_since(since) >= REST);
        if over {
            self.resting_since = None;
            self.in_a_row = 0;
        }
        self.resting_since.is_some()
    }

    /// Opens the next question if none is open.
    fn ask_next(&mut self, ctx: &mut Context<Self>) {
        if !self.open.is_empty() {
            return;
        }
        let Some(first) = self.queue.pop_front() else { return };
        let shares = |other: &Waiting| {
            let (a, b) = (&first.hold, &other.hold);
            a.session == b.session
                && (a.digest == b.digest || (a.group.is_some() && a.group == b.group && a.offer == b.offer))
        };
        let (same, rest): (VecDeque<_>, VecDeque<_>) = self.queue.drain(..).partition(shares);
        self.queue = rest;
        let Some(asker) = first.hold.asker.clone() else { return };
        self.question += 1;
        let offer = first.hold.offer;
        let wait = if first.hold.patience == Patience::Long { LONG } else { SHORT };
        self.open.push(first);
        self.open.extend(same);
        let mut distinct: Vec<&Hold> = Vec::new();
        for waiting in &self.open {
            if distinct.iter().all(|hold| hold.digest != waiting.hold.digest) {
                distinct.push(&waiting.hold);
            }
        }
        let questions: Vec<&Question> = distinct.iter().map(|hold| &hold.question).collect();
        let elicit = Elicit {
            question: self.question,
            call: distinct.first().map_or(CallNumber(0), |hold| hold.call),
            message: Question::merged(&questions),
            schema: schema(offer),
            wait,
            late: Some(ctx.address().recipient()),
        };
        let question = self.question;
        ctx.spawn(asker.send(elicit).into_actor(self).map(move |answer, actor, ctx| {
            // FAIL CLOSED: a session that does not take the question has nobody behind it.
            let answer = answer.unwrap_or(Answer::Gone);
            actor.answered(question, offer, &answer);
            actor.ask_next(ctx);
        }));
    }

    fn answered(&mut self, question: u64, offer: Offer, answer: &Answer) {
        let mut decision = Decision::of(answer);
        if decision == Decision::Session && offer == Offer::Once {
            decision = Decision::Refused;
        }
        let open = std::mem::take(&mut self.open);
        match decision {
            Decision::Once | Decision::Session => self.in_a_row = 0,
            Decision::Refused | Decision::Unanswered => self.in_a_row += 1,
            Decision::Gone => {}
        }
        if self.in_a_row >= IN_A_ROW {
            self.resting_since = Some(clock::instant());
        }
        if decision == Decision::Unanswered {
            let holds = open.iter().map(|waiting| LateHold {
                session: waiting.hold.session,
                digest: waiting.hold.digest.clone(),
                effect: waiting.hold.effect,
                keys: waiting.hold.keys.clone(),
            });
            self.late.push_back((question, holds.collect()));
            while self.late.len() > LATE {
                self.late.pop_front();
            }
        }
        let prompts = self.prompts;
        for (at, Waiting { hold, reply }) in open.into_iter().enumerate() {
            let answer = match decision {
                Decision::Once => HoldAnswer::Allowed("once".to_owned()),
                Decision::Session => {
                    HoldAnswer::Allowed(self.ledger.grant(hold.session, hold.effect, &hold.keys))
                }
                Decision::Refused => {
                    self.ledger.refuse(hold.session, hold.effect, &hold.keys, prompts);
                    HoldAnswer::Refused
                }
                Decision::Unanswered => HoldAnswer::Unanswered,
                // Only the first hold's call is gone; the others may ask for themselves.
                Decision::Gone if at == 0 => HoldAnswer::Gone,
                Decision::Gone => HoldAnswer::Again,
            };
            // A call that is gone needs no answer.
            drop(reply.send(answer));
        }
        let resting = self.resting_since.is_some();
        for Waiting { reply, .. } in self.queue.drain(..) {
            drop(reply.send(if resting { HoldAnswer::Tired } else { HoldAnswer::Again }));
        }
    }
}

/// The form: one required field, with the choices that are offered.
fn schema(offer: Offer) -> serde_json::Value {
    let (choices, names): (&[&str], &[&str]) = match offer {
        Offer::Once => (&["allow_once", "deny"], &["Allow once", "Deny"]),
        Offer::Session => {
            (&["allow_once", "allow_session", "deny"], &["Allow once", "Allow for this session", "Deny"])
        }
    };
    json!({
        "type": "object",
        "properties": {"decision": {
            "type": "string",
            "title": "Decision",
            "description": "Anything but an allow refuses the call.",
            "enum": choices,
            "enumNames": names,
        }},
        "required": ["decision"],
    })
}
