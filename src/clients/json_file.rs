//! JSON and JSONC files of clients, edited on a tree that keeps comments, order and white space.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::edit::MapEdit;

/// Files above this are not edited, in bytes.
const LARGEST: usize = 32 * 1024 * 1024;

/// What the clients' own readers accept between them, and not what only this parser does.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    if text.len() > LARGEST {
        return Err(format!("file of {} bytes is too large", text.len()));
    }
    CstRootNode::parse(text, &options()).map_err(|error| error.to_string())
}

/// Reads a whole file. One that is empty, or holds comments only, is an empty object.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = parse(text)?;
    let Some(value) = root.value() else { return Ok(Value::Object(serde_json::Map::new())) };
    duplicates(value.as_object().as_ref(), "")?;
    jsonc_parser::parse_to_serde_value(text, &options()).map_err(|error| error.to_string())
}

/// FAIL CLOSED: readers differ on which of two members of one name counts.
fn duplicates(object: Option<&CstObject>, place: &str) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    for property in object.map(CstObject::properties).unwrap_or_default() {
        let name = property.decoded_name().ok_or_else(|| format!("a name in `{place}` cannot be read"))?;
        let place = format!("{place}/{name}");
        duplicates(property.object_value().as_ref(), &place)?;
        if !seen.insert(name) {
            return Err(format!("`{place}` is written twice"));
        }
    }
    Ok(())
}

/// Edits a text without byte order mark.
pub(super) fn edit(text: &str, edits: &[MapEdit]) -> Result<String, String> {
    let root = parse(text)?;
    for edit in edits {
        let mut object = root.object_value_or_create().ok_or("the file is not an object")?;
        for key in &edit.map {
            object = object.object_value_or_create(key).ok_or_else(|| format!("`{key}` is not an object"))?;
        }
        apply(&object, edit);
    }
    Ok(root.to_string())
}

fn apply(object: &CstObject, edit: &MapEdit) {
    let named =
        |name: &str| object.properties().into_iter().find(|p| p.decoded_name().as_deref() == Some(name));
    let mut coming: Vec<&(String, Value)> = Vec::new();
    for entry in &edit.put {
        match named(&entry.0).filter(|_| !edit.remove.contains(&entry.0)) {
            Some(property) => property.set_value(input(&entry.1)),
            None => coming.push(entry),
        }
    }
    let mut going: Vec<CstObjectProp> = edit.remove.iter().filter_map(|name| named(name)).collect();
    going.sort_by_key(CstObjectProp::property_index);
    let mut at = None;
    let mut coming = coming.into_iter();
    if let Some(first) = going.first().cloned()
        && let Some((name, value)) = coming.next()
    {
        // In its place, so that the comments above it stay where they are.
        let index = first.property_index();
        going.remove(0);
        first.set_value(input(value));
        if let Some(old) = first.name().and_then(|name| name.as_string_lit()) {
            old.set_raw_value(Value::from(name.as_str()).to_string());
        }
        at = Some(index + 1);
    }
    for property in going {
        property.remove();
    }
    for (name, value) in coming {
        match at {
            Some(index) if index < object.properties().len() => {
                object.insert(index, name, input(value));
            }
            _ => {
                object.append(name, input(value));
            }
        }
        at = at.map(|index| index + 1);
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(name, member)| (name.clone(), input(member))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn swap(text: &str, map: &str, remove: &[&str]) -> String {
        let edit_of = MapEdit {
            map: vec![map.to_owned()],
            remove: remove.iter().map(|name| (*name).to_owned()).collect(),
            put: vec![("bouncer".to_owned(), json!({"command": "bouncer", "args": ["run"]}))],
        };
        edit(text, &[edit_of]).expect("an edit")
    }

    #[test]
    fn comments_order_and_indentation_stay() {
        let text = r#"{
  // mine
  "theme": "x", // why
  "mcpServers": {
    // first
    "a": { "command": "a" },
    "remote": { "url": "u" }, // stays
    "b": {
      "command": "b" // inside
    },
  },
  /* end */ "z": [1, 2,],
}
"#;
        let expected = r#"{
  // mine
  "theme": "x", // why
  "mcpServers": {
    // first
    "bouncer": {
      "command": "bouncer",
      "args": ["run"]
    },
    "remote": { "url": "u" }, // stays
  },
  /* end */ "z": [1, 2,],
}
"#;
        assert_eq!(swap(text, "mcpServers", &["a", "b"]), expected);
    }

    #[test]
    fn tabs_single_lines_and_missing_maps() {
        let tabs = "{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}";
        assert!(swap(tabs, "mcpServers", &["a"]).contains("\n\t\t\"bouncer\": {\n\t\t\t\"command\""));
        let line = r#"{"mcpServers":{"a":{"command":"x"}}}"#;
        assert_eq!(
            read(&swap(line, "mcpServers", &["a"])).expect("JSON"),
            json!({"mcpServers": {"bouncer": {"command": "bouncer", "args": ["run"]}}})
        );
        assert!(swap("{\n  \"x\": 1\n}\n", "servers", &[]).contains("\"servers\""));
    }

    #[test]
    fn what_is_no_json_or_says_a_thing_twice_is_refused() {
        for text in ["{", "{\"a\" 1}", "{'a': 1}", "{\"a\": {\"x\": 1, \"x\": 2}}", "{a: 1}"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(read(""), Ok(json!({})));
        assert_eq!(read("\u{feff} // nothing\n"), Ok(json!({})));
    }
}
