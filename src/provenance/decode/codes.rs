//! Lists of character codes: `64 72 6f`, `0x64,0x72`, `100, 114`, `U+0064 U+0072`, `01100100 01110010`.

use super::views::{Derived, as_text, reversed, rot13};
use crate::provenance::Decoding;
use crate::provenance::text::{byte, cut};

/// Fewest codes that make a list.
const FEWEST: usize = 6;
/// Most bytes between two codes.
const WIDEST_GAP: usize = 4;

/// One notation of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    Hex,
    Prefixed,
    Decimal,
    Unicode,
    Binary,
    /// Two hexadecimal digits by rot13.
    Turned,
}

const NOTATIONS: [Notation; 6] = [
    Notation::Prefixed,
    Notation::Unicode,
    Notation::Binary,
    Notation::Hex,
    Notation::Decimal,
    Notation::Turned,
];

impl Notation {
    fn read(self, item: &str) -> Option<u32> {
        let code = match self {
            Self::Hex => (item.len() == 2).then(|| u32::from_str_radix(item, 16).ok())?,
            Self::Prefixed => {
                let digits = item.strip_prefix("0x").or_else(|| item.strip_prefix("0X"))?;
                (digits.len() <= 4).then(|| u32::from_str_radix(digits, 16).ok())?
            }
            Self::Decimal => {
                let plain = (2..=3).contains(&item.len()) && item.bytes().all(|b| b.is_ascii_digit());
                plain.then(|| item.parse().ok())?
            }
            Self::Unicode => {
                let digits = item.strip_prefix("U+").or_else(|| item.strip_prefix("u+"))?;
                (4..=6).contains(&digits.len()).then(|| u32::from_str_radix(digits, 16).ok())?
            }
            Self::Binary => {
                (item.len() == 8 || item.len() == 7).then(|| u32::from_str_radix(item, 2).ok())?
            }
            Self::Turned => {
                let plain = item.len() == 2 && !item.bytes().any(|b| matches!(b, b'a'..=b'f' | b'A'..=b'F'));
                plain.then(|| u32::from_str_radix(&rot13(item), 16).ok())?
            }
        }?;
        Some(code)
    }

    fn step(self) -> Decoding {
        match self {
            Self::Hex | Self::Prefixed | Self::Turned => Decoding::Hex,
            Self::Decimal | Self::Unicode | Self::Binary => Decoding::CharCodes,
        }
    }
}

/// A list in one notation that is still growing.
#[derive(Default)]
struct List {
    start: usize,
    end: usize,
    codes: Vec<u32>,
}

pub(crate) fn derive(text: &str, all: &mut Vec<Derived>) {
    let bytes = text.as_bytes();
    let mut lists: [List; 6] = Default::default();
    let mut open = false;
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(skip) = rest.iter().position(u8::is_ascii_alphanumeric) else { break };
        let start = at + skip;
        let rest = bytes.get(start..).unwrap_or_default();
        let mut length = rest.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if length == 1 && byte(rest, 1) == b'+' {
            let tail = rest.get(2..).unwrap_or_default();
            length = 2 + tail.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(tail.len());
        }
        at = start + length;
        let item = cut(text, start..at);
        // Words are told from codes at a glance: a code has a digit, or two letters.
        let code_like =
            (2..=8).contains(&item.len()) && (item.len() == 2 || item.bytes().any(|b| b.is_ascii_digit()));
        if !code_like && !open {
            continue;
        }
        open = code_like;
        for (notation, list) in NOTATIONS.into_iter().zip(&mut lists) {
            let code = if code_like { notation.read(item) } else { None };
            let near = list.codes.is_empty() || start - list.end <= WIDEST_GAP;
            if code.is_none() || !near {
                close(text, notation, list, all);
            }
            if let Some(code) = code {
                if list.codes.is_empty() {
                    list.start = start;
                }
                list.codes.push(code);
                list.end = at;
            }
        }
    }
    for (notation, list) in NOTATIONS.into_iter().zip(&mut lists) {
        close(text, notation, list, all);
    }
}

fn close(text: &str, notation: Notation, list: &mut List, all: &mut Vec<Derived>) {
    let codes = std::mem::take(&mut list.codes);
    if codes.len() < FEWEST {
        return;
    }
    let range = list.start..list.end;
    if let Some(text) = text_of(&codes) {
        let turned = (notation == Notation::Turned).then_some(Decoding::Rot13);
        let steps = turned.into_iter().chain([notation.step()]).collect();
        all.push(Derived { text, range, steps });
        return;
    }
    // A list that makes no text may stand backwards, digit by digit.
    let backwards = reversed(cut(text, range.clone()));
    let items = backwards.split(|c: char| !c.is_ascii_alphanumeric()).filter(|item| !item.is_empty());
    let codes: Option<Vec<u32>> = items.map(|item| notation.read(item)).collect();
    if let Some(text) = codes.and_then(|codes| text_of(&codes)) {
        all.push(Derived { text, range, steps: vec![Decoding::Reversed, notation.step()] });
    }
}

/// Codes as bytes of UTF-8, else as characters.
fn text_of(codes: &[u32]) -> Option<String> {
    let bytes: Option<Vec<u8>> = codes.iter().map(|code| u8::try_from(*code).ok()).collect();
    bytes.and_then(|bytes| as_text(&bytes)).or_else(|| {
        let text: Option<String> = codes.iter().map(|code| char::from_u32(*code)).collect();
        text.and_then(|text| as_text(text.as_bytes()))
    })
}
