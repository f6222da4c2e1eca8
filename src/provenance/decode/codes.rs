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
    /// The codes read backwards, digit by digit.
    back: Vec<u32>,
}

pub(crate) fn derive(text: &str, all: &mut Vec<Derived>) {
    let bytes = text.as_bytes();
    let mut lists: [List; 6] = Default::default();
    let mut at = 0;
    while at < bytes.len() {
        if !byte(bytes, at).is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let start = at;
        while byte(bytes, at).is_ascii_alphanumeric() || (byte(bytes, at) == b'+' && at == start + 1) {
            at += 1;
        }
        let item = cut(text, start..at);
        let short = item.len() <= 8;
        for (notation, list) in NOTATIONS.into_iter().zip(&mut lists) {
            let code = if short { notation.read(item) } else { None };
            let back = code.and_then(|_| notation.read(&reversed(item)));
            let near = list.codes.is_empty() || start - list.end <= WIDEST_GAP;
            if code.is_none() || !near {
                close(notation, list, all);
            }
            if let Some(code) = code {
                if list.codes.is_empty() {
                    list.start = start;
                }
                list.codes.push(code);
                list.back.push(back.unwrap_or(0));
                list.end = at;
            }
        }
    }
    for (notation, list) in NOTATIONS.into_iter().zip(&mut lists) {
        close(notation, list, all);
    }
}

fn close(notation: Notation, list: &mut List, all: &mut Vec<Derived>) {
    let codes = std::mem::take(&mut list.codes);
    let mut back = std::mem::take(&mut list.back);
    if codes.len() < FEWEST {
        return;
    }
    let mut add = |text: String, steps: Vec<Decoding>| {
        all.push(Derived { text, range: list.start..list.end, steps });
    };
    let turned = if notation == Notation::Turned { Some(Decoding::Rot13) } else { None };
    if let Some(text) = text_of(&codes) {
        add(text, turned.into_iter().chain([notation.step()]).collect());
    } else {
        back.reverse();
        if let Some(text) = text_of(&back) {
            add(text, vec![Decoding::Reversed, notation.step()]);
        }
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
