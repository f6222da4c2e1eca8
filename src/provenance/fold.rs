//! The fold that LOOSE forms start from: compatibility forms (NFKC), look-alikes of other scripts
//! (UTS 39), decimal digits of all scripts, and nothing that has no ink.
//!
//! Case is kept, because encodings need it; [`lower`] follows where values are compared. ASCII is never
//! folded onto other ASCII: `0` and `O`, `l` and `1`, `rn` and `m` are different destinations. Accents
//! stay too. The table is built a block of 256 characters at a time, when one is first seen.

use std::borrow::Cow;
use std::sync::OnceLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, is_combining_mark};
use unicode_security::skeleton;

use super::text::is_ignorable;

/// Entry: the character stays as it is.
const SAME: u32 = u32::MAX;
/// Entry: the character is dropped.
const DROP: u32 = u32::MAX - 1;
/// Entry: the character becomes several; they are made when needed.
const MANY: u32 = u32::MAX - 2;
/// Entry: a mark that belongs to the character before it.
const MARK: u32 = u32::MAX - 3;

type Block = Box<[u32; 256]>;

static TABLE: [OnceLock<Block>; 0x1100] = [const { OnceLock::new() }; 0x1100];

/// A folded text that remembers where each part came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View<'a> {
    /// The folded text, case kept.
    pub(crate) text: Cow<'a, str>,
    /// Where the two run apart: from this place in the text on, it stood at that place in the source.
    marks: Vec<(u32, u32)>,
}

impl View<'_> {
    /// The place in the source of a place in the folded text.
    pub(crate) fn source(&self, at: usize) -> usize {
        let after = self.marks.partition_point(|(view, _)| *view as usize <= at);
        match after.checked_sub(1).and_then(|last| self.marks.get(last)) {
            Some((view, source)) => *source as usize + (at - *view as usize),
            None => at,
        }
    }

    /// Whether folding changed nothing.
    pub(crate) fn is_same(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }
}

/// A text as LOOSE forms see it, case kept: compatibility forms, look-alikes and digits of all scripts as plain
/// ones, and nothing without ink. Borrowed where that changes nothing. Linear; never an error.
pub fn loose_text(text: &str) -> Cow<'_, str> {
    fold(text).text
}

/// Folds a text of less than 4 GiB, case kept.
pub(crate) fn fold(source: &str) -> View<'_> {
    let Some(first) = source.bytes().position(|b| b >= 0x80 || is_control(b)) else {
        return View { text: Cow::Borrowed(source), marks: Vec::new() };
    };
    let mut out = String::with_capacity(source.len());
    let mut marks = Vec::new();
    out.push_str(source.get(..first).unwrap_or_default());
    // What has been written so far corresponds to the source up to here.
    let mut shift = 0_usize;
    let mut at = first;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let now = at.wrapping_sub(out.len());
        if now != shift {
            marks.push((place(out.len()), place(at)));
            shift = now;
        }
        let plain = rest.bytes().position(|b| b >= 0x80 || is_control(b)).unwrap_or(rest.len());
        if plain > 0 {
            out.push_str(rest.get(..plain).unwrap_or_default());
            at += plain;
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        at += c.len_utf8();
        if c.is_ascii() {
            continue;
        }
        match entry(c) {
            SAME => out.push(c),
            DROP => {}
            MANY => many(c, &mut out),
            MARK => {
                if let Some(joined) = out.chars().next_back().and_then(|last| compose(last, c)) {
                    out.pop();
                    out.push(joined);
                }
            }
            code => out.push(char::from_u32(code).unwrap_or(c)),
        }
    }
    // The end of the folded text is that of the source, whatever the last characters became.
    if at.wrapping_sub(out.len()) != shift {
        marks.push((place(out.len()), place(at)));
    }
    View { text: Cow::Owned(out), marks }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn is_control(b: u8) -> bool {
    (b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) || b == 0x7f
}

/// Small letters for comparison.
pub(crate) fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

/// Folded and in small letters.
pub(crate) fn folded(text: &str) -> String {
    lower(&fold(text).text)
}

fn entry(c: char) -> u32 {
    let code = c as usize;
    let Some(slot) = TABLE.get(code >> 8) else { return SAME };
    let block = slot.get_or_init(|| {
        let base = (code >> 8) << 8;
        let mut block = Box::new([SAME; 256]);
        for (at, value) in block.iter_mut().enumerate() {
            if let Some(c) = u32::try_from(base + at).ok().and_then(char::from_u32) {
                *value = compute(c);
            }
        }
        block
    });
    block.get(code & 0xff).copied().unwrap_or(SAME)
}

fn compute(c: char) -> u32 {
    if c.is_ascii() {
        return SAME;
    }
    if is_ignorable(c) {
        return DROP;
    }
    if let Some(plain) = special(c) {
        return plain as u32;
    }
    if is_combining_mark(c) {
        return MARK;
    }
    let mut compat = std::iter::once(c).nfkc();
    match (compat.next(), compat.next()) {
        (Some(one), None) => {
            let end = look_alike(one);
            if end == c { SAME } else { end as u32 }
        }
        (Some(_), Some(_)) => MANY,
        _ => DROP,
    }
}

fn many(c: char, out: &mut String) {
    for part in std::iter::once(c).nfkc() {
        if !is_ignorable(part) {
            out.push(special(part).unwrap_or_else(|| look_alike(part)));
        }
    }
}

/// First characters of the decimal digits of each script (general category Nd).
const ZEROS: [u32; 37] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0, 0x11066,
];

/// Small capitals of the phonetic alphabets, which no table of Unicode calls compatible.
const SMALL_CAPITALS: [(char, char); 23] = [
    ('ᴀ', 'a'),
    ('ʙ', 'b'),
    ('ᴄ', 'c'),
    ('ᴅ', 'd'),
    ('ᴇ', 'e'),
    ('ꜰ', 'f'),
    ('ɢ', 'g'),
    ('ʜ', 'h'),
    ('ɪ', 'i'),
    ('ᴊ', 'j'),
    ('ᴋ', 'k'),
    ('ʟ', 'l'),
    ('ᴍ', 'm'),
    ('ɴ', 'n'),
    ('ᴏ', 'o'),
    ('ᴘ', 'p'),
    ('ʀ', 'r'),
    ('ꜱ', 's'),
    ('ᴛ', 't'),
    ('ᴜ', 'u'),
    ('ᴠ', 'v'),
    ('ᴡ', 'w'),
    ('ᴢ', 'z'),
];

/// Letters that look like Latin ones in most fonts, but that UTS 39 maps elsewhere.
const MORE_LOOK_ALIKES: [(char, char); 14] = [
    ('к', 'k'),
    ('κ', 'k'),
    ('т', 't'),
    ('τ', 't'),
    ('м', 'm'),
    ('н', 'h'),
    ('в', 'b'),
    ('η', 'n'),
    ('ω', 'w'),
    ('ґ', 'r'),
    ('г', 'r'),
    ('п', 'n'),
    ('ѡ', 'w'),
    ('ɩ', 'i'),
];

/// Digits of other scripts, letters in circles and squares, stops and white space.
fn special(c: char) -> Option<char> {
    let code = c as u32;
    if let Some(zero) = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code)) {
        return char::from_digit(code - zero, 10);
    }
    for (first, last) in [(0x1f150, 0x1f169), (0x1f170, 0x1f189), (0x1f1e6, 0x1f1ff)] {
        if (first..=last).contains(&code) {
            return char::from_u32(code - first + u32::from('a'));
        }
    }
    match c {
        '\u{3002}' | '\u{ff61}' | '\u{2024}' => return Some('.'),
        '\u{2028}' | '\u{2029}' | '\u{85}' => return Some('\n'),
        _ if c.is_whitespace() => return Some(' '),
        _ => {}
    }
    let listed = SMALL_CAPITALS.iter().chain(&MORE_LOOK_ALIKES).find(|(look, _)| *look == c);
    listed.map(|(_, plain)| *plain)
}

/// The ASCII character that looks the same, if there is just one; else the character itself.
fn look_alike(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    let mut buffer = [0_u8; 4];
    let mut prototype = skeleton(c.encode_utf8(&mut buffer));
    match (prototype.next(), prototype.next()) {
        // The prototype of all upright strokes is `l`; a capital one stands for `I`.
        (Some('l'), None) if c.is_uppercase() => 'i',
        (Some(one), None) if one.is_ascii_graphic() => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(folded(text), expected, "{text}");
    }

    #[test]
    fn what_looks_the_same_is_the_same() {
        check("ｄｒｏｐ77＠ｅｖｉｌ．ｔｅｓｔ", "drop77@evil.test");
        check("drоp77@еvil.test", "drop77@evil.test");
        check("𝐝𝐫𝐨𝐩𝟕𝟕@ⓔⓥⓘⓛ。test", "drop77@evil.test");
        check("d\u{200b}r\u{ad}o\u{2060}p\u{e0041}\u{fe0f}", "drop");
        check("\u{661}\u{662} \u{ff0b}", "12 +");
        check("e\u{301}l", "él");
        check("d\u{336}r\u{336}", "dr");
        check("ꜱᴇɴᴅ 🅰🅱 🇪", "send ab e");
        check("bücher Straße", "bücher straße");
        check("a\u{a0}b\u{2003}c", "a b c");
        check("evi1 0O rn", "evi1 0o rn");
        check("ﬁle №", "file no");
        check("\u{406}nfo", "info");
    }

    #[test]
    fn places_are_kept() {
        let source = "a\u{200b}b\u{ff20}c";
        let view = fold(source);
        assert_eq!(view.text, "ab@c");
        for (at, c) in view.text.char_indices() {
            let original = source.get(view.source(at)..).and_then(|rest| rest.chars().next());
            assert_eq!(original.map(|o| folded(&o.to_string())), Some(c.to_string()), "{at}");
        }
        for source in ["x e\u{301}", "x\u{200b}", "x \u{ff20}"] {
            let view = fold(source);
            assert_eq!(view.source(view.text.len()), source.len(), "{source}");
        }
        assert!(fold("plain ASCII").is_same());
    }
}
