//! The approval actor: calls that wait for a human, and what humans have answered.
//!
//! One question is open at a time. Equal holds, and holds that are about targets of one record, share
//! a question; the first answer wins and silence is refusal. After an answer all that still wait look
//! again at what is now granted, so that nobody is asked what was just answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use serde_json::json;
use tokio::sync::{oneshot, watch};

use crate::clock;
use crate::policy::{Effect, GrantKey, Ledger, ListYes, Offer, Question};

use super::grants_file::GrantsFile;
use super::holds::Holds;
use super::messages::{Answer, Asker, CallNumber, Elicit, Patience};
use super::rows::{Rows, Wish};

/// How long a question waits without and with progress reports (`docs/architecture.md`, the question).
const SHORT: Duration = Duration::from_secs(55);
const LONG: Duration = Duration::from_secs(600);
/// How long a yes to a list lasts, in milliseconds.
pub(super) const LISTED: u64 = 600_000;
/// How long a question waits for others that may share it, and how long at most while more come.
const PAUSE: Duration = Duration::from_millis(30);
const LONGEST_PAUSE: Duration = Duration::from_millis(300);
/// Holds that may wait; more are refused.
const WAITING: usize = 256;

/// Ask a human about a call.
#[derive(Debug)]
pub struct Hold {
    /// The session that calls.
    pub session: u64,
    /// Its number of the call.
    pub call: CallNumber,
    /// The name that the client gave itself: hostile text.
    pub client: Arc<str>,
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// The tool's own name: hostile text.
    pub tool: Arc<str>,
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
    /// The call's exact digest, where an answer about a list may cover it.
    pub exact: Option<String>,
    /// The exact digests that an answer about the list covers, each once.
    pub listed: BTreeSet<String>,
    /// Who can ask.
    pub asker: Option<Asker>,
    /// How long it may wait.
    pub patience: Patience,
    /// Whose wish it is.
    pub wish: Wish,
    /// Becomes true when nobody waits any more; `None` where the session knows it by the call.
    pub over: Option<watch::Receiver<bool>>,
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
    /// Nobody answered in time. The id, here and below, is the one that a person can answer by.
    Unanswered(Option<String>),
    /// The client cannot ask.
    NoHuman(Option<String>),
    /// Too many questions in a row went unanswered.
    Tired(Option<String>),
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

/// How many calls wait for a person?
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Counts")]
pub struct CountHolds;

/// The answer to [`CountHolds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, MessageResponse)]
pub struct Counts {
    /// Calls whose question is open.
    pub open: usize,
    /// Calls that wait for their question.
    pub waiting: usize,
    /// Calls that are held.
    pub held: usize,
}

struct Waiting {
    hold: Hold,
    reply: oneshot::Sender<HoldAnswer>,
}

/// Owns holds and grants.
#[derive(Default)]
pub struct ApprovalActor {
    pub(super) ledger: Ledger,
    queue: VecDeque<Waiting>,
    open: Vec<Waiting>,
    question: u64,
    prompts: u64,
    pub(super) rows: Rows,
    pub(super) holds: Holds,
    lasting: Option<GrantsFile>,
    /// The launch of each upstream by its configured name.
    pub(super) launches: BTreeMap<String, String>,
    /// How long the first of several calls waits for the next before its question opens.
    pause: Duration,
    /// How long a question waits without progress reports; `None` for the default.
    short: Option<Duration>,
    /// When this actor first looked at the clock.
    began: Option<std::time::Instant>,
    /// Holds so far, and when the first of those that wait for each other came.
    came: u64,
    first_came: Option<std::time::Instant>,
}

impl ApprovalActor {
    /// An actor that counts the lasting grants of a file, for upstreams that are launched so.
    pub fn new(lasting: GrantsFile, launches: BTreeMap<String, String>, short: Option<Duration>) -> Self {
        Self { lasting: Some(lasting), launches, pause: PAUSE, short, ..Self::default() }
    }

    /// Opens a question when no more holds come that may share it: agents make calls at once, and one
    /// person should not be asked twenty times about twenty letters of one list.
    fn ask_soon(&mut self, ctx: &mut Context<Self>) {
        if self.pause.is_zero() {
            return self.ask_next(ctx);
        }
        self.came += 1;
        let (came, first) = (self.came, *self.first_came.get_or_insert_with(clock::instant));
        ctx.run_later(self.pause, move |actor, ctx| {
            let long = clock::instant().saturating_duration_since(first) >= LONGEST_PAUSE;
            if actor.came == came || long {
                actor.first_came = None;
                actor.ask_next(ctx);
            }
        });
    }

    /// The id of the lasting grant that covers a key.
    pub(super) fn lasting(&mut self, effect: Effect, key: &GrantKey) -> Option<String> {
        let now = clock::unix_millis();
        let found = self.lasting.as_mut()?.lasting().granted(effect, key, now, &self.launches);
        found.map(|id| format!("lasting {id}"))
    }

    /// Milliseconds on this actor's clock.
    pub(super) fn now(&mut self) -> u64 {
        let now = clock::instant();
        let since = now.saturating_duration_since(*self.began.get_or_insert(now));
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// Remembers a refusal. It ends the yes to a list that the call belongs to.
    pub(super) fn refuse(
        &mut self,
        held: (u64, Effect),
        keys: &[GrantKey],
        list: (Option<&str>, Option<&str>),
    ) {
        let (session, effect) = held;
        self.ledger.refuse(session, effect, keys, self.prompts);
        self.ledger.refuse_lists(session, list.0, list.1);
    }
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
        let mut entries = Vec::with_capacity(msg.keys.len());
        for keys in &msg.keys {
            let session = keys.iter().find_map(|key| self.ledger.granted(msg.session, msg.effect, key));
            let session = session.map(str::to_owned);
            let granted = session.or_else(|| keys.iter().find_map(|key| self.lasting(msg.effect, key)));
            let refused = keys.iter().find_map(|key| self.ledger.refused(msg.session, msg.effect, key));
            entries.push((granted, refused));
        }
        let call_refused = self.ledger.refused(msg.session, msg.effect, &GrantKey::Call(msg.digest));
        MessageResult(Found { entries, call_refused })
    }
}

impl Handler<UserIsThere> for ApprovalActor {
    type Result = ();

    fn handle(&mut self, _: UserIsThere, _: &mut Self::Context) {
        self.prompts += 1;
        self.ledger.end_lists();
        self.rows.over();
    }
}

impl Handler<Hold> for ApprovalActor {
    type Result = ResponseFuture<HoldAnswer>;

    fn handle(&mut self, hold: Hold, ctx: &mut Self::Context) -> Self::Result {
        let (exact, now) = (hold.exact.as_deref(), self.now());
        let kept = self.ledger.take_once(hold.session, &hold.digest);
        let kept = kept.or_else(|| self.ledger.take_listed(hold.session, exact?, now));
        if let Some(grant) = kept {
            return Box::pin(async { HoldAnswer::Allowed(grant) });
        }
        if hold.asker.is_none() {
            let id = self.holds.keep(&hold, None, clock::instant());
            return Box::pin(async { HoldAnswer::NoHuman(id) });
        }
        let resting = self.rows.is_resting(&hold, clock::instant());
        if resting || self.queue.len() >= WAITING {
            let id = self.holds.keep(&hold, None, clock::instant());
            return Box::pin(async { HoldAnswer::Tired(id) });
        }
        let (reply, answer) = oneshot::channel();
        self.queue.push_back(Waiting { hold, reply });
        self.ask_soon(ctx);
        // FAIL CLOSED: a hold that is dropped without an answer was not answered.
        Box::pin(async { answer.await.unwrap_or(HoldAnswer::Unanswered(None)) })
    }
}

impl Handler<CountHolds> for ApprovalActor {
    type Result = Counts;

    fn handle(&mut self, _: CountHolds, _: &mut Self::Context) -> Self::Result {
        let held = self.holds.list(clock::instant()).count();
        Counts { open: self.open.len(), waiting: self.queue.len(), held }
    }
}

/// What an answer means. Anything but `accept` with a choice that was offered is a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Once,
    Session,
    Listed,
    Refused,
    Unanswered,
    Gone,
}

impl Decision {
    pub(super) fn of(answer: &Answer, offer: Offer) -> Self {
        match answer {
            Answer::Accept(content) => {
                match (offer, content.get("decision").and_then(serde_json::Value::as_str)) {
                    (Offer::Once | Offer::Session | Offer::Listed, Some("allow_once"))
                    | (Offer::Words, Some("accept")) => Self::Once,
                    (Offer::Listed, Some("allow_listed")) => Self::Listed,
                    (Offer::Session, Some("allow_session")) => Self::Session,
                    _ => Self::Refused,
                }
            }
            Answer::Decline | Answer::Cancel => Self::Refused,
            Answer::TimedOut => Self::Unanswered,
            Answer::Gone => Self::Gone,
        }
    }
}

impl ApprovalActor {
    /// Opens the next question if none is open.
    fn ask_next(&mut self, ctx: &mut Context<Self>) {
        if !self.open.is_empty() {
            return;
        }
        // Who gave up waiting is answered by that alone.
        let is_over = |over: &watch::Receiver<bool>| *over.borrow();
        self.queue.retain(|waiting| !waiting.hold.over.as_ref().is_some_and(is_over));
        let Some(first) = self.queue.pop_front() else { return };
        let shares = |other: &Waiting| {
            let (a, b) = (&first.hold, &other.hold);
            a.session == b.session
                && a.wish == b.wish
                && (a.digest == b.digest || (a.group.is_some() && a.group == b.group && a.offer == b.offer))
        };
        let (same, rest): (VecDeque<_>, VecDeque<_>) = self.queue.drain(..).partition(shares);
        self.queue = rest;
        let Some(asker) = first.hold.asker.clone() else { return };
        self.question += 1;
        let mut offer = first.hold.offer;
        // One answer is about one list.
        if offer == Offer::Listed && same.iter().any(|other| other.hold.listed != first.hold.listed) {
            offer = Offer::Once;
        }
        let listed = first.hold.listed.len();
        let wait = if first.hold.patience == Patience::Long { LONG } else { self.short.unwrap_or(SHORT) };
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
            schema: schema(offer, listed),
            wait,
            // New words are asked about anew; there is no call that a late answer could be kept for.
            late: (offer != Offer::Words).then(|| ctx.address().recipient()),
            over: self.open.first().and_then(|waiting| waiting.hold.over.clone()),
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
        let decision = Decision::of(answer, offer);
        let open = std::mem::take(&mut self.open);
        let until = self.now().saturating_add(LISTED);
        if decision == Decision::Listed
            && let Some(Waiting { hold, .. }) = open.first()
        {
            // The calls that are answered here have their yes; the rest of the list keeps it.
            let answered =
                |digest: &&String| open.iter().any(|waiting| waiting.hold.exact.as_ref() == Some(digest));
            self.ledger.keep_list(ListYes {
                session: hold.session,
                group: hold.group.clone(),
                calls: hold.listed.clone(),
                left: hold.listed.iter().filter(|digest| !answered(digest)).cloned().collect(),
                by: format!("list, question {question}"),
                until,
            });
        }
        if let Some(Waiting { hold, .. }) = open.first() {
            match decision {
                Decision::Once | Decision::Session | Decision::Listed => {
                    self.rows.allowed(hold);
                }
                Decision::Refused | Decision::Unanswered => {
                    self.rows.refused(hold, clock::instant());
                }
                // What a server takes back was shown all the same, and it could do so for ever.
                Decision::Gone if hold.wish == Wish::Server => {
                    self.rows.refused(hold, clock::instant());
                }
                Decision::Gone => {}
            }
        }
        for (at, Waiting { hold, reply }) in open.into_iter().enumerate() {
            let answer = match decision {
                Decision::Once => HoldAnswer::Allowed("once".to_owned()),
                Decision::Listed => HoldAnswer::Allowed(format!("list, question {question}")),
                Decision::Session => {
                    HoldAnswer::Allowed(self.ledger.grant(hold.session, hold.effect, &hold.keys))
                }
                Decision::Refused => {
                    let list = (hold.group.as_deref(), hold.exact.as_deref());
                    self.refuse((hold.session, hold.effect), &hold.keys, list);
                    HoldAnswer::Refused
                }
                Decision::Unanswered => {
                    let id = self.holds.keep(&hold, Some((question, offer)), clock::instant());
                    HoldAnswer::Unanswered(id)
                }
                // Only the first hold's call is gone; the others may ask for themselves.
                Decision::Gone if at == 0 => HoldAnswer::Gone,
                Decision::Gone => HoldAnswer::Again,
            };
            // A call that is gone needs no answer.
            drop(reply.send(answer));
        }
        for Waiting { hold, reply } in self.queue.drain(..) {
            let answer = if self.rows.is_resting(&hold, clock::instant()) {
                HoldAnswer::Tired(self.holds.keep(&hold, None, clock::instant()))
            } else {
                HoldAnswer::Again
            };
            drop(reply.send(answer));
        }
    }
}

/// The form: one required field, with the choices that are offered. `listed`: how many calls an answer
/// about a list covers.
fn schema(offer: Offer, listed: usize) -> serde_json::Value {
    let all = format!("Allow all {listed} of this list, once each");
    let (choices, names): (&[&str], &[&str]) = match offer {
        Offer::Once => (&["allow_once", "deny"], &["Allow once", "Deny"]),
        Offer::Session => {
            (&["allow_once", "allow_session", "deny"], &["Allow once", "Allow for this session", "Deny"])
        }
        Offer::Listed => (&["allow_once", "allow_listed", "deny"], &["Allow once", &all, "Deny"]),
        Offer::Words => (&["accept", "deny"], &["Accept the new words", "Keep it withheld"]),
    };
    json!({
        "type": "object",
        "properties": {"decision": {
            "type": "string",
            "title": "Decision",
            "description": "Anything but a yes refuses the call.",
            "enum": choices,
            "enumNames": names,
        }},
        "required": ["decision"],
    })
}
