//! One call from its arguments to its judgement: gather, decide, hold, record.
//!
//! ORDER: the budget slot is taken before a person is asked, or ten holds could each be granted
//! against a budget that covers one; and the verdict stands in the audit log before the call goes out.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use crate::actors::approval::{Hold, HoldAnswer};
use crate::actors::audit::{AppendVerdict, Flush, Sealing, VerdictRecord};
use crate::actors::messages::{JudgeCall, Judgement};
use crate::actors::rows::Wish;
use crate::actors::taint::NoteSent;
use crate::clock;
use crate::mcp::Method;
use crate::policy::{
    AskedAbout, BudgetState, Contract, Facts, Finding, Inquiry, Making, Offer, Outcome, PinState, Reason,
    Subject, Unasked, Verdict, asked_about, decide, exact_digest, listing, question, refusal, vouched,
};
use crate::provenance::Vouched;

use super::actor::{Core, Forwarded};
use super::call::Call;
use super::gather::{Gathered, gather, reserve, reserve_again};
use super::requests;
use super::tools::Known;
use super::words::ask_about_words;

/// How often a call looks again after somebody else's question was answered.
const LOOKS: u32 = 64;

/// What became of a verdict that asks.
pub(super) struct Settled {
    pub(super) verdict: Verdict,
    facts: Option<Box<Facts>>,
    pub(super) grant: Option<String>,
    unasked: Option<Unasked>,
    /// Held until what is spent is noted.
    turn: Option<OwnedMutexGuard<()>>,
}

impl Settled {
    fn plain(verdict: Verdict) -> Self {
        Self { verdict, facts: None, grant: None, unasked: None, turn: None }
    }

    fn of(verdict: Verdict, facts: Box<Facts>) -> Self {
        Self { facts: Some(facts), ..Self::plain(verdict) }
    }

    pub(super) fn is_allowed(&self) -> bool {
        self.verdict.outcome == Outcome::Allow
            || (self.verdict.outcome == Outcome::Ask && self.grant.is_some())
    }
}

/// Judges a call and records the verdict.
pub(super) async fn judge(core: Rc<Core>, msg: JudgeCall) -> Judgement {
    let (call, readable) = Call::read(msg);
    if let Err(unreadable) = readable {
        let finding = Finding::deny(Reason::Constraint {
            argument: crate::policy::ArgPath("arguments".to_owned()),
            rule: unreadable.rule().to_owned(),
        });
        let verdict = Verdict::new(Outcome::Deny, Contract::Constraint, vec![finding]);
        return conclude(&core, &call, None, Settled::plain(verdict)).await;
    }
    let has_new_words = core.tools.borrow().new_words(&call.msg.tool).is_some();
    if has_new_words && call.msg.method == Method::CallTool {
        Box::pin(ask_about_words(&core, &call)).await;
    }
    let (known, pin) = rule(&core, &call);
    let Some(known) = known.filter(|_| pin == PinState::Known) else {
        let verdict = decide(&Facts::of_pin(pin));
        return conclude(&core, &call, None, Settled::plain(verdict)).await;
    };
    let settled = settle(&core, &call, &known, None).await;
    conclude(&core, &call, Some(&known), settled).await
}

/// The rule of a call as it is now.
fn rule(core: &Core, call: &Call) -> (Option<Arc<Known>>, PinState) {
    if call.msg.method == Method::CallTool {
        return (core.tools.borrow().get(&call.msg.tool), core.pin_state(&call.msg.tool));
    }
    let known = requests::rule(core, call);
    let pin = requests::pin_state(core, known.as_deref());
    (known, pin)
}

/// A policy may have been read again while a person was asked: what it denies stays denied.
async fn denied_since(
    core: &Rc<Core>,
    call: &Call,
    known: &Arc<Known>,
    budget: BudgetState,
) -> Option<Verdict> {
    let (now, pin) = rule(core, call);
    let Some(now) = now.filter(|_| pin == PinState::Known) else { return Some(decide(&Facts::of_pin(pin))) };
    if Arc::ptr_eq(&now, known) {
        return None;
    }
    let budget = reserve_again(core, &now, call, budget).await;
    let verdict = decide(&gather(core, call, &now, budget).await.facts);
    (verdict.outcome == Outcome::Deny).then_some(verdict)
}

/// Decides, and asks where that is the verdict. `head` stands above the question in place of the usual line.
pub(super) async fn settle(core: &Rc<Core>, call: &Call, known: &Arc<Known>, head: Option<&str>) -> Settled {
    let budget = reserve(core, known, call).await;
    // What a client answers an upstream has no rule of a policy.
    let is_answer = head.is_some();
    for look in 0..LOOKS {
        let pays = !known.policy.amounts(&call.arguments).is_empty();
        let turn = if pays { Some(Box::pin(Arc::clone(&core.paying).lock_owned()).await) } else { None };
        let Gathered { facts, inquiry } = gather(core, call, known, budget).await;
        let verdict = decide(&facts);
        if verdict.outcome != Outcome::Ask {
            let waited = look > 0 && !is_answer && verdict.outcome == Outcome::Allow;
            if waited && let Some(verdict) = Box::pin(denied_since(core, call, known, budget)).await {
                return Settled::plain(verdict);
            }
            return Settled { turn, ..Settled::of(verdict, facts) };
        }
        // Nobody waits for a person's answer to somebody else: what it allows needs no typed sum.
        drop(turn);
        // A question is large, and most calls have none: it stands on its own.
        let asked = ask(core, call, (known, budget), (facts, inquiry, verdict), head);
        if let Some(settled) = Box::pin(asked).await {
            return settled;
        }
    }
    let verdict =
        Verdict::new(Outcome::Deny, Contract::SinkGate, vec![Finding::deny(Reason::Unavailable("approval"))]);
    Settled::plain(verdict)
}

/// Asks a person. `None`: somebody else's question was answered, so that the call is to be looked at again.
async fn ask(
    core: &Rc<Core>,
    call: &Call,
    (known, budget): (&Arc<Known>, BudgetState),
    (facts, inquiry, verdict): (Box<Facts>, Inquiry, Verdict),
    head: Option<&str>,
) -> Option<Settled> {
    let is_answer = head.is_some();
    let upstream = call.msg.tool.upstream.as_ref();
    let digest = call.digest();
    let AskedAbout { keys, offer } = asked_about(&verdict, facts.effect, upstream, &digest);
    let (tool, arguments) = (&call.msg.tool.name, &call.arguments);
    let listing = listing(&verdict, &facts, (upstream, tool), arguments);
    let offer =
        if listing.as_ref().is_some_and(|listing| !listing.calls.is_empty()) { Offer::Listed } else { offer };
    let subject = Subject {
        upstream,
        tool,
        amounts: &inquiry.amounts,
        since: core.since.as_deref(),
        list: listing.as_ref().map_or(&[], |listing| listing.lines.as_slice()),
    };
    let mut question = question(subject, &facts, &verdict);
    if let Some(head) = head {
        head.clone_into(&mut question.head);
    }
    let hold = Hold {
        session: call.msg.session.0,
        call: call.msg.call,
        client: Arc::clone(&call.msg.client),
        upstream: Arc::clone(&call.msg.tool.upstream),
        tool: Arc::clone(&call.msg.tool.name),
        digest,
        effect: facts.effect,
        keys,
        offer,
        group: group(&verdict, call),
        question,
        exact: exact_digest((upstream, tool), arguments).filter(|_| listing.is_some()),
        listed: listing.map(|listing| listing.calls).unwrap_or_default(),
        asker: call.msg.asker.clone(),
        patience: call.msg.patience,
        wish: if is_answer { Wish::Server } else { Wish::Agent },
        over: call.over.clone(),
    };
    // FAIL CLOSED: an approval actor that does not answer has nobody behind it.
    let answer = core.shared.hold.send(hold).await.unwrap_or(HoldAnswer::NoHuman(None));
    let unasked = match answer {
        HoldAnswer::Allowed(grant) => {
            if !is_answer && let Some(verdict) = denied_since(core, call, known, budget).await {
                return Some(Settled::plain(verdict));
            }
            return Some(Settled { grant: Some(grant), ..Settled::of(verdict, facts) });
        }
        HoldAnswer::Again => return None,
        HoldAnswer::Refused | HoldAnswer::Gone => Unasked::Refused,
        HoldAnswer::Unanswered(id) => Unasked::Unanswered(id),
        HoldAnswer::NoHuman(id) => Unasked::NoHuman(id),
        HoldAnswer::Tired(id) => Unasked::Tired(id),
    };
    Some(Settled { unasked: Some(unasked), ..Settled::of(verdict, facts) })
}

/// Calls of one tool whose targets were read from one record share a question.
fn group(verdict: &Verdict, call: &Call) -> Option<String> {
    let record = verdict.open().find_map(|finding| match &finding.reason {
        Reason::Destination { place: Some(place), .. } => Some((place.upstream.clone(), place.call)),
        _ => None,
    })?;
    Some(format!("{}\u{0}{}\u{0}{}\u{0}{}", call.msg.tool.upstream, call.msg.tool.name, record.0, record.1))
}

/// Records the verdict and gives the judgement.
async fn conclude(core: &Rc<Core>, call: &Call, known: Option<&Arc<Known>>, settled: Settled) -> Judgement {
    let allowed = settled.is_allowed();
    let tool = &call.msg.tool;
    let effect = settled.facts.as_ref().map(|facts| facts.effect);
    let flush =
        if allowed && effect.is_some_and(crate::policy::Effect::is_sink) { Flush::Now } else { Flush::Later };
    let written = core.shared.verdict.send(AppendVerdict { open: line(core, call, &settled), flush }).await;
    if !allowed {
        // A refusal stands whether or not it could be recorded.
        if !matches!(written, Ok(Ok(()))) {
            tracing::error!(upstream = %tool.upstream, "a refusal could not be recorded in the audit log");
        }
        return Judgement::Refuse { text: refusal(&settled.verdict, settled.unasked.as_ref()) };
    }
    // FAIL CLOSED: an allowed call without an audit record must not exist.
    if !matches!(written, Ok(Ok(()))) {
        tracing::error!(upstream = %tool.upstream, "the audit log cannot be written: the call is refused");
        return unavailable("audit");
    }
    let (Some(known), Some(facts)) = (known, settled.facts) else { return unavailable("gate") };
    let making = Arc::new(Making::of(&known.policy, &facts));
    if !note_sent(core, call, (&facts, &making), settled.grant.is_some()) {
        return unavailable("taint");
    }
    drop(settled.turn);
    core.count_links(&facts);
    let of_task = match (call.msg.method, call.arguments.get("taskId").and_then(serde_json::Value::as_str)) {
        (Method::TaskResult, Some(id)) => core.of_task(&tool.upstream, id),
        _ => None,
    };
    let ticket = core.forwarded(of_task.unwrap_or_else(|| Forwarded {
        arguments: Arc::clone(&call.arguments),
        own_data: Arc::clone(&known.own_data),
        making,
        source: requests::source(call.msg.method),
        granted: if settled.grant.is_some() { Vouched::Yes } else { Vouched::No },
        task: None,
    }));
    Judgement::Forward { ticket }
}

/// The line of a verdict in the audit log.
fn line(core: &Core, call: &Call, settled: &Settled) -> String {
    let session = core.session_name(call.msg.session);
    let tool = &call.msg.tool;
    let mut record = VerdictRecord::new(
        (clock::unix_millis(), &session, call.msg.call.0, &call.msg.client),
        (&tool.upstream, &tool.name),
        &call.arguments,
        &call.raw,
        &settled.verdict,
    );
    record.grant.clone_from(&settled.grant);
    record.answer = answer_name(settled);
    record.open()
}

/// Tells the history what is sent.
///
/// ORDER: it need not be waited for, because the result of the call and every later question stand behind
/// it in the same mailbox.
fn note_sent(core: &Core, call: &Call, (facts, making): (&Facts, &Arc<Making>), granted: bool) -> bool {
    let sent = NoteSent {
        upstream: Arc::clone(&call.msg.tool.upstream),
        tool: Arc::clone(&call.msg.tool.name),
        call: call.msg.call.0,
        arguments: Arc::clone(&call.arguments),
        vouched: vouched(facts, &call.arguments, granted),
        spends: facts.sums.clone(),
        making: Arc::clone(making),
    };
    core.shared.sent.try_send(sent).is_ok()
}

fn unavailable(part: &'static str) -> Judgement {
    let verdict =
        Verdict::new(Outcome::Deny, Contract::SinkGate, vec![Finding::deny(Reason::Unavailable(part))]);
    Judgement::Refuse { text: refusal(&verdict, None) }
}

fn answer_name(settled: &Settled) -> Option<&'static str> {
    if settled.verdict.outcome != Outcome::Ask {
        return None;
    }
    Some(match &settled.unasked {
        None => "allowed",
        Some(Unasked::Refused) => "refused",
        Some(Unasked::Unanswered(_)) => "unanswered",
        Some(Unasked::NoHuman(_)) => "no_human",
        Some(Unasked::Tired(_)) => "tired",
    })
}
