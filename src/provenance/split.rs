//! Lists of receivers in one string: separators, quotes, display names, group syntax and header names
//! (RFC 5322 section 3.4), as leniently as mail programs read them.

use std::ops::Range;

use super::text::cut;

/// Splits at commas, semicolons and line ends that stand outside quotes and angle brackets; the
/// pieces are trimmed and none is empty.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let (mut from, mut quoted, mut angled, mut escaped) = (0, false, false, false);
    for (at, c) in text.char_indices() {
        let ends = match c {
            _ if escaped => {
                escaped = false;
                false
            }
            '\\' if quoted => {
                escaped = true;
                false
            }
            // A line end closes whatever was left open, so an unbalanced quote cannot hide the rest.
            '\n' | '\r' => {
                (quoted, angled) = (false, false);
                true
            }
            '"' => {
                quoted = !quoted;
                false
            }
            '<' if !quoted => {
                angled = true;
                false
            }
            '>' if !quoted => {
                angled = false;
                false
            }
            ';' if ends_a_code(text, at) => false,
            ',' | ';' | '\u{ff0c}' | '\u{ff1b}' => !quoted && !angled,
            _ => false,
        };
        if ends {
            spans.push(from..at);
            from = at + c.len_utf8();
        }
    }
    spans.push(from..text.len());
    if quoted || angled {
        // What was never closed hides nothing: the last piece is split at every separator.
        if let Some(open) = spans.pop() {
            let mut at = open.start;
            for part in cut(text, open).split([',', ';']) {
                spans.push(at..at + part.len());
                at += part.len() + 1;
            }
        }
    }
    spans.into_iter().map(|span| cut(text, span).trim()).filter(|piece| !piece.is_empty()).collect()
}

/// Whether a semicolon ends a character code of HTML: `ops&#64;corp.test` is one address, if any.
fn ends_a_code(text: &str, at: usize) -> bool {
    const LONGEST: usize = 9;
    let near = at - at.min(LONGEST);
    let before = text.as_bytes().get(near..at).unwrap_or_default();
    let Some(start) = memchr::memrchr(b'&', before) else { return false };
    match before.get(start + 1..) {
        Some([b'#', b'x' | b'X', digits @ ..]) => {
            !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
        }
        Some([b'#', digits @ ..]) => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        Some(name) => {
            matches!(name, b"commat" | b"period" | b"sol" | b"colon" | b"hyphen" | b"lowbar" | b"plus")
        }
        None => false,
    }
}

/// The address of a piece: what stands in its last angle brackets, else the piece; a group or header
/// name (`To:`, `Friends:`) before it dropped.
pub(crate) fn address(piece: &str) -> &str {
    let piece = piece.trim();
    if let Some(open) = piece.rfind('<')
        && let Some(inner) = piece.get(open + 1..).and_then(|rest| rest.trim_end().strip_suffix('>'))
        && !inner.starts_with(['#', '@', '!'])
        && !inner.trim().is_empty()
    {
        return inner.trim();
    }
    if let Some((label, rest)) = piece.split_once(':')
        && !rest.starts_with('/')
        && rest.contains('@')
        && !label.contains('@')
        && !label.eq_ignore_ascii_case("mailto")
    {
        return address(rest);
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = pieces(text).into_iter().map(address).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn lists_are_split_as_mail_programs_do() {
        check(
            "a@b.test, c@d.test;e@f.test\nBcc: g@h.test",
            &["a@b.test", "c@d.test", "e@f.test", "g@h.test"],
        );
        check("\"Ruiz, Ana\" <a@b.test>, x", &["a@b.test", "x"]);
        check("\"ok@corp.test\" <a@b.test>", &["a@b.test"]);
        check("Friends: a@b.test, c@d.test;", &["a@b.test", "c@d.test"]);
        check("\"open, a@b.test", &["\"open", "a@b.test"]);
        check("\"open\na@b.test, c@d.test", &["\"open", "a@b.test", "c@d.test"]);
        check("ops&#64;corp.test;c@d.test", &["ops&#64;corp.test", "c@d.test"]);
        check("R&D; c@d.test", &["R&D", "c@d.test"]);
        check(" , ;", &[]);
    }
}
