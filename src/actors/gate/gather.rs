//! Gathering the facts of a call from the shared actors. Every actor that does not answer becomes a
//! fact that refuses.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::actors::approval::{Found, Lookup};
use crate::actors::budget::Reserve;
use crate::actors::taint::TraceCall;
use crate::policy::{
    Answered, Answers, Around, BudgetState, DestinationFacts, Facts, GrantKey, Inquiry, Outcome, PinState,
    Query, Traced, decide,
};

use super::actor::Core;
use super::call::Call;
use super::paths;
use super::tools::Known;

/// How long a trace is waited for. It stands behind all that was shown before and is still to be indexed.
const TRACE: Duration = Duration::from_secs(10);

/// The facts, and the inquiry that they answer.
pub(super) struct Gathered {
    pub(super) facts: Box<Facts>,
    pub(super) inquiry: Inquiry,
}

/// Takes a slot of the tool's budget.
pub(super) async fn reserve(core: &Rc<Core>, known: &Known, call: &Call) -> BudgetState {
    let Some(budget) = known.policy.budget else { return BudgetState::Unlimited };
    let reserve = Reserve {
        upstream: Arc::clone(&known.state_key),
        tool: Arc::clone(&call.msg.tool.name),
        max: u64::from(budget.max_calls),
    };
    // FAIL CLOSED: a dead budget actor cannot tell us what is left, so the call is refused.
    core.shared.reserve.send(reserve).await.unwrap_or(BudgetState::Unavailable)
}

/// The slot that a call took, seen under a rule that came later.
pub(super) async fn reserve_again(
    core: &Rc<Core>,
    known: &Known,
    call: &Call,
    before: BudgetState,
) -> BudgetState {
    match (before, known.policy.budget) {
        (BudgetState::Taken { used, .. }, Some(budget)) => {
            let max = u64::from(budget.max_calls);
            if used > max { BudgetState::Exhausted { max } } else { BudgetState::Taken { used, max } }
        }
        // It took none, because there was no limit.
        (BudgetState::Unlimited, _) => reserve(core, known, call).await,
        (before, _) => before,
    }
}

/// Gathers everything that is known of a call.
pub(super) async fn gather(core: &Rc<Core>, call: &Call, known: &Known, budget: BudgetState) -> Gathered {
    let inquiry = Inquiry::of(&known.policy, &call.msg.tool.upstream, &call.arguments);
    let (traced, unavailable) = match &inquiry.query {
        None => (None, None),
        // Waiting for an answer takes room that most calls do not need, here and below.
        Some(query) => match Box::pin(trace(core, call, query)).await {
            None => (None, Some("taint")),
            traced => (traced, None),
        },
    };
    // What a client answers is content: it has nothing done with the paths and hosts that it names.
    let constraints = if call.is_answer() {
        Vec::new()
    } else {
        let wanted = inquiry.paths(&known.policy, &call.arguments, &core.guard(), known.cwd.as_deref());
        let resolved =
            if wanted.is_empty() { BTreeMap::new() } else { Box::pin(paths::resolve(wanted)).await };
        let around = Around { guard: &core.guard(), cwd: known.cwd.as_deref(), resolved: &resolved };
        inquiry.constraints(&known.policy, &call.arguments, around, traced.as_ref())
    };
    let answers = Answers { pin: PinState::Known, budget, constraints, traced };
    match settled(core, call, known, inquiry, answers, unavailable) {
        Ok(gathered) => gathered,
        Err(open) => Box::pin(answered(core, call, known, *open)).await,
    }
}

/// Asks the index about a call; `None` when it does not answer.
async fn trace(core: &Core, call: &Call, query: &Arc<Query>) -> Option<Traced> {
    let trace = TraceCall { query: Arc::clone(query), arguments: Arc::clone(&call.arguments) };
    // FAIL CLOSED: an index that takes this long has told nothing.
    let answer = tokio::time::timeout(TRACE, core.shared.trace.send(trace)).await;
    answer.ok().and_then(Result::ok).and_then(Result::ok)
}

/// What needs no answer of a human is not held up by looking for one: answers change what is asked or
/// denied, never what is allowed.
fn settled(
    core: &Core,
    call: &Call,
    known: &Known,
    inquiry: Inquiry,
    answers: Answers,
    unavailable: Option<&'static str>,
) -> Result<Gathered, Box<Open>> {
    let traced = answers.traced.as_ref();
    let links = |facts: &_| core.links_used(facts);
    let destinations = traced
        .map(|traced| inquiry.destinations(&known.policy, &call.arguments, traced, &links))
        .unwrap_or_default();
    let mut facts = inquiry.facts(&known.policy, destinations.clone(), answers.clone(), &[], None);
    facts.unavailable = unavailable;
    if core.shared.lookup.connected() && decide(&facts).outcome == Outcome::Allow {
        return Ok(Gathered { facts: Box::new(facts), inquiry });
    }
    let upstream = call.msg.tool.upstream.as_ref();
    let keys = traced.map(|traced| inquiry.grant_keys(upstream, traced, &destinations)).unwrap_or_default();
    Err(Box::new(Open { inquiry, destinations, answers, keys, unavailable }))
}

/// What is known of a call that may depend on what a human said.
struct Open {
    inquiry: Inquiry,
    destinations: Vec<DestinationFacts>,
    answers: Answers,
    keys: Vec<Vec<GrantKey>>,
    unavailable: Option<&'static str>,
}

/// Adds what humans said.
async fn answered(core: &Rc<Core>, call: &Call, known: &Known, open: Open) -> Gathered {
    let Open { inquiry, destinations, answers, keys, mut unavailable } = open;
    let lookup = Lookup { session: call.msg.session.0, effect: inquiry.effect, keys, digest: call.digest() };
    let found = core.shared.lookup.send(lookup).await.unwrap_or_else(|_| {
        unavailable = Some("approval");
        Found::default()
    });
    let answered: Vec<Answered> =
        found.entries.into_iter().map(|(grant, refused)| Answered { grant, refused }).collect();
    let mut facts = inquiry.facts(&known.policy, destinations, answers, &answered, found.call_refused);
    facts.unavailable = unavailable;
    Gathered { facts: Box::new(facts), inquiry }
}
