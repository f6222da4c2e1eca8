//! One entry of a `tools/list` result, as far as the heuristics read it.
//!
//! The entry is upstream text: everything is optional but the name, wrong types read as absent, and
//! what is kept is bounded by the message limit of the transport. Nothing here judges.

use std::fmt;

use serde_json::Value;

/// What a tool says of itself in `annotations` (MCP schema, `ToolAnnotations`). `None`: not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Annotations {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    pub destructive: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

/// One tool as a server describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// The name it is called by.
    pub name: String,
    /// The name for people, from `title` or `annotations.title`; empty when there is none.
    pub title: String,
    /// What the server says it does; empty when it says nothing.
    pub description: String,
    /// The hints of the specification.
    pub annotations: Annotations,
    /// The JSON Schema of the arguments; `null` when there is none.
    pub input_schema: Value,
}

/// Why an entry cannot be read as a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotATool {
    /// The entry is no object.
    NoObject,
    /// There is no `name`, or it is no text, or it is empty.
    NoName,
}

impl fmt::Display for NotATool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoObject => "a tool is an object",
            Self::NoName => "a tool needs a `name` that is a text and not empty",
        })
    }
}

impl std::error::Error for NotATool {}

impl ToolDescription {
    /// Reads one entry of `tools` as it stands in a `tools/list` result.
    ///
    /// # Errors
    /// [`NotATool`] when the entry has no usable name; any other oddity reads as absent.
    pub fn from_entry(entry: &Value) -> Result<Self, NotATool> {
        let object = entry.as_object().ok_or(NotATool::NoObject)?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text(object.get("name"));
        if name.is_empty() {
            return Err(NotATool::NoName);
        }
        let hints = object.get("annotations");
        let hint = |key: &str| hints.and_then(|it| it.get(key)).and_then(Value::as_bool);
        let mut title = text(object.get("title"));
        if title.is_empty() {
            title = text(hints.and_then(|it| it.get("title")));
        }
        Ok(Self {
            name,
            title,
            description: text(object.get("description")),
            annotations: Annotations {
                read_only: hint("readOnlyHint"),
                destructive: hint("destructiveHint"),
                open_world: hint("openWorldHint"),
            },
            input_schema: object.get("inputSchema").cloned().unwrap_or(Value::Null),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_entries_read_as_absent_or_fail_with_their_reason() {
        let check = |entry: Value, expected: Result<(&str, &str, Option<bool>), NotATool>| {
            let read = ToolDescription::from_entry(&entry);
            let seen =
                read.as_ref().map(|it| (it.name.as_str(), it.title.as_str(), it.annotations.read_only));
            assert_eq!(seen, expected.as_ref().map(|it| *it), "{entry}");
        };
        check(json!({"name": "a", "title": 3, "annotations": []}), Ok(("a", "", None)));
        check(
            json!({"name": "a", "annotations": {"title": "T", "readOnlyHint": true}}),
            Ok(("a", "T", Some(true))),
        );
        check(json!({"name": "a", "annotations": {"readOnlyHint": "yes"}}), Ok(("a", "", None)));
        check(json!({"name": ""}), Err(NotATool::NoName));
        check(json!({"title": "x"}), Err(NotATool::NoName));
        check(json!([]), Err(NotATool::NoObject));
    }
}
