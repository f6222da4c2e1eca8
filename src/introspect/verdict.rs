//! `bouncer_check_verdict`: one hypothetical call through the whole decision path of the proxy.

use serde_json::{Map, Value, json};

use super::Knowledge;
use crate::pack::{compile_policy, refuse_all};
use crate::policy::heuristics::ToolDescription;
use crate::policy::{Disk, Outcome, Policy, Trial, Unasked, UpstreamIdentity, refusal};

/// The upstream of a tool that names none, and the one that context was read from.
const SERVER: &str = "server";
const CONTEXT: &str = "context";

/// The call that is asked about.
pub(super) struct Hypothetical<'a> {
    pub(super) tool: &'a str,
    pub(super) upstream: Option<&'a str>,
    pub(super) args: Value,
    pub(super) context: Vec<&'a str>,
    pub(super) policy: Option<&'a str>,
    pub(super) said: Vec<&'a str>,
    pub(super) schema: Option<&'a Value>,
}

/// Judges it. Nothing is sent and nothing recorded.
pub(super) fn judge(knowledge: &Knowledge, call: &Hypothetical<'_>) -> Value {
    let mut problems = Vec::new();
    let mut user = knowledge.user.clone();
    let policy = match call.policy.map(|text| compile_policy(text, "user_policy_yaml")) {
        Some(Ok((rules, warnings))) => {
            problems = warnings;
            user.push(rules);
            Policy::new(user, Knowledge::packs())
        }
        // FAIL CLOSED: as in the proxy, a policy that does not load refuses every call.
        Some(Err(found)) => {
            let policy = refuse_all(&found);
            problems = found;
            policy
        }
        None => Policy::new(user, Knowledge::packs()),
    };
    // An exported name says its upstream.
    let (upstream, tool) = match (call.upstream, call.tool.split_once("__")) {
        (Some(upstream), _) => (upstream, call.tool),
        (None, Some((upstream, tool))) if !upstream.is_empty() && !tool.is_empty() => (upstream, tool),
        (None, _) => (SERVER, call.tool),
    };
    let mut trial = Trial::new(policy, knowledge.guard.clone());
    let folder = knowledge.folder.clone().map(|folder| (upstream.to_owned(), folder));
    trial.on(Disk { folders: folder.into_iter().collect(), follow: knowledge.follow });
    let identity = UpstreamIdentity { name: upstream.to_owned(), ..UpstreamIdentity::default() };
    // A name that is none is listed by nobody, and refused as such.
    trial.list(&identity, &ToolDescription::from_entry(&entry(tool, call)).into_iter().collect::<Vec<_>>());
    for text in &call.said {
        trial.prompt(text);
    }
    for (number, text) in (1..).zip(&call.context) {
        trial.shown(
            CONTEXT,
            "untrusted",
            number,
            None,
            &json!({"content": [{"type": "text", "text": text}]}),
        );
    }
    let tried = trial.call(upstream, tool, &call.args);
    let verdict = &tried.verdict;
    let told = match verdict.outcome {
        Outcome::Allow => Value::Null,
        Outcome::Ask => refusal(verdict, Some(&Unasked::NoHuman(None))).into(),
        Outcome::Deny => refusal(verdict, None).into(),
    };
    json!({
        "verdict": verdict.outcome,
        "contract": verdict.contract,
        "reason": verdict.reason(),
        "effect": tried.facts.effect,
        "refusal": told,
        "evidence": verdict.findings,
        "policy_problems": problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// The tool as it would be listed: with the schema that was given, or one made from the arguments.
fn entry(tool: &str, call: &Hypothetical<'_>) -> Value {
    match call.schema {
        Some(Value::Object(members)) if members.contains_key("inputSchema") => {
            let mut entry = members.clone();
            entry.insert("name".to_owned(), tool.into());
            Value::Object(entry)
        }
        Some(schema) => json!({"name": tool, "inputSchema": schema}),
        None => {
            json!({"name": tool, "inputSchema": {"type": "object", "properties": properties(&call.args)}})
        }
    }
}

fn properties(arguments: &Value) -> Value {
    let members = arguments.as_object().into_iter().flatten();
    Value::Object(members.map(|(name, value)| (name.clone(), shape(value))).collect::<Map<_, _>>())
}

fn shape(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            json!({"type": "array", "items": items.first().map_or_else(|| json!({}), shape)})
        }
        Value::Object(_) => json!({"type": "object", "properties": properties(value)}),
        Value::String(_) => json!({"type": "string"}),
        Value::Number(_) => json!({"type": "number"}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Null => json!({}),
    }
}
