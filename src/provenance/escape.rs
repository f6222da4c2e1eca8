//! Making hostile text fit to be shown: in a question, on a terminal, in a log.
//!
//! Nothing that an upstream or client sent is shown without going through here. Control characters,
//! escapes, bidi and zero-width marks, tag characters and line breaks become visible `\u{…}` forms,
//! so that the text can neither move a cursor nor pretend to be ours.

use std::fmt::Write as _;

/// At most `limit` characters of `text`, each harmless and visible; a cut is marked with `…`.
pub fn escaped(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit) + 8);
    for (count, c) in text.chars().enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        push(&mut out, c);
    }
    out
}

/// `escaped`, but with the part of `text` around byte `range` kept: `before` characters on each side.
pub fn escaped_around(text: &str, range: (usize, usize), before: usize, limit: usize) -> String {
    let start = floor(text, range.0);
    let from = text
        .get(..start)
        .map_or(0, |head| head.char_indices().rev().nth(before.saturating_sub(1)).map_or(0, |(at, _)| at));
    let mut out = String::new();
    if from > 0 {
        out.push('…');
    }
    out.push_str(&escaped(text.get(from..).unwrap_or_default(), limit));
    out
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_hidden(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Whether a character is invisible or changes how its neighbours are shown: C0, C1, DEL, soft
/// hyphen, zero width, bidi controls (UAX #9), variation selectors, tags, private use, and
/// whitespace other than a plain space.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(u32::from(c),
            0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
            | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
            | 0xe000..=0xf8ff | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff | 0xf0000..=0x0010_ffff)
}

#[cfg(test)]
mod tests {
    use super::{escaped, escaped_around};

    #[test]
    fn hidden_characters_become_visible() {
        for (text, shown) in [
            ("plain text", "plain text"),
            ("a\u{1b}[2Kb", "a\\u{1b}[2Kb"),
            ("to\r\u{202e}moc", "to\\r\\u{202e}moc"),
            ("w\u{e0073}x\u{200b}", "w\\u{e0073}x\\u{200b}"),
            ("Đường ★", "Đường ★"),
        ] {
            assert_eq!(escaped(text, 100), shown);
        }
    }

    #[test]
    fn a_cut_is_marked() {
        assert_eq!(escaped("abcdef", 3), "abc…");
        assert_eq!(escaped("abc", 3), "abc");
    }

    #[test]
    fn the_value_stays_in_view() {
        let text = format!("{}VALUE{}", "x".repeat(50), "y".repeat(50));
        assert_eq!(escaped_around(&text, (50, 55), 3, 10), "…xxxVALUEyy…");
        assert_eq!(escaped_around("é", (1, 9), 3, 10), "é");
    }
}
