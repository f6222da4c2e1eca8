//! Telephone numbers and accounts in running text: digit groups with their separators, and IBANs that
//! end where mod 97 says.

use std::ops::Range;

use super::atoms::{Class, Sink};
use super::canon::{account, phone};
use super::text::{byte, cut, unspaced_at, unspaced_before};

/// Most groups of digits that are read as one number.
const MOST_GROUPS: usize = 12;

/// Finds numbers in a folded text.
pub(crate) fn numbers(text: &str, sink: &mut Sink<'_>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(digit) = next_digit(bytes, at) {
        // A country code stands right before its check digits. All else before the digit says nothing.
        at = at.max(digit.saturating_sub(2));
        while at <= digit {
            let b = byte(bytes, at);
            let clean = at == 0 || !is_word(byte(bytes, at - 1)) || unspaced_before(text, at);
            if clean && b.is_ascii_digit() {
                at = digits(text, at, sink);
            } else if clean && b.is_ascii_alphabetic() {
                at = iban(text, at, sink).unwrap_or(at);
                while is_word(byte(bytes, at)) {
                    at += 1;
                }
            } else {
                at += 1;
            }
        }
    }
}

/// The place of the next digit.
fn next_digit(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let mut at = 0;
    // Sixteen at a time, without a branch for each.
    for part in rest.chunks(16) {
        if part.iter().fold(false, |any, b| any | b.is_ascii_digit()) {
            return part.iter().position(u8::is_ascii_digit).map(|ahead| from + at + ahead);
        }
        at += part.len();
    }
    None
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b >= 0x80
}

/// Reads the groups from here on and returns where they end.
fn digits(text: &str, start: usize, sink: &mut Sink<'_>) -> usize {
    let bytes = text.as_bytes();
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut at = start;
    let mut resume = start;
    while groups.len() < MOST_GROUPS {
        let from = at;
        while byte(bytes, at).is_ascii_digit() {
            at += 1;
        }
        if at == from {
            break;
        }
        if is_word(byte(bytes, at)) && !unspaced_at(text, at) {
            // The group runs on into a word: it is no number.
            while is_word(byte(bytes, at)) {
                at += 1;
            }
            resume = at;
            break;
        }
        groups.push(from..at);
        resume = at;
        let mut next = at;
        while next - at < 3 && matches!(byte(bytes, next), b' ' | b'\t' | b'-' | b'.' | b'(' | b')' | b'/') {
            next += 1;
        }
        at = next;
        // `+44 (0)20`: the sign of a second number ends this one.
        if byte(bytes, next) == b'+' {
            break;
        }
    }
    let (Some(first), Some(last)) = (groups.first(), groups.last()) else { return resume.max(start + 1) };
    let plus = start > 0 && byte(bytes, start - 1) == b'+' && (start < 2 || !is_word(byte(bytes, start - 2)));
    let from = if plus { start - 1 } else { first.start };
    let whole = from..last.end;
    let total: usize = groups.iter().map(ExactSizeIterator::len).sum();
    // Too few for an account or a telephone number.
    if total < 8 {
        return resume.max(start + 1);
    }
    if groups.len() > 1 && total <= 34 {
        let compact: String = cut(text, whole.clone()).chars().filter(char::is_ascii_digit).collect();
        sink(Class::Account, &compact, whole.clone());
    }
    if looks_like_date(text, &groups) && !plus {
        return resume.max(start + 1);
    }
    // Digits that stand one by one are one row, or a list.
    let one_by_one = groups.iter().all(|group| group.len() == 1);
    if one_by_one && byte(bytes, at).is_ascii_digit() {
        return resume.max(start + 1);
    }
    one_phone(text, whole, sink);
    if !one_by_one && (total > 15 || groups.len() > 1) {
        // The number may stand at either end of a longer row, or be one of its groups.
        let mut sum = 0;
        for group in &groups {
            sum += group.len();
            if (9..=15).contains(&sum) && group.end < last.end {
                one_phone(text, from..group.end, sink);
            }
            if group.len() >= 9 && group.len() < total {
                one_phone(text, group.clone(), sink);
            }
        }
        let mut sum = 0;
        for group in groups.iter().rev() {
            sum += group.len();
            if !plus && (9..=15).contains(&sum) && group.start > first.start {
                one_phone(text, group.start..last.end, sink);
            }
        }
    }
    resume.max(start + 1)
}

/// The length of a tab, or of a line break and the blank of a folded line, before a letter or digit.
fn line_break(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..).unwrap_or_default();
    ["\t", "\r\n ", "\n ", "\r\n", "\n"]
        .iter()
        .find(|blank| rest.starts_with(blank.as_bytes()))
        .map(|blank| blank.len())
        .filter(|length| is_word(byte(bytes, at + length)))
}

/// `2026-01-31 12` and decimal fractions are no telephone numbers.
fn looks_like_date(text: &str, groups: &[Range<usize>]) -> bool {
    let lengths: Vec<usize> = groups.iter().map(ExactSizeIterator::len).collect();
    let number = |at: usize| {
        groups.get(at).and_then(|group| cut(text, group.clone()).parse::<u32>().ok()).unwrap_or(0)
    };
    let is = |year: usize, months: [usize; 2]| {
        let [month, day] = months.map(number);
        (1900..2100).contains(&number(year))
            && (1..=31).contains(&month.max(day))
            && (1..=12).contains(&month.min(day))
    };
    let date = match lengths.as_slice() {
        [4, 2, 2, rest @ ..] => is(0, [1, 2]) && rest.iter().all(|length| *length <= 3),
        [2, 2, 4, rest @ ..] => is(2, [0, 1]) && rest.iter().all(|length| *length <= 3),
        _ => false,
    };
    let separator = groups.first().map_or(0, |group| byte(text.as_bytes(), group.end));
    date && matches!(separator, b'-' | b'/' | b'.') || lengths.len() == 2 && separator == b'.'
}

fn one_phone(text: &str, span: Range<usize>, sink: &mut Sink<'_>) {
    let Some(number) = phone::parse(cut(text, span.clone())) else { return };
    if number.digits.len() < 8 || (number.digits.len() == 8 && !number.international) {
        return;
    }
    sink(Class::Phone, &number.digits, span.clone());
    if let Some(tail) = tail_of(&number.digits) {
        sink(Class::PhoneTail, tail, span);
    }
}

/// The last nine digits.
pub(crate) fn tail_of(digits: &str) -> Option<&str> {
    digits.len().checked_sub(9).and_then(|from| digits.get(from..))
}

/// An account with a country code from here on: groups of letters and digits. It ends where the check digits
/// say; when they fit nowhere, a payee may still read it, so each plausible end counts. Returns the end.
fn iban(text: &str, start: usize, sink: &mut Sink<'_>) -> Option<usize> {
    let bytes = text.as_bytes();
    let head = bytes.get(start..start + 4).unwrap_or_default();
    let [a, b, c, d] = head else { return None };
    if !(a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && c.is_ascii_digit() && d.is_ascii_digit()) {
        return None;
    }
    let mut confirmed = None;
    let mut plausible: Vec<(String, usize)> = Vec::new();
    let mut compact = String::new();
    let mut at = start;
    let mut group = start;
    let mut groups = 0;
    let mut crossed = false;
    while compact.len() < 34 {
        let now = byte(bytes, at);
        if now.is_ascii_alphanumeric() {
            compact.push(char::from(now.to_ascii_uppercase()));
            at += 1;
            if is_word(byte(bytes, at)) && !unspaced_at(text, at) {
                continue;
            }
            groups += 1;
            if compact.len() >= 15 && account::is_iban(&compact) {
                sink(Class::Account, &compact, start..at);
                confirmed = Some(at);
            }
            // A bank's code may be letters; a word of a sentence is no group.
            let part = cut(text, group..at);
            let fits = part.bytes().any(|b| b.is_ascii_digit()) || (groups == 2 && part.len() == 4);
            if !fits {
                break;
            }
            if groups > 1 && !crossed && (12..=34).contains(&compact.len()) {
                plausible.push((compact.clone(), at));
            }
        } else if matches!(now, b' ' | b'-' | b'.') && is_word(byte(bytes, at + 1)) {
            at += 1;
            group = at;
        } else if let Some(length) = line_break(bytes, at) {
            // Wrapped, it counts where its check digits say so.
            crossed = true;
            at += length;
            group = at;
        } else {
            break;
        }
    }
    if confirmed.is_none() {
        for (compact, end) in &plausible {
            sink(Class::Account, compact, start..*end);
        }
    }
    confirmed.or_else(|| plausible.last().map(|(_, end)| *end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, class: Class, expected: &[&str]) {
        let mut found = Vec::new();
        numbers(text, &mut |of, form, _| {
            if of == class && !found.contains(&form.to_owned()) {
                found.push(form.to_owned());
            }
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn numbers_are_bounded() {
        check("call +1 (202) 555-0143 now", Class::Phone, &["12025550143"]);
        check("call 020 7946 0958", Class::Phone, &["2079460958"]);
        check("order 9912025550143777", Class::Phone, &[]);
        check("x12025550143 12025550143y", Class::Phone, &[]);
        check("call 44-20-7946-0958 now", Class::Phone, &["442079460958", "2079460958"]);
        check("on 31.12.2026 10:30 and 12-31-2026 at 9", Class::Phone, &[]);
        check("row 1 2 0 2 5 5 5 0 1 4 3 7 8 9 0 1", Class::Phone, &[]);
        check("\u{8bf7}\u{6253}+12025550143\u{8054}\u{7cfb}", Class::Phone, &["12025550143"]);
        check("pay GB21 TEST 0000\n0012 3456 78", Class::Account, &["GB21TEST00000012345678"]);
        check("2026-01-31 12:30, total 1,202,555.01", Class::Phone, &[]);
        check("pay GB21 TEST 0000 0012 3456 78 now", Class::Account, &["GB21TEST00000012345678"]);
        let ends = ["DE1950010517", "DE19500105179934", "DE195001051799342201", "DE19500105179934220185"];
        check("use DE19 5001 0517 9934 2201 85 and settle 4", Class::Account, &ends);
        check("gb21test00000012345678", Class::Account, &["GB21TEST00000012345678"]);
    }
}
