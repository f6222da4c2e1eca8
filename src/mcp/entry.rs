//! Resources, templates and prompts as their upstream listed them, and the copies that clients are shown.
//!
//! A resource or template keeps its uri, a prompt gets an exported name as tools do. Everything else, unknown
//! members too, stays in its order and its bytes, but for a member of a wrong type, which would make
//! clients drop the whole list, everybody's.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::provenance::escaped as escape;

use super::listing::List;
use super::names;
use super::scan;
use super::template::{Budget, Pattern};

/// One resource, template or prompt of one upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is asked for by at its upstream: a uri, a uri template, a name.
    pub key: Arc<str>,
    /// What clients ask for it by.
    pub exported: Arc<str>,
    /// The entry as the upstream sent it: a raw JSON object.
    pub listed: Bytes,
    /// The entry as clients see it.
    pub shown: Bytes,
    /// The uris that a template is asked for; none of what is no template, or costs too much to compile.
    pub(crate) pattern: Option<Pattern>,
}

/// The entries of a whole list, each key once, and what the operator should know of them.
pub(crate) fn entries(list: List, prefix: &str, raw: &[Bytes]) -> (Vec<Arc<Entry>>, Vec<String>) {
    let mut notes = Vec::new();
    let mut seen = BTreeSet::new();
    let mut entries = Vec::with_capacity(raw.len());
    let mut budget = Budget::default();
    for raw in raw {
        match entry(list, prefix, raw, &mut notes) {
            Some(mut entry) if seen.insert(entry.key.clone()) => {
                if list == List::Templates {
                    entry.pattern = budget.compile(&entry.key);
                    if entry.pattern.is_none() {
                        let key = escape(&entry.key, 80);
                        notes.push(format!(
                            "the template `{key}` is only listed: it is broken, or one too many"
                        ));
                    }
                }
                entries.push(Arc::new(entry));
            }
            Some(entry) => notes.push(format!(
                "`{}` stands in its {} twice; the first entry counts",
                escape(&entry.key, 80),
                list.method()
            )),
            None => notes.push(format!("an entry of its {} cannot be used and is left out", list.method())),
        }
    }
    (entries, notes)
}

fn entry(list: List, prefix: &str, raw: &Bytes, notes: &mut Vec<String>) -> Option<Entry> {
    // An entry whose members repeat means one thing to us and another to a client.
    let mut keys = scan::Duplicates::default();
    scan::Cursor::new(raw).value(&mut keys).ok()?;
    if keys.found().is_some() {
        return None;
    }
    let members = scan::members(raw).ok()?;
    let (_, key) = members.iter().find(|(key, _)| scan::is(scan::slice(raw, key), list.entry_key()))?;
    let key: Arc<str> = scan::text(scan::slice(raw, key))?.into();
    if key.is_empty() {
        return None;
    }
    let exported: Arc<str> =
        if list == List::Prompts { names::exported(prefix, &key).into() } else { key.clone() };
    let mut out = Vec::with_capacity(raw.len() + 64);
    let (mut has_name, mut has_title) = (false, false);
    for (name, value) in &members {
        let (raw_name, value) = (scan::slice(raw, name), scan::slice(raw, value));
        let decoded = scan::text(raw_name);
        let name = decoded.as_deref().unwrap_or_default();
        if list == List::Prompts && name == "name" {
            has_name = true;
            put(&mut out, raw_name, quoted(&exported).as_bytes());
        } else if fits(name, value) {
            has_name |= name == "name";
            has_title |= name == "title";
            put(&mut out, raw_name, value);
        } else {
            notes.push(format!(
                "`{}` of `{}` has the wrong type and is not shown to clients",
                escape(name, 40),
                escape(&key, 80)
            ));
        }
    }
    if !has_name {
        notes.push(format!("`{}` has no name; clients are shown its uri as one", escape(&key, 80)));
        put(&mut out, b"\"name\"", quoted(&key).as_bytes());
    }
    if list == List::Prompts && !has_title && !exported.ends_with(&*key) {
        // A shortened name should not be all that a person sees.
        put(&mut out, b"\"title\"", quoted(&key).as_bytes());
    }
    out.push(b'}');
    scan::flatten(&mut out);
    Some(Entry { key, exported, listed: raw.clone(), shown: out.into(), pattern: None })
}

/// Whether a member has the type that clients insist on.
fn fits(name: &str, raw: &[u8]) -> bool {
    match name {
        "name" | "title" | "description" | "mimeType" => raw.starts_with(b"\""),
        "_meta" | "annotations" => raw.starts_with(b"{"),
        "icons" | "arguments" => raw.starts_with(b"["),
        "size" => raw.first().is_some_and(|first| first.is_ascii_digit() || *first == b'-'),
        _ => true,
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn put(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    out.push(if out.is_empty() { b'{' } else { b',' });
    out.extend_from_slice(key);
    out.push(b':');
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(list: List, raw: &'static str) -> (Option<String>, usize) {
        let (entries, notes) = entries(list, "up", &[Bytes::from_static(raw.as_bytes())]);
        let text = entries.first().map(|entry| String::from_utf8(entry.shown.to_vec()).unwrap());
        (text, notes.len())
    }

    #[test]
    fn a_resource_stays_and_a_prompt_changes_its_name() {
        let raw = r#"{"uri":"ui://w","name":"w", "mimeType":"text/html","size":1e400,"_meta":{"ui":{"csp":{}}},"future":[1.0]}"#;
        assert_eq!(shown(List::Resources, raw), (Some(raw.replace(", ", ",")), 0));
        let raw = r#"{"name":"greet","arguments":[{"name":"who","future":1}],"icons":[],"x":null}"#;
        assert_eq!(shown(List::Prompts, raw), (Some(raw.replacen("greet", "up__greet", 1)), 0));
        assert_eq!(
            shown(List::Prompts, r#"{"name":"a b"}"#).0.unwrap().split_once("\",").unwrap().1,
            r#""title":"a b"}"#
        );
    }

    #[test]
    fn a_template_that_cannot_be_a_way_is_still_listed() {
        let raw = |uri: &str| Bytes::from(format!("{{\"uriTemplate\":\"{uri}\",\"name\":\"n\"}}"));
        let (entries, notes) = entries(List::Templates, "up", &[raw("a:{b}"), raw("c:{d")]);
        let ways: Vec<_> = entries.iter().map(|entry| entry.pattern.is_some()).collect();
        assert_eq!((ways, notes.len()), (vec![true, false], 1), "{notes:?}");
    }

    #[test]
    fn what_would_break_the_whole_list_is_mended_or_left_out() {
        for (list, raw, expected, notes) in [
            (List::Resources, r#"{"uri":"a:b"}"#, Some(r#"{"uri":"a:b","name":"a:b"}"#), 1),
            (
                List::Resources,
                r#"{"uri":"a:b","name":"n","mimeType":null}"#,
                Some(r#"{"uri":"a:b","name":"n"}"#),
                1,
            ),
            (List::Templates, r#"{"uri":"a:b","name":"n"}"#, None, 1),
            (
                List::Templates,
                r#"{"uriTemplate":"a:{b}","name":"n"}"#,
                Some(r#"{"uriTemplate":"a:{b}","name":"n"}"#),
                0,
            ),
            (List::Resources, r#"{"uri":"a:b","URI":"c:d","name":"n"}"#, None, 1),
            (List::Prompts, r#"{"name":""}"#, None, 1),
            (List::Prompts, "7", None, 1),
        ] {
            assert_eq!(shown(list, raw), (expected.map(str::to_owned), notes), "{raw}");
        }
    }
}
