//! The search for copied text: runs of 64 or more folded characters that stood in what upstreams showed.
//!
//! What is looked at is bounded, and what was not looked at is said: a block too many cuts the search, and
//! text that is no longer kept is a flow of unknown length from each upstream that may have shown it.
//! Which records matter at all is the caller's to say (`flows.rs`); the others are never read.

use std::collections::BTreeMap;
use std::ops::Range;

use super::engine::{Engine, Meta};
use super::flows::Flow;
use super::grams;
use super::index::{Passage, order};
use super::sent::mixed;
use super::text::{around, cut};
use super::{Floor, Place};

/// Most flows that one call is told of.
const MOST_FLOWS: usize = 16;
/// Most blocks of 64 KiB that are read for one call.
const MOST_BLOCKS: usize = 128;
/// Most bytes that are compared for one call.
const MOST_COMPARED: usize = 32 * 1024 * 1024;

/// Whether content that was shown in a call leaves, if it stands in the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaves {
    /// It stays where it is known.
    No,
    /// It leaves its upstream.
    Upstream,
    /// It stays at its upstream, and leaves this container there.
    Container(String),
}

/// Says of an upstream and a call of it whether what was shown there leaves.
pub(super) type Leaving<'a> = dyn FnMut(&str, u64) -> Leaves + 'a;

/// Says in which argument a flow stands, or that it is not told: by what was told before, the run in the text
/// where it is known, and the flow.
pub(super) type Told<'a> = dyn Fn(&[Flow], Option<&Range<usize>>, &Flow) -> Option<String> + 'a;

/// A passage of a block of which the content leaves.
struct Part {
    passage: Passage,
    /// The number of its record.
    record: usize,
    text: String,
    /// Its samples by their hash, and where each stands.
    samples: Vec<(u64, usize)>,
}

/// A search for what upstreams showed.
pub(super) struct Search<'s, 'l> {
    engine: &'s Engine,
    /// The upstream that the arguments go to.
    target: Option<u32>,
    leaving: &'s mut Leaving<'l>,
    /// What of each record leaves, by its number.
    leaves: BTreeMap<usize, Leaves>,
    /// What was found in each block that shares a sample: nothing where none of it leaves or is kept.
    blocks: BTreeMap<u32, Vec<Part>>,
    /// How many of them were read.
    read: usize,
    compared: usize,
    /// How many blocks may be read, and how many bytes compared.
    most: (usize, usize),
    /// Whether what is no longer even sampled was told.
    lost: bool,
    pub(super) flows: Vec<Flow>,
    /// Whether something was not looked at.
    pub(super) cut: bool,
}

impl<'s, 'l> Search<'s, 'l> {
    /// A search for what leaves for `to`.
    pub(super) fn new(engine: &'s Engine, to: &str, leaving: &'s mut Leaving<'l>) -> Self {
        let target = engine.names.iter().position(|name| name == to).and_then(|at| u32::try_from(at).ok());
        Self {
            engine,
            target,
            leaving,
            leaves: BTreeMap::new(),
            blocks: BTreeMap::new(),
            read: 0,
            compared: 0,
            most: (MOST_BLOCKS, MOST_COMPARED),
            lost: false,
            flows: Vec::new(),
            cut: false,
        }
    }

    /// Looks for a folded text.
    pub(super) fn text(&mut self, ours: &str, told: &Told<'_>) {
        let engine = self.engine;
        let mut covered = 0;
        for (at, hash) in grams::samples(ours, engine.gram_key()) {
            let known = self.target.is_some_and(|target| engine.sent_grams.contains(&mixed(target, hash)));
            if at < covered || known {
                continue;
            }
            self.lost(told);
            for block in engine.grams.find(hash, engine.store.current()) {
                covered = covered.max(self.block(ours, (at, hash), block, told));
            }
        }
    }

    /// FAIL CLOSED: of what is no longer even sampled anything may leave.
    fn lost(&mut self, told: &Told<'_>) {
        let Some(block) = self.engine.grams.gone().filter(|_| !self.lost) else { return };
        self.lost = true;
        for record in self.leaving(0, block) {
            self.unread(record, told);
        }
    }

    /// Notes the runs around a sample that a block shares; returns where the longest ends.
    fn block(&mut self, ours: &str, sample: (usize, u64), block: u32, told: &Told<'_>) -> usize {
        let parts = self.blocks.remove(&block).unwrap_or_else(|| self.open(block, told));
        let ends = parts.iter().map(|part| self.part(ours, sample, part, told));
        let end = ends.max().unwrap_or(0);
        self.blocks.insert(block, parts);
        end
    }

    /// Reads a block. What it holds and cannot be looked at is told at once.
    fn open(&mut self, block: u32, told: &Told<'_>) -> Vec<Part> {
        let records = self.leaving(block, block);
        if records.is_empty() {
            return Vec::new();
        }
        if self.read >= self.most.0 {
            self.cut |= records.iter().any(|record| self.adds(&self.flow(*record), told));
            return Vec::new();
        }
        self.read += 1;
        self.read(block).unwrap_or_else(|| {
            // FAIL CLOSED: what shared a sample may have shared more.
            for record in records {
                self.unread(record, told);
            }
            Vec::new()
        })
    }

    /// The records of which text stands in these blocks and the content leaves.
    fn leaving(&mut self, first: u32, last: u32) -> Vec<usize> {
        let records = &self.engine.records;
        let from = self.engine.record_at(order(first, 0)).map_or(0, |(at, _)| at);
        let to = records.partition_point(|meta| meta.order < order(last.saturating_add(1), 0));
        (from..to).filter(|record| *self.of(*record) != Leaves::No).collect()
    }

    /// Whether the content of a record leaves.
    fn of(&mut self, record: usize) -> &Leaves {
        let (engine, leaving) = (self.engine, &mut *self.leaving);
        self.leaves.entry(record).or_insert_with(|| {
            let meta = engine.records.get(record);
            meta.map_or(Leaves::No, |meta| leaving(&engine.name_of(meta.upstream), meta.call))
        })
    }

    /// Reads of a block the passages of which the content leaves.
    fn read(&mut self, block: u32) -> Option<Vec<Part>> {
        let engine = self.engine;
        let read = engine.store.block(block)?;
        let mut parts = Vec::new();
        for passage in read.parts().filter(|passage| passage.length >= grams::SHORTEST) {
            let at = order(block, u32::try_from(passage.start).unwrap_or(u32::MAX));
            let Some((record, _)) = engine.record_at(at) else { continue };
            if *self.of(record) == Leaves::No {
                continue;
            }
            let text = grams::normal(cut(read.text(), passage.start..passage.start + passage.length));
            // FAIL CLOSED: a directory that cannot be read is a block that was not looked at.
            let passage = read.passage(passage)?;
            let samples = grams::samples(&text, engine.gram_key());
            let mut samples: Vec<_> = samples.into_iter().map(|(at, hash)| (hash, at)).collect();
            samples.sort_unstable();
            parts.push(Part { passage, record, text, samples });
        }
        Some(parts)
    }

    /// Notes the longest run around a sample that a passage shares; returns where it ends.
    fn part(&mut self, ours: &str, (at, hash): (usize, u64), part: &Part, told: &Told<'_>) -> usize {
        let from = part.samples.partition_point(|(other, _)| *other < hash);
        let same = part.samples.iter().skip(from).take_while(|(other, _)| *other == hash);
        let mut longest: Option<(Range<usize>, usize)> = None;
        for (_, place) in same {
            if self.compared >= self.most.1 {
                self.cut |= self.adds(&self.flow(part.record), told);
                break;
            }
            let (run, compared) = grams::common(ours, at, &part.text, *place);
            self.compared += compared;
            if let Some(run) = run
                && longest.as_ref().is_none_or(|(longest, _)| longest.len() < run.0.len())
            {
                longest = Some(run);
            }
        }
        let Some((run, place)) = longest else { return 0 };
        let mut flow = self.flow(part.record);
        flow.chars = Some(cut(ours, run.clone()).chars().count().max(grams::SHORTEST));
        let excerpt = around(&part.text, place..place, 0, 200);
        let passage = &part.passage;
        flow.from = Place {
            kind: passage.kind,
            path: passage.path.clone(),
            range: (passage.offset, passage.offset + passage.length),
            chain: passage.chain.clone(),
            excerpt: cut(&part.text, excerpt).to_owned(),
            whole: run.len() == part.text.len(),
            ..flow.from
        };
        self.note(flow, Some(&run), told);
        run.end
    }

    /// Notes that text of a record may leave that is no longer kept.
    fn unread(&mut self, record: usize, told: &Told<'_>) {
        self.note(self.flow(record), None, told);
    }

    /// A flow from a record, of which no more is known.
    fn flow(&self, record: usize) -> Flow {
        let meta = self.engine.records.get(record);
        let name = |of: fn(&Meta) -> Option<u32>| meta.and_then(of).map(|name| self.engine.name_of(name));
        let container = match self.leaves.get(&record) {
            Some(Leaves::Container(container)) => Some(container.clone()),
            _ => None,
        };
        Flow {
            pointer: String::new(),
            from: Place {
                upstream: name(|meta| Some(meta.upstream)).unwrap_or_default(),
                tool: name(|meta| meta.tool),
                call: meta.map_or(0, |meta| meta.call),
                ..Place::unread(Floor::Ask)
            },
            container,
            chars: None,
        }
    }

    /// Whether a flow would be told, and none of its place is.
    fn adds(&self, flow: &Flow, told: &Told<'_>) -> bool {
        told(&self.flows, None, flow).is_some() && !self.flows.iter().any(|known| known.is_from_where(flow))
    }

    fn note(&mut self, mut flow: Flow, run: Option<&Range<usize>>, told: &Told<'_>) {
        let Some(pointer) = told(&self.flows, run, &flow) else { return };
        flow.pointer = pointer;
        let is_full = self.flows.len() >= MOST_FLOWS;
        let is_told = self.flows.iter().any(|known| known.is_from_where(&flow));
        let same = |known: &&mut Flow| known.pointer == flow.pointer && known.is_from_where(&flow);
        match self.flows.iter_mut().find(same) {
            // What was read says more than what is no longer kept.
            Some(known) if known.chars.is_none() => *known = flow,
            Some(known) => known.chars = known.chars.max(flow.chars),
            None if is_full => self.cut |= !is_told,
            None => self.flows.push(flow),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::engine::{Limits, Record, Source};
    use super::*;

    fn show(engine: &mut Engine, upstream: &str, call: u64, text: &str) {
        let message = json!({"content": [{"type": "text", "text": text}]}).to_string();
        engine.record(&Record {
            upstream,
            tool: Some("read"),
            call,
            source: Source::Result,
            message: message.as_bytes(),
            own_data: &[],
            pointed: false,
        });
    }

    #[test]
    fn a_search_that_ends_early_says_so() {
        let words =
            |from: usize, to: usize| (from..to).map(|n| format!("w{:x}", n * 7_919)).collect::<Vec<_>>();
        let long = words(0, 30_000).join(" ");
        let mut engine = Engine::new(Limits::default(), [3; 16]);
        show(&mut engine, "mail", 1, &long);
        show(&mut engine, "drive", 2, "something else");
        let check = |text: &[String], most: (usize, usize), found: usize, is_cut: bool| {
            let mut leaving = |_: &str, _: u64| Leaves::Upstream;
            let mut search = Search::new(&engine, "hub", &mut leaving);
            search.most = most;
            for text in text {
                search.text(&grams::normal(text), &|_, _, _| Some("/x".to_owned()));
            }
            assert_eq!((search.flows.len(), search.cut), (found, is_cut), "{most:?}");
        };
        let (first, last) = (words(10, 40).join(" "), words(29_000, 29_040).join(" "));
        check(&[first.clone(), last.clone()], (128, usize::MAX), 1, false);
        // What is not read would tell nothing new.
        check(&[first.clone(), last.clone()], (1, usize::MAX), 1, false);
        check(&[first.clone(), last.clone()], (0, usize::MAX), 0, true);
        check(&[words(50_000, 50_040).join(" ")], (0, usize::MAX), 0, false);
        check(&[first, last], (128, 0), 0, true);
    }
}
