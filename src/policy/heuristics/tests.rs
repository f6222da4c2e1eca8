//! Runs `tests/vectors/tools.tsv`, the table of tools that reads as the documentation of the
//! heuristics, and holds hostile descriptions against them.

use serde_json::{Map, Value, json};

use super::{ToolDescription, derive};
use crate::policy::{ArgPath, Effect, Role};

const TABLE: &str = include_str!("../../../tests/vectors/tools.tsv");

/// The schema that the arguments column describes.
fn schema(text: &str) -> Value {
    match text {
        "-" => Value::Null,
        "." => json!({"type": "object", "properties": {}}),
        _ => object(&mut text.chars().peekable()),
    }
}

fn object(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    loop {
        while chars.next_if_eq(&' ').is_some() {}
        let word = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            std::iter::from_fn(|| chars.next_if(|it| !" {}[]!:=".contains(*it))).collect::<String>()
        };
        let name = word(chars);
        if name.is_empty() {
            break;
        }
        let (mut own, mut array) = (Map::new(), false);
        while let Some(mark) = chars.next_if(|it| "[]!:={".contains(*it)) {
            match mark {
                ']' => array = true,
                '!' => required.push(json!(name)),
                ':' => {
                    let full = [("str", "string"), ("num", "number"), ("bool", "boolean"), ("obj", "object")];
                    let kind = word(chars);
                    let full = full.iter().find(|it| it.0 == kind).expect("a type");
                    own.insert("type".to_owned(), json!(full.1));
                }
                '=' => {
                    let choices = word(chars);
                    own.insert("enum".to_owned(), choices.split('|').collect());
                }
                '{' => own = object(chars).as_object().expect("an object").clone(),
                _ => {}
            }
        }
        let own = Value::Object(own);
        properties.insert(name, if array { json!({"type": "array", "items": own}) } else { own });
    }
    chars.next_if_eq(&'}');
    let mut made = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        made["required"] = Value::Array(required);
    }
    made
}

/// The tool that a row describes.
fn tool(columns: &[&str]) -> ToolDescription {
    let mut schema = schema(columns[1]);
    let mut description = String::new();
    let mut hints = Map::new();
    for word in columns.get(4).unwrap_or(&"").split(' ') {
        match word {
            "@readonly" => hints.insert("readOnlyHint".to_owned(), json!(true)),
            "@writes" => hints.insert("readOnlyHint".to_owned(), json!(false)),
            "@destructive" => hints.insert("destructiveHint".to_owned(), json!(true)),
            "@harmless" => hints.insert("destructiveHint".to_owned(), json!(false)),
            _ => {
                description = format!("{description} {word}");
                None
            }
        };
    }
    if let Some((about, argument)) = description.clone().split_once(" #") {
        let (name, text) = argument.split_once(": ").expect("an argument and its description");
        schema["properties"][name]["description"] = json!(text);
        about.clone_into(&mut description);
    }
    let entry = json!({"name": columns[0], "description": description.trim(), "inputSchema": schema, "annotations": hints});
    ToolDescription::from_entry(&entry).expect("a tool")
}

/// What is wrong with a row; `None` when all is as it says.
fn wrong(row: &str) -> Option<String> {
    let columns: Vec<&str> = row.split('\t').collect();
    let derived = derive(&tool(&columns));
    let mut wrong = Vec::new();
    if derived.effect.as_str() != columns[2] {
        wrong.push(format!("effect is {}", derived.effect));
    }
    for pair in columns.get(3).unwrap_or(&"").split_whitespace().filter(|it| *it != "-") {
        let (path, role) = pair.split_once('=').expect("a path and its role");
        let fact = derived.args.get(&ArgPath(path.to_owned()));
        let seen = fact.map_or("nothing".to_owned(), |it| {
            let letter = match it.role {
                Role::Destination => "D",
                Role::Target => "T",
                Role::Path => "P",
                Role::Command => "X",
                Role::Amount => "A",
                Role::Content => "C",
                Role::Credential => "K",
                Role::Selector => "S",
            };
            format!("{letter}{}", if it.audience { "*" } else { "" })
        });
        if seen != role {
            wrong.push(format!("{path} is {seen}, by {:?}", fact.map(|it| it.rule)));
        }
    }
    (!wrong.is_empty()).then(|| format!("{row}\n    {}; rules {:?}", wrong.join("; "), derived.rules))
}

#[test]
fn every_row_of_the_table_comes_out() {
    let rows: Vec<&str> = TABLE.lines().filter(|it| !it.is_empty() && !it.starts_with('#')).collect();
    assert!(rows.len() >= 200, "the table has {} rows", rows.len());
    let wrong: Vec<String> = rows.iter().filter_map(|it| wrong(it)).collect();
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_fact_names_its_rule() {
    for row in TABLE.lines().filter(|it| !it.is_empty() && !it.starts_with('#')) {
        let derived = derive(&tool(&row.split('\t').collect::<Vec<_>>()));
        assert!(!derived.rules.is_empty(), "{row}");
        assert!(derived.args.values().all(|it| !it.rule.is_empty()), "{row}");
        assert!(!derived.also.contains(&derived.effect), "{row}");
    }
}

#[test]
fn a_prefix_changes_nothing() {
    for row in TABLE.lines().filter(|it| !it.is_empty() && !it.starts_with('#')) {
        let columns: Vec<&str> = row.split('\t').collect();
        let bare = tool(&columns);
        // Names whose first word decides alone (`is_contract`, `api-post-search`) are not meant.
        if derive(&bare).rules.iter().any(|it| it == "no-known-verb" || it == "glance" || it == "api-read") {
            continue;
        }
        let prefixed = ToolDescription { name: format!("zyx_{}", bare.name), ..bare.clone() };
        assert_eq!(derive(&prefixed).effect, derive(&bare).effect, "{row}");
    }
}

#[test]
fn what_cannot_be_read_whole_is_a_sink() {
    let check = |schema: Value, expected: Effect| {
        let entry = json!({"name": "get_thing", "inputSchema": schema});
        assert_eq!(derive(&ToolDescription::from_entry(&entry).unwrap()).effect, expected);
    };
    check(json!({"$ref": "#"}), Effect::Send);
    let many: Map<String, Value> =
        (0..10_000).map(|it| (format!("p{it}"), json!({"type": "string"}))).collect();
    check(json!({"properties": many}), Effect::Read);
    check(json!({"properties": {"k".repeat(1000): {}}}), Effect::Send);
    check(json!({"properties": {"a": {"properties": "no"}}}), Effect::Read);
    check(json!([1, 2]), Effect::Read);
}
