//! Finding urls and host names inside longer text: in prose, markdown, HTML and lists.
//!
//! Spans only; what a span means is for `canon`. One pass, linear: a span never overlaps the next.

use std::ops::Range;

use super::canon::{host, url};
use super::text::{byte, cut};

/// Longest url that is looked at as one; the rest of a longer one is cut off.
const LONGEST_URL: usize = 8192;

/// The spans of absolute urls with a scheme, in order.
pub(crate) fn absolute(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut from = 0;
    for colon in memchr::memchr_iter(b':', bytes) {
        if colon < from || !is_slash(byte(bytes, colon + 1)) || !is_slash(byte(bytes, colon + 2)) {
            continue;
        }
        let mut start = colon;
        while start > from && colon - start < 24 && is_scheme_byte(byte(bytes, start - 1)) {
            start -= 1;
        }
        while start < colon && !byte(bytes, start).is_ascii_alphabetic() {
            start += 1;
        }
        if start == colon {
            continue;
        }
        let end = url_end(text, colon + 3);
        if end > colon + 3 {
            spans.push(start..end);
            from = end;
        }
    }
    spans
}

fn is_slash(b: u8) -> bool {
    b == b'/' || b == b'\\'
}

fn is_scheme_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"+-.".contains(&b)
}

/// Where a url that runs on from here ends: at white space or a delimiter, sentence punctuation and
/// unbalanced brackets left out.
fn url_end(text: &str, from: usize) -> usize {
    let mut end = from;
    for (at, c) in cut(text, from..text.len()).char_indices() {
        let ends = match c {
            '!' | '#'..=';' | '=' | '?'..=']' | '_' | 'a'..='z' | '~' => false,
            '<' | '>' | '"' | '`' | '{' | '}' | '|' | '^' | '\u{ab}' | '\u{bb}' | '\u{201c}' | '\u{201d}' => {
                true
            }
            c => c.is_whitespace() || c.is_control(),
        };
        if ends || at > LONGEST_URL {
            break;
        }
        end = from + at + c.len_utf8();
    }
    trim_url(text, from, end)
}

/// Takes sentence punctuation and unbalanced closing brackets off the end.
fn trim_url(text: &str, from: usize, mut end: usize) -> usize {
    let mut body = cut(text, from..end);
    let mut round = count(body, b'(', b')');
    let mut square = count(body, b'[', b']');
    while let Some(last) = body.chars().next_back() {
        let drop = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '~' | '\\' | '\u{2019}' | '\u{3002}' => {
                true
            }
            ')' if round < 0 => {
                round += 1;
                true
            }
            ']' if square < 0 => {
                square += 1;
                true
            }
            _ => false,
        };
        if !drop {
            break;
        }
        end -= last.len_utf8();
        body = cut(text, from..end);
    }
    // `[text](https://a.test/b)more`: a closing bracket that was never opened ends the url.
    let mut open = 0_i32;
    for (at, c) in body.char_indices() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => return from + at,
            ')' => open -= 1,
            _ => {}
        }
    }
    end
}

fn count(text: &str, open: u8, close: u8) -> i32 {
    text.bytes().fold(0, |sum, b| sum + i32::from(b == open) - i32::from(b == close))
}

/// The spans of host names and urls without a scheme, outside the given (ordered) spans.
pub(crate) fn bare(text: &str, outside: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut skip = outside.iter().peekable();
    let mut start = None;
    let mut consider = |range: Range<usize>| {
        if let Some(span) = bare_in(text, range) {
            spans.push(span);
        }
    };
    for (at, c) in text.char_indices() {
        while skip.next_if(|span| span.end <= at).is_some() {}
        let inside = skip.peek().is_some_and(|span| span.contains(&at));
        if inside || c.is_whitespace() || "<>\"'`()[]{}|,;=\\^".contains(c) {
            if let Some(from) = start.take() {
                consider(from..at);
            }
        } else if start.is_none() {
            start = Some(at);
        }
    }
    if let Some(from) = start {
        consider(from..text.len());
    }
    spans
}

fn bare_in(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let word = cut(text, range.clone());
    if word.len() < 4 || word.len() > LONGEST_URL || !word.contains('.') {
        return None;
    }
    let trimmed = word.trim_start_matches(['*', '_', '~', '!', ':', '-', '\u{201c}', '\u{2018}']);
    let from = range.end - trimmed.len();
    let end = trim_url(text, from, range.end);
    let word = cut(text, from..end);
    let body = word.strip_prefix("//").unwrap_or(word);
    let cut_at = body.find(['/', '?', '#', ':']).unwrap_or(body.len());
    let name = cut(body, 0..cut_at);
    if name.contains('@') || !name.contains('.') {
        return None;
    }
    let (ascii, _) = host::parse(name)?;
    let has_more = cut_at < body.len() || word.len() > body.len() || ascii.starts_with("www.");
    let named = if host::is_address(&ascii) {
        name.bytes().filter(|b| *b == b'.').count() == 3
    } else {
        host::has_real_suffix(&ascii) && (has_more || !host::is_file_like(&ascii))
    };
    named.then_some(from..end)
}

/// A url found in text, as an absolute one.
pub(crate) fn read(span: &str) -> Option<::url::Url> {
    url::parse(span).or_else(|| url::parse_bare(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let spans = absolute(text);
        let mut found: Vec<Range<usize>> = bare(text, &spans);
        found.extend(spans);
        found.sort_by_key(|span| span.start);
        let found: Vec<&str> = found.into_iter().map(|span| cut(text, span)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn links_are_found_where_people_and_programs_put_them() {
        check("(see https://evil.test/collect).", &["https://evil.test/collect"]);
        check("[a](https://evil.test/a_(b) \"t\")", &["https://evil.test/a_(b)"]);
        check("[r]: evil.test/p\n<https://b.test>", &["evil.test/p", "https://b.test"]);
        check("<img src='//evil.test/p.gif'>", &["//evil.test/p.gif"]);
        check("mail a@b.test, see evil.test.", &["evil.test"]);
        check("edit main.rs and docs/README.md, e.g. v1.2/x", &[]);
        check("go to www.evil.test now", &["www.evil.test"]);
        check("host 192.0.2.10:80, version 10.2.3", &["192.0.2.10:80"]);
        check("a://b.test/https://c.test", &["a://b.test/https://c.test"]);
        check("://x ::// http://", &[]);
    }
}
