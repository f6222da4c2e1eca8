//! The four tools: what they take, what they answer, and how their arguments are checked.

use serde_json::{Map, Value, json};

use super::server::Fault;
use super::verdict::{Hypothetical, judge};
use super::{Knowledge, resources};
use crate::pack::{Diagnostic, compile_policy};
use crate::provenance::escaped;

/// Records of the audit log that are told at most.
const RECORDS: u64 = 200;

/// The schema of an object that has exactly these members.
fn closed(properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
}

/// What `tools/list` tells.
pub(super) fn list() -> Value {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let text_or_null = || json!({"type": ["string", "null"]});
    let count = || json!({"type": "integer", "minimum": 0});
    let count_or_null = || json!({"type": ["integer", "null"], "minimum": 1});
    let verdict = || json!({"enum": ["allow", "ask", "deny"]});
    let verdicts = || closed(&json!({"allow": count(), "ask": count(), "deny": count()}));
    let by_name = || json!({"type": "object", "additionalProperties": verdicts()});
    let reads = json!({"readOnlyHint": true, "openWorldHint": false});
    json!([
        {
            "name": "bouncer_check_verdict",
            "title": "Judge a hypothetical tool call",
            "description": "Says what Bouncer would answer to a tool call (allow, ask or deny), why, and on what evidence. \
                            The call is not made and not recorded.",
            "inputSchema": {"type": "object", "required": ["tool"], "additionalProperties": false, "properties": {
                "tool": {"type": "string", "description": "The tool's name, its own or as `upstream__tool`."},
                "upstream": {"type": "string", "description": "The name of its server, where `tool` does not say it."},
                "args": {"type": "object", "description": "The arguments of the call."},
                "untrusted_context": {"type": "array", "items": {"type": "string"},
                    "description": "Texts that the agent has read before: pages, mails, files."},
                "user_policy_yaml": {"type": "string", "description": "A policy, over the one this server was started with."},
                "user_said": {"description": "What the user has typed before.", "anyOf": [text(), texts()]},
                "schema": {"type": "object", "description": "The tool's input schema, or its whole entry of tools/list."},
            }},
            "outputSchema": closed(&json!({
                "verdict": verdict(), "contract": text(), "reason": text(), "effect": text(), "refusal": text_or_null(),
                "evidence": {"type": "array", "items": closed(&json!({
                    "outcome": verdict(), "reason": {"type": ["string", "object"]},
                }))},
                "policy_problems": texts(),
            })),
            "annotations": reads,
        },
        {
            "name": "bouncer_verify_policy",
            "title": "Check a policy",
            "description": "Checks a policy and tells every problem with its line and column.",
            "inputSchema": {"type": "object", "required": ["policy_yaml"], "additionalProperties": false,
                "properties": {"policy_yaml": {"type": "string", "description": "The text of the policy."}}},
            "outputSchema": closed(&json!({
                "loads": {"type": "boolean"}, "entries": count(),
                "problems": {"type": "array", "items": closed(&json!({
                    "severity": {"enum": ["error", "warning"]}, "message": text(),
                    "line": count_or_null(), "column": count_or_null(),
                    "cause": text_or_null(), "help": text_or_null(),
                }))},
            })),
            "annotations": reads,
        },
        {
            "name": "bouncer_get_active_policies",
            "title": "Show the policies in force",
            "description": "Names the packs that ship with Bouncer and the user's policy files; with `pack_name`, the text of that pack.",
            "inputSchema": {"type": "object", "additionalProperties": false,
                "properties": {"pack_name": {"type": "string", "description": "One pack, with its text."}}},
            "outputSchema": closed(&json!({
                "packs": {"type": "array", "items": {"type": "object", "required": ["name", "entries", "local"],
                    "additionalProperties": false, "properties": {
                        "name": text(), "entries": count(), "local": {"type": "boolean"}, "yaml": text(),
                }}},
                "user_files": texts(),
            })),
            "annotations": reads,
        },
        {
            "name": "bouncer_audit_summary",
            "title": "Count the audit log",
            "description": "Counts of calls by verdict, contract, tool, server and hour, questions and their answers, and the last records in brief.",
            "inputSchema": {"type": "object", "additionalProperties": false, "properties": {
                "limit": {"type": "integer", "minimum": 0, "maximum": RECORDS, "description": "How many of the last records; 20."}}},
            "outputSchema": closed(&json!({
                "summary": closed(&json!({
                    "lines": count(), "calls": count(), "verdicts": verdicts(), "contracts": by_name(), "tools": by_name(),
                    "upstreams": by_name(), "hours": by_name(), "prompts": count(), "approved": count(),
                    "nobody_asked": count(), "outcomes": {"type": "object", "additionalProperties": count()},
                    "span": {"type": ["array", "null"], "items": count(), "minItems": 2, "maxItems": 2},
                    "foreign": count(), "bad_times": count(), "incomplete": count(),
                    "prompts_per_100_calls": {"type": "number"}, "approval_rate_percent": {"type": "number"},
                })),
                "recent": {"type": "array", "items": closed(&json!({
                    "record": count(), "time": text_or_null(), "upstream": text_or_null(), "tool": text_or_null(),
                    "verdict": text_or_null(), "contract": text_or_null(), "answer": text_or_null(),
                }))},
            })),
            "annotations": reads,
        },
    ])
}

/// Calls a tool. Arguments that do not fit are an error of the tool, told to the model.
pub(super) fn call(knowledge: &Knowledge, name: &str, arguments: &Value) -> Result<Value, Fault> {
    let Some(given) = arguments.as_object() else {
        return Err(Fault::params("`arguments` must be an object"));
    };
    let answer = match name {
        "bouncer_check_verdict" => check_verdict(knowledge, given),
        "bouncer_verify_policy" => verify_policy(given),
        "bouncer_get_active_policies" => active_policies(knowledge, given),
        "bouncer_audit_summary" => audit_summary(knowledge, given),
        _ => return Err(Fault::params("there is no such tool")),
    };
    Ok(match answer {
        Ok(value) => json!({
            "content": [{"type": "text", "text": format!("{value:#}")}],
            "structuredContent": value,
            "isError": false,
        }),
        Err(why) => json!({"content": [{"type": "text", "text": why}], "isError": true}),
    })
}

/// The arguments of a call, each read once by its type.
struct Given<'a>(&'a Map<String, Value>);

impl<'a> Given<'a> {
    fn new(given: &'a Map<String, Value>, known: &[&str]) -> Result<Self, String> {
        match given.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("unknown argument `{}`; known: {}", escaped(key, 60), known.join(", "))),
            None => Ok(Self(given)),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| format!("`{name}` must be a string"))
    }

    fn required(&self, name: &str) -> Result<&'a str, String> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    fn texts(&self, name: &str) -> Result<Vec<&'a str>, String> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let items = value.as_array().map(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        items.flatten().ok_or_else(|| format!("`{name}` must be a list of strings"))
    }

    fn object(&self, name: &str) -> Result<Option<&'a Value>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        if value.is_object() { Ok(Some(value)) } else { Err(format!("`{name}` must be an object")) }
    }
}

fn check_verdict(knowledge: &Knowledge, given: &Map<String, Value>) -> Result<Value, String> {
    let known = ["tool", "upstream", "args", "untrusted_context", "user_policy_yaml", "user_said", "schema"];
    let given = Given::new(given, &known)?;
    let said = match given.get("user_said") {
        Some(Value::String(text)) => vec![text.as_str()],
        _ => given.texts("user_said")?,
    };
    let call = Hypothetical {
        tool: given.required("tool")?,
        upstream: given.text("upstream")?,
        args: given.object("args")?.cloned().unwrap_or_else(|| json!({})),
        context: given.texts("untrusted_context")?,
        policy: given.text("user_policy_yaml")?,
        said,
        schema: given.object("schema")?,
    };
    Ok(judge(knowledge, &call))
}

fn verify_policy(given: &Map<String, Value>) -> Result<Value, String> {
    let given = Given::new(given, &["policy_yaml"])?;
    let (loads, entries, problems) = match compile_policy(given.required("policy_yaml")?, "policy_yaml") {
        Ok((rules, warnings)) => (true, rules.rules.len(), warnings),
        Err(problems) => (false, 0, problems),
    };
    let problems: Vec<Value> = problems.iter().map(Diagnostic::as_json).collect();
    Ok(json!({"loads": loads, "entries": entries, "problems": problems}))
}

fn active_policies(knowledge: &Knowledge, given: &Map<String, Value>) -> Result<Value, String> {
    let wanted = Given::new(given, &["pack_name"])?.text("pack_name")?;
    let packs = resources::packs(wanted);
    if let (Some(name), true) = (wanted, packs.is_empty()) {
        let names = resources::names().join(", ");
        return Err(format!("there is no pack `{}`; packs: {names}", escaped(name, 60)));
    }
    Ok(json!({"packs": packs, "user_files": knowledge.files}))
}

fn audit_summary(knowledge: &Knowledge, given: &Map<String, Value>) -> Result<Value, String> {
    let limit = match Given::new(given, &["limit"])?.get("limit") {
        None => 20,
        Some(value) => value
            .as_u64()
            .filter(|limit| *limit <= RECORDS)
            .ok_or_else(|| format!("`limit` must be a whole number from 0 to {RECORDS}"))?,
    };
    (knowledge.audit)(usize::try_from(limit).unwrap_or(0))
}
