//! Drafts of policies from what servers say of their tools: a start for a person, never an answer.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::policy::heuristics::ToolDescription;
use crate::policy::{Effect, Policy, Preview, UpstreamIdentity, preview};

/// How much risk the user wants to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Risk {
    /// The table of the design, with budgets for what cannot be undone.
    Standard,
    /// Nothing that only stood in a field may receive anything.
    Strict,
    /// Only what the user typed or trusts, and every change is asked about.
    Paranoid,
}

impl Risk {
    /// The level of that name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        [("standard", Self::Standard), ("strict", Self::Strict), ("paranoid", Self::Paranoid)]
            .into_iter()
            .find_map(|(known, level)| (known == name).then_some(level))
    }
}

/// The tools among definitions: a list, `{"tools": […]}`, or a whole `tools/list` response.
pub(super) fn tools(definitions: &Value) -> Vec<(ToolDescription, Value)> {
    let body = definitions.get("result").unwrap_or(definitions);
    let list = body.get("tools").unwrap_or(body);
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|entry| Some((ToolDescription::from_entry(entry).ok()?, entry.clone()))).collect()
}

/// What calls of a tool of this server would get without a policy of the user's.
pub(super) fn previewed(server: &str, tool: &ToolDescription) -> Preview {
    let identity = UpstreamIdentity { name: server.to_owned(), ..UpstreamIdentity::default() };
    preview(&Policy::new(Vec::new(), super::Knowledge::packs()).tool_policy(&identity, tool))
}

/// A policy for the tools of a server. It loads.
pub(super) fn policy(server: &str, tools: &[(ToolDescription, Value)], risk: Risk) -> String {
    let mut text = String::from("tools:\n");
    for (tool, _) in tools {
        let Preview { effect, sinks, .. } = previewed(server, tool);
        let mut entry = serde_json::Map::new();
        entry.insert("effect".to_owned(), json!(effect));
        if !sinks.is_empty() && effect.is_sink() {
            entry.insert("sink_params".to_owned(), json!(sinks));
        }
        if let Some(calls) = calls(effect, risk) {
            entry.insert("max_calls".to_owned(), json!(calls));
        }
        let tightened: &[&str] = match risk {
            Risk::Standard => &[],
            Risk::Strict => &["identity-field", "link-field", "planted", "pointed-text"],
            Risk::Paranoid => {
                &["identity-field", "link-field", "planted", "pointed-text", "typed-not-asked", "unproven"]
            }
        };
        if effect.is_sink() && !tightened.is_empty() {
            let cells: serde_json::Map<_, _> =
                tightened.iter().map(|cell| ((*cell).to_owned(), json!("deny"))).collect();
            entry.insert("on".to_owned(), Value::Object(cells));
        }
        if risk == Risk::Paranoid && !matches!(effect, Effect::Read) && !effect.is_sink() {
            entry.insert("at_least".to_owned(), json!("ask"));
        }
        // JSON is YAML, and quotes what a hostile name could mean.
        let key = json!(format!("{server}.{}", tool.name));
        let _ = writeln!(text, "  {key}: {}", Value::Object(entry));
    }
    if tools.is_empty() {
        return "tools: {}\n".to_owned();
    }
    text
}

fn calls(effect: Effect, risk: Risk) -> Option<u32> {
    match (risk, effect) {
        (Risk::Standard, Effect::Destroy | Effect::Spend) => Some(2),
        (Risk::Strict, effect) if effect.is_sink() => Some(5),
        (Risk::Paranoid, effect) if effect.is_sink() => Some(1),
        (Risk::Paranoid, _) => Some(50),
        (Risk::Standard | Risk::Strict, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::compile_policy;

    #[test]
    fn every_draft_loads_whatever_the_names_are() {
        let definitions = json!({"tools": [
            {"name": "send_email", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}},
            {"name": "delete_file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}},
            {"name": "x: {}\n# \"y\"", "inputSchema": {"type": "object"}},
            {"name": "list_things"}, {"title": "no tool"}, 7
        ]});
        let tools = tools(&definitions);
        assert_eq!(tools.len(), 4);
        for risk in [Risk::Standard, Risk::Strict, Risk::Paranoid] {
            let text = policy("mail", &tools, risk);
            let (rules, _) =
                compile_policy(&text, "draft").unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"));
            assert_eq!(rules.rules.len(), 4);
        }
        assert!(compile_policy(&policy("mail", &[], Risk::Strict), "draft").is_ok());
    }
}
