//! JSON Schema from the tables of keys, so that editors complete policies and configs.
//!
//! The schema says less than the checker (it knows no patterns, hosts or paths); what it refuses the
//! checker refuses too.

use serde_json::{Map, Value, json};

use super::raw::{self, EFFECTS, KINDS, Key, OUTCOMES, ROLES, Shape};
use crate::policy::Provenance;

/// The schema of policy files: flat, or with sections.
pub fn policy_schema() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bouncer policy",
    });
    let sections = raw::names(raw::FILE);
    let flat = json!({
        "type": "object",
        "propertyNames": {"not": {"enum": sections}},
        "additionalProperties": record(raw::ENTRY),
    });
    if let Value::Object(members) = &mut schema {
        members.insert("anyOf".to_owned(), json!([record(raw::FILE), flat]));
    }
    schema
}

/// A schema with a title for a file whose keys are in a table.
pub fn file_schema(title: &str, keys: &[Key]) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(title));
    if let Value::Object(members) = record(keys) {
        schema.extend(members);
    }
    Value::Object(schema)
}

fn record(keys: &[Key]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let mut of_key = shape(key.shape);
            if let Value::Object(members) = &mut of_key {
                members.insert("description".to_owned(), json!(key.meaning));
            }
            (key.name.to_owned(), of_key)
        })
        .collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

// Not recursive beyond the tables, which are constants.
fn shape(of: Shape) -> Value {
    let text = || json!({"type": "string", "minLength": 1});
    match of {
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Count => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        Shape::Number => json!({"type": "number"}),
        Shape::Text => json!({"type": "string"}),
        Shape::Texts => json!({"type": "array", "items": text()}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Words(words) => json!({"type": "array", "items": {"enum": words}}),
        Shape::WordOrTexts(word) => json!({"anyOf": [{"const": word}, {"type": "array", "items": text()}]}),
        Shape::PerArgument(inner) | Shape::PerName(inner) => {
            json!({"type": "object", "additionalProperties": shape(*inner)})
        }
        Shape::Record(keys) => record(keys),
        Shape::Allowance => json!({"anyOf": [shape(Shape::Count), {"const": "unlimited"}]}),
        Shape::Scalars => json!({"type": "array", "items": {"type": ["string", "number", "boolean"]}}),
        Shape::Cells => {
            let cells: Map<String, Value> =
                Provenance::ALL.iter().map(|p| (p.as_str().to_owned(), json!({"enum": OUTCOMES}))).collect();
            json!({"type": "object", "properties": cells, "additionalProperties": false})
        }
        Shape::Directories => json!({"type": "array", "items": {"anyOf": [text(), {
            "type": "object",
            "properties": {"path": text(), "kinds": {"type": "array", "items": {"enum": KINDS}}},
            "required": ["path"],
            "additionalProperties": false,
        }]}}),
        Shape::RoleOrRecord => json!({"anyOf": [{"enum": ROLES}, record(raw::ARG_KEYS)]}),
        Shape::Duration => json!({"anyOf": [{"type": "number", "minimum": 0, "maximum": 86_400},
            {"type": "string", "pattern": "^[0-9.]+ *(ms|s|m)?$"}]}),
        Shape::Size => json!({"anyOf": [{"type": "integer", "minimum": 65_536},
            {"type": "string", "pattern": "^[0-9]+ *[KMGkmg]?[iI]?[bB]?$"}]}),
        Shape::TextMap => {
            json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})
        }
        Shape::Policies => {
            let one = json!({"anyOf": [text(), {"type": "object"}]});
            json!({"anyOf": [text(), {"type": "object"}, {"type": "array", "items": one}]})
        }
    }
}

/// A shape in words, for the reference.
pub fn in_words(of: Shape) -> String {
    let list = |words: &[&str]| words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
    match of {
        Shape::Boolean => "`true` or `false`".to_owned(),
        Shape::Count => "a whole number".to_owned(),
        Shape::Number => "a number".to_owned(),
        Shape::Text => "a string".to_owned(),
        Shape::Texts => "a list of strings".to_owned(),
        Shape::Word(words) if words == EFFECTS => "an effect".to_owned(),
        Shape::Words(words) if words == EFFECTS => "a list of effects".to_owned(),
        Shape::Word(words) => format!("one of {}", list(words)),
        Shape::Words(words) => format!("a list of {}", list(words)),
        Shape::WordOrTexts(word) => format!("`{word}` or a list of strings"),
        Shape::PerArgument(inner) => format!("argument: {}", in_words(*inner)),
        Shape::PerName(inner) => format!("name: {}", in_words(*inner)),
        Shape::Record(keys) => {
            if keys.len() > 4 {
                "an entry".to_owned()
            } else {
                format!("`{{{}}}`", raw::names(keys).join(", "))
            }
        }
        Shape::Allowance => "a whole number or `unlimited`".to_owned(),
        Shape::Scalars => "a list of values".to_owned(),
        Shape::Cells => "provenance: `ask` or `deny`".to_owned(),
        Shape::Directories => "a list of JSON paths".to_owned(),
        Shape::RoleOrRecord => "a role, or `{role, kind}`".to_owned(),
        Shape::Duration => "a span of time".to_owned(),
        Shape::Size => "a size".to_owned(),
        Shape::TextMap => "name: a string".to_owned(),
        Shape::Policies => "a file, a policy, or a list of them".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_schema_with_its_meaning() {
        let schema = policy_schema();
        let entry = &schema["anyOf"][1]["additionalProperties"]["properties"];
        for key in raw::ENTRY {
            assert_eq!(entry[key.name]["description"], json!(key.meaning), "{}", key.name);
        }
        assert_eq!(entry["effect"]["enum"], json!(EFFECTS));
        assert_eq!(entry["on"]["properties"]["free-text"]["enum"], json!(["ask", "deny"]));
    }
}
