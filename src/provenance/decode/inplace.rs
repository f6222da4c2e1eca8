//! Escapes that stand in running text: HTML entities, percent, the backslash escapes of JSON and
//! JavaScript, and quoted-printable (RFC 2045 section 6.7).
//!
//! The first three are undone together, again and again, because they are stacked in practice; a text
//! that means `=40` literally is common in urls, so quoted-printable is a view of its own.

use super::views::{Derived, push, windows};
use crate::provenance::Decoding;
use crate::provenance::text::{byte, cut};

/// How often the three are undone in a row.
const LAYERS: usize = 3;
/// Bytes around an escape that belong to its view.
const REACH: usize = 160;

pub(crate) fn derive(text: &str, all: &mut Vec<Derived>) {
    let bytes = text.as_bytes();
    let spots: Vec<usize> =
        memchr::memchr3_iter(b'&', b'%', b'\\', bytes).filter(|at| escape_at(bytes, *at).is_some()).collect();
    for range in windows(text, &spots, REACH) {
        let mut steps = Vec::new();
        let mut now = cut(text, range.clone()).to_owned();
        for _ in 0..LAYERS {
            let Some(next) = layer(&now, &mut steps) else { break };
            now = next;
        }
        push(all, text, range, now, steps);
    }
    let spots: Vec<usize> =
        memchr::memchr_iter(b'=', bytes).filter(|at| quoted_at(bytes, *at).is_some()).collect();
    for range in windows(text, &spots, REACH) {
        let part = cut(text, range.clone());
        push(all, text, range, quoted(part), vec![Decoding::QuotedPrintable]);
    }
}

fn layer(text: &str, steps: &mut Vec<Decoding>) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for at in memchr::memchr3_iter(b'&', b'%', b'\\', bytes) {
        if at < from {
            continue;
        }
        if let Some((length, decoded, step)) = escape_at(bytes, at) {
            out.extend_from_slice(bytes.get(from..at).unwrap_or_default());
            match decoded {
                Decoded::Byte(b) => out.push(b),
                Decoded::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            from = at + length;
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
    }
    if from == 0 {
        return None;
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    Some(String::from_utf8_lossy(&out).into_owned())
}

enum Decoded {
    Byte(u8),
    Char(char),
}

fn escape_at(bytes: &[u8], at: usize) -> Option<(usize, Decoded, Decoding)> {
    match byte(bytes, at) {
        b'%' => percent(bytes, at),
        b'&' => entity(bytes, at).map(|(length, c)| (length, Decoded::Char(c), Decoding::Entities)),
        b'\\' => backslash(bytes, at).map(|(length, decoded)| (length, decoded, Decoding::Escapes)),
        _ => None,
    }
}

fn hex(bytes: &[u8], from: usize, length: usize) -> Option<u32> {
    let digits = bytes.get(from..from + length)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn percent(bytes: &[u8], at: usize) -> Option<(usize, Decoded, Decoding)> {
    if matches!(byte(bytes, at + 1), b'u' | b'U')
        && let Some(c) = hex(bytes, at + 2, 4).and_then(char::from_u32)
    {
        return Some((6, Decoded::Char(c), Decoding::Percent));
    }
    let value = u8::try_from(hex(bytes, at + 1, 2)?).ok()?;
    Some((3, Decoded::Byte(value), Decoding::Percent))
}

fn backslash(bytes: &[u8], at: usize) -> Option<(usize, Decoded)> {
    match byte(bytes, at + 1) {
        b'u' if byte(bytes, at + 2) == b'{' => {
            let tail = bytes.get(at + 3..(at + 12).min(bytes.len()))?;
            let length = tail.iter().position(|b| *b == b'}')?;
            let c = char::from_u32(hex(bytes, at + 3, length)?)?;
            Some((length + 4, Decoded::Char(c)))
        }
        b'u' => {
            let first = hex(bytes, at + 2, 4)?;
            if (0xd800..0xdc00).contains(&first) && bytes.get(at + 6..at + 8) == Some(b"\\u") {
                let low = hex(bytes, at + 8, 4).filter(|low| (0xdc00..0xe000).contains(low))?;
                let c = char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00))?;
                return Some((12, Decoded::Char(c)));
            }
            char::from_u32(first).map(|c| (6, Decoded::Char(c)))
        }
        b'U' => hex(bytes, at + 2, 8).and_then(char::from_u32).map(|c| (10, Decoded::Char(c))),
        b'x' => hex(bytes, at + 2, 2).and_then(|code| u8::try_from(code).ok()).map(|b| (4, Decoded::Byte(b))),
        b'n' | b'r' => Some((2, Decoded::Byte(b'\n'))),
        b't' => Some((2, Decoded::Byte(b'\t'))),
        b'0'..=b'3' => {
            let digits = bytes.get(at + 1..at + 4)?;
            if !digits.iter().all(|b| (b'0'..=b'7').contains(b)) {
                return None;
            }
            let value = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?;
            Some((4, Decoded::Byte(value)))
        }
        other if other.is_ascii_punctuation() => Some((2, Decoded::Byte(other))),
        _ => None,
    }
}

/// Named entities that can hide a part of a destination (HTML Standard section 13.5).
const NAMED: [(&str, char); 44] = [
    ("commat", '@'),
    ("period", '.'),
    ("sol", '/'),
    ("colon", ':'),
    ("hyphen", '-'),
    ("dash", '-'),
    ("lowbar", '_'),
    ("UnderBar", '_'),
    ("plus", '+'),
    ("num", '#'),
    ("percnt", '%'),
    ("amp", '&'),
    ("AMP", '&'),
    ("lt", '<'),
    ("LT", '<'),
    ("gt", '>'),
    ("GT", '>'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("semi", ';'),
    ("excl", '!'),
    ("quest", '?'),
    ("equals", '='),
    ("lpar", '('),
    ("rpar", ')'),
    ("lsqb", '['),
    ("lbrack", '['),
    ("rsqb", ']'),
    ("rbrack", ']'),
    ("comma", ','),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("shy", '\u{ad}'),
    ("zwnj", '\u{200c}'),
    ("zwj", '\u{200d}'),
    ("ast", '*'),
    ("bsol", '\\'),
    ("dollar", '$'),
    ("ZeroWidthSpace", '\u{200b}'),
];

fn entity(bytes: &[u8], at: usize) -> Option<(usize, char)> {
    if byte(bytes, at + 1) == b'#' {
        let is_hex = matches!(byte(bytes, at + 2), b'x' | b'X');
        let from = at + 2 + usize::from(is_hex);
        let tail = bytes.get(from..(from + 10).min(bytes.len()))?;
        let fits = |b: &u8| if is_hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
        let length = tail.iter().position(|b| !fits(b)).unwrap_or(tail.len());
        let digits = std::str::from_utf8(tail.get(..length)?).ok()?;
        let c = char::from_u32(u32::from_str_radix(digits, if is_hex { 16 } else { 10 }).ok()?)?;
        let end = from + length;
        return Some((end + usize::from(byte(bytes, end) == b';') - at, c));
    }
    let tail = bytes.get(at + 1..(at + 18).min(bytes.len()))?;
    let length = tail.iter().position(|b| !b.is_ascii_alphanumeric())?;
    if byte(tail, length) != b';' {
        return None;
    }
    let name = std::str::from_utf8(tail.get(..length)?).ok()?;
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, c)| (length + 2, *c))
}

fn quoted_at(bytes: &[u8], at: usize) -> Option<(usize, Option<u8>)> {
    match byte(bytes, at + 1) {
        b'\n' => Some((2, None)),
        b'\r' if byte(bytes, at + 2) == b'\n' => Some((3, None)),
        _ => u8::try_from(hex(bytes, at + 1, 2)?).ok().map(|b| (3, Some(b))),
    }
}

fn quoted(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for at in memchr::memchr_iter(b'=', bytes) {
        if at < from {
            continue;
        }
        let mut end = at;
        let mut row = Vec::new();
        while byte(bytes, end) == b'='
            && let Some((length, decoded)) = quoted_at(bytes, end)
        {
            end += length;
            row.extend(decoded);
        }
        // `to=DEADBEEF` is an assignment: a row of codes that is no text stays.
        if end > at && std::str::from_utf8(&row).is_ok() {
            out.extend_from_slice(bytes.get(from..at).unwrap_or_default());
            out.append(&mut row);
            from = end;
        }
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    String::from_utf8_lossy(&out).into_owned()
}
