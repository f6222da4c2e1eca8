//! Content that leaves: runs of text that one upstream showed, standing in the arguments of a call to
//! another; and secret-shaped values, also under encodings; either also spread over several arguments.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Place;
use super::copied::{Leaves, Search};
use super::decode;
use super::engine::Engine;
use super::grams;
use super::index::Chunk;
use super::joined::joined;
use super::secret::{Secret, secrets, secrets_across};
use super::text::cut;

/// A run of text that an upstream showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// RFC 6901 pointer of the argument that carries it.
    pub pointer: String,
    /// Where it was shown.
    pub from: Place,
    /// The container that it leaves, where it stays at its upstream.
    pub container: Option<String>,
    /// Its length in folded characters, 64 or more; `None` where something stands in the arguments that was
    /// shown there, and how much is not known because the text is no longer kept.
    pub chars: Option<usize>,
}

impl Flow {
    /// Whether both leave the same place.
    pub(super) fn is_from_where(&self, other: &Self) -> bool {
        self.from.upstream == other.from.upstream && self.container == other.container
    }
}

/// The flows of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flows {
    /// One for each argument and place that it leaves.
    pub found: Vec<Flow>,
    /// Whether there may be others: not everything was looked at.
    pub cut: bool,
}

/// A secret-shaped value in arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretIn {
    /// RFC 6901 pointer of the argument that carries it.
    pub pointer: String,
    /// What it looks like.
    pub shape: &'static str,
    /// The value, decoded.
    pub value: String,
}

impl Engine {
    /// Notes samples of a text, which is given folded, too.
    pub(crate) fn sample(&mut self, text: &str, folded: &str, chunks: &[Chunk]) {
        if text.len() < grams::SHORTEST {
            return;
        }
        let key = self.gram_key();
        for chunk in chunks {
            let normal = if chunks.len() == 1 && !text.is_ascii() {
                grams::squeezed(folded)
            } else {
                grams::normal(cut(text, chunk.from..chunk.from + chunk.length))
            };
            for (_, hash) in grams::samples(&normal, key) {
                self.grams.insert(hash, chunk.block);
            }
        }
    }

    /// Runs of 64 or more folded characters in the arguments that an upstream showed, where `leaving` says that
    /// it leaves: one for each argument and place. One that is spread over several arguments is told only
    /// where nothing else of its place is, by its first piece. What was sent to `to` before does not count.
    pub fn flows(&self, arguments: &Value, to: &str, leaving: &mut dyn FnMut(&str, u64) -> Leaves) -> Flows {
        let mut search = Search::new(self, to, leaving);
        let (texts, whole) = texts(arguments);
        search.cut |= !whole;
        for (pointer, text) in texts {
            search.text(&grams::normal(&text), &|_, _, _| Some(pointer.clone()));
        }
        for joined in joined(arguments) {
            let is_new = |flows: &[Flow], flow: &Flow| !flows.iter().any(|known| known.is_from_where(flow));
            for (form, normal) in joined.normal.iter().enumerate() {
                search.text(normal, &|flows, run, flow| {
                    let first = run.map_or(Some(joined.pointer(0)), |run| joined.spread(form, run));
                    first.filter(|_| is_new(flows, flow)).map(str::to_owned)
                });
            }
            let (derived, whole) = decode::decoded(&joined.text);
            search.cut |= !whole;
            for decoded in derived {
                search.text(&grams::normal(&decoded.text), &|flows, _, flow| {
                    is_new(flows, flow).then(|| joined.pointer(0).to_owned())
                });
            }
        }
        Flows { found: search.flows, cut: search.cut }
    }

    /// Secrets in the arguments of a call to `to`: by their shape, and what another upstream showed as one.
    pub fn secrets(&self, arguments: &Value, to: &str) -> Vec<SecretIn> {
        secrets_in(arguments, &|text| self.labelled.in_text(text, to))
    }

    /// Whether another upstream than this one showed anything.
    pub fn shows_elsewhere(&self, upstream: &str) -> bool {
        self.records
            .iter()
            .any(|meta| self.names.get(meta.upstream as usize).is_none_or(|name| name != upstream))
    }
}

/// What a value is called that only its label told.
const LABELLED: &str = "secret value";

/// Secret-shaped values in the arguments, as they stand and one or two encodings down, and those that are
/// spread over several arguments, by their first piece; and values that `known` finds in a text.
fn secrets_in(arguments: &Value, known: &dyn Fn(&str) -> BTreeSet<String>) -> Vec<SecretIn> {
    let mut found: Vec<SecretIn> = Vec::new();
    for (pointer, text) in texts(arguments).0 {
        for secret in secrets(&text) {
            let value = cut(&text, secret.range.0..secret.range.1).to_owned();
            if !found.iter().any(|known| known.value == value && known.pointer == pointer) {
                found.push(SecretIn { pointer: pointer.clone(), shape: secret.shape, value });
            }
        }
        for value in known(&text) {
            if !found.iter().any(|other| other.value.contains(&value)) {
                found.push(SecretIn { pointer: pointer.clone(), shape: LABELLED, value });
            }
        }
    }
    for joined in joined(arguments) {
        let across = secrets_across(&joined.text, joined.starts());
        let across = across.into_iter().map(|secret| {
            let value = cut(&joined.text, secret.range.0..secret.range.1);
            (joined.pointer(secret.range.0), secret.shape, value.to_owned())
        });
        let derived = decode::decoded(&joined.text).0.into_iter().flat_map(|decoded| {
            let text = &decoded.text;
            let value = |secret: Secret| (secret.shape, cut(text, secret.range.0..secret.range.1).to_owned());
            secrets(text).into_iter().map(value).collect::<Vec<_>>()
        });
        let derived = derived.map(|(shape, value)| (joined.pointer(0), shape, value));
        let labelled = known(&joined.text).into_iter().map(|value| (joined.pointer(0), LABELLED, value));
        for (pointer, shape, value) in across.chain(derived).chain(labelled).collect::<Vec<_>>() {
            // One that stands whole in an argument is told there; glued to its neighbours it is no other one.
            if !found.iter().any(|known| value.contains(&known.value) || known.value.contains(&value)) {
                found.push(SecretIn { pointer: pointer.to_owned(), shape, value });
            }
        }
    }
    found
}

/// A list of numbers as text: characters are written so, too.
fn codes_of(items: &[Value]) -> Option<String> {
    let codes =
        items.iter().map(|item| item.as_u64().filter(|code| *code < 1 << 21).map(|code| code.to_string()));
    let codes: Option<Vec<String>> = codes.collect();
    codes.filter(|codes| codes.len() >= super::secret::SHORTEST).map(|codes| codes.join(" "))
}

/// All strings and keys of the arguments with their pointers, and what they decode to; and whether that is all
/// that they decode to.
fn texts(arguments: &Value) -> (Vec<(String, String)>, bool) {
    let mut found = Vec::new();
    let mut whole = true;
    let mut open = vec![(String::new(), arguments)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::String(text) => {
                let (derived, all) = decode::decoded(text);
                whole &= all;
                found.extend(derived.into_iter().map(|decoded| (pointer.clone(), decoded.text)));
                found.push((pointer, text.clone()));
            }
            Value::Array(items) => {
                if let Some(codes) = codes_of(items) {
                    let (derived, all) = decode::decoded(&codes);
                    whole &= all;
                    found.extend(derived.into_iter().map(|decoded| (pointer.clone(), decoded.text)));
                }
                open.extend(items.iter().enumerate().map(|(at, item)| (format!("{pointer}/{at}"), item)));
            }
            Value::Object(members) => {
                for (key, member) in members {
                    let below = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                    // A key and its value are one assignment.
                    if let Value::String(text) = member
                        && text.len() < 512
                        && !text.contains('\n')
                    {
                        found.push((below.clone(), format!("{key}={text}")));
                    }
                    found.push((below.clone(), key.clone()));
                    open.push((below, member));
                }
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }
    (found, whole)
}
