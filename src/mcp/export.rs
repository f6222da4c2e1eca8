//! From a raw `tools/list` result to tools: the entry as listed, kept for pins and policies, and the
//! copy that clients are shown.
//!
//! The copy differs in its name, and where the entry would make clients drop the tool or the whole
//! list: a root schema that is no object, an output schema that does not compile, a member of a
//! wrong type. Each such change is noted once for the operator. Everything else, unknown members
//! too, stays in its order and its bytes.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::provenance::escaped as escape;

use super::catalog::Tool;
use super::listing::List;
use super::names;
use super::scan::{self, Malformed};

/// One page of a list: its entries and where it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The raw entries.
    pub(crate) entries: Vec<Bytes>,
    /// The raw `nextCursor`, if it is a string; the empty one is a cursor like any other.
    pub(crate) cursor: Option<Bytes>,
}

/// Reads the result of a list request.
pub(crate) fn page(list: List, result: &Bytes) -> Result<Page, Malformed> {
    let mut page = Page { entries: Vec::new(), cursor: None };
    let mut entries = None;
    for (key, value) in scan::members(result)? {
        let key = scan::slice(result, &key);
        if scan::is(key, list.key()) {
            entries = Some(value);
        } else if scan::is(key, "nextCursor") && scan::slice(result, &value).starts_with(b"\"") {
            page.cursor = Some(result.slice(value));
        }
    }
    let entries = entries.ok_or(Malformed { at: 0 })?;
    let start = entries.start;
    let raw = result.slice(entries);
    let mut cursor = scan::Cursor::new(&raw);
    cursor
        .items(|item| page.entries.push(raw.slice(item)))
        .map_err(|fault| Malformed { at: start + fault.at })?;
    Ok(page)
}

/// The tools of a whole listing, each name once, and what the operator should know of them.
pub(crate) fn tools(upstream: &Arc<str>, prefix: &str, entries: &[Bytes]) -> (Vec<Arc<Tool>>, Vec<String>) {
    let mut notes = Vec::new();
    let mut seen = BTreeSet::new();
    let mut tools = Vec::with_capacity(entries.len());
    for entry in entries {
        match tool(upstream, prefix, entry, &mut notes) {
            Some(tool) if seen.insert(tool.name.clone()) => tools.push(Arc::new(tool)),
            Some(tool) => {
                notes.push(format!(
                    "tool `{}` is listed twice; the first entry counts",
                    escape(&tool.name, 80)
                ));
            }
            None => notes.push("an entry of its tool list has no name and is left out".to_owned()),
        }
    }
    (tools, notes)
}

fn tool(upstream: &Arc<str>, prefix: &str, entry: &Bytes, notes: &mut Vec<String>) -> Option<Tool> {
    // An entry whose members repeat means one thing to us and another to a client.
    let mut keys = scan::Duplicates::default();
    scan::Cursor::new(entry).value(&mut keys).ok()?;
    let repeated = keys.found();
    let members = scan::members(entry).ok()?;
    let name = members.iter().find(|(key, _)| scan::is(scan::slice(entry, key), "name"))?;
    let name: Arc<str> = scan::text(scan::slice(entry, &name.1))?.into();
    if name.is_empty() {
        return None;
    }
    let shown_name = escape(&name, 80);
    if let Some(key) = repeated {
        notes.push(format!("tool `{shown_name}` holds the key `{}` twice and is left out", escape(&key, 60)));
        return None;
    }
    let exported: Arc<str> = names::exported(prefix, &name).into();
    let mut copy = Copy { out: Vec::with_capacity(entry.len() + 64), notes, tool: &shown_name };
    let mut has_schema = false;
    let mut has_title = false;
    for (key, value) in &members {
        let raw_key = scan::slice(entry, key);
        let raw = scan::slice(entry, value);
        let decoded = scan::text(raw_key);
        match decoded.as_deref() {
            Some("name") => copy.member(raw_key, quoted(&exported).as_bytes()),
            Some("inputSchema") => {
                has_schema = true;
                let schema = copy.input_schema(raw);
                copy.member(raw_key, &schema);
            }
            Some("outputSchema") => match output_fault(raw) {
                None => copy.member(raw_key, raw),
                Some(fault) => copy.note(&format!("`outputSchema` {fault} and is not shown to clients")),
            },
            Some("title") if raw.starts_with(b"\"") => {
                has_title = true;
                copy.member(raw_key, raw);
            }
            Some(name) if !fits(name, raw) => {
                copy.note(&format!("`{name}` has the wrong type and is not shown to clients"));
            }
            _ => copy.member(raw_key, raw),
        }
    }
    if !has_schema {
        copy.note("`inputSchema` is missing; clients are shown an empty one");
        copy.member(b"\"inputSchema\"", b"{\"type\":\"object\"}");
    }
    if !has_title && !exported.ends_with(&*name) {
        // A shortened name should not be all that a person sees.
        copy.member(b"\"title\"", quoted(&name).as_bytes());
    }
    let mut shown = copy.out;
    shown.push(b'}');
    scan::flatten(&mut shown);
    Some(Tool { upstream: upstream.clone(), name, exported, listed: entry.clone(), shown: shown.into() })
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether a member has the type that clients insist on.
fn fits(name: &str, raw: &[u8]) -> bool {
    match name {
        "title" | "description" => raw.starts_with(b"\""),
        "_meta" | "execution" => raw.starts_with(b"{"),
        "icons" => raw.starts_with(b"["),
        "annotations" => scan::members(raw).is_ok_and(|members| {
            members.iter().all(|(key, value)| {
                let (key, value) = (scan::slice(raw, key), scan::slice(raw, value));
                match scan::text(key).as_deref() {
                    Some("title") => value.starts_with(b"\""),
                    Some("readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint") => {
                        matches!(value, b"true" | b"false")
                    }
                    _ => true,
                }
            })
        }),
        _ => true,
    }
}

/// The exported copy while it is written.
struct Copy<'a> {
    out: Vec<u8>,
    notes: &'a mut Vec<String>,
    tool: &'a str,
}

impl Copy<'_> {
    fn note(&mut self, what: &str) {
        self.notes.push(format!("tool `{}`: {what}", self.tool));
    }

    fn member(&mut self, key: &[u8], value: &[u8]) {
        put_member(&mut self.out, key, value);
    }

    /// A root that clients accept: an object schema, with `properties` and `required` of their types.
    fn input_schema(&mut self, raw: &[u8]) -> Vec<u8> {
        let Ok(members) = scan::members(raw) else {
            self.note("`inputSchema` is no object; clients are shown an empty one");
            return b"{\"type\":\"object\"}".to_vec();
        };
        let find = |name: &str| {
            let found = members.iter().find(|(key, _)| scan::is(scan::slice(raw, key), name));
            found.map(|(_, value)| scan::slice(raw, value))
        };
        let branches: Vec<&[u8]> = COMBINATORS.into_iter().filter_map(find).collect();
        let has_object_type = find("type").is_some_and(|value| scan::is(value, "object"));
        let has_good_required = find("required").is_none_or(is_string_array);
        let has_good_properties = find("properties").is_none_or(holds_objects);
        if has_object_type && has_good_required && has_good_properties && branches.is_empty() {
            return raw.to_vec();
        }
        let mut out = Vec::with_capacity(raw.len() + 32);
        if !has_object_type {
            self.note("the root of `inputSchema` is not of type object; clients are shown one that is");
            put_member(&mut out, b"\"type\"", b"\"object\"");
        }
        for (key, value) in &members {
            let (raw_key, value) = (scan::slice(raw, key), scan::slice(raw, value));
            match scan::text(raw_key).as_deref() {
                Some("type") if !has_object_type => {}
                Some("required") if !has_good_required => {
                    self.note("`required` of `inputSchema` is no list of names and is not shown to clients");
                }
                Some("properties") if !has_good_properties => {
                    self.note("a property of `inputSchema` is no object; clients are shown one that is");
                    put_member(&mut out, raw_key, &object_properties(value, &branches));
                }
                Some("properties") if !branches.is_empty() => {
                    put_member(&mut out, raw_key, &object_properties(value, &branches));
                }
                Some(name) if COMBINATORS.contains(&name) => {
                    self.note(&format!(
                        "the root of `inputSchema` has `{name}`, which is not shown to clients"
                    ));
                }
                _ => put_member(&mut out, raw_key, value),
            }
        }
        if find("properties").is_none() && !branches.is_empty() {
            put_member(&mut out, b"\"properties\"", &object_properties(b"{}", &branches));
        }
        out.push(b'}');
        out
    }
}

/// Model providers refuse these at the root of a schema, and with it the whole request.
const COMBINATORS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

fn put_member(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    out.push(if out.is_empty() { b'{' } else { b',' });
    out.extend_from_slice(key);
    out.push(b':');
    out.extend_from_slice(value);
}

fn is_string_array(raw: &[u8]) -> bool {
    let mut all = true;
    let scanned = scan::Cursor::new(raw).items(|item| all &= scan::slice(raw, &item).starts_with(b"\""));
    scanned.is_ok() && all
}

fn holds_objects(raw: &[u8]) -> bool {
    scan::members(raw)
        .is_ok_and(|members| members.iter().all(|(_, value)| scan::slice(raw, value).starts_with(b"{")))
}

/// Properties with every schema in object form (`true` and anything else as `{}`, `false` as one that
/// nothing matches), and after them those that only the branches of a combinator name.
fn object_properties(raw: &[u8], branches: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut seen = BTreeSet::new();
    let mut put = |raw: &[u8]| {
        for (key, value) in scan::members(raw).unwrap_or_default() {
            let key = scan::slice(raw, &key);
            let value = match scan::slice(raw, &value) {
                object @ [b'{', ..] => object,
                b"false" => b"{\"not\":{}}",
                _ => b"{}",
            };
            if seen.insert(key.to_vec()) {
                put_member(&mut out, key, value);
            }
        }
    };
    put(raw);
    for list in branches {
        let mut each = |item: scan::Span| {
            let branch = scan::slice(list, &item);
            if let Some(properties) = scan::member(branch, "properties") {
                put(scan::slice(branch, &properties));
            }
        };
        // A combinator that is no list names nothing.
        let _ = scan::Cursor::new(list).items(&mut each);
    }
    if out.is_empty() {
        out.push(b'{');
    }
    out.push(b'}');
    out
}

/// Why clients that compile an output schema would fail on this one; `None` when they would not.
fn output_fault(raw: &[u8]) -> Option<String> {
    let schema: Value = match serde_json::from_slice(raw) {
        Ok(schema @ Value::Object(_)) => schema,
        Ok(_) => return Some("is no object".to_owned()),
        Err(_) => return Some("cannot be read".to_owned()),
    };
    if schema.get("type") != Some(&Value::from("object")) {
        return Some("is not of type object".to_owned());
    }
    let mut names = Names::default();
    names.gather(&schema);
    let dangling = names.references.iter().find(|reference| !names.resolves(&schema, reference))?;
    Some(format!("refers to `{}`, which is not there", escape(dangling, 80)))
}

/// What a schema refers to, and what can be referred to in it.
#[derive(Default)]
struct Names {
    references: BTreeSet<String>,
    targets: BTreeSet<String>,
}

impl Names {
    fn gather(&mut self, schema: &Value) {
        match schema {
            Value::Object(members) => {
                for (key, value) in members {
                    match (key.as_str(), value) {
                        ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                            self.references.insert(reference.clone());
                        }
                        ("$id" | "id", Value::String(id)) => {
                            self.targets.insert(id.trim_end_matches('#').to_owned());
                        }
                        ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                            self.targets.insert(format!("#{anchor}"));
                        }
                        ("const" | "enum" | "default" | "examples", _) => {}
                        _ => self.gather(value),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.gather(item)),
            _ => {}
        }
    }

    fn resolves(&self, schema: &Value, reference: &str) -> bool {
        let reference = reference.trim_end_matches('#');
        if reference.is_empty() || self.targets.contains(reference) || is_meta_schema(reference) {
            return true;
        }
        let Some((base, fragment)) = reference.split_once('#') else { return false };
        if !base.is_empty() && !self.targets.contains(base) && !is_meta_schema(base) {
            return false;
        }
        let pointer = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
        schema.pointer(&pointer).is_some() || self.targets.contains(&format!("#{pointer}"))
    }
}

/// The schemas of the schema language itself, which validators carry.
fn is_meta_schema(reference: &str) -> bool {
    let reference = reference.trim_start_matches("https://").trim_start_matches("http://");
    reference.starts_with("json-schema.org/draft-") || reference.starts_with("json-schema.org/draft/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(entry: &str) -> (Option<Tool>, Vec<String>) {
        let mut notes = Vec::new();
        let entry = Bytes::copy_from_slice(entry.as_bytes());
        let tool = tool(&"up".into(), "up", &entry, &mut notes);
        (tool, notes)
    }

    #[test]
    fn only_the_name_changes_where_nothing_is_wrong() {
        let entry = r##"{"name":"w","description":"d","inputSchema":{"type":"object","properties":{"f":{"$ref":"#/$defs/F"},"n":{"maximum":1e400,"required":true}},"$defs":{"F":{"enum":["fit",1.0]}},"additionalProperties":false},"_meta":{"vendor/x":1},"annotations":{"readOnlyHint":true},"title":"W","icons":[{"src":"https://e.test/i.png"}],"futureField":2}"##;
        let (tool, notes) = export(entry);
        let tool = tool.unwrap();
        assert_eq!(std::str::from_utf8(&tool.shown).unwrap(), entry.replace("\"w\"", "\"up__w\""));
        assert_eq!(tool.listed, entry.as_bytes());
        assert_eq!(notes, [""; 0]);
    }

    #[test]
    fn a_copy_that_clients_would_refuse_is_mended() {
        fn check(rest: &str, expected: &str, note: &str) {
            let (tool, notes) = export(&format!("{{\"name\":\"t\",{rest}}}"));
            let shown = tool.unwrap().shown;
            assert_eq!(std::str::from_utf8(&shown).unwrap(), format!("{{\"name\":\"up__t\",{expected}}}"));
            assert!(notes.iter().any(|found| found.contains(note)), "{notes:?}");
        }
        const OK: &str = r#""inputSchema":{"type":"object"}"#;
        check(
            r#""inputSchema":{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{},"b":true}}]}"#,
            r#""inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}}"#,
            "`anyOf`",
        );
        check(
            r#""inputSchema":{"type":"object","properties":{"c":{"oneOf":[{}]}},"oneOf":7}"#,
            r#""inputSchema":{"type":"object","properties":{"c":{"oneOf":[{}]}}}"#,
            "`oneOf`",
        );
        check(
            r#""inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"}"#,
            r#""inputSchema":{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}"#,
            "not of type object",
        );
        check(r#""inputSchema":{}"#, OK, "not of type object");
        check(r#""inputSchema":{"type":["object","null"]}"#, OK, "not of type object");
        check(r#""inputSchema":null"#, OK, "no object");
        check(r#""description":null,"x":1"#, &format!(r#""x":1,{OK}"#), "missing");
        check(
            r#""inputSchema":{"type":"object","properties":{"a":true,"b":false},"required":true}"#,
            r#""inputSchema":{"type":"object","properties":{"a":{},"b":{"not":{}}}}"#,
            "no list of names",
        );
        for bad in [
            r#"{"$id":"x.v1","description":"r"}"#,
            r##"{"type":"object","properties":{"s":{"$ref":"#/$defs/Missing"}}}"##,
            r#"{"type":"array"}"#,
            "null",
            r#"{"type":"object","$ref":"https://elsewhere.test/schema.json"}"#,
        ] {
            check(&format!("{OK},\"outputSchema\":{bad}"), OK, "`outputSchema`");
        }
        check(&format!("{OK},\"annotations\":{{\"readOnlyHint\":\"yes\"}}"), OK, "`annotations`");
    }

    #[test]
    fn output_schemas_that_compile_stay() {
        for good in [
            r#"{"type":"object"}"#,
            r##"{"type":"object","properties":{"s":{"$ref":"#/$defs/S"},"r":{"$ref":"#"}},"$defs":{"S":{}}}"##,
            r##"{"type":"object","$defs":{"a b":{"$anchor":"here"}},"allOf":[{"$ref":"#here"},{"$ref":"#/$defs/a%20b"}]}"##,
            r#"{"type":"object","$id":"x.v1","properties":{"$ref":{"type":"string"},"c":{"const":{"$ref":"nowhere"}}},"not":{"$ref":"x.v1"}}"#,
        ] {
            assert_eq!(output_fault(good.as_bytes()), None, "{good}");
        }
    }

    #[test]
    fn pages_keep_their_cursor_and_broken_entries_are_left_out() {
        let result = Bytes::from_static(
            br#"{"tools":[{"name":"a"},{"nme":"b"},{"name":"a"},7,{"name":"c","Name":"d"}],"nextCursor":""}"#,
        );
        let page = page(List::Tools, &result).unwrap();
        assert_eq!(page.cursor.as_deref(), Some(&b"\"\""[..]));
        let (tools, notes) = tools(&"up".into(), "up", &page.entries);
        assert_eq!(tools.iter().map(|tool| &*tool.exported).collect::<Vec<_>>(), ["up__a"]);
        assert_eq!(notes.iter().filter(|note| note.contains("no name")).count(), 3, "{notes:?}");
        assert!(super::page(List::Tools, &Bytes::from_static(b"{\"tools\":null}")).is_err());
    }

    #[test]
    fn a_shortened_tool_keeps_its_name_as_title() {
        let long = "GOOGLESHEETS_SPREADSHEETS_VALUES_BATCH_CLEAR_BY_DATA_FILTER";
        let (tool, _) = export(&format!(r#"{{"name":"{long}","inputSchema":{{"type":"object"}}}}"#));
        let tool = tool.unwrap();
        assert!(std::str::from_utf8(&tool.shown).unwrap().contains(&format!("\"title\":\"{long}\"")));
        assert!(tool.exported.len() <= 50);
    }
}
