//! Every string leaf, number and key of a JSON text with its path, without recursion and without
//! giving up: what upstreams send may be 10,000 levels deep, hold lone surrogates or numbers that no
//! machine type holds, or stop in the middle. What cannot be read is handed on as text.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::text::byte;

/// Longest path that is written out, in bytes.
const LONGEST_PATH: usize = 400;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    Item(usize),
}

/// Where a leaf stands.
#[derive(Debug, Default, Clone)]
pub(crate) struct Trail {
    steps: Vec<Step>,
}

impl Trail {
    /// The normalised path (RFC 9535 section 2.7); a very deep one is cut and ends in `…`.
    pub(crate) fn path(&self) -> String {
        let mut out = String::from("$");
        for step in &self.steps {
            if out.len() > LONGEST_PATH {
                out.push('…');
                break;
            }
            match step {
                Step::Item(at) => {
                    let _ = write!(out, "[{at}]");
                }
                Step::Member(name) => {
                    out.push_str("['");
                    for c in name.chars().take(64) {
                        match c {
                            '\'' => out.push_str("\\'"),
                            '\\' => out.push_str("\\\\"),
                            c if c.is_control() => {
                                let _ = write!(out, "\\u{:04x}", u32::from(c));
                            }
                            c => out.push(c),
                        }
                    }
                    out.push_str("']");
                }
            }
        }
        out
    }

    /// The nearest member name above a value, or above the object that a member name stands in.
    pub(crate) fn key(&self, form: Form) -> Option<&str> {
        let own = usize::from(form == Form::Key);
        self.steps.iter().rev().skip(own).find_map(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Item(_) => None,
        })
    }

    /// Whether the value is an item of a list.
    pub(crate) fn is_item(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Item(_)))
    }
}

/// What kind of leaf it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A string value.
    Text,
    /// A member name.
    Key,
    /// A number, as it was written.
    Number,
    /// Bytes that are no JSON.
    Rest,
}

/// Walks a JSON text and hands on each leaf. Linear in its length. Returns whether all of it was JSON.
pub(crate) fn walk(json: &[u8], leaf: &mut dyn FnMut(&Trail, Cow<'_, str>, Form)) -> bool {
    let mut trail = Trail::default();
    let mut at = 0;
    // Whether the innermost open bracket is an object, and a member name is due.
    let mut open: Vec<bool> = Vec::new();
    let mut name_due = false;
    while at < json.len() {
        match byte(json, at) {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'{' => {
                open.push(true);
                trail.steps.push(Step::Member(String::new()));
                name_due = true;
                at += 1;
            }
            b'[' => {
                open.push(false);
                trail.steps.push(Step::Item(0));
                name_due = false;
                at += 1;
            }
            b'}' | b']' => {
                open.pop();
                trail.steps.pop();
                name_due = false;
                at += 1;
            }
            b',' => {
                match (open.last(), trail.steps.last_mut()) {
                    (Some(true), _) => name_due = true,
                    (_, Some(Step::Item(item))) => *item += 1,
                    _ => {}
                }
                at += 1;
            }
            b':' => {
                name_due = false;
                at += 1;
            }
            b'"' => {
                let Some(end) = string_end(json, at + 1) else {
                    rest(json, at, &trail, leaf);
                    return false;
                };
                let text = unescape(json.get(at + 1..end).unwrap_or_default());
                if name_due {
                    if let Some(step) = trail.steps.last_mut() {
                        *step = Step::Member(text.clone().into_owned());
                    }
                    leaf(&trail, text, Form::Key);
                    name_due = false;
                } else {
                    leaf(&trail, text, Form::Text);
                }
                at = end + 1;
            }
            b'-' | b'0'..=b'9' => {
                let end = literal_end(json, at);
                let text = String::from_utf8_lossy(json.get(at..end).unwrap_or_default());
                leaf(&trail, text, Form::Number);
                at = end.max(at + 1);
            }
            b't' | b'f' | b'n' => {
                let end = literal_end(json, at);
                if !matches!(json.get(at..end), Some(b"true" | b"false" | b"null")) {
                    rest(json, at, &trail, leaf);
                    return false;
                }
                at = end;
            }
            _ => {
                rest(json, at, &trail, leaf);
                return false;
            }
        }
    }
    open.is_empty()
}

fn rest(json: &[u8], at: usize, trail: &Trail, leaf: &mut dyn FnMut(&Trail, Cow<'_, str>, Form)) {
    leaf(trail, String::from_utf8_lossy(json.get(at..).unwrap_or_default()), Form::Rest);
}

fn literal_end(json: &[u8], from: usize) -> usize {
    let tail = json.get(from..).unwrap_or_default();
    let length = tail.iter().position(|b| !(b.is_ascii_alphanumeric() || b"+-.".contains(b)));
    length.map_or(json.len(), |length| from + length)
}

fn string_end(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let tail = json.get(at..)?;
        let next = at + memchr::memchr2(b'"', b'\\', tail)?;
        if byte(json, next) == b'"' {
            return Some(next);
        }
        at = next + 2;
    }
}

/// The text of a JSON string; a lone surrogate becomes U+FFFD.
fn unescape(raw: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', raw).is_none() {
        return String::from_utf8_lossy(raw);
    }
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(b) = raw.get(at) {
        if *b != b'\\' {
            out.push(*b);
            at += 1;
            continue;
        }
        let escape = byte(raw, at + 1);
        at += 2;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let first = hex4(raw, at);
                at += 4;
                let code = match first {
                    Some(high @ 0xd800..=0xdbff) if raw.get(at..at + 2) == Some(b"\\u") => {
                        match hex4(raw, at + 2) {
                            Some(low @ 0xdc00..=0xdfff) => {
                                at += 6;
                                0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                            }
                            _ => 0xfffd,
                        }
                    }
                    Some(code) => code,
                    None => 0xfffd,
                };
                let c = char::from_u32(code).unwrap_or('\u{fffd}');
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
    }
    Cow::Owned(String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn hex4(raw: &[u8], at: usize) -> Option<u32> {
    let digits = std::str::from_utf8(raw.get(at..at + 4)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(json: &str) -> Vec<String> {
        let mut all = Vec::new();
        walk(json.as_bytes(), &mut |trail, text, form| {
            all.push(format!("{} {:?} {form:?} {text}", trail.path(), trail.key(form).unwrap_or("")));
        });
        all
    }

    #[test]
    fn every_leaf_has_its_path() {
        assert_eq!(
            leaves(r#"{"a":["x",{"b'c":"\u0041\ud83d\ude00"}],"n":1e400,"z":null}"#),
            [
                "$['a'] \"\" Key a",
                "$['a'][0] \"a\" Text x",
                "$['a'][1]['b\\'c'] \"a\" Key b'c",
                "$['a'][1]['b\\'c'] \"b'c\" Text A\u{1f600}",
                "$['n'] \"\" Key n",
                "$['n'] \"n\" Number 1e400",
                "$['z'] \"\" Key z",
            ]
        );
    }

    #[test]
    fn what_is_no_json_is_text() {
        assert_eq!(leaves(r#""\ud800x""#), ["$ \"\" Text \u{fffd}x"]);
        assert_eq!(leaves("hello a@b.test"), ["$ \"\" Rest hello a@b.test"]);
        assert_eq!(leaves(r#"["a@b.test"#), ["$[0] \"\" Rest \"a@b.test"]);
        let deep = format!("{}\"x\"{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(leaves(&deep).len(), 1);
    }
}
