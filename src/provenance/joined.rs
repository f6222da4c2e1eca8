//! Content that is cut into pieces: the strings of a call's arguments put together again in the order of the
//! document, so that a copied passage or a secret does not leave in parts.
//!
//! The strings of one place (`blocks[].text`) belong together, and so do all strings of a call, with and
//! without its short ones and the names of its members. Of a long string only its ends can matter, because
//! its inside is searched as it stands; so joining costs a few hundred bytes for each string, whatever its
//! length.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use super::grams::{self, SHORTEST};
use super::text::{cut, head};

/// Bytes of each end of a long string that are joined.
const END: usize = 8 * SHORTEST;
/// Stands for the inside of a long string: no text, and nothing that is folded away.
const GAP: char = '\u{fffc}';
/// Shorter strings than this, in bytes, are options that may stand between pieces.
const OPTION: usize = 16;

/// A string or name of the arguments.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    leaf: usize,
    text: &'a str,
    is_name: bool,
}

/// A string of the arguments, where it stands.
struct Leaf {
    pointer: String,
    /// The pointer with all places of an array alike.
    place: String,
}

/// Pieces put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joined {
    /// The text, case kept, without anything between the pieces.
    pub(super) text: String,
    /// The text as it is compared, once without anything and once with a space between the pieces.
    pub(super) normal: [String; 2],
    /// Where each piece begins in `text` and in both forms of `normal`, and the pointer of its string.
    starts: Vec<(usize, [usize; 2], String)>,
}

impl Joined {
    fn of(pieces: &[Piece<'_>], leaves: &[Leaf]) -> Option<Self> {
        let long = pieces.iter().map(|piece| piece.text.len()).sum::<usize>() >= super::secret::SHORTEST;
        if pieces.len() < 2 || !long {
            return None;
        }
        let mut joined = Self { text: String::new(), normal: Default::default(), starts: Vec::new() };
        for piece in pieces {
            let text = ends(piece.text);
            let normal = grams::normal(&text);
            let blank = text.starts_with(char::is_whitespace);
            let mut at = [0; 2];
            for ((out, at), spaced) in joined.normal.iter_mut().zip(&mut at).zip([false, true]) {
                if (spaced || blank) && !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
                *at = out.len();
                out.push_str(&normal);
            }
            let pointer = leaves.get(piece.leaf).map(|leaf| leaf.pointer.clone()).unwrap_or_default();
            joined.starts.push((joined.text.len(), at, pointer));
            joined.text.push_str(&text);
        }
        Some(joined)
    }

    /// The pointer of the string that holds a place of `text`.
    pub(super) fn pointer(&self, at: usize) -> &str {
        self.pointer_of(self.holder(|(start, ..)| *start, at))
    }

    /// The pointer of the first of the strings that a run of `normal[form]` is spread over; `None` when one
    /// holds it all.
    pub(super) fn spread(&self, form: usize, run: &Range<usize>) -> Option<&str> {
        let start = |piece: &(usize, [usize; 2], String)| piece.1.get(form).copied().unwrap_or(0);
        let (first, last) = (self.holder(start, run.start), self.holder(start, run.end.saturating_sub(1)));
        (first != last).then(|| self.pointer_of(first))
    }

    fn holder(&self, start: impl Fn(&(usize, [usize; 2], String)) -> usize, at: usize) -> usize {
        self.starts.partition_point(|piece| start(piece) <= at).saturating_sub(1)
    }

    fn pointer_of(&self, piece: usize) -> &str {
        self.starts.get(piece).map_or("", |(.., pointer)| pointer)
    }

    /// Where pieces begin in `text`.
    pub(super) fn starts(&self) -> impl Iterator<Item = usize> {
        self.starts.iter().map(|(start, ..)| *start)
    }
}

/// A text without the inside that no passage across its ends can reach.
fn ends(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= 2 * END {
        return text.into();
    }
    let tail = head(text, text.len() - END).len();
    format!("{}{GAP}{}", head(text, END), cut(text, tail..text.len())).into()
}

/// All ways in which the strings of the arguments belong together.
pub(super) fn joined(arguments: &Value) -> Vec<Joined> {
    let (leaves, pieces) = pieces(arguments);
    if pieces.len() < 2 {
        return Vec::new();
    }
    let strings: Vec<Piece<'_>> = pieces.iter().copied().filter(|piece| !piece.is_name).collect();
    let content: Vec<Piece<'_>> =
        strings.iter().copied().filter(|piece| piece.text.len() >= OPTION).collect();
    let mut places: BTreeMap<&str, Vec<Piece<'_>>> = BTreeMap::new();
    for piece in &strings {
        let place = leaves.get(piece.leaf).map_or("", |leaf| leaf.place.as_str());
        places.entry(place).or_default().push(*piece);
    }
    let mut sequences: Vec<&[Piece<'_>]> = places.values().map(Vec::as_slice).collect();
    sequences.retain(|place| place.len() < strings.len());
    if content.len() < strings.len() {
        sequences.push(&content);
    }
    sequences.extend([strings.as_slice(), pieces.as_slice()]);
    sequences.into_iter().filter_map(|sequence| Joined::of(sequence, &leaves)).collect()
}

/// The strings and names of the arguments in the order of the document.
fn pieces(arguments: &Value) -> (Vec<Leaf>, Vec<Piece<'_>>) {
    let (mut leaves, mut pieces) = (Vec::new(), Vec::new());
    let mut open = vec![(String::new(), String::new(), None, arguments)];
    while let Some((pointer, place, name, value)) = open.pop() {
        let leaf = leaves.len();
        let named: Option<&str> = name;
        pieces.extend(named.map(|text| Piece { leaf, text, is_name: true }));
        match value {
            Value::String(text) => pieces.push(Piece { leaf, text, is_name: false }),
            Value::Array(items) => {
                let below = |(at, item)| (format!("{pointer}/{at}"), format!("{place}/*"), None, item);
                open.extend(items.iter().enumerate().rev().map(below));
            }
            Value::Object(members) => open.extend(members.iter().rev().map(|(key, member)| {
                let step = key.replace('~', "~0").replace('/', "~1");
                (format!("{pointer}/{step}"), format!("{place}/{step}"), Some(key.as_str()), member)
            })),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
        leaves.push(Leaf { pointer, place });
    }
    (leaves, pieces)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_come_together_by_place_and_by_call() {
        let arguments = json!({
            "kind": "page",
            "blocks": [{"type": "p", "text": "the first part of "}, {"type": "p", "text": "and what was copied"}],
            "tail": "and its last part"
        });
        let texts: Vec<String> = joined(&arguments).into_iter().map(|joined| joined.text).collect();
        assert!(texts.contains(&"the first part of and what was copied".to_owned()), "{texts:?}");
        assert!(
            texts.contains(&"the first part of and what was copiedand its last part".to_owned()),
            "{texts:?}"
        );
    }

    #[test]
    fn a_long_string_is_joined_by_its_ends_only() {
        let long = format!("{}é{}", "a".repeat(9 * SHORTEST), "b".repeat(1 << 20));
        for joined in joined(&json!([long, "é".repeat(2_000), "the end of the list"])) {
            assert!(joined.text.len() < 5 * END, "{}", joined.text.len());
            assert_eq!(joined.pointer(joined.text.len() - 1), "/2");
        }
    }
}
