//! A JSON scanner that never builds a value: it checks the grammar of RFC 8259 and says where things
//! stand, so that payloads are forwarded as the bytes they came in.
//!
//! It is iterative (depth costs a bit a level, not stack), linear, and accepts what typed models
//! reject: numbers such as 1e400, lone surrogates in escapes, any depth. It does not decode text;
//! [`text`] does, for the few strings that Bouncer itself reads. `envelope.rs` uses it next.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

/// Where something stands in the scanned bytes.
pub type Span = Range<usize>;

/// The bytes are not one JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not valid JSON at byte {at}")]
pub(crate) struct Malformed {
    /// Offset of the first byte that does not fit.
    pub(crate) at: usize,
}

/// Hears of objects and keys during a walk; the plain scan listens to nothing.
pub(crate) trait Listener<'a> {
    /// An object opens.
    fn open(&mut self) {}
    /// A key of the innermost open object, quotes included.
    fn key(&mut self, _raw: &'a [u8]) {}
    /// The innermost object closes.
    fn close(&mut self) {}
}

/// Listens to nothing.
pub(crate) struct Deaf;
impl Listener<'_> for Deaf {}

/// A position in bytes that are being scanned.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn fail<T>(&self) -> Result<T, Malformed> {
        Err(Malformed { at: self.at })
    }

    fn here(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.here(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.here() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            self.fail()
        }
    }

    /// Only white space is left.
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        self.space();
        if self.at == self.bytes.len() { Ok(()) } else { self.fail() }
    }

    /// Steps over one value of any form and returns its span.
    pub(crate) fn value(&mut self, listener: &mut impl Listener<'a>) -> Result<Span, Malformed> {
        self.space();
        let start = self.at;
        let mut open: Vec<Container> = Vec::new();
        loop {
            self.space();
            match self.here() {
                Some(b'{') => {
                    self.at += 1;
                    listener.open();
                    self.space();
                    if self.here() != Some(b'}') {
                        open.push(Container::Object);
                        self.key(listener)?;
                        continue;
                    }
                    self.at += 1;
                    listener.close();
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if self.here() != Some(b']') {
                        open.push(Container::Array);
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                _ => return self.fail(),
            }
            loop {
                let Some(&container) = open.last() else { return Ok(start..self.at) };
                self.space();
                match (self.here(), container) {
                    (Some(b','), Container::Object) => {
                        self.at += 1;
                        self.key(listener)?;
                        break;
                    }
                    (Some(b','), Container::Array) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), Container::Object) => {
                        self.at += 1;
                        listener.close();
                        open.pop();
                    }
                    (Some(b']'), Container::Array) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return self.fail(),
                }
            }
        }
    }

    /// Steps over an object, telling `each` the spans of every member's key (quotes included) and value.
    pub(crate) fn members(&mut self, each: impl FnMut(Span, Span)) -> Result<(), Malformed> {
        self.members_heard(&mut Deaf, each)
    }

    /// As [`Self::members`], with a listener to the object and all within it.
    pub(crate) fn members_heard(
        &mut self,
        listener: &mut impl Listener<'a>,
        mut each: impl FnMut(Span, Span),
    ) -> Result<(), Malformed> {
        self.space();
        self.eat(b'{')?;
        listener.open();
        self.space();
        if self.here() == Some(b'}') {
            self.at += 1;
            listener.close();
            return Ok(());
        }
        loop {
            self.space();
            let key = self.string()?;
            listener.key(slice(self.bytes, &key));
            self.space();
            self.eat(b':')?;
            let value = self.value(listener)?;
            each(key, value);
            self.space();
            match self.here() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    listener.close();
                    return Ok(());
                }
                _ => return self.fail(),
            }
        }
    }

    /// Steps over an array, telling `each` the span of every item.
    pub(crate) fn items(&mut self, mut each: impl FnMut(Span)) -> Result<(), Malformed> {
        self.space();
        self.eat(b'[')?;
        self.space();
        if self.here() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            each(self.value(&mut Deaf)?);
            self.space();
            match self.here() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.fail(),
            }
        }
    }

    fn key(&mut self, listener: &mut impl Listener<'a>) -> Result<(), Malformed> {
        self.space();
        let key = self.string()?;
        listener.key(slice(self.bytes, &key));
        self.space();
        self.eat(b':')
    }

    fn string(&mut self) -> Result<Span, Malformed> {
        let start = self.at;
        self.eat(b'"')?;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(plain) = memchr::memchr2(b'"', b'\\', rest) else { return self.fail() };
            // RFC 8259 section 7: control characters must be escaped.
            if has_control(rest.get(..plain).unwrap_or_default()) {
                return self.fail();
            }
            self.at += plain + 1;
            if rest.get(plain) == Some(&b'"') {
                return Ok(start..self.at);
            }
            match self.here() {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                Some(b'u') => {
                    let digits = self.bytes.get(self.at + 1..self.at + 5).unwrap_or_default();
                    if digits.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                        return self.fail();
                    }
                    self.at += 5;
                }
                _ => return self.fail(),
            }
        }
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        if !matches!(self.here(), Some(b'0'..=b'9')) {
            return self.fail();
        }
        while matches!(self.here(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Malformed> {
        if self.here() == Some(b'-') {
            self.at += 1;
        }
        if self.here() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.here() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.here(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.here(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Malformed> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end) == Some(word) {
            self.at = end;
            Ok(())
        } else {
            self.fail()
        }
    }
}

/// Whether a control character stands in the text. A branch a block and none a byte, so that the compiler
/// can look at many bytes at once: most of a large message is text.
fn has_control(text: &[u8]) -> bool {
    text.chunks(128).any(|block| block.iter().fold(0, |found, byte| found | u8::from(*byte < 0x20)) != 0)
}

/// The bytes of a span; empty if it does not lie within them.
pub(crate) fn slice<'a>(bytes: &'a [u8], span: &Span) -> &'a [u8] {
    bytes.get(span.clone()).unwrap_or_default()
}

/// The members of a text that is one object, as spans of key and value.
pub(crate) fn members(bytes: &[u8]) -> Result<Vec<(Span, Span)>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let mut found = Vec::with_capacity(8);
    cursor.members(|key, value| found.push((key, value)))?;
    cursor.end()?;
    Ok(found)
}

/// The value of the first member called `name` of a text that is one object.
pub(crate) fn member(bytes: &[u8], name: &str) -> Option<Span> {
    let mut found = None;
    Cursor::new(bytes)
        .members(|key, value| {
            if found.is_none() && is(slice(bytes, &key), name) {
                found = Some(value);
            }
        })
        .ok()?;
    found
}

/// Whether a raw string, quotes included, says `name`, however it is escaped.
pub(crate) fn is(raw: &[u8], name: &str) -> bool {
    match raw {
        [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => inner == name.as_bytes(),
        _ => text(raw).is_some_and(|text| text == name),
    }
}

/// The text of a raw string, quotes included; `None` if it is none, or not Unicode once decoded.
pub(crate) fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    match raw {
        [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
            std::str::from_utf8(inner).ok().map(Cow::Borrowed)
        }
        [b'"', .., b'"'] => serde_json::from_slice::<String>(raw).ok().map(Cow::Owned),
        _ => None,
    }
}

/// `source` with each span replaced; spans stand in ascending order.
pub fn spliced(source: &[u8], edits: &[(Span, Bytes)]) -> Bytes {
    let edits: Vec<(Span, &[u8])> = edits.iter().map(|(span, new)| (span.clone(), &new[..])).collect();
    let mut out = Vec::with_capacity(source.len() + 256);
    splice(source, &edits, &mut out);
    out.into()
}

/// Copies `source` into `out` with each span replaced; spans stand in ascending order.
pub(crate) fn splice(source: &[u8], edits: &[(Span, &[u8])], out: &mut Vec<u8>) {
    let mut from = 0;
    for (span, with) in edits {
        out.extend_from_slice(source.get(from..span.start).unwrap_or_default());
        out.extend_from_slice(with);
        from = span.end;
    }
    out.extend_from_slice(source.get(from..).unwrap_or_default());
}

/// An object without the members of these names. What is no object becomes an empty one.
pub(crate) fn without(raw: &Bytes, names: &[&str]) -> Bytes {
    let Ok(members) = members(raw) else { return Bytes::from_static(b"{}") };
    let is_out = |key: &Span| names.iter().any(|name| is(slice(raw, key), name));
    if !members.iter().any(|(key, _)| is_out(key)) {
        return raw.clone();
    }
    let kept = members.iter().filter(|(key, _)| !is_out(key));
    let kept: Vec<&[u8]> = kept.map(|(key, value)| slice(raw, &(key.start..value.end))).collect();
    [b"{", kept.join(&b","[..]).as_slice(), b"}"].concat().into()
}

/// Turns line breaks between tokens into spaces: a raw value may hold them, a stdio frame may not.
/// Within a valid JSON text they cannot stand anywhere else.
pub(crate) fn flatten(valid: &mut [u8]) {
    let mut from = 0;
    while let Some(rest) = valid.get_mut(from..)
        && let Some(found) = memchr::memchr2(b'\n', b'\r', rest)
    {
        if let Some(byte) = rest.get_mut(found) {
            *byte = b' ';
        }
        from += found + 1;
    }
}

/// Looks for two keys of one object that some reader could take for the same: equal once escapes
/// are undone, or but for case.
#[derive(Default)]
pub(crate) struct Duplicates<'a> {
    keys: Vec<&'a [u8]>,
    starts: Vec<usize>,
    found: Option<String>,
}

/// Keys of one object that are compared each with each; more are sorted.
const FEW_KEYS: usize = 8;

impl Duplicates<'_> {
    /// The first key found twice, folded; `None` when every object has distinct keys.
    pub(crate) fn found(&self) -> Option<String> {
        self.found.clone()
    }
}

impl<'a> Listener<'a> for Duplicates<'a> {
    fn open(&mut self) {
        self.starts.push(self.keys.len());
    }

    fn key(&mut self, raw: &'a [u8]) {
        self.keys.push(raw);
    }

    fn close(&mut self) {
        let start = self.starts.pop().unwrap_or(0);
        if self.found.is_none() {
            self.found = twice(self.keys.get(start..).unwrap_or_default());
        }
        self.keys.truncate(start);
    }
}

fn twice(keys: &[&[u8]]) -> Option<String> {
    if keys.len() <= FEW_KEYS && keys.iter().all(|key| is_plain(key)) {
        let same = keys.iter().enumerate().find(|(at, key)| {
            keys.get(at + 1..).unwrap_or_default().iter().any(|other| key.eq_ignore_ascii_case(other))
        });
        return same.map(|(_, key)| fold_key(key));
    }
    let mut folded: Vec<String> = keys.iter().map(|key| fold_key(key)).collect();
    folded.sort_unstable();
    folded.windows(2).find_map(|pair| match pair {
        [a, b] if a == b => Some(a.clone()),
        _ => None,
    })
}

/// Whether only case can hide that two such keys are the same.
fn is_plain(key: &[u8]) -> bool {
    key.is_ascii() && memchr::memchr(b'\\', key).is_none()
}

/// A key as the laxest reader compares it. Upper case first, so that letters which only meet there
/// (the long s of Go's folding) meet here as well.
fn fold_key(raw: &[u8]) -> String {
    match text(raw) {
        Some(text) if text.is_ascii() => text.to_ascii_lowercase(),
        Some(text) => text.to_uppercase().to_lowercase(),
        None => String::from_utf8_lossy(raw).to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(text: &[u8]) -> bool {
        let mut cursor = Cursor::new(text);
        cursor.value(&mut Deaf).and_then(|_| cursor.end()).is_ok()
    }

    #[test]
    fn the_grammar_is_that_of_rfc_8259() {
        for text in [
            "1",
            "-0.5e+10",
            "1e400",
            "\"\\ud800\"",
            " [ ] ",
            "{}",
            "[1,2,{\"a\":[]}]",
            "null",
            "\"\"",
            "{\"a\":{\"b\":{}},\"c\":[[[]]]}",
            "true",
        ] {
            assert!(valid(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "01",
            "1.",
            "-",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "{\"a\":1,}",
            "\"\t\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "nul",
            "[1}",
            "1 2",
            "{a:1}",
            "\"open",
            "[",
            "{\"a\":",
        ] {
            assert!(!valid(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn depth_is_not_limited() {
        let deep = [vec![b'['; 10_000], vec![b']'; 10_000]].concat();
        assert!(valid(&deep));
    }

    #[test]
    fn duplicate_keys_are_found_however_they_are_written() {
        fn check(text: &str, expected: Option<&str>) {
            let mut keys = Duplicates::default();
            Cursor::new(text.as_bytes()).value(&mut keys).unwrap();
            assert_eq!(keys.found().as_deref(), expected, "{text}");
        }
        check(r#"{"a":1,"b":{"a":2},"c":[{"a":1},{"a":1}]}"#, None);
        check(r#"{"a":1,"a":2}"#, Some("a"));
        check(r#"{"x":[{"To":1,"to":2}]}"#, Some("to"));
        check(r#"{"a":1,"\u0061":2}"#, Some("a"));
        check("{\"\u{212a}ey\":1,\"key\":2}", Some("key"));
        check("{\"u\u{17f}er\":1,\"user\":2}", Some("user"));
        check(r#"{"\ud800":1,"\ud801":2}"#, None);
    }

    #[test]
    fn edits_leave_every_other_byte_alone() {
        let source = br#"{"name" : "x","n":1.0}"#;
        let name = member(source, "name").unwrap();
        let mut out = Vec::new();
        splice(source, &[(name, b"\"y\"")], &mut out);
        assert_eq!(out, br#"{"name" : "y","n":1.0}"#);
        let mut broken = b"{\n\"a\\n\":\r\n1}".to_vec();
        flatten(&mut broken);
        assert_eq!(broken, b"{ \"a\\n\":  1}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

        #[test]
        fn what_is_json_is_what_serde_takes_for_json(text in "[\\[\\]{},:\"a\\\\u0-9dDeE+.\\- tnfruls]{0,24}") {
            let serde = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
            proptest::prop_assert_eq!(valid(text.as_bytes()), serde);
        }

        #[test]
        fn a_splice_of_nothing_changes_nothing(text in ".{0,40}", at in 0_usize..40) {
            let at = at.min(text.len());
            let mut out = Vec::new();
            splice(text.as_bytes(), &[(at..at, b"")], &mut out);
            proptest::prop_assert_eq!(out, text.as_bytes());
        }
    }
}
