//! What calls of a tool would get, before there is any: for tables that people read.
//!
//! Three calls are thought of, alike in all but where their destination came from, and go through the
//! same [`decide`] as real ones. Constraints are left out, since they depend on what is in the arguments.

use crate::provenance::{Destination, DestinationReason, Floor, Kind, Place, PlaceKind, Trace};

use super::facts::{AmountState, Asked, BudgetState, DestinationFacts, Facts, PinState, Typed, Via};
use super::{ArgPath, ArgRule, Audience, Effect, Outcome, Role, ToolPolicy, decide};

/// The verdicts of the three calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The effect of a call that names a destination, where the tool takes one.
    pub effect: Effect,
    /// The arguments that say where a call goes.
    pub sinks: Vec<ArgPath>,
    /// A destination that the policy trusts.
    pub allowlisted: Outcome,
    /// A destination that nothing is known of.
    pub unproven: Outcome,
    /// A destination that stood in the text of a page, a mail or a file.
    pub tainted: Outcome,
}

/// Previews the calls of one tool.
pub fn preview(policy: &ToolPolicy) -> Preview {
    let is_addressed = policy.with_role(Role::Destination).next().is_some();
    let also_sends = policy.also.iter().any(|(effect, _)| *effect == Effect::Send);
    let effect = match policy.effect {
        Effect::Read | Effect::Write if also_sends && is_addressed => Effect::Send,
        effect => effect,
    };
    let nothing = serde_json::Value::Object(serde_json::Map::new());
    let effect = match policy.besides(effect, &nothing).first() {
        Some(graver) if !effect.is_answered_by_call() => *graver,
        _ => effect,
    };
    let decides = |rule: &&ArgRule| match rule.role {
        Role::Destination => true,
        Role::Path => effect.is_sink() && effect != Effect::Send,
        Role::Target => effect.is_sink() && !(effect == Effect::Send && is_addressed),
        Role::Command => effect.is_sink(),
        _ => false,
    };
    let is_judged = effect.is_sink() || effect == Effect::Fetch;
    let rules: Vec<&ArgRule> = policy
        .args
        .iter()
        .filter(|rule| is_judged && rule.audience == Audience::No)
        .filter(decides)
        .collect();
    let verdict = |origin: Origin| decide(&facts(policy, effect, rules.first().copied(), origin)).outcome;
    Preview {
        effect,
        allowlisted: verdict(Origin::Allowlisted),
        unproven: verdict(Origin::Unproven),
        tainted: verdict(Origin::Tainted),
        sinks: rules.iter().map(|rule| rule.path.clone()).collect(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Allowlisted,
    Unproven,
    Tainted,
}

fn facts(policy: &ToolPolicy, effect: Effect, rule: Option<&ArgRule>, origin: Origin) -> Facts {
    let mut facts = Facts::of_pin(policy.refused.clone().map_or(PinState::Known, PinState::NoPolicy));
    facts.effect = effect;
    facts.gate = policy.gate;
    facts.locality = policy.locality;
    facts.cells = policy.cells.clone();
    facts.budget = match policy.budget {
        Some(budget) if budget.max_calls == 0 => BudgetState::Exhausted { max: 0 },
        _ => BudgetState::Unlimited,
    };
    // An amount is a question of its own; the table is about destinations.
    facts.amount = AmountState::Vouched;
    facts.destinations = rule.map(|rule| destination(rule, origin)).into_iter().collect();
    facts
}

fn destination(rule: &ArgRule, origin: Origin) -> DestinationFacts {
    let place = Place {
        kind: PlaceKind::FreeText,
        floor: Floor::Deny,
        upstream: String::new(),
        tool: None,
        call: 0,
        path: "$".to_owned(),
        range: (0, 0),
        chain: Vec::new(),
        excerpt: String::new(),
        exact: true,
        whole: false,
    };
    DestinationFacts {
        destination: Destination {
            pointer: String::new(),
            argument: rule.path.0.clone(),
            is_key: false,
            text: String::new(),
            kind: rule.kind.unwrap_or(Kind::Text),
            reason: DestinationReason::Declared,
            strict: None,
        },
        role: Some(rule.role),
        allowlisted: (origin == Origin::Allowlisted).then(|| "*".to_owned()),
        granted: None,
        refused: false,
        typed: Typed::No,
        asked: Asked::No,
        trace: Trace {
            places: (origin == Origin::Tainted).then_some(place).into_iter().collect(),
            altered: None,
            complete: true,
        },
        links_used: 0,
        created: false,
        handle: None,
        via: Via::Argument,
        siblings: None,
        hidden: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::heuristics::ToolDescription;
    use super::super::{Policy, UpstreamIdentity};
    use super::*;

    #[test]
    fn the_table_of_the_design_is_previewed() {
        let check = |name: &str, arguments: &[&str], expected: &str| {
            let properties: serde_json::Map<_, _> =
                arguments.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
            let entry = json!({"name": name, "inputSchema": {"type": "object", "properties": properties}});
            let tool = ToolDescription::from_entry(&entry).unwrap();
            let seen = preview(&Policy::default().tool_policy(&UpstreamIdentity::default(), &tool));
            let sinks: Vec<_> = seen.sinks.iter().map(|path| path.0.as_str()).collect();
            let shown = format!(
                "{} {} {}/{}/{}",
                seen.effect,
                sinks.join(","),
                seen.allowlisted.as_str(),
                seen.unproven.as_str(),
                seen.tainted.as_str()
            );
            assert_eq!(shown, expected, "{name}");
        };
        check("send_email", &["to", "subject", "body"], "send to allow/ask/deny");
        check("fetch", &["url"], "fetch url allow/ask/ask");
        check("read_file", &["path"], "read  allow/allow/allow");
        check("delete_file", &["path"], "destroy path allow/ask/deny");
    }
}
