//! An `elicitation/create` of an upstream, read: what it would show a human, and the copy that is shown.
//!
//! Only the message changes, which is put below a line of ours, and texts of the form in which hidden
//! characters stand, which become visible; what the form accepts stays as it is, byte for byte where
//! nothing had to be made visible. What cannot be read whole is not shown.

use bytes::Bytes;
use serde_json::Value;

use crate::policy::{Entry, Form, FormField, attributed};
use crate::provenance::{escaped, is_hidden};

use super::offered::Modes;
use super::scan::{self, Cursor, Duplicates, Span};

/// Bytes of the params; more is no question to a person.
const MOST: usize = 256 << 10;
/// Fields of a form.
const FIELDS: usize = 64;
/// Characters of one text of a form.
const TEXT: usize = 2_000;

/// What an upstream asks a human.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elicitation {
    /// The text above the form or beside the url.
    pub message: String,
    /// How.
    pub way: Way,
    /// The params as the client gets them.
    pub shown: Bytes,
}

/// How a human is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// By this form.
    Form(Form),
    /// By going to this url.
    Page(String),
}

impl Elicitation {
    /// Reads raw params of `upstream`.
    ///
    /// # Errors
    /// They cannot be shown as they are, or the client has no such mode; in our own words.
    pub fn read(params: &Bytes, upstream: &str, modes: Modes) -> Result<Self, String> {
        if params.len() > MOST {
            return Err(format!("an elicitation of more than {MOST} bytes is not shown"));
        }
        let mut keys = Duplicates::default();
        let mut cursor = Cursor::new(params);
        if cursor.value(&mut keys).and_then(|_| cursor.end()).is_err() || keys.found().is_some() {
            return Err("the params cannot be read, or hold a key twice".to_owned());
        }
        let at = |name: &str| scan::member(params, name);
        let text =
            |name: &str| at(name).and_then(|span| Some(scan::text(scan::slice(params, &span))?.into_owned()));
        let Some((message, span)) = text("message").zip(at("message")) else {
            return Err("`message` is not a string".to_owned());
        };
        let mut edits = vec![(span, Value::from(attributed(upstream, &message)).to_string())];
        let way = match text("mode").as_deref() {
            None if at("mode").is_some() => return Err("`mode` is not a string".to_owned()),
            None | Some("form") if modes.form => Way::Form(form(params, &mut edits)?),
            Some("url") if modes.url => match text("url") {
                Some(url) => Way::Page(url),
                None => return Err("`url` is not a string".to_owned()),
            },
            _ => return Err("the client has no such mode of elicitation".to_owned()),
        };
        edits.sort_by_key(|(span, _)| span.start);
        let edits: Vec<(Span, &[u8])> =
            edits.iter().map(|(span, new)| (span.clone(), new.as_bytes())).collect();
        let mut shown = Vec::with_capacity(params.len() + 128);
        scan::splice(params, &edits, &mut shown);
        Ok(Self { message, way, shown: shown.into() })
    }
}

/// Members of a form that say nothing to a human beside its fields.
const SILENT: [&str; 4] = ["$schema", "type", "properties", "required"];
/// Members by which a schema takes in fields that do not stand among its properties.
const ELSEWHERE: [&str; 12] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "dependencies",
    "dependentSchemas",
];

/// JSON-RPC: a call needs the human to go to pages first (MCP 2025-11-25).
const PAGES_FIRST: f64 = -32042.0;
/// Pages that one error may name.
const PAGES: usize = 8;

/// Where in the raw error of a call the pages stand that a client would send its human to, each the params
/// of an elicitation. None where it is another error.
///
/// # Errors
/// It names pages in a way that cannot be read, or too many; or a key stands twice, so that two readers may see
/// two errors in it.
pub fn pages_first(error: &[u8]) -> Result<Vec<Span>, String> {
    let unreadable = || "the pages that it names cannot be read".to_owned();
    let mut keys = Duplicates::default();
    let mut cursor = Cursor::new(error);
    if cursor.value(&mut keys).and_then(|_| cursor.end()).is_err() || keys.found().is_some() {
        return Err(unreadable());
    }
    let at = |raw: &[u8], name: &str| scan::member(raw, name);
    // A number is what it counts, however it is written: -32042.0, -3.2042e4.
    let code =
        at(error, "code").and_then(|code| serde_json::from_slice::<f64>(scan::slice(error, &code)).ok());
    if code.is_none_or(|code| (code - PAGES_FIRST).abs() >= 0.5) {
        return Ok(Vec::new());
    }
    let data = at(error, "data").ok_or_else(unreadable)?;
    let listed = at(scan::slice(error, &data), "elicitations").ok_or_else(unreadable)?;
    let start = data.start + listed.start;
    let mut spans = Vec::new();
    let listed = scan::slice(error, &(start..data.start + listed.end));
    let each = |span: Span| spans.push(start + span.start..start + span.end);
    scan::Cursor::new(listed).items(each).map_err(|_| unreadable())?;
    if spans.len() > PAGES {
        return Err(format!("it names more than {PAGES} pages"));
    }
    Ok(spans)
}

/// The form, with what has to be replaced in the params for it to be fit to be shown.
fn form(params: &Bytes, edits: &mut Vec<(Span, String)>) -> Result<Form, String> {
    let unreadable = || "`requestedSchema` cannot be read".to_owned();
    let span = scan::member(params, "requestedSchema").ok_or_else(unreadable)?;
    let mut schema: Value = serde_json::from_slice(scan::slice(params, &span)).map_err(|_| unreadable())?;
    let before = schema.clone();
    make_visible(&mut schema, Place::Schema)?;
    if schema != before {
        edits.push((span, schema.to_string()));
    }
    let Value::Object(members) = &before else { return Err(unreadable()) };
    if ELSEWHERE.iter().any(|key| members.contains_key(*key)) {
        return Err("a form whose fields stand elsewhere than among its properties is not shown".to_owned());
    }
    let mut texts = Vec::new();
    let spoken = members.iter().filter(|(key, _)| !SILENT.contains(&key.as_str()));
    spoken.for_each(|(_, member)| gather(member, &mut texts));
    let fields = match members.get("properties") {
        Some(Value::Object(properties)) if properties.len() > FIELDS => {
            return Err(format!("a form of more than {FIELDS} fields is not shown"));
        }
        Some(Value::Object(properties)) => {
            properties.iter().map(|(name, schema)| field(name, schema)).collect()
        }
        None => Vec::new(),
        Some(_) => return Err(unreadable()),
    };
    Ok(Form { texts, fields })
}

fn field(name: &str, schema: &Value) -> FormField {
    let mut texts = Vec::new();
    gather(schema, &mut texts);
    let entry = if is_chosen(schema) { Entry::Chosen } else { Entry::Typed };
    FormField { name: name.to_owned(), texts, entry }
}

/// Whether nothing can be entered but what the schema lists: a yes or no, one of its strings, or several
/// of them. In any other field stands text that a human typed.
fn is_chosen(schema: &Value) -> bool {
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => true,
        Some("array") => schema.get("items").is_some_and(is_one_of_many),
        _ => is_one_of_many(schema),
    }
}

/// Whether a schema lists the strings that it admits.
fn is_one_of_many(schema: &Value) -> bool {
    let is_string = schema.get("type").is_none_or(|kind| kind == "string");
    let lists = |key: &str, fits: fn(&Value) -> bool| {
        let listed = schema.get(key).and_then(Value::as_array);
        listed.is_some_and(|listed| !listed.is_empty() && listed.iter().all(fits))
    };
    let is_const = |choice: &Value| choice.get("const").is_some_and(Value::is_string);
    is_string && (lists("enum", Value::is_string) || lists("oneOf", is_const) || lists("anyOf", is_const))
}

/// Every text of a part of a schema, the names of its members too: a field may hold others.
fn gather(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| gather(item, out)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            out.push(key.clone());
            gather(member, out);
        }),
        _ => {}
    }
}

/// What a text stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A part of the schema.
    Schema,
    /// Shown to people and nothing else.
    Shown,
    /// Shown, and what is answered.
    Answered,
}

/// Escapes hidden characters where a text is only shown. Where it is answered as well it cannot be changed.
fn make_visible(value: &mut Value, place: Place) -> Result<(), String> {
    match value {
        Value::String(text) => {
            let is_fit = text.chars().count() <= TEXT && !text.chars().any(is_hidden);
            match place {
                _ if is_fit => {}
                Place::Answered => return Err("hidden characters stand in a value of the form".to_owned()),
                Place::Shown | Place::Schema => *text = escaped(text, TEXT),
            }
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| make_visible(item, place))?,
        Value::Object(members) => {
            if members.keys().any(|key| key.chars().any(is_hidden)) {
                return Err("hidden characters stand in the name of a field".to_owned());
            }
            for (key, member) in members.iter_mut() {
                let place = match key.as_str() {
                    "title" | "description" | "enumNames" => Place::Shown,
                    "const" | "enum" | "default" | "required" | "pattern" | "format" | "type" | "$ref" => {
                        Place::Answered
                    }
                    _ => Place::Schema,
                };
                make_visible(member, place)?;
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Modes = Modes { form: true, url: true };

    fn read(params: &str, modes: Modes) -> Result<Elicitation, String> {
        Elicitation::read(&Bytes::copy_from_slice(params.as_bytes()), "up", modes)
    }

    #[test]
    fn only_the_message_changes() {
        let params = r#"{ "mode":"form","v/x":1.0,"message":"Na\u006de?", "requestedSchema":{"type":"object","properties":{"n":{"type":"string","title":"N"},"p":{"type":"array","items":{"anyOf":[{"const":"r","title":"Read"}]}},"k":{"type":"number","maximum":1.0}},"required":["n"]},"_meta":{"k":1e400}}"#;
        let found = read(params, BOTH).unwrap();
        let expected = params.replace(r#""Na\u006de?""#, r#""Server `up` asks this, not Bouncer:\n> Name?""#);
        assert_eq!(std::str::from_utf8(&found.shown).unwrap(), expected);
        let Way::Form(Form { fields, .. }) = &found.way else { panic!("{found:?}") };
        let told: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.entry)).collect();
        assert_eq!(told, [("n", Entry::Typed), ("p", Entry::Chosen), ("k", Entry::Typed)]);
        assert!(fields[1].texts.contains(&"Read".to_owned()));
    }

    #[test]
    fn hidden_characters_are_shown_or_refused() {
        let form = |field: &str| {
            read(
                &format!(
                    r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{{{field}}}}}}}"#
                ),
                BOTH,
            )
        };
        let shown = form(r#""n":{"type":"string","description":"a\nServer b"}"#).unwrap().shown;
        assert!(String::from_utf8_lossy(&shown).contains(r#""description":"a\\nServer b""#), "{shown:?}");
        for bad in [
            r#""n\u202e":{"type":"string"}"#,
            r#""n":{"type":"string","enum":["a\u200b"]}"#,
            r#""n":{"type":"string","oneOf":[{"const":"a\u001b[2J","title":"A"}]}"#,
            r#""n":{"type":"string","default":"a\nb"}"#,
            r#""n":{"type":"string","minLength":1e400}"#,
            r#""n":{"type":"string","type":"number"}"#,
        ] {
            assert!(form(bad).is_err(), "{bad}");
        }
    }

    fn form_of(schema: &str) -> Result<Form, String> {
        let found = read(&format!(r#"{{"message":"m","requestedSchema":{schema}}}"#), BOTH)?;
        match found.way {
            Way::Form(form) => Ok(form),
            Way::Page(_) => Err("a page".to_owned()),
        }
    }

    #[test]
    fn only_what_can_do_nothing_but_choose_is_a_choice() {
        fn check(field: &str, expected: Entry) {
            let form = form_of(&format!(r#"{{"type":"object","properties":{{"f":{field}}}}}"#)).unwrap();
            assert_eq!(form.fields[0].entry, expected, "{field}");
        }
        for chosen in [
            r#"{"type":"boolean"}"#,
            r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#,
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
            r#"{"anyOf":[{"const":"a"}]}"#,
            r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#,
            r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
        ] {
            check(chosen, Entry::Chosen);
        }
        for typed in [
            r#"{"type":"string","enum":[]}"#,
            r#"{"type":"string","enum":null}"#,
            r#"{"type":"string","enum":["a",1]}"#,
            r#"{"type":"string","items":{"enum":["a"]}}"#,
            r#"{"type":"string","anyOf":[]}"#,
            r#"{"type":"string","anyOf":[{"const":"a"},{"type":"string"}]}"#,
            r#"{"type":"string","const":"a"}"#,
            r#"{"type":"number","enum":["a"]}"#,
            r#"{"type":["boolean","string"]}"#,
            r#"{"type":"array","enum":["a"]}"#,
            r#"{"type":"array","items":{"type":"string"}}"#,
            r#"{"type":"array","items":[{"enum":["a"]}]}"#,
            "true",
        ] {
            check(typed, Entry::Typed);
        }
    }

    #[test]
    fn the_pages_of_an_error_are_found() {
        let page = r#"{"mode":"url","message":"m","url":"https://a.example/"}"#;
        let error = format!(r#"{{"code":-32042,"message":"m","data":{{ "elicitations":[{page}, {page}]}}}}"#);
        let found = pages_first(error.as_bytes()).unwrap();
        assert!(found.len() == 2 && found.iter().all(|span| error[span.clone()] == *page), "{found:?}");
        assert_eq!(pages_first(error.replace("42", "43").as_bytes()), Ok(Vec::new()));
        for same in ["-32042.0", "-32042e0", "-3.2042E4"] {
            assert_eq!(pages_first(error.replace("-32042", same).as_bytes()).map(|found| found.len()), Ok(2));
        }
        // Which of two a client takes is its own affair.
        for twice in [
            format!(r#"{{"code":0,"code":-32042,"data":{{"elicitations":[{page}]}}}}"#),
            format!(r#"{{"code":-32042,"data":{{"elicitations":[]}},"data":{{"elicitations":[{page}]}}}}"#),
            format!(r#"{{"code":-32042,"data":{{"elicitations":[],"elicitations":[{page}]}}}}"#),
        ] {
            assert!(pages_first(twice.as_bytes()).is_err(), "{twice}");
        }
        for bad in [r#"{"code":-32042}"#, r#"{"code":-32042,"data":{"elicitations":7}}"#] {
            assert!(pages_first(bad.as_bytes()).is_err(), "{bad}");
        }
        let many = format!(r#"{{"code":-32042,"data":{{"elicitations":[{}]}}}}"#, [page; 9].join(","));
        assert!(pages_first(many.as_bytes()).is_err());
    }

    #[test]
    fn a_form_speaks_beside_its_fields_and_hides_none() {
        let form = form_of(
            r#"{"$schema":"s","type":"object","title":"T","description":"D","properties":{"f":{"type":"object","properties":{"inner":{}}}},"required":["f"]}"#,
        )
        .unwrap();
        assert_eq!(form.texts, ["T", "D"]);
        assert!(form.fields[0].texts.contains(&"inner".to_owned()), "{form:?}");
        for bad in [r#"{"type":"object","allOf":[{"properties":{"p":{}}}]}"#, r##"{"$ref":"#/x"}"##, "[]"] {
            assert!(form_of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_mode_that_the_client_lacks_is_refused() {
        let page = r#"{"mode":"url","message":"m","url":"https://a.example/","elicitationId":"e"}"#;
        assert!(matches!(read(page, BOTH).unwrap().way, Way::Page(url) if url == "https://a.example/"));
        let form_only = Modes { form: true, url: false };
        assert!(read(page, form_only).is_err());
        let form = r#"{"message":"m","requestedSchema":{"type":"object"}}"#;
        assert!(read(form, form_only).is_ok());
        assert!(read(form, Modes { form: false, url: true }).is_err());
        for bad in [
            "[]",
            "{}",
            r#"{"message":7}"#,
            r#"{"message":"a","Message":"b","requestedSchema":{}}"#,
            r#"{"mode":"other","message":"m"}"#,
            r#"{"mode":1,"message":"m","requestedSchema":{}}"#,
            r#"{"mode":"url","message":"m"}"#,
        ] {
            assert!(read(bad, BOTH).is_err(), "{bad}");
        }
    }
}
