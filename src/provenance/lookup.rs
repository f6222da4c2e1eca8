//! Answering: the places a value stood in, with their evidence.

use std::collections::BTreeMap;

use super::atoms::{self, Class};
use super::canon::{phone, strict_form};
use super::decode;
use super::engine::{Engine, is_firm};
use super::fold::{fold, lower};
use super::index::{LONGEST, Look, Occurrence, Passage};
use super::prints::pair;
use super::query::{self, Form};
use super::take::own_form;
use super::text::{around, cut};
use super::{Alteration, AlterationSize, Decoding, Destination, Floor, Kind, Place, PlaceKind, Trace};

/// Most places of one kind in an answer.
const MOST_A_KIND: usize = 3;
/// Most blocks that are read for a phrase.
const MOST_BLOCKS: usize = 48;
/// Most blocks whose passages are decoded again for a phrase.
const MOST_CODED: usize = 3;
/// Most bytes between two words of a phrase.
const WIDEST_GAP: usize = 8;

/// What a lookup looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Slots of the tables.
    pub slots: usize,
    /// Blocks of text that may hold a phrase and are read.
    pub blocks: usize,
}

/// A hit before its evidence is read.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    block: u32,
    offset: usize,
    length: usize,
    order: u64,
    kind: PlaceKind,
    look: Look,
    floor: Floor,
    chain: Vec<Decoding>,
    class: Class,
    /// The form that was found; for a phrase its words.
    form: String,
}

impl Engine {
    /// Where a destination came from: the places it stood in, oldest first within a kind.
    ///
    /// `places` is empty when it was not traced, which never is a reason to allow: the value may have been
    /// respelled in a way that nobody undoes, or been given up (`complete` is false then).
    pub fn trace(&self, destination: &Destination) -> Trace {
        let questions = query::questions(&destination.text, destination.kind);
        let mut hits: Vec<Hit> = Vec::new();
        let mut faded = false;
        for form in &questions.forms {
            faded |= self.answer(form, &mut hits);
        }
        for (phrase, chain) in &questions.phrases {
            for hit in self.phrase(&words_of(phrase), MOST_A_KIND) {
                hits.push(Hit { chain: chain.clone(), ..hit });
            }
        }
        let strict = destination.strict.as_ref().map(super::Strict::as_str);
        if destination.kind == Kind::Url
            && let Some(strict) = strict
        {
            let form = exactly(Class::Url, strict);
            faded |= self.answer(&form, &mut hits);
        }
        let own = strict.map(|strict| self.own_hits(destination.kind, strict, &hits)).unwrap_or_default();
        hits.retain(|hit| !own.iter().any(|own| own.order == hit.order));
        let altered = match strict {
            Some(strict)
                if destination.kind == Kind::Url && !hits.iter().any(|hit| hit.class == Class::Url) =>
            {
                self.altered(strict, &hits)
            }
            _ => None,
        };
        hits.extend(own);
        let mut trace = Trace { places: self.places(hits, destination), altered, complete: self.complete };
        if faded && trace.places.iter().all(|place| place.floor != Floor::Deny) {
            trace.places.push(Place::unread(Floor::Deny));
        }
        trace
    }

    /// How much a lookup of this destination looks at; the same for a short history and a long one, but for
    /// phrases of common words.
    pub fn work(&self, destination: &Destination) -> Work {
        let questions = query::questions(&destination.text, destination.kind);
        let mut work = Work::default();
        for form in &questions.forms {
            work.slots += self.table(form.class).row(self.print(form.class, &form.text));
        }
        for (phrase, _) in &questions.phrases {
            let keys = self.phrase_keys(&words_of(phrase));
            work.blocks += self.phrases.candidates(&keys).len().min(MOST_BLOCKS);
            work.blocks += self.coded_phrases.candidates(&keys).len().min(MOST_CODED);
        }
        work
    }

    /// Whether a destination was traced as a whole, without the evidence that [`Engine::trace`] reads.
    pub fn is_traced(&self, destination: &Destination) -> bool {
        let questions = query::questions(&destination.text, destination.kind);
        let deny = |form: &&Form| form.floor == Floor::Deny && form.digits.is_none();
        questions.forms.iter().filter(deny).any(|form| {
            let print = self.print(form.class, &form.text);
            let faded = if is_firm(form.class) { &self.faded_firm } else { &self.faded_plain };
            self.table(form.class).contains(print) || faded.contains(print)
        }) || questions.phrases.iter().any(|(phrase, _)| !self.phrase(&words_of(phrase), 1).is_empty())
    }

    /// Whether a line of text stands in any record, as words in this order.
    pub fn holds_text(&self, text: &str) -> bool {
        let words = words_of(text);
        if words.is_empty() || words.len() > 4096 {
            return false;
        }
        if !self.phrase(&words, 1).is_empty() {
            return true;
        }
        let view = fold(text.trim());
        let token = atoms::token_form(&view.text);
        let leaf = atoms::leaf_form(&view.text);
        atoms::is_specific(&token) && self.plain.contains(self.print(Class::Token, &token))
            || leaf.is_some_and(|leaf| self.plain.contains(self.print(Class::Leaf, &leaf)))
    }

    /// Whether a line of text stands in any record, or may have stood in one that was given up. Of what is no
    /// token of its own, nothing is known once its text is gone.
    pub fn may_hold(&self, text: &str) -> bool {
        if self.complete || self.holds_text(text) {
            return self.holds_text(text);
        }
        let view = fold(text.trim());
        let token = atoms::token_form(&view.text);
        let leaf = atoms::leaf_form(&view.text);
        let is_known = atoms::is_specific(&token) && !self.lost_plain;
        !is_known
            || self.faded_plain.contains(self.print(Class::Token, &token))
            || leaf.is_some_and(|leaf| self.faded_plain.contains(self.print(Class::Leaf, &leaf)))
    }

    /// Looks one form up; says whether it was found only among what was given up.
    fn answer(&self, form: &Form, hits: &mut Vec<Hit>) -> bool {
        let print = self.print(form.class, &form.text);
        let found = self.table(form.class).find(print);
        let any = !found.is_empty();
        for occurrence in found {
            let hit = hit_of(occurrence, form);
            if form.digits.as_ref().is_none_or(|digits| self.same_number(&hit, digits)) {
                hits.push(hit);
            }
        }
        let faded = if is_firm(form.class) { &self.faded_firm } else { &self.faded_plain };
        !any && form.floor == Floor::Deny && form.digits.is_none() && faded.contains(print)
    }

    /// Whether the number at a hit is the same as one with these digits (`+` first when international): equal,
    /// or one ends in the other, unless two country codes differ. What cannot be read again counts.
    fn same_number(&self, hit: &Hit, digits: &str) -> bool {
        let Some((text, passage)) = self.store.passage(hit.block, hit.offset) else { return true };
        let start = hit.offset - passage.start;
        let other = match hit.look {
            Look::Coded => self
                .decoded_again(&text, start..start + hit.length, &hit.form, hit.class)
                .map(|again| again.1),
            _ => Some(cut(&text, start..start + hit.length).to_owned()),
        };
        let Some(other) = other.and_then(|other| phone::parse(&fold(&other).text)) else { return true };
        let (ours, international) = match digits.strip_prefix('+') {
            Some(rest) => (rest, true),
            None => (digits, false),
        };
        ours == other.digits
            || !other.international && ours.ends_with(&other.digits)
            || !international && other.digits.ends_with(ours)
    }

    /// Own data by STRICT form. What stood in untrusted text in an earlier record is planted.
    fn own_hits(&self, kind: Kind, strict: &str, hits: &[Hit]) -> Vec<Hit> {
        let mut own = Vec::new();
        self.answer(&exactly(Class::Own, &own_form(kind, strict)), &mut own);
        let before = hits
            .iter()
            .filter(|hit| hit.floor == Floor::Deny)
            .filter(|hit| matches!(hit.kind, PlaceKind::FreeText | PlaceKind::PointedText))
            .filter_map(|hit| self.record_at(hit.order).map(|(record, _)| record))
            .min();
        for hit in &mut own {
            let record = self.record_at(hit.order).map(|(record, _)| record);
            if hit.kind == PlaceKind::OwnData && before.is_some_and(|before| Some(before) < record) {
                hit.kind = PlaceKind::Planted;
            }
        }
        own
    }

    /// Places where a row of words stands, at most `most` of each kind.
    fn phrase_hits(&self, words: &[String], block: u32, layered: bool, most: usize) -> Vec<Hit> {
        let mut hits = Vec::new();
        let Some(read) = self.store.block(block) else { return hits };
        let text = read.text();
        // ASCII case is all that folding changes in most passages: one look for the longest word says which of
        // them may hold the row.
        let longest = words.iter().max_by_key(|word| word.len()).map_or("", String::as_str);
        let small = if layered { String::new() } else { text.to_ascii_lowercase() };
        let mut places = memchr::memmem::find_iter(small.as_bytes(), longest.as_bytes()).peekable();
        let plain = layered || text.is_ascii();
        for passage in read.parts() {
            if plain && !layered && places.peek().is_none() {
                break;
            }
            let range = passage.start..passage.start + passage.length;
            let mut named = false;
            while places.next_if(|place| *place < range.end).is_some() {
                named = true;
            }
            let part = cut(text, range);
            let found: Vec<(std::ops::Range<usize>, Look)> = if layered {
                if !passage.coded {
                    continue;
                }
                self.layers_with(part, words).into_iter().map(|range| (range, Look::Coded)).collect()
            } else {
                if !named && (plain || part.is_ascii()) {
                    continue;
                }
                in_passage(part, words)
            };
            for (range, look) in found.into_iter().take(most) {
                let offset = passage.start + range.start;
                let order = super::index::order(block, u32::try_from(offset).unwrap_or(u32::MAX));
                if self.is_echoed_phrase(order, words) {
                    continue;
                }
                hits.push(Hit {
                    block,
                    offset,
                    length: range.len(),
                    order,
                    kind: passage.kind,
                    look,
                    floor: Floor::Deny,
                    chain: Vec::new(),
                    class: Class::Leaf,
                    form: words.join(" "),
                });
            }
        }
        hits
    }

    /// The parts of a passage that decode to a text with this row of words.
    fn layers_with(&self, part: &str, words: &[String]) -> Vec<std::ops::Range<usize>> {
        let mut found = Vec::new();
        let view = fold(part);
        let first = decode::derive(part, &view.text, &[]);
        decode::layers(part, &view, first, &|text| self.word_print(text), &mut |layer| {
            if !find_words(&lower(&layer.view.text), words).is_empty() {
                found.push(layer.origin.clone());
            }
            found.is_empty()
        });
        found
    }

    /// The keys of a row of words in the signatures.
    fn phrase_keys(&self, words: &[String]) -> Vec<u64> {
        let prints: Vec<u64> = words.iter().map(|word| self.word_print(word)).collect();
        let pairs = prints.windows(2).filter_map(|both| match both {
            [first, second] => Some(pair(*first, *second)),
            _ => None,
        });
        // Pairs say most; for a long text the first words are enough to find candidates.
        pairs.chain(prints.iter().copied()).take(48).collect()
    }

    /// The places of a row of words, in plain text and in what decodes to it.
    pub(crate) fn phrase(&self, words: &[String], most: usize) -> Vec<Hit> {
        let keys = self.phrase_keys(words);
        let mut hits: Vec<Hit> = Vec::new();
        let plain = self.phrases.candidates(&keys).into_iter().take(MOST_BLOCKS).map(|block| (block, false));
        let coded =
            self.coded_phrases.candidates(&keys).into_iter().take(MOST_CODED).map(|block| (block, true));
        let mut counts: BTreeMap<PlaceKind, usize> = BTreeMap::new();
        for (block, layered) in plain.chain(coded) {
            for hit in self.phrase_hits(words, block, layered, most) {
                let count = counts.entry(hit.kind).or_default();
                *count += 1;
                if *count <= most {
                    hits.push(hit);
                }
            }
            if counts.get(&PlaceKind::FreeText).is_some_and(|count| *count >= most) {
                break;
            }
        }
        hits
    }

    /// Decodes a part of a passage again, to the text in which a form stands: the steps, and the text at the form.
    fn decoded_again(
        &self,
        text: &str,
        origin: std::ops::Range<usize>,
        form: &str,
        class: Class,
    ) -> Option<(Vec<Decoding>, String, String)> {
        let end = if origin.len() >= LONGEST { text.len() } else { origin.end };
        // The part alone first; what decodes only in its surroundings needs the whole passage.
        for part in [cut(text, origin.start..end), text] {
            let view = fold(part);
            let first = decode::derive(part, &view.text, &[]);
            let mut found = None;
            decode::layers(part, &view, first, &|text| self.word_print(text), &mut |layer| {
                let mut place = None;
                let mut see = |of: Class, other: &str, range: std::ops::Range<usize>| {
                    if place.is_none() && of == class && other == form {
                        place = Some(range);
                    }
                };
                atoms::atoms(&layer.view.text, &mut see);
                atoms::whole(&layer.view.text, true, &mut see);
                if place.is_none() && class == Class::Leaf {
                    let words: Vec<String> = form.split(' ').map(str::to_owned).collect();
                    place = find_words(&lower(&layer.view.text), &words).into_iter().next();
                }
                if let Some(range) = place {
                    let shown = around(&layer.view.text, range.clone(), 90, 90);
                    let excerpt = cut(&layer.view.text, shown).chars().take(200).collect();
                    found = Some((layer.steps.to_vec(), cut(&layer.view.text, range).to_owned(), excerpt));
                }
                found.is_none()
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn is_echoed_phrase(&self, order: u64, words: &[String]) -> bool {
        let call = self.record_at(order).map_or(0, |(_, meta)| meta.call);
        call != 0 && self.echoes.get(&call).is_some_and(|echo| echo.phrases.contains(&words.join(" ")))
    }

    /// The url read that this one is made from, when it was not read as it stands.
    fn altered(&self, strict: &str, hits: &[Hit]) -> Option<Alteration> {
        let forms = super::links::read(strict).and_then(super::urls::forms)?;
        let mut found = Vec::new();
        for (class, form) in super::urls::small_changes(&forms) {
            self.answer(&exactly(class, &form), &mut found);
            if !found.is_empty() {
                break;
            }
        }
        let size = if found.is_empty() { AlterationSize::Large } else { AlterationSize::Small };
        if found.is_empty() {
            let same_host =
                |hit: &&Hit| hit.class == Class::Host && hit.floor == Floor::Deny && hit.chain.is_empty();
            found.extend(hits.iter().filter(same_host).cloned());
        }
        found.sort_by_key(|hit| (hit.kind, hit.order));
        let hit = found.into_iter().next()?;
        Some(Alteration { of: self.place(&hit, None), size })
    }

    fn places(&self, mut hits: Vec<Hit>, destination: &Destination) -> Vec<Place> {
        hits.sort_by_key(|hit| (hit.kind, hit.floor, hit.order, hit.class != Class::Url, hit.chain.len()));
        hits.dedup_by(|a, b| a.order == b.order && a.kind == b.kind);
        let mut counts: BTreeMap<PlaceKind, usize> = BTreeMap::new();
        let mut places = Vec::new();
        for hit in hits {
            let count = counts.entry(hit.kind).or_default();
            *count += 1;
            if *count <= MOST_A_KIND {
                places.push(self.place(&hit, Some(destination)));
            }
        }
        places
    }

    fn place(&self, hit: &Hit, destination: Option<&Destination>) -> Place {
        let (upstream, tool, call) = match self.record_at(hit.order) {
            Some((_, meta)) => {
                (self.name_of(meta.upstream), meta.tool.map(|tool| self.name_of(tool)), meta.call)
            }
            None => (String::new(), None, 0),
        };
        let mut place = Place {
            kind: hit.kind,
            floor: hit.floor,
            upstream,
            tool,
            call,
            path: String::new(),
            range: (0, 0),
            chain: hit.chain.clone(),
            excerpt: String::new(),
            exact: matches!(hit.class, Class::Own | Class::Url) && hit.chain.is_empty(),
            whole: hit.look == Look::Whole,
        };
        if let Some((text, passage)) = self.store.passage(hit.block, hit.offset) {
            let start = hit.offset.saturating_sub(passage.start);
            let again = (hit.look == Look::Coded)
                .then(|| self.decoded_again(&text, start..start + hit.length, &hit.form, hit.class))
                .flatten();
            evidence(&mut place, hit, destination, &text, passage, again);
        }
        place
    }

    pub(crate) fn name_of(&self, name: u32) -> String {
        self.names.get(name as usize).cloned().unwrap_or_default()
    }
}

/// Reads the evidence of a hit out of its passage; `again` is what a coded one decodes to.
fn evidence(
    place: &mut Place,
    hit: &Hit,
    destination: Option<&Destination>,
    text: &str,
    passage: Passage,
    again: Option<(Vec<Decoding>, String, String)>,
) {
    let start = hit.offset.saturating_sub(passage.start).min(text.len());
    let end = (start + hit.length).min(text.len());
    place.range = (passage.offset + start, passage.offset + end);
    place.path = passage.path;
    place.chain = passage.chain;
    let span = if let Some((steps, span, excerpt)) = again {
        place.chain.extend(steps);
        place.excerpt = excerpt;
        span
    } else {
        let span = cut(text, start..end);
        let room = 200_usize.saturating_sub(span.chars().count());
        let shown = around(text, start..end, room / 2, room / 2);
        place.excerpt = cut(text, shown).chars().take(200).collect();
        span.to_owned()
    };
    place.chain.extend(hit.chain.iter().copied());
    if let Some(destination) = destination
        && !matches!(hit.class, Class::Own | Class::Url)
    {
        let kind = destination.kind;
        let near = matches!(kind, Kind::Url | Kind::Host) && !matches!(hit.class, Class::Token | Class::Host);
        place.exact = destination.strict.is_some()
            && !near
            && hit.chain.is_empty()
            && strict_form(super::split::address(&span), kind) == destination.strict;
    }
}

/// The places of a row of words in a passage.
fn in_passage(part: &str, words: &[String]) -> Vec<(std::ops::Range<usize>, Look)> {
    let view = fold(part);
    let small = lower(&view.text);
    let exact = small.len() == view.text.len();
    let trimmed = part.trim().len();
    find_words(&small, words)
        .into_iter()
        .map(|range| if exact { view.source(range.start)..view.source(range.end) } else { 0..part.len() })
        .map(|range| {
            let look = if range.len() == trimmed { Look::Whole } else { Look::Part };
            (range, look)
        })
        .collect()
}

fn exactly(class: Class, form: &str) -> Form {
    Form { class, text: form.to_owned(), floor: Floor::Deny, chain: Vec::new(), digits: None, is_host: false }
}

fn hit_of(occurrence: Occurrence, form: &Form) -> Hit {
    // A host that stands under an identity key is no identity: nobody is reached by a host alone.
    let kind = match occurrence.kind() {
        PlaceKind::IdentityField if form.is_host => PlaceKind::FreeText,
        kind => kind,
    };
    Hit {
        block: occurrence.block(),
        offset: occurrence.offset() as usize,
        length: occurrence.length(),
        order: occurrence.order(),
        kind,
        look: occurrence.look(),
        floor: form.floor,
        chain: form.chain.clone(),
        class: form.class,
        form: form.text.clone(),
    }
}

/// The folded words of a text.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    lower(&fold(text).text)
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Where a row of words stands in a small-lettered text, bounded, with little between the words.
fn find_words(text: &str, words: &[String]) -> Vec<std::ops::Range<usize>> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let mut found = Vec::new();
    for start in memchr::memmem::find_iter(text.as_bytes(), first.as_bytes()) {
        let clean = !cut(text, 0..start).chars().next_back().is_some_and(char::is_alphanumeric);
        let mut end = start + first.len();
        let mut whole = clean && text.is_char_boundary(end);
        for word in rest {
            let tail = cut(text, end..text.len());
            let gap = tail.find(char::is_alphanumeric).unwrap_or(tail.len());
            whole &= gap > 0 && gap <= WIDEST_GAP && cut(tail, gap..tail.len()).starts_with(word.as_str());
            if !whole {
                break;
            }
            end += gap + word.len();
        }
        if whole && !cut(text, end..text.len()).chars().next().is_some_and(char::is_alphanumeric) {
            found.push(start..end);
        }
        if found.len() >= 8 {
            break;
        }
    }
    found
}
