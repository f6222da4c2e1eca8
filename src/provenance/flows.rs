//! Content that leaves: runs of text that one upstream showed, standing in the arguments of a call to
//! another; and secret-shaped values, also under encodings; either also spread over several arguments.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::engine::Engine;
use super::fold::fold;
use super::grams;
use super::index::{Chunk, Passage, order};
use super::joined::joined;
use super::secret::{Secret, secrets, secrets_across};
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
    /// and other upstream, and for each argument and call of `to` itself; one that is spread over several
    /// arguments only where nothing else of its place is told, by its first piece. What was sent to `to`
    /// before does not count.
    pub fn flows(&self, arguments: &Value, to: &str) -> Vec<Flow> {
        let target = self.names.iter().position(|name| name == to).and_then(|at| u32::try_from(at).ok());
        let mut search = Search { engine: self, target, flows: Vec::new(), read: 0, cache: None };
        for (pointer, text) in texts(arguments) {
            let told = |_: &[Flow], _: &Range<usize>, _: &Flow| Some(pointer.clone());
            search.text(&grams::normal(&text), &told);
        }
        for joined in joined(arguments) {
            let new = |flows: &[Flow], flow: &Flow| {
                let is_own = flow.from.upstream == to;
                !flows.iter().any(|known| {
                    known.from.upstream == flow.from.upstream
                        && (!is_own || known.from.call == flow.from.call)
                })
            };
            for (form, normal) in joined.normal.iter().enumerate() {
                search.text(normal, &|flows, run, flow| {
                    joined.spread(form, run).filter(|_| new(flows, flow)).map(str::to_owned)
                });
            }
            for text in derived(&joined.text) {
                search.text(&grams::normal(&text), &|flows, _, flow| {
                    new(flows, flow).then(|| joined.pointer(0).to_owned())
                });
            }
        }
        search.flows
    }
}

/// Says in which argument a flow stands, or that it is not told: by what was told before, the run in the text,
/// and the flow.
type Told<'a> = dyn Fn(&[Flow], &Range<usize>, &Flow) -> Option<String> + 'a;

/// A search for what upstreams showed.
struct Search<'e> {
    engine: &'e Engine,
    /// The upstream that the arguments go to.
    target: Option<u32>,
    flows: Vec<Flow>,
    /// Blocks that were read.
    read: usize,
    /// The block that was read last.
    cache: Option<(u32, Vec<Part>)>,
}

impl Search<'_> {
    /// Looks for the samples of a folded text.
    fn text(&mut self, ours: &str, told: &Told<'_>) {
        let engine = self.engine;
        let mut covered = 0;
        for (at, hash) in grams::samples(ours, engine.gram_key()) {
            let known = self.target.is_some_and(|target| engine.sent_grams.contains(&mixed(target, hash)));
            if at < covered || known {
                continue;
            }
            for block in engine.grams.find(hash, engine.store.current()) {
                if self.flows.len() >= MOST_FLOWS || !self.load(block) {
                    return;
                }
                covered = covered.max(self.runs(ours, at, block, told));
            }
        }
    }

    /// Reads a block; `false` when too many were read.
    fn load(&mut self, block: u32) -> bool {
        if self.cache.as_ref().is_some_and(|(cached, _)| *cached == block) {
            return true;
        }
        self.read += 1;
        if self.read > MOST_BLOCKS {
            return false;
        }
        let parts = self.engine.store.read(block).map(|(text, passages)| {
            let part = |passage: Passage| {
                let part = cut(&text, passage.start..passage.start + passage.length);
                (passage.start, grams::normal(part), passage)
            };
            passages.into_iter().map(part).collect()
        });
        self.cache = Some((block, parts.unwrap_or_default()));
        true
    }

    /// Notes the runs around a sample that the block shares; returns where the longest ends.
    fn runs(&mut self, ours: &str, at: usize, block: u32, told: &Told<'_>) -> usize {
        let engine = self.engine;
        let mut end = 0;
        for (start, theirs, passage) in self.cache.iter().flat_map(|(_, parts)| parts) {
            let order = order(block, u32::try_from(*start).unwrap_or(u32::MAX));
            let Some((_, meta)) = engine.record_at(order) else { continue };
            let Some((run, place)) = grams::common(ours, at, theirs) else { continue };
            end = end.max(run.end);
            let excerpt = around(theirs, place..place, 0, 200);
            let mut flow = Flow {
                pointer: String::new(),
                from: Place {
                    kind: passage.kind,
                    floor: Floor::Ask,
                    upstream: engine.name_of(meta.upstream),
                    tool: meta.tool.map(|tool| engine.name_of(tool)),
                    call: meta.call,
                    path: passage.path.clone(),
                    range: (passage.offset, passage.offset + passage.length),
                    chain: passage.chain.clone(),
                    excerpt: cut(theirs, excerpt).to_owned(),
                    exact: false,
                    whole: run.len() == theirs.len(),
                },
                chars: cut(ours, run.clone()).chars().count().max(grams::SHORTEST),
            };
            let Some(pointer) = told(&self.flows, &run, &flow) else { continue };
            flow.pointer = pointer;
            let is_own = Some(meta.upstream) == self.target;
            let same = self.flows.iter_mut().find(|known| {
                known.pointer == flow.pointer
                    && known.from.upstream == flow.from.upstream
                    && (!is_own || known.from.call == flow.from.call)
            });
            match same {
                Some(known) => known.chars = known.chars.max(flow.chars),
                None => self.flows.push(flow),
            }
        }
        end
    }
}

/// Secret-shaped values in the arguments, as they stand and one or two encodings down, and those that are
/// spread over several arguments, by their first piece.
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
    for joined in joined(arguments) {
        let across = secrets_across(&joined.text, joined.starts());
        let across = across.into_iter().map(|secret| {
            let value = cut(&joined.text, secret.range.0..secret.range.1);
            (joined.pointer(secret.range.0), secret.shape, value.to_owned())
        });
        let derived = derived(&joined.text).into_iter().flat_map(|text| {
            let value =
                |secret: Secret| (secret.shape, cut(&text, secret.range.0..secret.range.1).to_owned());
            secrets(&text).into_iter().map(value).collect::<Vec<_>>()
        });
        let derived = derived.map(|(shape, value)| (joined.pointer(0), shape, value));
        for (pointer, shape, value) in across.chain(derived).collect::<Vec<_>>() {
            // One that stands whole in an argument is told there; glued to its neighbours it is no other one.
            if !found.iter().any(|known| value.contains(&known.value) || known.value.contains(&value)) {
                found.push(SecretIn { pointer: pointer.to_owned(), shape, value });
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
    found.extend(derived(text).into_iter().map(|derived| (pointer.to_owned(), derived)));
    found.push((pointer.to_owned(), text.to_owned()));
}

/// What a text decodes to, one or two encodings down.
fn derived(text: &str) -> Vec<String> {
    let mut budget = text.len() * 2 + 4096;
    let mut found: Vec<String> = Vec::new();
    let mut open = vec![(Cow::Borrowed(text), 0)];
    while let Some((text, depth)) = open.pop() {
        if depth < 2 {
            let view = fold(&text);
            for derived in decode::derive(&text, &view.text, &[]) {
                if derived.text.len() <= budget {
                    budget -= derived.text.len();
                    open.push((Cow::Owned(derived.text), depth + 1));
                }
            }
        }
        if depth > 0 {
            found.push(text.into_owned());
        }
    }
    found
}
