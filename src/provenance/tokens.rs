//! Tokens, paths and bare urls of a text, word by word, in one pass.
//!
//! A token is letters, digits and `-_.`; a word is all between blanks, quotes and brackets. Most of both say
//! nothing, so the pass is quick over them and only what may be an atom gets a closer look.

use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

use super::Kind;
use super::atoms::{self, Class, Sink};
use super::canon::{host, shape_of, url};
use super::text::{byte, cut, is_unspaced, of_each_byte};
use super::urls;

/// What a byte is to words: a letter of tokens, one that tells a token from a word, a slash, a colon, the end of
/// a word, a part of a longer character, or (none of these) another sign.
const LETTER: u8 = 1;
const MARK: u8 = 2;
const SLASH: u8 = 4;
const COLON: u8 = 8;
const END: u8 = 16;
const WIDE: u8 = 32;

const fn class(b: u8) -> u8 {
    match b {
        b'A'..=b'Z' | b'a'..=b'z' => LETTER,
        b'0'..=b'9' | b'-' | b'_' | b'.' => LETTER | MARK,
        b'/' | b'\\' => SLASH,
        b':' => COLON,
        b'"' | b'\'' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|' | b',' | b';' | b'='
        | b'`' | b' ' | b'\t' | b'\n' | b'\r' => END,
        0x80.. => WIDE,
        _ => 0,
    }
}

const CLASSES: [u8; 256] = of_each_byte!(class);

fn class_of(b: u8) -> u8 {
    CLASSES.get(usize::from(b)).copied().unwrap_or(0)
}

/// The token and the word that are being read.
#[derive(Default)]
struct Open {
    token: Option<usize>,
    /// Whether the token has a digit or mark.
    marked: bool,
    word: Option<usize>,
    /// The word's slashes, if any, and its colons.
    slashes: bool,
    colons: usize,
}

impl Open {
    /// Takes letters in a row, if any.
    fn letters(&mut self, range: Range<usize>, marks: u8) {
        if !range.is_empty() {
            self.token.get_or_insert(range.start);
            self.word.get_or_insert(range.start);
            self.marked |= marks & MARK != 0;
        }
    }

    /// Takes a sign of a word, or the end of it.
    fn sign(&mut self, text: &str, at: usize, class: u8, sink: &mut Sink<'_>) {
        if class == END {
            self.end_word(text, at, sink);
        } else {
            self.word.get_or_insert(at);
            self.slashes |= class == SLASH;
            self.colons += usize::from(class == COLON);
        }
    }

    fn end_token(&mut self, text: &str, at: usize, sink: &mut Sink<'_>) {
        let Some(from) = self.token.take() else { return };
        // What `is_specific` turns down anyway.
        if at - from >= 16 || (at - from >= 6 && self.marked) {
            one_token(text, from..at, sink);
        }
        self.marked = false;
    }

    fn end_word(&mut self, text: &str, at: usize, sink: &mut Sink<'_>) {
        let Some(from) = self.word.take() else { return };
        if self.slashes {
            one_word(text, from..at, sink);
        } else if self.colons > 1 {
            one_address(text, from..at, sink);
        }
        self.slashes = false;
        self.colons = 0;
    }
}

/// Tokens, paths and bare urls outside the (ordered) spans of urls and of what else to skip.
pub(super) fn words(text: &str, urls: &[Range<usize>], skip: &[Range<usize>], sink: &mut Sink<'_>) {
    let (mut skips, mut links) = (skip.iter().peekable(), urls.iter().peekable());
    let mut open = Open::default();
    let mut at = 0;
    while at < text.len() {
        let (skipped, skip_changes) = stands_in(&mut skips, at);
        let (in_url, link_changes) = stands_in(&mut links, at);
        let stop = skip_changes.min(link_changes).min(text.len());
        if skipped {
            open.end_token(text, at, sink);
        }
        if in_url {
            open.end_word(text, at, sink);
        }
        while at < stop {
            if !skipped && !in_url {
                at = ascii(text, at..stop, &mut open, sink);
            }
            if at < stop {
                at = step(text, at, (!skipped, !in_url), &mut open, sink);
            }
        }
    }
    open.end_token(text, at, sink);
    open.end_word(text, at, sink);
}

/// Whether a place stands in the next of the spans, and where that changes.
fn stands_in(spans: &mut Peekable<Iter<'_, Range<usize>>>, at: usize) -> (bool, usize) {
    while spans.next_if(|span| span.end <= at).is_some() {}
    match spans.peek() {
        None => (false, usize::MAX),
        Some(span) if at < span.start => (false, span.start),
        Some(span) => (true, span.end),
    }
}

/// Reads the ASCII that starts here, where tokens and words count, and returns where it ends. One loop without runs
/// in it, because each end of a run is hard to foresee.
fn ascii(text: &str, part: Range<usize>, open: &mut Open, sink: &mut Sink<'_>) -> usize {
    let mut letters = part.start;
    let mut marks = 0;
    let bytes = text.as_bytes().get(part.clone()).unwrap_or_default();
    for (at, b) in (part.start..).zip(bytes) {
        let class = class_of(*b);
        if class & LETTER != 0 {
            marks |= class;
            continue;
        }
        open.letters(letters..at, marks);
        if class == WIDE {
            return at;
        }
        (letters, marks) = (at + 1, 0);
        open.end_token(text, at, sink);
        open.sign(text, at, class, sink);
    }
    open.letters(letters..part.end, marks);
    part.end
}

/// Reads the character that starts here and returns where it ends. `counts`: whether there are tokens here, and words.
fn step(text: &str, at: usize, counts: (bool, bool), open: &mut Open, sink: &mut Sink<'_>) -> usize {
    let (tokens, words) = counts;
    let mut class = class_of(byte(text.as_bytes(), at));
    let mut end = at + 1;
    if class == WIDE {
        let c = cut(text, at..text.len()).chars().next().unwrap_or(' ');
        end = at + c.len_utf8();
        class = match c {
            c if c.is_alphanumeric() => LETTER,
            c if c.is_whitespace() => END,
            _ => 0,
        };
    }
    if tokens && class & LETTER != 0 {
        open.token.get_or_insert(at);
        open.marked |= class & MARK != 0;
    } else {
        open.end_token(text, at, sink);
    }
    open.sign(text, at, if words { class } else { END }, sink);
    end
}

fn one_token(text: &str, span: Range<usize>, sink: &mut Sink<'_>) {
    let token = cut(text, span.clone());
    let (lead, trimmed) = atoms::without_marks(token);
    if !atoms::is_specific(trimmed) || trimmed.len() > 512 || is_date(trimmed) {
        return;
    }
    let from = span.start + lead;
    let place = from..from + trimmed.len();
    sink(Class::Token, &atoms::token_form(trimmed), place.clone());
    if trimmed.contains(is_unspaced) {
        // What stands among words of such a script is a word of its own.
        let mut start = from;
        for piece in trimmed.split_inclusive(is_unspaced) {
            let part = piece.trim_end_matches(is_unspaced);
            one_token(text, start..start + part.len(), sink);
            start += piece.len();
        }
    }
    if host::is_punycode(trimmed) || !trimmed.is_ascii() && trimmed.contains('.') {
        sink(Class::Host, &host::loose(trimmed), place);
    } else if trimmed.contains('.')
        && shape_of(trimmed) == Some(Kind::Host)
        && let Some(forms) = url::parse_bare(trimmed).and_then(urls::forms)
    {
        sink(Class::Url, &forms.exact, place);
    }
}

/// `2026-03-01` and `2026-03-01t10` say when, not where.
fn is_date(token: &str) -> bool {
    let bytes = token.as_bytes();
    let digits =
        |range: Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    byte(bytes, 4) == b'-' && byte(bytes, 7) == b'-' && digits(0..4) && digits(5..7) && digits(8..10)
}

fn one_word(text: &str, span: Range<usize>, sink: &mut Sink<'_>) {
    let word = cut(text, span.clone());
    let word = word.trim_end_matches(['.', ',', ':', '!', '?', '*', '_']);
    if word.len() > atoms::LONGEST_WORD {
        return;
    }
    // `path:/srv/x` and `out->/srv/x`: what stands before the first slash is no drive.
    let slash = word.find(['/', '\\']).unwrap_or(0);
    let from = match cut(word, 0..slash).rfind([':', '>', '&']) {
        Some(1) if word.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) => 0,
        Some(colon) => colon + 1,
        None => 0,
    };
    let place = span.start + from..span.start + word.len();
    let word = cut(word, from..word.len()).trim_start_matches(['*', '!']);
    if word.contains(is_unspaced) {
        for part in word.split(is_unspaced).filter(|part| part.contains('/')) {
            atoms::one_path(part.trim_end_matches(['.', ',', ':', '!', '?']), place.clone(), sink);
        }
    }
    atoms::one_path(word, place.clone(), sink);
    // `/srv/x:ro`, `/srv/a.rs#L10`: a place in a file, or where it goes.
    if word.starts_with(['/', '~'])
        && let Some(end) = word.find([':', '#', '&'])
    {
        atoms::one_path(cut(word, 0..end), place.clone(), sink);
    }
    if let Some(parsed) = url::parse_bare(word) {
        atoms::url_hosts(&parsed, &place, sink);
        if let Some(forms) = urls::forms(parsed) {
            urls::sink(&forms, &place, sink);
        }
    } else if let Some(parsed) = url::parse_unc(word) {
        atoms::url_hosts(&parsed, &place, sink);
    }
}

/// An IPv6 address that stands alone.
fn one_address(text: &str, span: Range<usize>, sink: &mut Sink<'_>) {
    let word = cut(text, span.clone()).trim_end_matches(['.', ',', ':']);
    if word.parse::<core::net::Ipv6Addr>().is_ok()
        && let Some((name, _)) = host::parse(word)
    {
        sink(Class::Host, &name, span.start..span.start + word.len());
    }
}
