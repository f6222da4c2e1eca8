//! Typed text cut into whole tokens, with the punctuation of the sentence around them taken off.
//!
//! The *coarse* cut breaks at white space, quotes and angle brackets only, for urls and paths, which
//! may hold brackets and commas; the *fine* one breaks at list punctuation too, and one lies between. A word of prose that follows a full stop without a space ends a token in both.

use std::ops::Range;

/// How finely text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// At white space, quotes and angle brackets.
    Coarse,
    /// At brackets too, for urls in Markdown and in parentheses.
    Brackets,
    /// At brackets, commas, semicolons and colons too.
    Fine,
}

/// What stands around a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// The token without the punctuation around it.
    pub(super) text: &'a str,
    /// Its byte range in the text that was cut.
    pub(super) range: Range<usize>,
}

/// All tokens of `text`, in order.
pub(super) fn tokens(text: &str, cut: Cut) -> impl Iterator<Item = Token<'_>> {
    pieces(text, cut).filter_map(move |range| {
        let range = trimmed(text, range);
        let token = text.get(range.clone())?;
        (!token.is_empty()).then_some(Token { text: token, range })
    })
}

fn pieces(text: &str, cut: Cut) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    text.split(move |c: char| separates(c, cut)).map(move |piece| {
        let start = at;
        // The separator is one character; its length is what lies between this piece and the next.
        at = start + piece.len();
        let width = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        at += width;
        start..start + piece.len()
    })
}

fn separates(c: char, cut: Cut) -> bool {
    c.is_whitespace()
        || is_quote(c)
        || matches!(c, '<' | '>')
        || cut != Cut::Coarse && matches!(c, '(' | ')' | '[' | ']' | '{' | '}')
        || cut == Cut::Fine && matches!(c, ',' | ';' | ':' | '|' | '、' | '，' | '；')
}

/// Whether the character is a quotation mark that cannot stand inside a token. The apostrophe is
/// not one of them: it is looked at where tokens are trimmed.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '`' | '“' | '”' | '„' | '«' | '»' | '‘' | '「' | '」')
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = range;
    let part = text.get(start..end).unwrap_or_default();
    let front = part.trim_start_matches(|c: char| {
        matches!(c, '\'' | '’' | '(' | '[' | '{' | '*' | '—' | '–' | '¿' | '¡')
    });
    start += part.len() - front.len();
    let back = front.trim_end_matches(|c: char| {
        matches!(
            c,
            '\'' | '’'
                | ')'
                | ']'
                | '}'
                | '*'
                | '.'
                | ','
                | ';'
                | ':'
                | '!'
                | '?'
                | '—'
                | '–'
                | '…'
                | '。'
                | '！'
                | '？'
        )
    });
    end -= front.len() - back.len();
    let token = text.get(start..end).unwrap_or_default();
    for possessive in ["'s", "’s"] {
        if let Some(rest) = token.strip_suffix(possessive) {
            end = start + rest.len();
        }
    }
    start..end
}

/// Where a sentence ends inside a token that lost its space: `www.kiln.example.They said`. The
/// offset of the full stop; `None` when there is no such place.
pub(super) fn lost_space(token: &str) -> Option<usize> {
    let bytes = token.as_bytes();
    let at = token.rfind('.')?;
    let before = at.checked_sub(1).and_then(|before| bytes.get(before))?;
    let mut after = token.get(at + 1..)?.chars();
    let capital = after.next()?.is_ascii_uppercase();
    (before.is_ascii_lowercase()
        && capital
        && after.clone().next().is_some()
        && after.all(|c| c.is_ascii_lowercase()))
    .then_some(at)
}

/// Whether a match of `range` in `text` is bounded on both sides, so that it is a whole token and
/// not a part of a longer word, address, path or number.
pub(super) fn bounded(text: &str, range: &Range<usize>) -> bool {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    let mut back = before.chars().rev();
    // `-`, `.` and the like join only when there is a word on their other side.
    let first = back.next();
    let clean_before = !joined(first, back.next());
    let mut front = after.chars();
    let first = front.next();
    let second = front.next();
    // A capital after the full stop begins a sentence that lost its space.
    let stop = first == Some('.') && second.is_some_and(|c| c.is_ascii_uppercase());
    let clean_after = stop || !joined(first, second);
    clean_before && clean_after
}

/// Whether the neighbour of a match, with the character behind it, makes a longer token of it.
fn joined(neighbour: Option<char>, behind: Option<char>) -> bool {
    neighbour.is_some_and(joins) || neighbour.is_some_and(links) && behind.is_some_and(joins)
}

fn joins(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '+'
}

fn links(c: char) -> bool {
    matches!(c, '-' | '.' | '@' | '/' | '\\' | ':' | '=' | '%' | '&' | '#' | '~' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_lose_the_punctuation_of_the_sentence() {
        let text =
            "Mail (a@b.example, c@d.example); see <https://x.example/a,b>, \"q 1\" and Ana's 'note.txt'.";
        let fine: Vec<&str> = tokens(text, Cut::Fine).map(|token| token.text).collect();
        assert_eq!(fine.first(), Some(&"Mail"));
        assert!(fine.contains(&"a@b.example") && fine.contains(&"c@d.example"));
        assert!(fine.contains(&"note.txt") && fine.contains(&"Ana"));
        let coarse: Vec<&str> = tokens(text, Cut::Coarse).map(|token| token.text).collect();
        assert!(coarse.contains(&"https://x.example/a,b"));
        for token in tokens(text, Cut::Fine).chain(tokens(text, Cut::Coarse)) {
            assert_eq!(text.get(token.range), Some(token.text));
        }
    }

    #[test]
    fn a_match_inside_a_longer_word_is_not_bounded() {
        for (text, part, expected) in [
            ("ask ann.", "ann", true),
            ("ask ann", "ann", true),
            ("ask joann", "ann", false),
            ("ask ann-marie", "ann", false),
            ("ask ann@x.example", "ann", false),
            ("in #ann, please", "ann", true),
            ("site kiln.example.They said", "kiln.example", true),
            ("Ana's mail", "Ana", true),
            ("1,950 EUR", "950", false),
        ] {
            let at = text.find(part).unwrap_or_default();
            assert_eq!(bounded(text, &(at..at + part.len())), expected, "{text}");
        }
    }
}
