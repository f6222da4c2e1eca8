//! Where the declared own-data paths lead in a message.
//!
//! A path is asked of each structure that parses as a whole: structured content, each text block that is
//! JSON or YAML, the list of all of them (one block an item is common), and a whole text as a scalar.

use std::collections::BTreeMap;

use super::engine::OwnField;
use super::{Kind, structure};
use serde_json::Value;

/// The paths of all own-data values in one message.
#[derive(Debug, Default)]
pub(crate) struct OwnPaths(BTreeMap<String, Vec<Kind>>);

impl OwnPaths {
    /// Asks all paths of all structures in a message.
    pub(crate) fn find(message: &[u8], paths: &[OwnField<'_>]) -> Self {
        let mut found = Self::default();
        if paths.is_empty() {
            return found;
        }
        let Ok(message) = serde_json::from_slice::<Value>(message) else { return found };
        let structured = message.get("structuredContent");
        if let Some(value) = structured {
            found.ask(value, paths, "$['structuredContent']", None);
        }
        let mut texts: Vec<(String, Value)> = Vec::new();
        for list in ["content", "contents"] {
            for (at, item) in message.get(list).and_then(Value::as_array).into_iter().flatten().enumerate() {
                for (path, text) in [
                    (format!("$['{list}'][{at}]['text']"), item.get("text")),
                    (format!("$['{list}'][{at}]['resource']['text']"), item.pointer("/resource/text")),
                ] {
                    if let Some(text) = text.and_then(Value::as_str) {
                        texts.push((path, parse(text)));
                    }
                }
            }
        }
        for (path, value) in &texts {
            let prefix = if value.is_string() { path.clone() } else { format!("{path} » $") };
            found.ask(value, paths, &prefix, None);
        }
        if texts.len() > 1 {
            let prefixes: Vec<String> = texts
                .iter()
                .map(|(path, value)| if value.is_string() { path.clone() } else { format!("{path} » $") })
                .collect();
            let all = Value::Array(texts.into_iter().map(|(_, value)| value).collect());
            found.ask(&all, paths, "$", Some(&prefixes));
        } else if texts.is_empty() && structured.is_none() {
            found.ask(&message, paths, "$", None);
        }
        found
    }

    /// `items`: when the root is a list made of several structures, where each of them stands.
    fn ask(&mut self, root: &Value, paths: &[OwnField<'_>], prefix: &str, items: Option<&[String]>) {
        for field in paths {
            for node in field.path.query_located(root) {
                let located = node.location().to_string();
                let tail = located.strip_prefix('$').unwrap_or(&located);
                let full = match items {
                    None => format!("{prefix}{tail}"),
                    Some(items) => {
                        let Some((at, rest)) = tail.strip_prefix('[').and_then(|tail| tail.split_once(']'))
                        else {
                            continue;
                        };
                        let Some(item) = at.parse().ok().and_then(|at: usize| items.get(at)) else {
                            continue;
                        };
                        format!("{item}{rest}")
                    }
                };
                match self.0.get_mut(&full) {
                    // No kinds: any.
                    Some(kinds) if kinds.is_empty() || field.kinds.is_empty() => kinds.clear(),
                    Some(kinds) => kinds.extend_from_slice(field.kinds),
                    None => {
                        self.0.insert(full, field.kinds.to_vec());
                    }
                }
            }
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds vouched for at a leaf that stands at or below one of the paths; empty: any.
    pub(crate) fn kinds(&self, path: &str) -> Option<&[Kind]> {
        if self.0.is_empty() {
            return None;
        }
        let above = path.match_indices('[').find_map(|(at, _)| self.0.get(path.get(..at)?));
        self.0.get(path).or(above).map(Vec::as_slice)
    }
}

/// The structures that a result holds: structured content, and each text block that parses as a whole as
/// JSON or YAML.
pub fn structures(result: &Value) -> Vec<Value> {
    let structured = result.get("structuredContent").filter(|value| value.is_object() || value.is_array());
    let blocks =
        ["content", "contents"].into_iter().filter_map(|list| result.get(list)?.as_array()).flatten();
    let texts = blocks.flat_map(|item| [item.get("text"), item.pointer("/resource/text")]).flatten();
    let parsed = texts.filter_map(Value::as_str).map(parse).filter(|value| !value.is_string());
    structured.cloned().into_iter().chain(parsed).collect()
}

/// Whether the first of [`structures`] is the result itself: structured content, or its one block, a text.
/// What stands beside others or in a resource is somebody's document.
pub fn is_structure(result: &Value) -> bool {
    if let Some(structured) = result.get("structuredContent") {
        return structured.is_object() || structured.is_array();
    }
    let is_one = match result.get("content").and_then(Value::as_array).map(Vec::as_slice) {
        Some([block]) => block.get("text").is_some_and(Value::is_string) && block.get("resource").is_none(),
        _ => false,
    };
    is_one && result.get("contents").is_none()
}

fn parse(text: &str) -> Value {
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
        return value;
    }
    structure::read(text).value.unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json_path::JsonPath;

    fn check(message: &Value, path: &str, expected: &[&str]) {
        let path = JsonPath::parse(path).unwrap_or_else(|e| panic!("{e}"));
        let field = OwnField { path: &path, kinds: &[] };
        let found = OwnPaths::find(message.to_string().as_bytes(), &[field]);
        let all: Vec<&str> = found.0.keys().map(String::as_str).collect();
        assert_eq!(all, expected, "{message}");
    }

    #[test]
    fn paths_are_asked_of_each_structure() {
        let text = |text: &str| serde_json::json!({"content": [{"type": "text", "text": text}]});
        check(
            &text("[{\"email\":\"a@b.test\"}]"),
            "$[*].email",
            &["$['content'][0]['text'] » $[0]['email']"],
        );
        check(
            &text("- email: a@b.test\n- email: c@d.test"),
            "$[*].email",
            &["$['content'][0]['text'] » $[0]['email']", "$['content'][0]['text'] » $[1]['email']"],
        );
        check(&text("ops@corp.test"), "$", &["$['content'][0]['text']"]);
        check(&text("From: a@b.test\nhello"), "$.From", &[]);
        check(
            &serde_json::json!({"structuredContent": {"c": [{"email": "x"}]}}),
            "$.c[*].email",
            &["$['structuredContent']['c'][0]['email']"],
        );
        let two = serde_json::json!({"content": [{"text": "{\"e\":1}"}, {"text": "{\"e\":2}"}]});
        check(&two, "$[*].e", &["$['content'][0]['text'] » $['e']", "$['content'][1]['text'] » $['e']"]);
    }
}
