//! The rule of a request that is no tool call: which effect it has, and where its answer is recorded.

use std::sync::Arc;

use crate::actors::pins::state_key;
use crate::mcp::{Address, Method};
use crate::policy::{Effect, PinState, is_outward};
use crate::provenance::Source;

use super::actor::Core;
use super::call::Call;
use super::tools::Known;

/// What the answer to a request is.
pub(super) fn source(method: Method) -> Source {
    match method {
        Method::CallTool | Method::GetTask | Method::TaskResult | Method::CancelTask => Source::Result,
        Method::ReadResource(_) | Method::Subscribe(_) | Method::Unsubscribe => Source::Resource,
        Method::GetPrompt | Method::Complete => Source::Prompt,
    }
}

/// What is no tool call is not pinned: only the policy as a whole may stand against it.
pub(super) fn pin_state(core: &Core, known: Option<&Known>) -> PinState {
    match (core.rules.borrow().refusal(), known) {
        (Some(why), _) => PinState::NoPolicy(why.to_owned()),
        (None, Some(_)) => PinState::Known,
        (None, None) => PinState::Unlisted,
    }
}

/// The rule of this request; `None` for an upstream that is not configured.
pub(super) fn rule(core: &Core, call: &Call) -> Option<Arc<Known>> {
    let facts = core.upstreams.get(&call.msg.tool.upstream)?;
    let effect = effect(call);
    let key = (Arc::clone(&call.msg.tool.upstream), call.msg.method.name(), effect);
    if let Some(known) = core.requests.borrow().get(&key) {
        return Some(Arc::clone(known));
    }
    let ruled = core.rules.borrow().request_policy(&facts.identity, call.msg.method.name(), effect);
    let known = Arc::new(Known {
        own_data: ruled.policy.own_data.clone().into(),
        policy: ruled.policy,
        waits: ruled.waits,
        state_key: state_key(&facts.identity).into(),
        cwd: facts.cwd.clone(),
    });
    core.requests.borrow_mut().insert(key, Arc::clone(&known));
    Some(known)
}

/// Every request that a policy may name, with each effect that it may have.
const RULED: [(Method, Effect); 10] = [
    (Method::ReadResource(Address::Listed), Effect::Read),
    (Method::ReadResource(Address::Made), Effect::Fetch),
    (Method::Subscribe(Address::Listed), Effect::Read),
    (Method::Subscribe(Address::Made), Effect::Fetch),
    (Method::Unsubscribe, Effect::Read),
    (Method::GetPrompt, Effect::Read),
    (Method::Complete, Effect::Read),
    (Method::GetTask, Effect::Read),
    (Method::TaskResult, Effect::Read),
    (Method::CancelTask, Effect::Read),
];

/// The requests whose rule in the newest policy waits, by upstream and method, each with the parts in which
/// it is laxer.
pub(super) fn waiting(core: &Core) -> Vec<(Arc<str>, &'static str, Vec<&'static str>)> {
    let rules = core.rules.borrow();
    let mut found: Vec<(Arc<str>, &'static str, Vec<&'static str>)> = Vec::new();
    for (upstream, facts) in &core.upstreams {
        for (method, effect) in RULED {
            let waits = rules.request_policy(&facts.identity, method.name(), effect).waits;
            match found.last_mut() {
                _ if waits.is_empty() => {}
                Some((last, name, parts)) if last == upstream && *name == method.name() => {
                    parts.extend(waits.into_iter().filter(|part| !parts.contains(part)).collect::<Vec<_>>());
                }
                _ => found.push((upstream.clone(), method.name(), waits)),
            }
        }
    }
    found
}

/// A uri that the upstream listed is its own business; one that the client made and that leads out is
/// a fetch like any other.
fn effect(call: &Call) -> Effect {
    let uri = || call.arguments.get("uri").and_then(serde_json::Value::as_str);
    match call.msg.method {
        Method::ReadResource(Address::Made) | Method::Subscribe(Address::Made)
            if uri().is_none_or(is_outward) =>
        {
            Effect::Fetch
        }
        _ => Effect::Read,
    }
}
