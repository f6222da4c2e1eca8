//! Runs of letters and digits that decode to text: base64 and base64url (RFC 4648, padded or not,
//! wrapped or not), base32, and hexadecimal.
//!
//! A run that decodes to nothing as it stands is tried backwards and by rot13, because one respelling is
//! laid over another.

use std::ops::Range;
use std::sync::LazyLock;

use data_encoding::{BASE32_NOPAD, BASE64_NOPAD, BASE64URL_NOPAD, Encoding, HEXLOWER_PERMISSIVE};

use super::views::{Derived, as_text, reversed, rot13};
use crate::provenance::Decoding;
use crate::provenance::text::{byte, cut, of_each_byte};

/// Shortest run that is looked at.
const SHORTEST: usize = 12;
/// A line of a wrapped run is at least this long.
const WRAPPED: usize = 40;

pub(crate) fn derive(text: &str, all: &mut Vec<Derived>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = next_run(bytes, at) {
        let (end, wrapped) = run_end(bytes, start);
        at = end;
        let part = cut(text, start..end);
        let mut from = start;
        for line in part.split_inclusive(['\n', ' ', '\t', '\r']) {
            let run = line.trim_end();
            if run.len() >= SHORTEST {
                one(run, from..from + run.len(), all);
            }
            from += line.len();
        }
        if wrapped {
            let run: String = part.chars().filter(|c| !c.is_whitespace()).collect();
            one(&run, start..end, all);
        }
    }
}

/// Where the next run that is long enough starts. Looks from the end of where it could stand, so that most of a
/// text is stepped over.
fn next_run(bytes: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let near = bytes.get(from..from + SHORTEST)?;
        match near.iter().rposition(|b| !is_run_byte(*b)) {
            Some(gap) => from += gap + 1,
            None => return Some(from),
        }
    }
}

const fn runs_on(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'_' | b'-')
}

const RUN_BYTES: [bool; 256] = of_each_byte!(runs_on);

fn is_run_byte(b: u8) -> bool {
    RUN_BYTES.get(usize::from(b)).copied().unwrap_or(false)
}

/// Where a run ends, over the line breaks of a wrapped one.
fn run_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut line, mut wrapped) = (start, start, false);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        at += rest.iter().position(|b| !is_run_byte(*b)).unwrap_or(rest.len());
        if at - line < WRAPPED {
            return (at, wrapped);
        }
        let mut next = at;
        while matches!(byte(bytes, next), b'\r' | b'\n' | b' ' | b'\t') && next - at < 16 {
            next += 1;
        }
        let broken = bytes.get(at..next).is_some_and(|gap| gap.contains(&b'\n'));
        if !broken || !is_run_byte(byte(bytes, next)) {
            return (at, wrapped);
        }
        wrapped = true;
        at = next;
        line = next;
    }
}

fn one(run: &str, range: Range<usize>, all: &mut Vec<Derived>) {
    let mut add =
        |text: String, range: Range<usize>, steps: Vec<Decoding>| all.push(Derived { text, range, steps });
    if let Some((text, step)) = decode(run) {
        add(text, range, vec![step]);
        return;
    }
    // A path of encoded parts, or a run glued to its neighbour by a letter that both alphabets have.
    let mut found = false;
    if run.contains(['/', '-', '_', '+']) {
        let mut from = 0;
        for part in run.split(['/', '-', '_', '+']) {
            if part.len() >= SHORTEST
                && let Some((text, step)) = decode(part)
            {
                add(text, range.start + from..range.start + from + part.len(), vec![step]);
                found = true;
            }
            from += part.len() + 1;
        }
    }
    if found || !looks_encoded(run) {
        return;
    }
    for skip in 1..4 {
        let tail = cut(run, skip..run.len());
        if tail.len() >= SHORTEST
            && let Some(text) = base64(tail)
        {
            add(text, range, vec![Decoding::Base64]);
            return;
        }
    }
    for (other, step) in [(reversed(run), Decoding::Reversed), (rot13(run), Decoding::Rot13)] {
        if let Some((text, inner)) = decode(&other) {
            add(text, range.clone(), vec![step, inner]);
        }
    }
}

/// Whether a run is more than words: letters of both cases or digits among them.
fn looks_encoded(run: &str) -> bool {
    let upper = run.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    let lower = run.bytes().any(|b| b.is_ascii_lowercase());
    let digit = run.bytes().any(|b| b.is_ascii_digit());
    run.len() >= 16 && (digit || (upper && lower))
}

fn decode(run: &str) -> Option<(String, Decoding)> {
    hex(run)
        .map(|text| (text, Decoding::Hex))
        .or_else(|| base32(run).map(|text| (text, Decoding::Base32)))
        .or_else(|| base64(run).map(|text| (text, Decoding::Base64)))
}

fn hex(run: &str) -> Option<String> {
    let digits = run.strip_prefix("0x").unwrap_or(run);
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut head = [0; HEAD];
    if let Some(first) = digits.as_bytes().get(..2 * HEAD) {
        HEXLOWER_PERMISSIVE.decode_mut(first, &mut head).ok()?;
        if !may_open_text(head) {
            return None;
        }
    }
    as_text(&HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?)
}

/// Bytes that tell most words and numbers from encoded text, at a fraction of the cost.
const HEAD: usize = 6;

/// Whether [`as_text`] may find text where the first bytes are these.
fn may_open_text(head: [u8; HEAD]) -> bool {
    let inked = |b: &u8| matches!(b, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0 | 0x80..);
    // In UTF-16 every second byte is 0, else bytes that are no UTF-8 are no text.
    let [_, second, ..] = head;
    head.iter().all(inked)
        && (second == 0 || !std::str::from_utf8(&head).is_err_and(|e| e.error_len().is_some()))
}

fn base32(run: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphabetic() || (b'2'..=b'7').contains(&b);
    if run.len() < 16 || !run.bytes().all(plain) {
        return None;
    }
    let upper = run.to_ascii_uppercase();
    let usable = match upper.len() % 8 {
        1 | 3 | 6 => upper.len() - 1,
        _ => upper.len(),
    };
    let lenient = LENIENT_BASE32.as_ref()?;
    as_text(&lenient.decode(upper.get(..usable)?.as_bytes()).ok()?)
}

/// Base32 that does not mind bits left over at the end.
static LENIENT_BASE32: LazyLock<Option<Encoding>> = LazyLock::new(|| {
    let mut lenient = BASE32_NOPAD.specification();
    lenient.check_trailing_bits = false;
    lenient.encoding().ok()
});

/// Decodes base64 of either alphabet; whether bits are left over at the end says nothing.
fn base64(run: &str) -> Option<String> {
    let url_safe = run.contains(['-', '_']);
    if url_safe && run.contains(['+', '/']) {
        return None;
    }
    let mut usable = run.len();
    if usable % 4 == 1 {
        usable -= 1;
    }
    let body = run.get(..usable)?.as_bytes();
    let encoding = if url_safe { &BASE64URL_NOPAD } else { &BASE64_NOPAD };
    if !may_open_text(first_of_base64(*body.first_chunk()?)?) {
        return None;
    }
    if let Ok(bytes) = encoding.decode(body) {
        return as_text(&bytes);
    }
    let whole = body.len() - body.len() % 4;
    as_text(&encoding.decode(body.get(..whole)?).ok()?)
}

/// What a character of base64, of either alphabet, stands for.
const fn six_bits(b: u8) -> u8 {
    match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => u8::MAX,
    }
}

const SIX_BITS: [u8; 256] = of_each_byte!(six_bits);

/// What the first characters of base64 stand for. The caller has seen that they are of one alphabet.
fn first_of_base64(body: [u8; 8]) -> Option<[u8; HEAD]> {
    let mut bits = 0_u64;
    let mut all = 0;
    for b in body {
        let six = SIX_BITS.get(usize::from(b)).copied().unwrap_or(u8::MAX);
        all |= six;
        bits = bits << 6 | u64::from(six & 63);
    }
    let [_, _, head @ ..] = bits.to_be_bytes();
    (all < 64).then_some(head)
}
