//! Text that is structure: YAML and `Key: value` lines, read into fields with their places.
//!
//! What the keys of such fields say is `fields.rs`. Declared own-data paths are matched against structure that
//! parses as a whole.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Value;

use super::canon::shape_of;
use super::text::cut;

/// Longest text that is read as YAML.
const LONGEST_YAML: usize = 256 * 1024;
/// Deepest nesting of YAML that is read.
const DEEPEST_YAML: usize = 48;

/// One scalar of a structured text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// Where the scalar stands in the text, without quotes.
    pub(crate) range: Range<usize>,
    /// The nearest key.
    pub(crate) key: String,
    /// The value.
    pub(crate) text: String,
    /// Whether the value stands in the text letter by letter.
    pub(crate) verbatim: bool,
    /// Its path within the structure.
    pub(crate) path: String,
    /// Whether it is an item of a list, or a member name.
    pub(crate) stands: Stands,
}

/// How a scalar stands in a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stands {
    /// It is the value of a member.
    Member,
    /// It is an item of a list.
    Item,
    /// It is the name of a member.
    Name,
}

/// A text read as structure.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    /// Its scalars, in the order of the text.
    pub(crate) fields: Vec<Field>,
    /// The value of the whole, when the whole parses.
    pub(crate) value: Option<Value>,
}

/// Reads a text as YAML, as `Key: value` lines, or as `key=value` pairs.
pub(crate) fn read(text: &str) -> Structure {
    if may_be_yaml(text) {
        // A parser for a large language, fed by strangers: should it panic, the text is only text.
        let parsed = catch_unwind(AssertUnwindSafe(|| yaml(text))).ok().flatten();
        if let Some(structure) = parsed {
            return structure;
        }
    }
    pairs(text).unwrap_or_else(|| lines(text))
}

/// Whether a text has marks of structure at all.
pub(crate) fn may_be_structure(text: &str) -> bool {
    text.contains([':', '=']) || text.trim_start().starts_with('-')
}

/// A text that is nothing but `key=value` pairs, apart by white space, commas, semicolons or ampersands.
fn pairs(text: &str) -> Option<Structure> {
    if !text.contains('=') || text.len() > LONGEST_YAML {
        return None;
    }
    let mut fields = Vec::new();
    let mut members = serde_json::Map::new();
    let mut at = 0;
    loop {
        let rest = cut(text, at..text.len());
        at += rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || ",;&".contains(c)).len();
        let rest = cut(text, at..text.len());
        if rest.is_empty() {
            break;
        }
        let equals = rest.find('=')?;
        let key = cut(rest, 0..equals);
        let plain = !key.is_empty()
            && key.len() <= 40
            && key.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
        if !plain {
            return None;
        }
        let value = cut(rest, equals + 1..rest.len());
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (from, length, next) = if let Some(quote) = quote {
            let end = cut(value, 1..value.len()).find(quote)?;
            (1, end, end + 2)
        } else {
            let end = value.find(|c: char| c.is_whitespace() || ",;&".contains(c)).unwrap_or(value.len());
            (0, end, end)
        };
        let start = at + equals + 1;
        let scalar = cut(value, from..from + length);
        if !scalar.is_empty() {
            fields.push(Field {
                range: start + from..start + from + length,
                key: key.to_owned(),
                text: scalar.to_owned(),
                verbatim: true,
                path: format!("$['{key}']"),
                stands: Stands::Member,
            });
        }
        members.insert(key.to_owned(), Value::String(scalar.to_owned()));
        at = start + next;
    }
    (!fields.is_empty()).then_some(Structure { fields, value: Some(Value::Object(members)) })
}

fn may_be_yaml(text: &str) -> bool {
    if text.len() > LONGEST_YAML || text.contains('\t') {
        return false;
    }
    let Some(first) = text.lines().map(str::trim).find(|line| !line.is_empty() && *line != "---") else {
        return false;
    };
    let opens =
        first.starts_with("- ") || first == "-" || first.starts_with(['{', '[']) || key_of(first).is_some();
    let mut depth = 0_usize;
    opens
        && text.bytes().all(|b| {
            match b {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth <= DEEPEST_YAML
        })
}

/// An open collection of a YAML text.
enum Open {
    Items(Vec<Value>),
    Members(serde_json::Map<String, Value>, Option<String>),
}

fn yaml(text: &str) -> Option<Structure> {
    let places = Places::new(text);
    let mut fields = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    let mut documents = 0;
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.ok()?;
        let mut done = None;
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return None;
                }
            }
            // An alias repeats what was written once; bombs are made of them.
            Event::Alias(_) => return None,
            Event::SequenceStart(..) => open.push(Open::Items(Vec::new())),
            Event::MappingStart(..) => open.push(Open::Members(serde_json::Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => {
                done = Some(match open.pop()? {
                    Open::Items(items) => Value::Array(items),
                    Open::Members(members, _) => Value::Object(members),
                });
            }
            Event::Scalar(scalar, style, ..) => {
                let is_name = matches!(open.last(), Some(Open::Members(_, None)));
                let range = places.byte(span.start.index())..places.byte(span.end.index());
                let raw = cut(text, range.clone());
                let inner = raw.trim_end().len();
                let lead =
                    usize::from(matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
                let range =
                    range.start + lead..(range.start + inner).saturating_sub(lead).max(range.start + lead);
                let stands = match open.last() {
                    _ if is_name => Stands::Name,
                    Some(Open::Items(_)) => Stands::Item,
                    _ => Stands::Member,
                };
                if !is_name || shape_of(&scalar).is_some() {
                    fields.push(Field {
                        verbatim: cut(text, range.clone()) == scalar,
                        range,
                        key: nearest_key(&open),
                        path: path_of(&open),
                        text: scalar.clone().into_owned(),
                        stands,
                    });
                }
                if let Some(Open::Members(_, key @ None)) = open.last_mut() {
                    *key = Some(scalar.into_owned());
                    continue;
                }
                done = Some(scalar_value(&scalar, style));
            }
            _ => {}
        }
        if open.len() > DEEPEST_YAML {
            return None;
        }
        if let Some(value) = done {
            match open.last_mut() {
                Some(Open::Items(items)) => items.push(value),
                Some(Open::Members(members, key)) => {
                    members.insert(key.take()?, value);
                }
                None => root = Some(value),
            }
        }
    }
    root.filter(|root| root.is_object() || root.is_array())
        .map(|root| Structure { fields, value: Some(root) })
}

fn scalar_value(text: &str, style: ScalarStyle) -> Value {
    if style == ScalarStyle::Plain
        && let Ok(value @ (Value::Bool(_) | Value::Number(_) | Value::Null)) = serde_json::from_str(text)
    {
        return value;
    }
    Value::String(text.to_owned())
}

fn nearest_key(open: &[Open]) -> String {
    let key = open.iter().rev().find_map(|open| match open {
        Open::Members(_, key) => key.clone(),
        Open::Items(_) => None,
    });
    key.unwrap_or_default()
}

fn path_of(open: &[Open]) -> String {
    use std::fmt::Write as _;
    let mut path = String::from("$");
    for open in open {
        match open {
            Open::Items(items) => {
                let _ = write!(path, "[{}]", items.len());
            }
            Open::Members(_, key) => {
                let key = key.as_deref().unwrap_or_default().replace('\\', "\\\\").replace('\'', "\\'");
                let _ = write!(path, "['{key}']");
            }
        }
    }
    path
}

/// Byte places of character places.
struct Places(Option<Vec<u32>>, usize);

impl Places {
    fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Self(None, text.len());
        }
        let starts = text.char_indices().map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX)).collect();
        Self(Some(starts), text.len())
    }

    fn byte(&self, character: usize) -> usize {
        match &self.0 {
            None => character.min(self.1),
            Some(starts) => starts.get(character).map_or(self.1, |at| *at as usize),
        }
    }
}

/// The key of a `Key: value` line, and where its value starts.
fn key_of(line: &str) -> Option<(&str, usize)> {
    let lead = line.len() - line.trim_start_matches([' ', '-', '*', '\u{2022}']).len();
    let body = cut(line, lead..line.len());
    let colon = body.find(':')?;
    let key = cut(body, 0..colon);
    let after = cut(body, colon + 1..body.len());
    let plain = key.chars().next().is_some_and(char::is_alphabetic)
        && key.len() <= 40
        && key.split_whitespace().count() <= 4
        && key.chars().all(|c| c.is_alphanumeric() || " _-./()".contains(c));
    (plain && (after.is_empty() || after.starts_with([' ', '\t']))).then_some((key.trim(), lead + colon + 1))
}

/// The fields of `Key: value` lines: of all lines when all are such, else of the block the text opens with.
/// Lines further down a free text are only text.
fn lines(text: &str) -> Structure {
    let mut fields = Vec::new();
    let mut at = 0;
    let mut opening = true;
    let mut all = true;
    let mut of_opening = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let body = line.trim_end_matches(['\n', '\r']);
        if body.trim().is_empty() || body.trim().chars().all(|c| "-=*_#".contains(c)) {
            opening &= fields.is_empty();
            continue;
        }
        let Some((key, from)) = key_of(body) else {
            all = false;
            // What the text opens with is over, and of what follows nothing counts.
            break;
        };
        let value = cut(body, from..body.len());
        let trimmed = value.trim();
        if !trimmed.is_empty() {
            let from = start + from + (value.len() - value.trim_start().len());
            fields.push(Field {
                range: from..from + trimmed.len(),
                key: key.to_owned(),
                text: trimmed.to_owned(),
                verbatim: true,
                path: format!("$['{}']", key.replace('\'', "\\'")),
                stands: Stands::Member,
            });
        }
        if opening {
            of_opening = fields.len();
        }
        if fields.len() > 20_000 {
            break;
        }
    }
    if !all {
        fields.truncate(of_opening);
    }
    let value = (all && !fields.is_empty()).then(|| {
        let members = fields.iter().map(|field| (field.key.clone(), Value::String(field.text.clone())));
        Value::Object(members.collect())
    });
    Structure { fields, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        read(text).fields.into_iter().map(|field| (field.key, field.text)).collect()
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<(String, String)> =
            expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(found(text), expected, "{text}");
        for field in read(text).fields {
            if field.verbatim {
                assert_eq!(cut(text, field.range), field.text);
            }
        }
    }

    #[test]
    fn yaml_and_lines_are_fields() {
        check(
            "- name: Ana\n  email: é@b.test\n- name: 'B: c'\n",
            &[("name", "Ana"), ("email", "é@b.test"), ("name", "B: c")],
        );
        check("to:\n- a@b.test\n- c@d.test\n", &[("to", "a@b.test"), ("to", "c@d.test")]);
        check(
            "From: Ana <a@b.test>\nSubject: x\n\nhello\nFrom: c@d.test\n",
            &[("From", "Ana <a@b.test>"), ("Subject", "x")],
        );
        check(
            "Title: red: on main\nBody: it's a: POST",
            &[("Title", "red: on main"), ("Body", "it's a: POST")],
        );
        check("hello there\nFrom: a@b.test", &[]);
        check("a: &x [1]\nb: *x", &[("a", "&x [1]"), ("b", "*x")]);
        check("write to: x y", &[("write to", "x y")]);
        check("account=FI21 amount=\"6 40\"", &[("account", "FI21"), ("amount", "6 40")]);
        check("see a=b in it", &[]);
        check("shared_with:\n  a@b.test: rw\n", &[("shared_with", "a@b.test"), ("a@b.test", "rw")]);
        assert_eq!(read("- email: a@b.test\n").value, Some(serde_json::json!([{"email": "a@b.test"}])));
    }
}
