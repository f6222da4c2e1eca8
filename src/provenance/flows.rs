//! Content that leaves: runs of text that one upstream showed, standing in the arguments of a call to
//! another; and secret-shaped values, also under encodings.

use serde_json::Value;

use super::engine::Engine;
use super::fold::fold;
use super::grams;
use super::index::{Chunk, Passage, order};
use super::secret::secrets;
use super::sent::mixed;
use super::text::{around, cut};
use super::{Floor, Place, decode};

/// Most flows that one call is told of.
const MOST_FLOWS: usize = 16;
/// Most blocks that are read for one call.
const MOST_BLOCKS: usize = 64;

/// A run of text that another upstream showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// RFC 6901 pointer of the argument that carries it.
    pub pointer: String,
    /// Where it was shown.
    pub from: Place,
    /// Its length in folded characters, 64 or more.
    pub chars: usize,
}

/// A passage of a block: where it starts, its folded text, and what it is.
type Part = (usize, String, Passage);

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
    /// Notes samples of a text.
    pub(crate) fn sample(&mut self, text: &str, chunks: &[Chunk]) {
        if text.len() < grams::SHORTEST {
            return;
        }
        let key = self.gram_key();
        for chunk in chunks {
            let normal = grams::normal(cut(text, chunk.from..chunk.from + chunk.length));
            for (_, hash) in grams::samples(&normal, key) {
                self.grams.insert(hash, chunk.block);
            }
        }
    }

    /// Runs of 64 or more folded characters in the arguments that an upstream showed: one for each argument
    /// and other upstream, and for each argument and call of `to` itself. What was sent to `to` before does
    /// not count.
    pub fn flows(&self, arguments: &Value, to: &str) -> Vec<Flow> {
        let target = self.names.iter().position(|name| name == to).and_then(|at| u32::try_from(at).ok());
        let mut flows: Vec<Flow> = Vec::new();
        let mut read = 0;
        let mut cache: Option<(u32, Vec<Part>)> = None;
        for (pointer, text) in texts(arguments) {
            let ours = grams::normal(&text);
            let mut covered = 0;
            for (at, hash) in grams::samples(&ours, self.gram_key()) {
                let known = target.is_some_and(|target| self.sent_grams.contains(&mixed(target, hash)));
                if at < covered || known {
                    continue;
                }
                for block in self.grams.find(hash, self.store.current()) {
                    if flows.len() >= MOST_FLOWS {
                        return flows;
                    }
                    if cache.as_ref().is_none_or(|(cached, _)| *cached != block) {
                        read += 1;
                        if read > MOST_BLOCKS {
                            return flows;
                        }
                        let Some((text, passages)) = self.store.read(block) else { continue };
                        let parts = passages
                            .into_iter()
                            .map(|passage| {
                                let part = cut(&text, passage.start..passage.start + passage.length);
                                (passage.start, grams::normal(part), passage)
                            })
                            .collect();
                        cache = Some((block, parts));
                    }
                    let Some((_, parts)) = &cache else { continue };
                    for (start, theirs, passage) in parts {
                        let order = order(block, u32::try_from(*start).unwrap_or(u32::MAX));
                        let Some((_, meta)) = self.record_at(order) else { continue };
                        let Some((run, place)) = grams::common(&ours, at, theirs) else { continue };
                        covered = covered.max(run.end);
                        let upstream = self.name_of(meta.upstream);
                        let chars = cut(&ours, run.clone()).chars().count().max(grams::SHORTEST);
                        let is_own = Some(meta.upstream) == target;
                        let same = flows.iter_mut().find(|flow| {
                            flow.pointer == pointer
                                && flow.from.upstream == upstream
                                && (!is_own || flow.from.call == meta.call)
                        });
                        if let Some(flow) = same {
                            flow.chars = flow.chars.max(chars);
                            continue;
                        }
                        let excerpt = around(theirs, place..place, 0, 200);
                        flows.push(Flow {
                            pointer: pointer.clone(),
                            from: Place {
                                kind: passage.kind,
                                floor: Floor::Ask,
                                upstream,
                                tool: meta.tool.map(|tool| self.name_of(tool)),
                                call: meta.call,
                                path: passage.path.clone(),
                                range: (passage.offset, passage.offset + passage.length),
                                chain: passage.chain.clone(),
                                excerpt: cut(theirs, excerpt).to_owned(),
                                exact: false,
                                whole: run.len() == theirs.len(),
                            },
                            chars,
                        });
                    }
                }
            }
        }
        flows
    }
}

/// Secret-shaped values in the arguments, as they stand and one or two encodings down.
pub fn secrets_in(arguments: &Value) -> Vec<SecretIn> {
    let mut found: Vec<SecretIn> = Vec::new();
    for (pointer, text) in texts(arguments) {
        for secret in secrets(&text) {
            let value = cut(&text, secret.range.0..secret.range.1).to_owned();
            if !found.iter().any(|known| known.value == value && known.pointer == pointer) {
                found.push(SecretIn { pointer: pointer.clone(), shape: secret.shape, value });
            }
        }
    }
    found
}

/// All strings and keys of the arguments with their pointers, and what they decode to.
fn texts(arguments: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), arguments)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::String(text) => decoded(&pointer, text, &mut found),
            Value::Array(items) => {
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
    found
}

fn decoded(pointer: &str, text: &str, found: &mut Vec<(String, String)>) {
    let mut budget = text.len() * 2 + 4096;
    let mut open = vec![(text.to_owned(), 0)];
    while let Some((text, depth)) = open.pop() {
        if depth < 2 {
            let view = fold(&text);
            for derived in decode::derive(&text, &view.text, &[]) {
                if derived.text.len() <= budget {
                    budget -= derived.text.len();
                    open.push((derived.text, depth + 1));
                }
            }
        }
        found.push((pointer.to_owned(), text));
    }
}
