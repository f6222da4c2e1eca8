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

impl Step {
    fn rename(&mut self, name: &str) {
        match self {
            Self::Member(known) => {
                known.clear();
                known.push_str(name);
            }
            Self::Item(_) => *self = Self::Member(name.to_owned()),
        }
    }
}

/// Where a leaf stands.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    steps: Vec<Step>,
    /// The path as it was written last, and where in it each step ends that still stands as it was written.
    path: String,
    ends: Vec<usize>,
    /// What stands before the path.
    lead: usize,
}

impl Trail {
    /// A trail whose paths follow the one given.
    fn below(above: &str) -> Self {
        let mut path = String::with_capacity(above.len() + 64);
        path.push_str(above);
        Self { lead: above.len(), path, ..Self::default() }
    }

    /// Writes the normalised path (RFC 9535 section 2.7); a very deep one is cut and ends in `…`.
    fn path(&mut self) {
        self.path.truncate(self.ends.last().copied().unwrap_or(self.lead));
        if self.ends.is_empty() {
            self.path.push('$');
        }
        for step in self.steps.iter().skip(self.ends.len()) {
            if self.path.len() - self.lead > LONGEST_PATH {
                self.path.push('…');
                break;
            }
            write_step(step, &mut self.path);
            self.ends.push(self.path.len());
        }
    }

    fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    fn pop(&mut self) {
        self.steps.pop();
        self.ends.truncate(self.steps.len());
    }

    /// The last step, to be changed.
    fn last(&mut self) -> Option<&mut Step> {
        self.ends.truncate(self.steps.len().saturating_sub(1));
        self.steps.last_mut()
    }

    /// Where the value stands.
    pub(crate) fn stand(&mut self, form: Form) -> Stand<'_> {
        self.path();
        Stand { path: &self.path, key: self.key(form).unwrap_or_default(), is_item: self.is_item() }
    }

    /// The nearest member name above a value, or above the object that a member name stands in.
    fn key(&self, form: Form) -> Option<&str> {
        let own = usize::from(form == Form::Key);
        self.steps.iter().rev().skip(own).find_map(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Item(_) => None,
        })
    }

    fn is_item(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Item(_)))
    }
}

/// Where a value stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stand<'a> {
    pub(crate) path: &'a str,
    /// The nearest member name above it; empty where there is none.
    pub(crate) key: &'a str,
    /// Whether it is an item of a list.
    pub(crate) is_item: bool,
}

/// Whether a byte of a name stands for itself in a path.
fn is_plain(b: u8) -> bool {
    matches!(b, b' '..=b'~') && b != b'\'' && b != b'\\'
}

fn write_step(step: &Step, out: &mut String) {
    match step {
        Step::Item(at) => {
            let _ = write!(out, "[{at}]");
        }
        Step::Member(name) if name.len() <= 64 && name.bytes().all(is_plain) => {
            out.push_str("['");
            out.push_str(name);
            out.push_str("']");
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

/// Receives leaves: where each stands, its text, what it is.
pub(crate) type Leaves<'a> = dyn FnMut(&mut Trail, Cow<'_, str>, Form) + 'a;

/// Walks a JSON text and hands on each leaf; paths follow `above`. Linear in its length. Returns whether all of it
/// was JSON.
pub(crate) fn walk(json: &[u8], above: &str, leaf: &mut Leaves<'_>) -> bool {
    let mut trail = Trail::below(above);
    // Whether the innermost open bracket is an object, and a member name is due.
    let mut open: Vec<bool> = Vec::new();
    let mut name_due = false;
    let mut at = 0;
    while let Some(piece) = next_piece(json, &mut at) {
        match piece {
            Piece::Open(is_object) => {
                open.push(is_object);
                trail.push(if is_object { Step::Member(String::new()) } else { Step::Item(0) });
                name_due = is_object;
            }
            Piece::Close => {
                open.pop();
                trail.pop();
                name_due = false;
            }
            Piece::Comma => match open.last() {
                Some(true) => name_due = true,
                _ => {
                    if let Some(Step::Item(item)) = trail.last() {
                        *item += 1;
                    }
                }
            },
            Piece::Colon => name_due = false,
            Piece::Text(raw) => {
                let text = unescape(raw);
                if name_due {
                    if let Some(step) = trail.last() {
                        step.rename(&text);
                    }
                    leaf(&mut trail, text, Form::Key);
                    name_due = false;
                } else {
                    leaf(&mut trail, text, Form::Text);
                }
            }
            Piece::Number(raw) => leaf(&mut trail, String::from_utf8_lossy(raw), Form::Number),
            Piece::Literal => {}
            Piece::Rest(raw) => {
                leaf(&mut trail, String::from_utf8_lossy(raw), Form::Rest);
                return false;
            }
        }
    }
    open.is_empty()
}

/// Whether all of a text is JSON to [`walk`].
pub(crate) fn is_json(json: &[u8]) -> bool {
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(piece) = next_piece(json, &mut at) {
        match piece {
            Piece::Open(_) => open += 1,
            Piece::Close => open = open.saturating_sub(1),
            Piece::Rest(_) => return false,
            _ => {}
        }
    }
    open == 0
}

/// What JSON is made of, as it is written.
enum Piece<'a> {
    /// A bracket, and whether it is that of an object.
    Open(bool),
    Close,
    Comma,
    Colon,
    /// A string without its quotes.
    Text(&'a [u8]),
    Number(&'a [u8]),
    Literal,
    /// All from what is no JSON.
    Rest(&'a [u8]),
}

fn next_piece<'a>(json: &'a [u8], at: &mut usize) -> Option<Piece<'a>> {
    while matches!(byte(json, *at), b' ' | b'\t' | b'\n' | b'\r') {
        *at += 1;
    }
    let start = *at;
    let first = *json.get(start)?;
    *at += 1;
    let piece = match first {
        b'{' | b'[' => Piece::Open(first == b'{'),
        b'}' | b']' => Piece::Close,
        b',' => Piece::Comma,
        b':' => Piece::Colon,
        b'"' => match string_end(json, *at) {
            Some(end) => {
                *at = end + 1;
                Piece::Text(json.get(start + 1..end).unwrap_or_default())
            }
            None => Piece::Rest(json.get(start..).unwrap_or_default()),
        },
        b'-' | b'0'..=b'9' => {
            *at = literal_end(json, start).max(start + 1);
            Piece::Number(json.get(start..*at).unwrap_or_default())
        }
        _ => {
            *at = literal_end(json, start);
            match json.get(start..*at) {
                Some(b"true" | b"false" | b"null") => Piece::Literal,
                _ => Piece::Rest(json.get(start..).unwrap_or_default()),
            }
        }
    };
    Some(piece)
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
    loop {
        let rest = raw.get(at..).unwrap_or_default();
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        out.extend_from_slice(rest.get(..plain).unwrap_or_default());
        at += plain;
        if at >= raw.len() {
            break;
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
        walk(json.as_bytes(), "", &mut |trail, text, form| {
            let Stand { path, key, .. } = trail.stand(form);
            all.push(format!("{path} {key:?} {form:?} {text}"));
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
