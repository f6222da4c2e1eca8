//! From a call to its facts, in two pure steps: what must be asked about a call, and the facts that
//! the answers make. Between the two stands whoever asks: the gate's actors, or one value that holds
//! the whole history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::provenance::{Destination, DestinationReason, Extraction, Kind, Standing, Vouched, extract};

use super::argument::scalars;
use super::audience::widening;
use super::checks::{Surroundings, findings};
use super::facts::{
    AmountState, BudgetState, ContentSeen, DestinationFacts, Facts, FlowContent, FlowFacts, Gate, PinState,
};
use super::grant::{GrantKey, destination_key, fetch_key, flow_key};
use super::query::{Content, Query, Traced};
use super::{Audience, ConstraintFinding, Effect, Layer, Role, ToolPolicy, Typed};

/// Things that a call is about besides, of which it is told; one more says that there are more.
pub(super) const ABOUT: usize = 64;
/// Characters below which all arguments together can carry neither a copied passage nor a secret.
const CARRIES_NOTHING: usize = 12;

/// What must be asked about a call.
#[derive(Debug, Clone)]
pub struct Inquiry {
    /// The effect of this very call.
    pub effect: Effect,
    /// All effects that it may have, that one first.
    effects: Vec<Effect>,
    /// What to ask of the history; `None` when it has nothing to say about this call.
    pub query: Option<Arc<Query>>,
    /// Whether more destinations stood in the arguments than are judged.
    pub truncated: bool,
    /// Amounts of a spending call, as they stand in the arguments.
    pub amounts: Vec<String>,
}

/// What humans have answered for a destination or flow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answered {
    /// The grant that covers it.
    pub grant: Option<String>,
    /// How many prompts the user had typed when it was refused.
    pub refused: Option<u64>,
}

/// What no call may change, whatever the policy says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guard {
    /// Folders and files of Bouncer's own: its state folder, the configs, policies and packs it loaded.
    /// Absolute, with `/`.
    pub own: Vec<String>,
    /// The user's home folder.
    pub home: Option<String>,
}

impl Guard {
    fn surroundings<'g>(&'g self, cwd: Option<&'g str>) -> Surroundings<'g> {
        Surroundings { cwd, home: self.home.as_deref(), own: &self.own }
    }
}

/// What stands around a call: the guard, and the local disk.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// What is protected whatever the policy says.
    pub guard: &'a Guard,
    /// The upstream's working folder, where it is known.
    pub cwd: Option<&'a str>,
    /// Where the paths of the call lead once symbolic links are followed.
    pub resolved: &'a BTreeMap<String, String>,
}

/// The answers that make facts of an inquiry.
#[derive(Debug, Clone)]
pub struct Answers {
    /// The pin.
    pub pin: PinState,
    /// The budget.
    pub budget: BudgetState,
    /// Constraints not passed, the guard's among them.
    pub constraints: Vec<ConstraintFinding>,
    /// What the history knows, where it was asked.
    pub traced: Option<Traced>,
}

/// Whether an argument says that a draft is sent at once.
fn says_send(arguments: &Value) -> bool {
    let sends = |(key, value): (&String, &Value)| {
        key.to_lowercase().contains("send") && !matches!(value, Value::Bool(false) | Value::Null)
    };
    arguments.as_object().is_some_and(|members| members.iter().any(sends))
}

impl Inquiry {
    /// What must be asked about a call of `policy`'s tool at `upstream`.
    pub fn of(policy: &ToolPolicy, upstream: &str, arguments: &Value) -> Self {
        let mut standing = Standings::of(policy, arguments);
        let (effect, besides) = (standing.effect, std::mem::take(&mut standing.besides));
        let judged = policy.gate == Gate::On && (effect.is_sink() || effect == Effect::Fetch);
        let extraction =
            if judged { extract(arguments, &|path| standing.of_path(path)) } else { Extraction::default() };
        let content =
            if carries(arguments, 0) >= CARRIES_NOTHING { Content::Searched } else { Content::Left };
        let spends = effect == Effect::Spend || besides.contains(&Effect::Spend);
        let amounts = if spends { policy.amounts(arguments) } else { Vec::new() };
        let query = (judged || content == Content::Searched).then(|| Query {
            upstream: upstream.to_owned(),
            effect,
            besides,
            object: policy.object.clone(),
            drafts: policy.creates.as_deref() == Some("draft") && !says_send(arguments),
            targets: extraction
                .destinations
                .iter()
                .filter(|destination| policy.role_for(destination) == Some(Role::Target))
                .map(|destination| destination.argument.clone())
                .collect(),
            destinations: extraction.destinations,
            about: if judged { standing.about(arguments) } else { Vec::new() },
            commands: policy.with_role(Role::Command).map(|rule| rule.path.clone()).collect(),
            amounts: amounts.clone(),
            content,
        });
        let amounts = amounts
            .into_iter()
            .map(|(value, currency)| currency.map_or(value.clone(), |currency| format!("{value} {currency}")))
            .collect();
        let effects = std::iter::once(effect).chain(policy.also.iter().map(|(also, _)| *also)).collect();
        Self { effect, effects, query: query.map(Arc::new), truncated: extraction.truncated, amounts }
    }

    /// The constraints that the call does not pass, the guard's among them.
    pub fn constraints(
        &self,
        policy: &ToolPolicy,
        arguments: &Value,
        around: Around<'_>,
        traced: Option<&Traced>,
    ) -> Vec<ConstraintFinding> {
        let resolved = |path: &str| around.resolved.get(path).cloned();
        let surroundings = around.guard.surroundings(around.cwd);
        let failures = policy.failures(&self.effects, arguments, surroundings, &resolved);
        findings(failures, &|pointer| is_typed(pointer, traced))
    }

    /// The local paths of the call whose symbolic links matter.
    pub fn paths(
        &self,
        policy: &ToolPolicy,
        arguments: &Value,
        guard: &Guard,
        cwd: Option<&str>,
    ) -> BTreeSet<String> {
        policy.paths_to_resolve(&self.effects, arguments, guard.surroundings(cwd))
    }

    /// The grant keys that may cover each destination, then each flow, in order.
    pub fn grant_keys(
        &self,
        upstream: &str,
        traced: &Traced,
        facts: &[DestinationFacts],
    ) -> Vec<Vec<GrantKey>> {
        let destinations = facts.iter().map(|facts| {
            let host = if self.effect == Effect::Fetch { fetch_key(facts) } else { None };
            destination_key(facts, upstream).into_iter().chain(host).collect()
        });
        let flows =
            traced.flows.iter().map(|flow| vec![flow_key(&flow.from, flow.container.as_deref(), upstream)]);
        destinations.chain(flows).collect()
    }

    /// The facts of the destinations, before any human's answer is looked up.
    pub fn destinations(
        &self,
        policy: &ToolPolicy,
        arguments: &Value,
        traced: &Traced,
        links_used: &dyn Fn(&DestinationFacts) -> usize,
    ) -> Vec<DestinationFacts> {
        // Links of one record and host are counted within a call as well: an alphabet of them in one call is
        // the same channel.
        let mut here: BTreeMap<(String, u64, String), BTreeSet<String>> = BTreeMap::new();
        traced
            .destinations
            .iter()
            .map(|answer| {
                let destination = &answer.destination;
                let mut facts = DestinationFacts {
                    role: policy.role_for(destination),
                    allowlisted: policy.vouches(destination, arguments),
                    granted: None,
                    refused: false,
                    typed: answer.typed,
                    // A destination that nobody typed has no sentence of its own: what counts for it is
                    // whether the effect was asked for at all.
                    asked: if answer.typed == Typed::No {
                        answer.asked.max(traced.asked)
                    } else {
                        answer.asked
                    },
                    trace: answer.trace.clone(),
                    links_used: 0,
                    created: answer.created,
                    handle: answer.handle.clone(),
                    via: answer.via,
                    siblings: answer.siblings.clone(),
                    hidden: answer.hidden,
                    destination: destination.clone(),
                };
                facts.links_used = links_used(&facts);
                for (key, links) in links_read(std::slice::from_ref(&facts)) {
                    let seen = here.entry(key).or_default();
                    facts.links_used = facts.links_used.saturating_add(seen.len());
                    seen.extend(links.into_iter().map(|link| link.text));
                }
                facts
            })
            .collect()
    }

    /// The facts of the call. `answered` holds what humans said, in the order of [`Self::grant_keys`].
    pub fn facts(
        &self,
        policy: &ToolPolicy,
        mut destinations: Vec<DestinationFacts>,
        answers: Answers,
        answered: &[Answered],
        call_refused: Option<u64>,
    ) -> Facts {
        let Answers { pin, budget, constraints, traced } = answers;
        let prompts = |at: usize| traced.as_ref().and_then(|t| t.destinations.get(at)).and_then(|d| d.prompt);
        for (at, facts) in destinations.iter_mut().enumerate() {
            let Some(answer) = answered.get(at) else { continue };
            facts.granted.clone_from(&answer.grant);
            // A refusal yields to a destination that was typed later.
            let typed_since = |refused: u64| prompts(at).is_some_and(|prompt| prompt as u64 > refused);
            facts.refused = answer.refused.is_some_and(|refused| !typed_since(refused));
        }
        let typed_anything_since =
            |refused: u64| (0..destinations.len()).any(|at| prompts(at).is_some_and(|p| p as u64 > refused));
        let call_refused = call_refused.is_some_and(|refused| !typed_anything_since(refused));
        let flows = traced
            .as_ref()
            .map(|traced| flow_facts(self.effect, traced, answered, destinations.len()))
            .unwrap_or_default();
        let amount = match &traced {
            _ if self.amounts.is_empty() => AmountState::None,
            Some(traced) if traced.sums.is_some() => AmountState::Vouched,
            _ => AmountState::Unvouched,
        };
        Facts {
            effect: self.effect,
            gate: policy.gate,
            locality: policy.locality,
            pin,
            budget,
            constraints,
            destinations,
            truncated: self.truncated || traced.as_ref().is_some_and(|traced| traced.truncated),
            flows,
            content: match &traced {
                Some(traced) if traced.content_cut => ContentSeen::Part,
                _ => ContentSeen::Whole,
            },
            amount,
            about: traced.as_ref().map(|traced| traced.about.clone()).unwrap_or_default(),
            sums: traced.as_ref().and_then(|traced| traced.sums.clone()).unwrap_or_default(),
            asked: traced.as_ref().map_or(super::Asked::No, |traced| traced.asked),
            call_granted: None,
            call_refused,
            complete: traced.as_ref().is_none_or(|traced| traced.complete),
            cells: policy.cells.clone(),
            unavailable: None,
        }
    }
}

/// Whether a forwarded call plants nothing: somebody vouched for it (`granted`: a human's answer), and it
/// holds nothing else shaped like a destination. What is written beside the destinations was seen by
/// nobody.
pub fn vouched(facts: &Facts, arguments: &Value, granted: bool) -> Vouched {
    let stood = |text: &str| facts.destinations.iter().any(|facts| facts.destination.text == text);
    let holds_others = || {
        let found = extract(arguments, &|_| Standing::Undeclared);
        found.truncated || found.destinations.iter().any(|other| !stood(&other.text))
    };
    if (granted || facts.all_vouched()) && !holds_others() { Vouched::Yes } else { Vouched::No }
}

/// Whether the user typed each destination that stands at a pointer.
fn is_typed(pointer: &str, traced: Option<&Traced>) -> bool {
    let Some(traced) = traced else { return false };
    let here = traced.destinations.iter().filter(|traced| traced.destination.pointer == pointer);
    let mut any = false;
    for traced in here {
        any = true;
        if traced.typed != Typed::Yes {
            return false;
        }
    }
    any
}

/// Whether the tool opens urls besides what it does.
fn fetches(policy: &ToolPolicy) -> bool {
    policy.also.iter().any(|(effect, _)| *effect == Effect::Fetch)
}

fn flow_facts(effect: Effect, traced: &Traced, answered: &[Answered], skip: usize) -> Vec<FlowFacts> {
    // A secret that nobody else showed is content like any other, until it leaves by a sink.
    let leaves = traced.secrets.iter().filter(|secret| effect.is_sink() || secret.from.is_some());
    let secrets = leaves.map(|secret| FlowFacts {
        pointer: secret.pointer.clone(),
        content: FlowContent::Secret { shape: secret.shape, from: secret.from.clone() },
        granted: false,
    });
    let texts = traced.flows.iter().enumerate().map(|(at, flow)| FlowFacts {
        pointer: flow.pointer.clone(),
        content: FlowContent::Text {
            from: flow.from.clone(),
            chars: flow.chars,
            container: flow.container.clone(),
        },
        granted: answered.get(skip + at).is_some_and(|answer| answer.grant.is_some()),
    });
    secrets.chain(texts).collect()
}

/// The characters of all strings in the arguments, keys included; a number may be one.
fn carries(value: &Value, depth: usize) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) if depth < 64 => {
            items.iter().fold(0, |sum, item| sum.saturating_add(carries(item, depth + 1)))
        }
        Value::Object(members) if depth < 64 => members.iter().fold(0, |sum, (key, value)| {
            sum.saturating_add(key.len()).saturating_add(carries(value, depth + 1))
        }),
        Value::Array(_) | Value::Object(_) => usize::MAX,
        Value::Number(_) => 1,
        _ => 0,
    }
}

/// What each argument is to this call.
struct Standings<'p> {
    policy: &'p ToolPolicy,
    effect: Effect,
    /// Grave effects that the call has besides.
    besides: Vec<Effect>,
    /// Whether an argument that says where the call goes holds a value.
    addressed: bool,
    /// The audience arguments, top names, that let more people in.
    widening: Vec<String>,
}

impl<'p> Standings<'p> {
    fn of(policy: &'p ToolPolicy, arguments: &Value) -> Self {
        let widening = widening(policy, arguments);
        let mut standings = Self {
            policy,
            effect: policy.effect_of(arguments),
            besides: Vec::new(),
            addressed: policy.is_addressed_first(arguments),
            widening,
        };
        standings.effect = match standings.effect {
            // Letting more people in is a change of access, whatever the verb.
            Effect::Read | Effect::Write if !standings.widening.is_empty() => Effect::Account,
            // A write that also opens a url tells that host whatever the url holds.
            Effect::Read | Effect::Write if fetches(policy) && policy.is_addressed(arguments) => {
                Effect::Fetch
            }
            // What would send is a write without an addressee, unless another argument holds one.
            Effect::Write if policy.effect == Effect::Send && standings.addresses_somebody(arguments) => {
                Effect::Send
            }
            effect => effect,
        };
        if standings.effect == Effect::Fetch && policy.runs_something(arguments) {
            standings.effect = Effect::Execute;
        }
        // What a tool does besides is done as well: the call is judged by the worst of it.
        let mut besides = policy.besides(standings.effect, arguments);
        if !standings.effect.is_answered_by_call() && !besides.is_empty() {
            standings.effect = besides.remove(0);
        }
        standings.besides = besides;
        standings
    }

    /// Whether any argument holds a destination, were the call a send.
    fn addresses_somebody(&self, arguments: &Value) -> bool {
        let widening = self.widening.clone();
        let send = Self { effect: Effect::Send, besides: Vec::new(), widening, ..*self };
        let found = extract(arguments, &|path| send.of_path(path)).destinations;
        found.iter().any(|destination| destination.reason != DestinationReason::Embedded)
    }

    /// What the call is about besides where it goes: the file that is shared, the thread that is written in.
    fn about(&self, arguments: &Value) -> Vec<(String, String)> {
        let said = scalars(arguments).into_iter().filter(|(argument, text)| {
            self.policy.role_of(argument) == Some(Role::Target)
                && self.of_path(argument) == Standing::Ignored
                && !text.trim().is_empty()
        });
        said.take(ABOUT + 1).map(|(argument, text)| (argument, text.into_owned())).collect()
    }

    fn of_path(&self, path: &str) -> Standing {
        let Some(rule) = self.policy.rule_of(path) else { return Standing::Undeclared };
        if rule.audience == Audience::Decides {
            let widens = self.widening.contains(&rule.path.0);
            return if widens { Standing::Authority(Some(Kind::Text)) } else { Standing::Ignored };
        }
        match (rule.role, self.effect) {
            (Role::Destination, _) => Standing::Authority(rule.kind),
            // What is fetched is said by the destination; the rest of a fetch is harmless.
            (_, Effect::Fetch) | (Role::Path, Effect::Send) | (Role::Amount, _) => Standing::Ignored,
            // A guess that an argument is harmless does not hide a destination in it.
            (Role::Selector | Role::Credential, _) if rule.layer == Layer::Heuristic => Standing::Undeclared,
            // A message goes where its recipients say. A thread or page id decides only when nothing else does.
            (Role::Target, Effect::Send) if self.addressed => Standing::Ignored,
            (Role::Target | Role::Path | Role::Command, _) => Standing::Authority(rule.kind),
            (Role::Content, _) => Standing::Content,
            (Role::Selector | Role::Credential, _) => Standing::Ignored,
        }
    }
}

/// The pointers of the links that a fetch uses as read: for counting them by record and host.
pub fn links_read(facts: &[DestinationFacts]) -> BTreeMap<(String, u64, String), Vec<Destination>> {
    let mut links: BTreeMap<_, Vec<Destination>> = BTreeMap::new();
    for facts in facts {
        let Some(place) = facts.trace.places.iter().find(|place| place.exact) else { continue };
        let Some(GrantKey::FetchHost(host)) = fetch_key(facts) else { continue };
        links.entry((place.upstream.clone(), place.call, host)).or_default().push(facts.destination.clone());
    }
    links
}
