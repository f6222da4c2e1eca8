//! Keyed fingerprints of atoms, of words and of pairs of words, and the cutting of a text into words.
//!
//! Each is `SipHash` over one byte that says what it is and the text. Whoever shows texts does not know the key, so
//! nobody can choose two that collide.

use siphasher::sip::SipHasher13;

use super::index::Signature;

/// The byte before a word. It stands in no text.
const WORD: u8 = 0xff;

/// The fingerprint of a word.
pub(crate) fn word_print(key: &[u8; 16], word: &str) -> u64 {
    print(key, WORD, word)
}

/// The fingerprint of a text that is of some class.
pub(crate) fn print(key: &[u8; 16], class: u8, text: &str) -> u64 {
    const SHORT: usize = 64;
    let hasher = SipHasher13::new_with_key(key);
    let mut short = [class; SHORT];
    // In one piece it is hashed several times as fast as byte and text one after the other.
    match short.get_mut(1..=text.len()) {
        Some(place) => {
            place.copy_from_slice(text.as_bytes());
            hasher.hash(short.get(..=text.len()).unwrap_or_default())
        }
        None => hasher.hash(&[&[class], text.as_bytes()].concat()),
    }
}

/// The fingerprint of two neighbouring words.
pub(crate) fn pair(first: u64, second: u64) -> u64 {
    (first.rotate_left(17) ^ second).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Hands on the fingerprint of each word of a folded text in small letters, and of each pair of neighbouring words.
/// `open` is asked, where there is a word, for whoever takes them. The buffer saves an allocation.
pub(crate) fn words<'a>(
    key: &[u8; 16],
    folded: &str,
    buffer: &mut Vec<u8>,
    open: impl FnOnce() -> Option<Signature<'a>>,
) {
    apart(folded, buffer);
    if buffer.iter().all(|b| *b == WORD) {
        return;
    }
    let Some(mut signature) = open() else { return };
    let hasher = SipHasher13::new_with_key(key);
    let mut before = None;
    let mut gap = 0;
    for_each_gap(buffer, |at| {
        // The byte before the word is hashed with it.
        let word = buffer.get(gap..at).unwrap_or_default();
        gap = at;
        if word.len() < 2 {
            return;
        }
        let print = hasher.hash(word);
        signature.add(print);
        if let Some(before) = before {
            signature.add(pair(before, print));
        }
        before = Some(print);
    });
}

/// Calls `each` with the places of [`WORD`], which are looked for in eight bytes at a time.
fn for_each_gap(buffer: &[u8], mut each: impl FnMut(usize)) {
    let (parts, rest) = buffer.as_chunks::<8>();
    let mut start = 0;
    for part in parts {
        let eight = u64::from_le_bytes(*part);
        // Only where all seven lower bits are set does one more reach the eighth.
        let mut gaps =
            ((eight & 0x7f7f_7f7f_7f7f_7f7f) + 0x0101_0101_0101_0101) & eight & 0x8080_8080_8080_8080;
        while gaps != 0 {
            each(start + (gaps.trailing_zeros() / 8) as usize);
            gaps &= gaps - 1;
        }
        start += 8;
    }
    for (at, byte) in (start..).zip(rest) {
        if *byte == WORD {
            each(at);
        }
    }
}

/// Writes a text in small letters, with [`WORD`] in place of all that is no letter or digit, before it and after.
fn apart(text: &str, out: &mut Vec<u8>) {
    out.clear();
    out.push(WORD);
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|b| b >= 0x80).unwrap_or(rest.len());
        let (ascii, other) = rest.split_at_checked(plain).unwrap_or_default();
        out.extend(ascii.bytes().map(|b| {
            let small = b | 0x20;
            let letter = if small.is_ascii_lowercase() { small } else { WORD };
            if b.is_ascii_digit() { b } else { letter }
        }));
        let end = other.bytes().position(|b| b < 0x80).unwrap_or(other.len());
        let (other, tail) = other.split_at_checked(end).unwrap_or_default();
        for c in other.chars().flat_map(char::to_lowercase) {
            if c.is_alphanumeric() {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                out.push(WORD);
            }
        }
        rest = tail;
    }
    out.push(WORD);
}

#[cfg(test)]
mod tests {
    use std::hash::Hasher as _;

    use super::*;
    use crate::provenance::fold::lower;
    use crate::provenance::index::Phrases;

    const KEY: [u8; 16] = [7; 16];

    #[test]
    fn a_print_is_siphash_of_class_and_text() {
        for length in [0, 1, 6, 7, 8, 62, 63, 64, 65, 1000] {
            let text = "\u{e9}x".repeat(length).chars().take(length).collect::<String>();
            let mut hasher = SipHasher13::new_with_key(&KEY);
            hasher.write_u8(5);
            hasher.write(text.as_bytes());
            assert_eq!(print(&KEY, 5, &text), hasher.finish(), "{text}");
        }
    }

    #[test]
    fn words_are_what_letters_and_digits_make() {
        for text in
            ["", "One two, THREE", "x", " \u{130}stanbul \u{3a3}\u{3c2}1 \u{65e5}\u{672c} a\u{b7}b-9", "--a"]
        {
            let small = lower(text);
            let mut expected = Phrases::default();
            let mut before = None;
            for word in small.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                let print = word_print(&KEY, word);
                let mut signature = expected.signature(3).unwrap_or_else(|| panic!());
                signature.add(print);
                if let Some(before) = before {
                    signature.add(pair(before, print));
                }
                before = Some(print);
            }
            let mut found = Phrases::default();
            words(&KEY, text, &mut Vec::new(), || found.signature(3));
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
        }
    }
}
