//! Adds trusted destinations of one tool to the text of a policy file, and changes nothing else in it.
//!
//! The text is edited at the place that the tree names, so comments, order and layout stay; then it is
//! read again, and what it says now must be what it said before and the new destinations. Where a
//! file is written in a way that this cannot edit, the lines to add by hand are the error's help.

use serde_json::{Map, Value as Json, json};

use crate::provenance::TrustRule;

use super::compile::compile_policy;
use super::diagnostic::{Diagnostic, Position};
use super::raw::{self, names};
use super::tree::{Entry, Node, Value, parse_yaml};

const KEY: &str = "trusted_destinations";

/// The text with `values` trusted for the tool `key` (`upstream.tool`); the text as it is when they
/// are trusted there already. `file` is its name for messages.
///
/// # Errors
/// The file does not load, a value is no single destination, or the place cannot be edited.
pub fn trust(text: &str, file: &str, key: &str, values: &[String]) -> Result<String, Box<Diagnostic>> {
    let help = format!("add it by hand:\n{}", lines(key, values, "", "\n"));
    for value in values {
        if !TrustRule::parse(value).is_ok_and(|rule| rule.is_exact()) {
            let message = format!("`{}` would trust more than one destination", value.escape_debug());
            return Err(Box::new(
                Diagnostic::whole(file, message).help("write the rule that is meant by hand"),
            ));
        }
    }
    if key.contains('*') {
        let message = "a tool whose name holds `*` cannot be named alone";
        return Err(Box::new(Diagnostic::whole(file, message).help(help)));
    }
    let first = |problems: Vec<Diagnostic>| {
        let error = problems.into_iter().find(Diagnostic::is_error);
        Box::new(error.unwrap_or_else(|| Diagnostic::whole(file, "it does not load")))
    };
    let blank = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    if !blank {
        compile_policy(text, file).map_err(first)?;
    }
    let before = if blank { None } else { Some(parse_yaml(text, file).whole().map_err(first)?) };
    let mut expected = before.as_ref().map_or(Json::Null, plain);
    let missing: Vec<String> = add(&mut expected, key, values);
    if missing.is_empty() {
        return Ok(text.to_owned());
    }
    let cannot =
        || Box::new(Diagnostic::whole(file, "this file is written in a way that is not edited").help(&help));
    let after = edit(text, before.as_ref(), key, &missing).ok_or_else(cannot)?;
    let same = parse_yaml(&after, file).whole().is_ok_and(|node| sorted(plain(&node)) == sorted(expected));
    if same && compile_policy(&after, file).is_ok() { Ok(after) } else { Err(cannot()) }
}

/// Whether the keys of a file are sections, as `compile.rs` tells it.
fn is_sectioned(entries: &[Entry]) -> bool {
    let known = names(raw::FILE);
    entries.iter().any(|entry| known.contains(&entry.key.as_str()))
}

fn edit(text: &str, root: Option<&Node>, key: &str, values: &[String]) -> Option<String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let append = |head: &str, indent: &str| {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
        Some(format!("{text}{gap}{head}{}", lines(key, values, indent, end)))
    };
    let head = format!("tools:{end}");
    let Some(root) = root else { return append(&head, "  ") };
    let tools = match &root.value {
        Value::Null => return append(&head, "  "),
        Value::Map(entries) if entries.is_empty() => {
            let member = format!("{}: {{{KEY}: {}}}", json!(key), list(values));
            return insert(text, after(text, root.at)?, &member);
        }
        Value::Map(entries) if is_sectioned(entries) => match root.get("tools") {
            Some(tools) => tools,
            None if is_flow(text, root) => return None,
            None => return append(&head, "  "),
        },
        Value::Map(_) => root,
        _ => return None,
    };
    let Some(tool) = tools.entries().iter().find(|entry| entry.key == key) else {
        let first = tools.entries().first()?;
        if is_flow(text, tools) {
            let member = format!("{}: {{{KEY}: {}}}, ", json!(key), list(values));
            return insert(text, after(text, tools.at)?, &member);
        }
        let indent = indent_of(text, first.at)?;
        return insert(text, start_of(text, first.at)?, &lines(key, values, indent, end));
    };
    let Some(trusted) = tool.value.get(KEY) else {
        let first = tool.value.entries().first()?;
        if is_flow(text, &tool.value) {
            return insert(text, after(text, tool.value.at)?, &format!("{KEY}: {}, ", list(values)));
        }
        let line = format!("{}{KEY}: {}{end}", indent_of(text, first.at)?, list(values));
        return insert(text, start_of(text, first.at)?, &line);
    };
    let Value::Seq(items) = &trusted.value else { return None };
    if is_flow(text, trusted) {
        let comma = if items.is_empty() { "" } else { ", " };
        let inner = list(values);
        let inner = inner.trim_start_matches('[').trim_end_matches(']');
        return insert(text, after(text, trusted.at)?, &format!("{inner}{comma}"));
    }
    let first = items.first()?;
    let start = start_of(text, first.at)?;
    let lead = text.get(start..offset(text, first.at)?)?;
    let is_item = lead.trim_start() == "- ";
    let added: Vec<String> = values.iter().map(|value| format!("{lead}{}{end}", json!(value))).collect();
    if is_item { insert(text, start, &added.concat()) } else { None }
}

/// The entry as lines.
fn lines(key: &str, values: &[String], indent: &str, end: &str) -> String {
    format!("{indent}{}:{end}{indent}  {KEY}: {}{end}", json!(key), list(values))
}

/// A flow list; every JSON string is a YAML one.
fn list(values: &[String]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| json!(value).to_string()).collect();
    format!("[{}]", quoted.join(", "))
}

fn insert(text: &str, at: usize, piece: &str) -> Option<String> {
    Some(format!("{}{piece}{}", text.get(..at)?, text.get(at..)?))
}

/// The byte at which a line begins.
fn start_of(text: &str, at: Position) -> Option<usize> {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(newline, _)| newline + 1));
    starts.nth(at.line.checked_sub(1)?)
}

/// The byte of a place.
fn offset(text: &str, at: Position) -> Option<usize> {
    let start = start_of(text, at)?;
    let line = text.get(start..)?;
    let within = line.char_indices().nth(at.column.checked_sub(1)?).map_or(line.len(), |(byte, _)| byte);
    Some(start + within)
}

/// The byte after the bracket of a flow collection.
fn after(text: &str, at: Position) -> Option<usize> {
    offset(text, at).map(|byte| byte + 1)
}

fn is_flow(text: &str, node: &Node) -> bool {
    let rest = offset(text, node.at).and_then(|byte| text.get(byte..));
    rest.is_some_and(|rest| rest.starts_with(['{', '[']))
}

/// The blanks before a key, if there is nothing else.
fn indent_of(text: &str, at: Position) -> Option<&str> {
    let indent = text.get(start_of(text, at)?..offset(text, at)?)?;
    indent.chars().all(|c| c == ' ').then_some(indent)
}

/// What a node says, without its place.
fn plain(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float(text) => json!({ "float": text }),
        Value::String(text) => json!(text),
        Value::Seq(items) => Json::Array(items.iter().map(plain).collect()),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|entry| (entry.key.clone(), plain(&entry.value))).collect())
        }
    }
}

/// Adds the values to what a file says, and returns those that it did not say yet.
fn add(root: &mut Json, key: &str, values: &[String]) -> Vec<String> {
    let known = names(raw::FILE);
    if root.is_null() {
        // What is appended to a file without entries.
        *root = json!({ "tools": {} });
    }
    let Some(map) = root.as_object_mut() else { return values.to_vec() };
    let sectioned = map.keys().any(|key| known.contains(&key.as_str()));
    let tools =
        if sectioned { map.entry("tools").or_insert_with(|| json!({})).as_object_mut() } else { Some(map) };
    let tool = tools.map(|tools| tools.entry(key).or_insert_with(|| json!({})));
    let trusted = tool
        .and_then(Json::as_object_mut)
        .map(|tool: &mut Map<String, Json>| tool.entry(KEY).or_insert_with(|| json!([])));
    let Some(trusted) = trusted.and_then(Json::as_array_mut) else { return values.to_vec() };
    let missing: Vec<String> =
        values.iter().filter(|value| !trusted.contains(&json!(value))).cloned().collect();
    trusted.extend(missing.iter().map(|value| json!(value)));
    missing
}

/// What a file says with lists of destinations and the keys of mappings in one order.
fn sorted(value: Json) -> Json {
    match value {
        Json::Object(map) => {
            let mut entries: Vec<(String, Json)> = map.into_iter().collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            let sort = |(key, value): (String, Json)| {
                let value = match value {
                    Json::Array(mut items) if key == KEY => {
                        items.sort_by_key(ToString::to_string);
                        Json::Array(items)
                    }
                    value => sorted(value),
                };
                (key, value)
            };
            Json::Object(entries.into_iter().map(sort).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(sorted).collect()),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_destination_is_added_and_nothing_else_changes() {
        let check = |before: &str, expected: &str| {
            let after = trust(before, "p.yaml", "mail.send", &["a@b.example".to_owned()]).expect(before);
            assert_eq!(after, expected);
            assert_eq!(trust(&after, "p.yaml", "mail.send", &["a@b.example".to_owned()]), Ok(after));
        };
        let fresh = "tools:\n  \"mail.send\":\n    trusted_destinations: [\"a@b.example\"]\n";
        check("", fresh);
        check("# mine\n", &format!("# mine\n{fresh}"));
        check("{}\n", "{\"mail.send\": {trusted_destinations: [\"a@b.example\"]}}\n");
        check("local: [files]", &format!("local: [files]\n{fresh}"));
        check(
            "tools:\n  # few\n  send: {max_calls: 1}\r\n",
            "tools:\n  # few\n  \"mail.send\":\r\n    trusted_destinations: [\"a@b.example\"]\r\n  send: {max_calls: 1}\r\n",
        );
        check(
            "send: # flat\n  max_calls: 1\n",
            "\"mail.send\":\n  trusted_destinations: [\"a@b.example\"]\nsend: # flat\n  max_calls: 1\n",
        );
        check(
            "mail.send:\n    max_calls: 1 # one\n",
            "mail.send:\n    trusted_destinations: [\"a@b.example\"]\n    max_calls: 1 # one\n",
        );
        check(
            "mail.send: {max_calls: 1}\n",
            "mail.send: {trusted_destinations: [\"a@b.example\"], max_calls: 1}\n",
        );
        check(
            "mail.send:\n  trusted_destinations:\n  - c@d.example # c\n  max_calls: 1\n",
            "mail.send:\n  trusted_destinations:\n  - \"a@b.example\"\n  - c@d.example # c\n  max_calls: 1\n",
        );
        check(
            "mail.send:\n  trusted_destinations: [c@d.example]\n",
            "mail.send:\n  trusted_destinations: [\"a@b.example\", c@d.example]\n",
        );
    }

    #[test]
    fn what_would_trust_more_or_cannot_be_edited_is_an_error() {
        let check = |text: &str, key: &str, value: &str, expected: &str| {
            let error = trust(text, "p.yaml", key, &[value.to_owned()]).expect_err(value).to_string();
            assert!(error.contains(expected), "{error}");
        };
        for value in ["*.corp.com", "@corp.com", "https://corp.com/", "api.corp.com", ""] {
            check("", "mail.send", value, "more than one destination");
        }
        check("", "mail.*", "a@b.example", "cannot be named alone");
        check("send: 1\n", "mail.send", "a@b.example", "p.yaml:1:7");
        check("x: &a {max_calls: 1}\nmail.send: *a\n", "mail.send", "a@b.example", "by hand");
    }
}
