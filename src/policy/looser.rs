//! Whether one rule of a tool is nowhere laxer than another: what a reload may take into force by itself.
//!
//! The two rules are compared field by field, not call by call. What cannot be shown to be equal or
//! tighter from the fields alone counts as looser, so a change that is harmless may have to wait for a
//! restart, and one that is not never gets through. `rules.rs` puts it to use.

use crate::provenance::TrustRule;

use super::constraint::{Constraint, Test};
use super::tool::{ArgRule, Budget, OwnPlace, ToolPolicy};
use super::{Cells, Effect, Gate, Layer, Locality, Outcome, Role};

impl ToolPolicy {
    /// In which of its parts `self` may allow what `before` does not; empty when it is equal or tighter.
    pub fn looser_than(&self, before: &Self) -> Vec<&'static str> {
        // Each field by its name, so that a new one cannot be forgotten here.
        let Self {
            effect: _,
            effect_layer: _,
            also: _,
            gate,
            locality,
            args,
            budget,
            constraints,
            trusted,
            own_data,
            cells,
            creates,
            object,
            // Who ruled on it says nothing of what was ruled.
            packs: _,
            refused,
        } = self;
        // Where every call is refused, nothing is laxer.
        if refused.is_some() {
            return Vec::new();
        }
        let parts = [
            ("it no longer refuses every call", before.refused.is_some()),
            ("effect", !effect_holds(before, self)),
            ("arguments", !same_arguments(&before.args, args)),
            ("sink gate", *gate == Gate::Off && before.gate == Gate::On),
            ("local", *locality == Locality::Local && before.locality == Locality::Elsewhere),
            ("budget", !budget_holds(before.budget, *budget)),
            ("constraints", !constraints_hold(&before.constraints, constraints)),
            ("trusted destinations", !trusts_no_more(&before.trusted, trusted)),
            ("own data", !declares_no_more(&before.own_data, own_data)),
            ("verdict table", !cells_hold(&before.cells, cells)),
            ("what it creates", *creates != before.creates),
            ("what it acts on", *object != before.object),
        ];
        parts.into_iter().filter(|(_, is_looser)| *is_looser).map(|(part, _)| part).collect()
    }

    /// Whether two rules say the same of every call.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.looser_than(other).is_empty() && other.looser_than(self).is_empty()
    }
}

/// A read or a write that becomes a sink is judged by its destinations beside all that it was judged by
/// before. A command is left out: what it does is read from its arguments unless somebody says it.
fn effect_holds(before: &ToolPolicy, now: &ToolPolicy) -> bool {
    let same = (before.effect, before.effect_layer) == (now.effect, now.effect_layer);
    let becomes_a_sink = matches!(before.effect, Effect::Read | Effect::Write)
        && now.effect.is_sink()
        && now.gate == Gate::On
        && before.with_role(Role::Command).next().is_none();
    let also = before.also.iter().filter(|(effect, _)| *effect != now.effect);
    (same || becomes_a_sink) && also.eq(&now.also)
}

fn same_arguments(before: &[ArgRule], now: &[ArgRule]) -> bool {
    before.len() == now.len() && before.iter().all(|arg| now.contains(arg))
}

fn budget_holds(before: Option<Budget>, now: Option<Budget>) -> bool {
    match (before, now) {
        (None, _) => true,
        (Some(before), Some(now)) => now.max_calls <= before.max_calls,
        (Some(_), None) => false,
    }
}

/// Every demand is still made, as it was or tighter, and none is added that vouches for a value.
fn constraints_hold(before: &[Constraint], now: &[Constraint]) -> bool {
    let covers = |old: &Constraint, new: &Constraint| {
        old.argument == new.argument
            && old.presence == new.presence
            && old.layer == new.layer
            && test_holds(&old.test, &new.test)
    };
    let kept = before.iter().all(|old| now.iter().any(|new| covers(old, new)));
    let vouches = |new: &&Constraint| matches!(new.test, Test::OneOf(_) | Test::Host(_));
    kept && now.iter().filter(vouches).all(|new| before.iter().any(|old| covers(old, new)))
}

fn test_holds(before: &Test, now: &Test) -> bool {
    match (before, now) {
        (Test::Path(old), Test::Path(new)) => {
            // No folder at all is another demand, not a narrower one.
            let narrower =
                !new.within.is_empty() && new.within.iter().all(|bound| old.within.contains(bound));
            old == new || (old.base == new.base && narrower)
        }
        (Test::Pattern(old), Test::Pattern(new)) => old.as_str() == new.as_str(),
        (Test::OneOf(old), Test::OneOf(new)) => new.iter().all(|value| old.contains(value)),
        (Test::Host(old), Test::Host(new)) => new.iter().all(|host| old.contains(host)),
        (Test::Range(old), Test::Range(new)) => {
            let least = old.min.is_none_or(|old| new.min.is_some_and(|new| new >= old));
            let most = old.max.is_none_or(|old| new.max.is_some_and(|new| new <= old));
            least && most
        }
        (Test::Ref, Test::Ref) => true,
        (Test::AtLeast(old), Test::AtLeast(new)) => new >= old,
        _ => false,
    }
}

fn trusts_no_more(before: &[(TrustRule, Layer)], now: &[(TrustRule, Layer)]) -> bool {
    now.iter().all(|(rule, _)| before.iter().any(|(old, _)| old == rule))
}

fn declares_no_more(before: &[OwnPlace], now: &[OwnPlace]) -> bool {
    let same = |old: &OwnPlace, new: &OwnPlace| {
        (&old.source, &old.kinds, old.layer) == (&new.source, &new.kinds, new.layer)
    };
    now.iter().all(|new| before.iter().any(|old| same(old, new)))
}

/// A cell that nobody set is the table's own, which is no laxer than `allow` and no tighter than `deny`.
fn cells_hold(before: &Cells, now: &Cells) -> bool {
    let places = before.0.keys().chain(now.0.keys());
    places.into_iter().all(|place| match (before.0.get(place), now.0.get(place)) {
        (Some(old), Some(new)) => new >= old,
        (None, new) => new.is_none_or(|new| *new == Outcome::Deny),
        (Some(old), None) => *old == Outcome::Allow,
    })
}

#[cfg(test)]
mod tests {
    use super::super::heuristics::ToolDescription;
    use super::super::{Policy, UpstreamIdentity};
    use crate::pack::compile_policy;
    use serde_json::json;

    fn rule(policy: &str) -> super::ToolPolicy {
        let entry = json!({
            "name": "post",
            "inputSchema": {"type": "object", "properties": {
                "to": {"type": "string"}, "text": {"type": "string"}, "path": {"type": "string"}, "n": {"type": "number"},
            }},
        });
        let (set, _) = compile_policy(policy, "policy.yaml").unwrap_or_else(|found| panic!("{found:?}"));
        let upstream = UpstreamIdentity { name: "a".into(), ..UpstreamIdentity::default() };
        let tool = ToolDescription::from_entry(&entry).unwrap();
        Policy::new(vec![set], Vec::new()).tool_policy(&upstream, &tool)
    }

    #[test]
    fn what_is_not_shown_to_be_tighter_is_looser() {
        // From the left to the right it is tighter, from the right to the left it names this part.
        for (lax, tight, part) in [
            ("post: {effect: send}", "post: {effect: send, max_calls: 3}", "budget"),
            ("post: {max_calls: 4}", "post: {max_calls: 3}", "budget"),
            ("post: {effect: send, exfiltrating: false}", "post: {effect: send}", "sink gate"),
            (
                "post: {trusted_destinations: ['x@a.test', '@b.test']}",
                "post: {trusted_destinations: ['x@a.test']}",
                "trusted destinations",
            ),
            (
                "{tools: {post: {effect: send}}, trusted_destinations: ['@b.test']}",
                "{tools: {post: {effect: send}}}",
                "trusted destinations",
            ),
            ("{tools: {post: {effect: send}}, local: [a]}", "{tools: {post: {effect: send}}}", "local"),
            (
                "{tools: {post: {effect: read}}, own_data: {a.post: ['$.x']}}",
                "{tools: {post: {effect: read}}}",
                "own data",
            ),
            ("post: {}", "post: {arg_patterns: {text: '[a-z]+'}}", "constraints"),
            (
                "post: {write_params: [path], allowed_path_prefixes: [/a, /b]}",
                "post: {write_params: [path], allowed_path_prefixes: [/a]}",
                "constraints",
            ),
        ] {
            let (lax, tight) = (rule(lax), rule(tight));
            assert_eq!(tight.looser_than(&lax), [""; 0], "{part}");
            assert!(lax.looser_than(&tight).contains(&part), "{part}: {:?}", lax.looser_than(&tight));
            assert!(!lax.is_same_as(&tight), "{part}");
            assert!(lax.is_same_as(&lax.clone()), "{part}");
        }
    }

    #[test]
    fn what_a_number_counts_is_part_of_the_rule() {
        let before = rule("post: {effect: send}");
        let now = super::ToolPolicy { object: Some("issue".into()), ..before.clone() };
        assert_eq!(now.looser_than(&before), ["what it acts on"]);
    }

    #[test]
    fn what_is_neither_waits_both_ways() {
        for (one, other, part) in [
            ("post: {arg_patterns: {text: 'a'}}", "post: {arg_patterns: {text: 'b'}}", "constraints"),
            ("post: {effect: send}", "post: {effect: fetch}", "effect"),
            (
                "post: {effect: send, sink_params: [to]}",
                "post: {effect: send, sink_params: [text]}",
                "arguments",
            ),
        ] {
            let (one, other) = (rule(one), rule(other));
            for (now, before) in [(&one, &other), (&other, &one)] {
                assert!(now.looser_than(before).contains(&part), "{part}: {:?}", now.looser_than(before));
            }
        }
    }
}
