//! Lists of character codes: `64 72 6f`, `0x64,0x72`, `100, 114`, `U+0064 U+0072`, `01100100 01110010`.

use std::ops::Range;

use super::views::{Derived, as_text, reversed, rot13};
use crate::provenance::Decoding;
use crate::provenance::text::{cut, of_each_byte};

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
    fn bit(self) -> u8 {
        1 << self as u8
    }

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
    let mut lists = Lists::default();
    let (mut length, mut signs) = (0, u8::MAX);
    for (at, b) in (0..).zip(bytes) {
        let now = signs_of(*b);
        if now != 0 {
            signs &= now;
            length += 1;
        } else if length == 1 && *b == b'+' {
            // `U+0064` is one item.
            length = 2;
        } else {
            lists.item(text, at - length..at, signs, all);
            (length, signs) = (0, u8::MAX);
        }
    }
    lists.item(text, bytes.len() - length..bytes.len(), signs, all);
    for (notation, list) in NOTATIONS.into_iter().zip(&mut lists.of) {
        close(text, notation, list, all);
    }
}

/// A list in each notation.
#[derive(Default)]
struct Lists {
    of: [List; 6],
    /// Whether any has codes.
    open: bool,
}

impl Lists {
    /// Takes the next item of a text, and what all its signs can be.
    #[inline]
    fn item(&mut self, text: &str, range: Range<usize>, signs: u8, all: &mut Vec<Derived>) {
        if range.is_empty() {
            return;
        }
        let item = text.as_bytes().get(range.clone()).filter(|item| (2..=8).contains(&item.len()));
        let readable = item.map_or(0, |item| readable_as(item, signs));
        // Words are told from codes at a glance.
        if readable != 0 || self.open {
            self.read(text, range, readable, all);
        }
    }

    fn read(&mut self, text: &str, range: Range<usize>, readable: u8, all: &mut Vec<Derived>) {
        self.open = false;
        for (notation, list) in NOTATIONS.into_iter().zip(&mut self.of) {
            let may_read = readable & notation.bit() != 0;
            let code = if may_read { notation.read(cut(text, range.clone())) } else { None };
            let near = list.codes.is_empty() || range.start - list.end <= WIDEST_GAP;
            if !list.codes.is_empty() && (code.is_none() || !near) {
                close(text, notation, list, all);
            }
            if let Some(code) = code {
                if list.codes.is_empty() {
                    list.start = range.start;
                }
                list.codes.push(code);
                list.end = range.end;
                self.open = true;
            }
        }
    }
}

/// What a byte can be in an item: any letter or digit; a digit of a notation.
const LETTER: u8 = 1;
const HEX: u8 = 2;
const DECIMAL: u8 = 4;
const BINARY: u8 = 8;
const TURNED: u8 = 16;

const fn signs(b: u8) -> u8 {
    match b {
        b'0' | b'1' => LETTER | HEX | DECIMAL | BINARY | TURNED,
        b'2'..=b'9' => LETTER | HEX | DECIMAL | TURNED,
        b'a'..=b'f' | b'A'..=b'F' => LETTER | HEX,
        b'n'..=b's' | b'N'..=b'S' => LETTER | TURNED,
        b'g'..=b'z' | b'G'..=b'Z' => LETTER,
        _ => 0,
    }
}

const SIGNS: [u8; 256] = of_each_byte!(signs);

fn signs_of(b: u8) -> u8 {
    SIGNS.get(usize::from(b)).copied().unwrap_or(0)
}

/// The notations, a bit for each, that may read an item of two to eight signs.
fn readable_as(item: &[u8], signs: u8) -> u8 {
    let when = |is: bool, notation: Notation| if is { notation.bit() } else { 0 };
    match item {
        [_, _] => {
            when(signs & HEX != 0, Notation::Hex)
                | when(signs & DECIMAL != 0, Notation::Decimal)
                | when(signs & TURNED != 0, Notation::Turned)
        }
        [_, _, _] if signs & DECIMAL != 0 => Notation::Decimal.bit(),
        [b'0', b'x' | b'X', ..] => Notation::Prefixed.bit(),
        [_, b'+', ..] => when(item.iter().any(u8::is_ascii_digit), Notation::Unicode),
        [_, _, _, _, _, _, _, ..] => when(signs & BINARY != 0, Notation::Binary),
        _ => 0,
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
