//! The policies of a run: the one that it started with, and those that were read since.
//!
//! INVARIANT: nothing loosens while Bouncer runs. A tool keeps the rule it has until a later policy
//! gives it one that is equal or tighter; the rest of that policy waits for the next start, which is a
//! person's. So the rule of a tool is found by going through all policies from the first to the last,
//! for tools that are listed later too.

use std::sync::Arc;

use super::binding::UpstreamIdentity;
use super::heuristics::ToolDescription;
use super::policy::Policy;
use super::tool::ToolPolicy;
use super::{Effect, Locality};

/// More different policies than this in one run are not read: each is looked at for every tool.
pub const MOST_POLICIES: usize = 64;

/// All policies of a run, and which of what they say is in force.
#[derive(Debug, Clone)]
pub struct Rules {
    first: Arc<Policy>,
    later: Vec<Arc<Policy>>,
}

/// The rule of a tool, and what of the newest policy waits.
#[derive(Debug, Clone)]
pub struct Ruled {
    /// The rule in force.
    pub policy: ToolPolicy,
    /// The parts in which the newest policy is laxer, or not shown to be as tight; empty when it is in
    /// force.
    pub waits: Vec<&'static str>,
}

/// There were too many policies already; nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

impl Rules {
    /// A run that begins with this policy.
    pub fn new(policy: Policy) -> Self {
        Self { first: Arc::new(policy), later: Vec::new() }
    }

    /// Takes what tightens of a policy that was read again; one that says what the newest says is not
    /// counted.
    ///
    /// # Errors
    /// This run has seen [`MOST_POLICIES`].
    pub fn take(&mut self, policy: Policy) -> Result<(), TooMany> {
        let newest = self.later.last().unwrap_or(&self.first);
        if newest.refusal() == policy.refusal() && said(newest) == said(&policy) {
            return Ok(());
        }
        if self.later.len() + 1 >= MOST_POLICIES {
            return Err(TooMany);
        }
        self.later.push(Arc::new(policy));
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = &Policy> {
        std::iter::once(&*self.first).chain(self.later.iter().map(|policy| &**policy))
    }

    /// Why every call is refused, if it is.
    pub fn refusal(&self) -> Option<&str> {
        self.all().find_map(Policy::refusal)
    }

    /// Whether an upstream may use the client's model: where every policy lets it.
    pub fn admits_sampling(&self, upstream: &str) -> bool {
        self.all().all(|policy| policy.admits_sampling(upstream))
    }

    /// Whether an upstream keeps what it is given: where every policy says so.
    pub fn locality(&self, upstream: &UpstreamIdentity) -> Locality {
        let is_local = self.all().all(|policy| policy.locality(upstream) == Locality::Local);
        if is_local { Locality::Local } else { Locality::Elsewhere }
    }

    /// The rule of one tool of one upstream.
    pub fn tool_policy(&self, upstream: &UpstreamIdentity, tool: &ToolDescription) -> Ruled {
        self.tightest(|policy| policy.tool_policy(upstream, tool))
    }

    /// The rule of a request that is no tool call, as [`Policy::request_policy`].
    pub fn request_policy(&self, upstream: &UpstreamIdentity, method: &str, effect: Effect) -> Ruled {
        self.tightest(|policy| policy.request_policy(upstream, method, effect))
    }

    fn tightest(&self, rule: impl Fn(&Policy) -> ToolPolicy) -> Ruled {
        let start = Ruled { policy: rule(&self.first), waits: Vec::new() };
        self.later.iter().fold(start, |ruled, policy| {
            let policy = rule(policy);
            let waits = policy.looser_than(&ruled.policy);
            if waits.is_empty() { Ruled { policy, waits } } else { Ruled { waits, ..ruled } }
        })
    }
}

/// All that the user's files say, for comparison.
fn said(policy: &Policy) -> String {
    format!("{:?}", policy.user())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::compile_policy;
    use serde_json::json;

    fn policy(text: &str) -> Policy {
        Policy::new(vec![compile_policy(text, "policy.yaml").unwrap().0], Vec::new())
    }

    fn rules(texts: &[&str]) -> Rules {
        let mut rules = Rules::new(policy(texts[0]));
        for text in &texts[1..] {
            rules.take(policy(text)).unwrap();
        }
        rules
    }

    #[test]
    fn a_tool_keeps_the_tightest_rule_it_ever_had() {
        let upstream = UpstreamIdentity { name: "a".into(), ..UpstreamIdentity::default() };
        let tool = ToolDescription::from_entry(&json!({"name": "t", "inputSchema": {}})).unwrap();
        for (texts, calls, waits) in [
            (&["t: {max_calls: 5}", "t: {max_calls: 3}"][..], 3, false),
            (&["t: {max_calls: 5}", "t: {max_calls: 9}"], 5, true),
            (&["t: {max_calls: 5}", "t: {max_calls: 3}", "t: {max_calls: 5}"], 3, true),
            (&["t: {max_calls: 5}", "t: {max_calls: 9}", "t: {max_calls: 4}"], 4, false),
            (&["t: {max_calls: 5}", "t: {max_calls: 9}", "t: {max_calls: 5}"], 5, false),
            // What is tighter in one part and laxer in another waits as a whole.
            (&["t: {max_calls: 5}", "t: {max_calls: 3, trusted_destinations: ['@a.test']}"], 5, true),
        ] {
            let ruled = rules(texts).tool_policy(&upstream, &tool);
            assert_eq!(ruled.policy.budget.map(|budget| budget.max_calls), Some(calls), "{texts:?}");
            assert_eq!(!ruled.waits.is_empty(), waits, "{texts:?}");
        }
    }

    #[test]
    fn upstreams_gain_nothing_and_a_refusal_stays() {
        let upstream = UpstreamIdentity { name: "a".into(), ..UpstreamIdentity::default() };
        let open = "{local: [a], sampling: [a], tools: {}}";
        for (texts, is_open) in [
            (&[open, open][..], true),
            (&[open, "{tools: {}}", open], false),
            (&["{tools: {}}", open], false),
        ] {
            let rules = rules(texts);
            assert_eq!(rules.locality(&upstream) == Locality::Local, is_open, "{texts:?}");
            assert_eq!(rules.admits_sampling("a"), is_open, "{texts:?}");
        }
        let mut rules = Rules::new(Policy::refuse_all("broken"));
        rules.take(policy(open)).unwrap();
        assert_eq!(rules.refusal(), Some("broken"));
        assert_eq!(rules.locality(&upstream), Locality::Elsewhere);
        assert!(!rules.admits_sampling("a"));
    }

    #[test]
    fn there_is_an_end_to_policies() {
        let mut rules = rules(&["t: {max_calls: 1}"; 100]);
        let taken =
            (2..100).filter(|n| rules.take(policy(&format!("t: {{max_calls: {n}}}"))).is_ok()).count();
        assert_eq!(taken, MOST_POLICIES - 1);
    }
}
