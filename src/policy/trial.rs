//! The whole decision path in one value, without actors: what `check`, the cases of packs and
//! policies, and the vectors judge calls with.
//!
//! It gathers with the same [`Inquiry`] and decides with the same [`decide`] as the running proxy; only
//! who is asked differs. Nothing is forwarded, and the disk is looked at only where the caller says how.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::provenance::{
    Destination, DestinationReason, Kind, Limits, Origin, Sent, Source, Standing, Vouched, extract,
};

use super::facts::{BudgetState, Facts, PinState};
use super::grant::{GrantKey, Ledger};
use super::heuristics::ToolDescription;
use super::history::{History, Making, Shown};
use super::inquiry::{Answered, Answers, Inquiry, vouched};
use super::{
    Around, Effect, Guard, Outcome, Policy, SpentSum, ToolPolicy, UpstreamIdentity, Verdict, decide,
};

/// The session that a trial stands for.
const SESSION: u64 = 1;

/// A policy with a history of its own.
pub struct Trial {
    policy: Policy,
    guard: Guard,
    tools: BTreeMap<(String, String), ToolPolicy>,
    history: History,
    ledger: Ledger,
    used: BTreeMap<(String, String), u64>,
    calls: u64,
    /// What calls made that were not refused, by their number.
    makings: BTreeMap<u64, Making>,
    /// The typed sums that vouched for them.
    sums: BTreeMap<u64, Vec<SpentSum>>,
    disk: Option<Disk>,
    drifted: BTreeMap<(String, String), Vec<&'static str>>,
}

/// The local disk as a trial sees it.
pub struct Disk {
    /// The folders that relative paths start in, by upstream.
    pub folders: BTreeMap<String, String>,
    /// Where opening a path would lead once symbolic links are followed.
    pub follow: fn(&str) -> Option<String>,
}

/// What a trial says of a call.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The verdict.
    pub verdict: Verdict,
    /// The facts it was made of.
    pub facts: Facts,
    /// The number of the call.
    pub call: u64,
}

impl Trial {
    /// A trial of `policy` with an empty history.
    pub fn new(policy: Policy, guard: Guard) -> Self {
        Self {
            policy,
            guard,
            tools: BTreeMap::new(),
            history: History::new(Limits::default(), [7; 16]),
            ledger: Ledger::default(),
            used: BTreeMap::new(),
            calls: 0,
            makings: BTreeMap::new(),
            sums: BTreeMap::new(),
            disk: None,
            drifted: BTreeMap::new(),
        }
    }

    /// Lets the history take no more than this.
    #[cfg(test)]
    pub(super) fn remembers(mut self, bytes: usize) -> Self {
        self.history = History::new(Limits { bytes }, [7; 16]);
        self
    }

    /// Lets paths be judged by where they lead on this machine.
    pub fn on(&mut self, disk: Disk) {
        self.disk = Some(disk);
    }

    /// An upstream lists its tools.
    pub fn list(&mut self, upstream: &UpstreamIdentity, tools: &[ToolDescription]) {
        for tool in tools {
            let policy = self.policy.tool_policy(upstream, tool);
            self.tools.insert((upstream.name.clone(), tool.name.clone()), policy);
        }
    }

    /// A listed tool is not what was pinned: its calls are refused.
    pub fn withhold(&mut self, upstream: &str, tool: &str, changes: Vec<&'static str>) {
        self.drifted.insert((upstream.to_owned(), tool.to_owned()), changes);
    }

    /// The policy of a listed tool.
    pub fn tool(&self, upstream: &str, tool: &str) -> Option<&ToolPolicy> {
        self.tools.get(&(upstream.to_owned(), tool.to_owned()))
    }

    /// The user types.
    pub fn prompt(&mut self, text: &str) {
        self.history.prompt(text, Origin::Typed);
    }

    /// A tool's result is shown. `call` and `arguments` are those of the call that it answers.
    pub fn shown(
        &mut self,
        upstream: &str,
        tool: &str,
        call: u64,
        arguments: Option<&Value>,
        result: &Value,
    ) {
        let making = self.makings.remove(&call);
        let policy = self.tool(upstream, tool);
        let own_data = policy.map(|policy| policy.own_data.clone()).unwrap_or_default();
        let thing =
            || Making { thing: policy.and_then(|policy| policy.creates.clone()), ..Making::default() };
        let making = making.unwrap_or_else(thing);
        self.history.shown(&Shown {
            upstream,
            tool: Some(tool),
            call,
            source: Source::Result,
            message: result.to_string().as_bytes(),
            own_data: &own_data,
            arguments,
            making: &making,
            granted: Vouched::No,
        });
    }

    /// A human has allowed sends to a destination for the session.
    pub fn approve(&mut self, upstream: &str, destination: &str) {
        let arguments = Value::String(destination.to_owned());
        for found in extract(&arguments, &|_| Standing::Authority(None)).destinations {
            for effect in [Effect::Send, Effect::Account] {
                if let Some(key) = approved_key(&found, upstream) {
                    self.ledger.grant(SESSION, effect, &[key]);
                }
            }
        }
    }

    /// Judges a call. One that is allowed counts as sent.
    pub fn call(&mut self, upstream: &str, tool: &str, arguments: &Value) -> Tried {
        self.calls += 1;
        let call = self.calls;
        let key = (upstream.to_owned(), tool.to_owned());
        let drifted = self.drifted.get(&key);
        let pin = match (self.policy.refusal(), self.tools.contains_key(&key), drifted) {
            (Some(why), ..) => PinState::NoPolicy(why.to_owned()),
            (None, false, _) => PinState::Unlisted,
            (None, true, Some(changes)) => PinState::Drifted(changes.clone()),
            (None, true, None) => PinState::Known,
        };
        let Some(policy) = self.tools.get(&key).filter(|_| pin == PinState::Known).cloned() else {
            let facts = Facts::of_pin(pin);
            return Tried { verdict: decide(&facts), facts, call };
        };
        let budget = self.reserve(key, &policy);
        let facts = self.facts(&policy, upstream, arguments, budget);
        let verdict = decide(&facts);
        if verdict.outcome == Outcome::Allow {
            let vouched = vouched(&facts, arguments, false);
            self.history.sent(&Sent { upstream, tool, call, arguments, vouched });
            self.history.spent(&facts.sums);
        }
        if verdict.outcome != Outcome::Deny {
            let making = Making::of(&policy, &facts);
            if verdict.outcome == Outcome::Allow {
                self.history.goes(upstream, &making);
            }
            self.sums.insert(call, facts.sums.clone());
            self.makings.insert(call, making);
        }
        Tried { verdict, facts, call }
    }

    /// A call was forwarded all the same: a human said yes to it once.
    pub fn forwarded(&mut self, upstream: &str, tool: &str, call: u64, arguments: &Value) {
        self.history.sent(&Sent { upstream, tool, call, arguments, vouched: Vouched::Yes });
        self.history.spent(&self.sums.remove(&call).unwrap_or_default());
        if let Some(making) = self.makings.get(&call) {
            self.history.goes(upstream, making);
        }
    }

    fn reserve(&mut self, key: (String, String), policy: &ToolPolicy) -> BudgetState {
        let Some(budget) = policy.budget else { return BudgetState::Unlimited };
        let max = u64::from(budget.max_calls);
        let used = self.used.entry(key).or_default();
        if *used >= max {
            return BudgetState::Exhausted { max };
        }
        *used += 1;
        BudgetState::Taken { used: *used, max }
    }

    fn facts(&self, policy: &ToolPolicy, upstream: &str, arguments: &Value, budget: BudgetState) -> Facts {
        let inquiry = Inquiry::of(policy, upstream, arguments);
        let traced = inquiry.query.as_ref().map(|query| self.history.trace(query, arguments));
        let disk = self.disk.as_ref();
        let cwd = disk.and_then(|disk| disk.folders.get(upstream)).map(String::as_str);
        let resolved: BTreeMap<String, String> = disk
            .map(|disk| {
                let paths = inquiry.paths(policy, arguments, &self.guard, cwd);
                paths.into_iter().filter_map(|path| (disk.follow)(&path).map(|real| (path, real))).collect()
            })
            .unwrap_or_default();
        let around = Around { guard: &self.guard, cwd, resolved: &resolved };
        let constraints = inquiry.constraints(policy, arguments, around, traced.as_ref());
        let destinations = traced
            .as_ref()
            .map(|traced| inquiry.destinations(policy, arguments, traced, &|_| 0))
            .unwrap_or_default();
        let keys = traced
            .as_ref()
            .map(|traced| inquiry.grant_keys(upstream, traced, &destinations))
            .unwrap_or_default();
        let answered: Vec<Answered> = keys
            .iter()
            .map(|keys| Answered {
                grant: keys
                    .iter()
                    .find_map(|key| self.ledger.granted(SESSION, inquiry.effect, key))
                    .map(str::to_owned),
                refused: None,
            })
            .collect();
        let answers = Answers { pin: PinState::Known, budget, constraints, traced };
        inquiry.facts(policy, destinations, answers, &answered, None)
    }
}

fn approved_key(destination: &Destination, upstream: &str) -> Option<GrantKey> {
    if destination.reason == DestinationReason::Unparsed && destination.kind == Kind::Text {
        return None;
    }
    let upstream = if destination.kind.is_global() { None } else { Some(upstream.to_owned()) };
    Some(GrantKey::Destination { upstream, strict: destination.strict.as_ref()?.as_str().to_owned() })
}
