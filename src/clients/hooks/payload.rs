//! Reads the JSON that a client's hook gets on its standard input.
//!
//! Unknown members are ignored, because clients add some with every release. What is not there
//! loosens nothing: a payload without a prompt is no prompt, one of another event neither, and one
//! that says that an agent wrote it is pasted.

use serde_json::Value;

use crate::provenance::Origin;

use super::HookClient;

/// A prompt as a client reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The text.
    pub text: String,
    /// Whether the client says that the user typed it.
    pub origin: Origin,
}

/// Members that name the event.
const EVENT: &[&str] = &["hook_event_name", "hookEventName", "agent_action_name", "event"];
/// Members by which clients say that an agent, not the user, wrote the text.
const AGENT: &[&str] = &["agent_id", "agentId", "parent_agent_id", "subagent_id", "parent_session_id"];
/// Events whose text the client or an agent has made: heard, but never as the user's own.
const MADE: &[&str] = &["userPromptTransformed", "UserPromptTransformed", "SubagentStart", "subagentStart"];

/// What the user said, by this payload. `event` is the event's name where the command line gives
/// it; it counts where the payload names none. `None` when this is no prompt.
pub fn read(client: HookClient, event: Option<&str>, payload: &[u8]) -> Option<Said> {
    let payload = payload.strip_prefix(b"\xef\xbb\xbf").unwrap_or(payload);
    let value: Value = serde_json::from_slice(payload).ok()?;
    let member =
        |names: &[&str]| names.iter().find_map(|name| value.get(name)).filter(|value| !value.is_null());
    let named = member(EVENT).and_then(Value::as_str).or(event);
    let raw = match named {
        None => true,
        Some(name) if client.prompt_events().iter().any(|known| same(known, name)) => true,
        Some(name) if MADE.iter().any(|known| same(known, name)) => false,
        Some(_) => return None,
    };
    let text = match client {
        HookClient::Windsurf => value.pointer("/tool_info/user_prompt").or_else(|| value.get("prompt")),
        _ => value.get("prompt"),
    };
    let text = text_of(text?)?;
    let origin = if raw && member(AGENT).is_none() { Origin::Typed } else { Origin::Pasted };
    (!text.trim().is_empty()).then_some(Said { text, origin })
}

/// Event names differ in case and separators between settings and payloads: `user-prompt-submit`.
fn same(one: &str, other: &str) -> bool {
    let fold = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    fold(one) == fold(other)
}

/// The text of a prompt: a string, or the text parts of a list of parts.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter(|part| part.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "text"))
                .filter_map(|part| part.as_str().or_else(|| part.get("text").and_then(Value::as_str)))
                .collect();
            Some(texts.join("\n"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Row {
        why: String,
        event: Option<String>,
        payload: Value,
        text: Option<String>,
        #[serde(default)]
        pasted: bool,
    }

    #[test]
    fn payloads_of_each_client_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/hooks");
        for client in HookClient::ALL {
            let file = folder.join(format!("{}.json", client.name()));
            let text = std::fs::read_to_string(&file).expect("a vector file for each client");
            let rows: Vec<Row> = serde_json::from_str(&text).expect("rows");
            for row in rows {
                let payload = serde_json::to_vec(&row.payload).expect("JSON");
                let origin = if row.pasted { Origin::Pasted } else { Origin::Typed };
                let expected = row.text.map(|text| Said { text, origin });
                assert_eq!(
                    read(client, row.event.as_deref(), &payload),
                    expected,
                    "{}: {}",
                    client.name(),
                    row.why
                );
            }
        }
    }

    #[test]
    fn what_is_no_json_is_nothing() {
        for payload in [&b""[..], b"x", b"[]", b"{\"prompt\":1}", b"\xff", b"{\"prompt\":\" \"}"] {
            assert_eq!(read(HookClient::ClaudeCode, None, payload), None);
        }
        let with_mark = b"\xef\xbb\xbf{\"prompt\":\"a\"}";
        assert!(read(HookClient::Any, None, with_mark).is_some());
    }
}
