//! Taking in: a message becomes leaves, a leaf becomes passages, a passage becomes atoms and words in the
//! index, each with the kind of place it stood in.

use std::collections::BTreeSet;
use std::ops::Range;

use super::atoms::{self, Class};
use super::canon::{shape_of, strict_form};
use super::decode;
use super::engine::{Engine, Meta, Record};
use super::fields::{self, FieldKind};
use super::fold::{View, fold};
use super::index::{Chunk, Look, Occurrence, Passage, order};
use super::links;
use super::own::OwnPaths;
use super::prints::{self, word_print};
use super::structure::{self, Field, Stands};
use super::text::cut;
use super::walk::{Form, Stand, is_json, walk};
use super::{Decoding, Kind, PlaceKind};

/// JSON inside text inside JSON is read this deep.
const DEEPEST_TEXT: usize = 3;

/// Bytes of member names that are remembered as seen.
pub(crate) const MOST_NAMES: usize = 1 << 18;

/// Where a leaf stands and what is known of it.
#[derive(Clone, Copy)]
struct Leaf<'a> {
    path: &'a str,
    key: &'a str,
    chain: &'a [Decoding],
    form: Form,
    stands: Stands,
    nested: usize,
}

/// What all leaves of one record share.
struct Frame<'a> {
    record: &'a Record<'a>,
    own: OwnPaths,
    upstream: u32,
    echo: BTreeSet<u64>,
}

/// Says the kind of place of an atom, and whether it is all of a scalar.
type KindOf<'a> = dyn Fn(Class, &Range<usize>) -> (PlaceKind, bool) + 'a;

/// A passage about to be noted.
struct Noted<'a> {
    chunks: &'a [Chunk],
    /// Kind of place for a class at a part of the text, and whether that part is all of a scalar.
    kind: &'a KindOf<'a>,
    /// For a decoded view: the part of the text that it was decoded from.
    origin: Option<Range<usize>>,
}

impl Engine {
    /// Takes in one message. Linear in its length; what does not fit the limits is given up as
    /// `docs/architecture.md` says.
    pub fn record(&mut self, record: &Record<'_>) {
        let upstream = self.name(record.upstream);
        let tool = record.tool.map(|tool| self.name(tool));
        let (block, offset) = self.store.end();
        self.records.push(Meta { order: order(block, offset), upstream, tool, call: record.call });
        self.labelled.note(record.upstream, record.message);
        self.settle_echo(record.call, record.message);
        let echo = match self.echoes.get(&record.call) {
            Some(echo) if record.call != 0 => echo.prints.clone(),
            _ => BTreeSet::new(),
        };
        let frame = Frame { record, own: OwnPaths::find(record.message, record.own_data), upstream, echo };
        walk(record.message, "", &mut |trail, text, form| {
            if form != Form::Key || !self.is_known_name(&frame, text.trim()) {
                self.leaf(&frame, &text, &leaf_of(trail.stand(form), form));
            }
        });
        if self.bytes() > self.limits.bytes {
            self.make_room(0);
        }
    }

    fn leaf(&mut self, frame: &Frame<'_>, text: &str, leaf: &Leaf<'_>) {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return;
        }
        if leaf.form == Form::Text || leaf.form == Form::Rest {
            if leaf.nested < DEEPEST_TEXT
                && trimmed.starts_with(['{', '[', '"'])
                && self.json(frame, trimmed, leaf)
            {
                return;
            }
            if structure::may_be_structure(trimmed) {
                let structure = structure::read(text);
                if !structure.fields.is_empty() {
                    self.structured(frame, text, leaf, &structure.fields);
                    return;
                }
            }
        }
        self.passage(frame, text, leaf, &[]);
    }

    /// Whether a plain member name was noted before; lists repeat theirs in each item.
    fn is_known_name(&mut self, frame: &Frame<'_>, name: &str) -> bool {
        let plain =
            name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_- ".contains(&b));
        if !plain {
            return false;
        }
        let print = self.word_print(name).rotate_left(u32::from(frame.record.pointed) + 1);
        let known = self.names_seen.contains(print);
        // What this message echoes is not noted, so it is not remembered as noted.
        if !known && !self.echoes_part(&frame.echo, name) && self.names_seen.bytes() < MOST_NAMES {
            self.names_seen.insert(print);
        }
        known
    }

    /// Reads a text that is JSON as leaves; `false` when it is not.
    fn json(&mut self, frame: &Frame<'_>, text: &str, leaf: &Leaf<'_>) -> bool {
        // Read before, because nothing may be noted until all of it is known to be JSON, and nothing is kept meanwhile.
        if !is_json(text.as_bytes()) {
            return false;
        }
        let chain: Vec<Decoding> = leaf.chain.iter().copied().chain([Decoding::Structure]).collect();
        // Where the key of the whole says something, it says it of what has no key of its own.
        let key = if self.keys.kind(leaf.key).is_some() { leaf.key } else { "" };
        walk(text.as_bytes(), &format!("{} » ", leaf.path), &mut |trail, text, form| {
            if form == Form::Key && self.is_known_name(frame, text.trim()) {
                return;
            }
            let mut below = leaf_of(trail.stand(form), form);
            if below.key.is_empty() {
                below.key = key;
            }
            below.chain = &chain;
            below.nested = leaf.nested + 1;
            self.leaf(frame, &text, &below);
        });
        true
    }

    fn structured(&mut self, frame: &Frame<'_>, text: &str, leaf: &Leaf<'_>, fields: &[Field]) {
        // ORDER: values that do not stand in the text letter by letter first, so that a declared field is
        // not found later than the text around it.
        for field in fields.iter().filter(|field| !field.verbatim) {
            let chain: Vec<Decoding> = leaf.chain.iter().copied().chain([Decoding::Structure]).collect();
            let inner = Leaf {
                path: &below(leaf, field),
                key: &field.key,
                chain: &chain,
                form: Form::Text,
                stands: field.stands,
                nested: DEEPEST_TEXT,
            };
            self.passage(frame, &field.text, &inner, &[]);
        }
        self.passage(frame, text, leaf, fields);
    }

    /// Notes one text: itself, its fields, and what it decodes to.
    fn passage(&mut self, frame: &Frame<'_>, text: &str, leaf: &Leaf<'_>, fields: &[Field]) {
        let text_kind = if frame.record.pointed { PlaceKind::PointedText } else { PlaceKind::FreeText };
        let part = |path: &str| {
            // A part of the user's own data is not their directory, but no stranger's text either.
            let declared = frame.own.kinds(path).is_some_and(<[Kind]>::is_empty);
            if declared { PlaceKind::IdentityField } else { text_kind }
        };
        let free = part(leaf.path);
        let whole = if leaf.form == Form::Rest {
            Scalar::Plain
        } else {
            let stands = if leaf.form == Form::Key { Stands::Name } else { leaf.stands };
            scalar_kind(self.keys.kind(leaf.key), leaf.key, text, stands)
        };
        let scalars: Vec<(Range<usize>, Scalar, PlaceKind)> = fields
            .iter()
            .filter(|field| field.verbatim)
            .map(|field| {
                let free = if frame.own.is_empty() { text_kind } else { part(&below(leaf, field)) };
                (
                    field.range.clone(),
                    scalar_kind(self.keys.kind(&field.key), &field.key, &field.text, field.stands),
                    free,
                )
            })
            .collect();
        let trimmed = text.len() - text.trim_start().len()..text.trim_end().len();
        let is_scalar = leaf.form != Form::Key && leaf.form != Form::Rest;
        let kind = |class: Class, at: &Range<usize>| {
            let near = scalars.partition_point(|(range, ..)| range.end < at.end);
            match scalars.get(near) {
                Some((range, scalar, free)) if range.start <= at.start => {
                    (scalar.kind(class, *free), range == at)
                }
                _ => (whole.kind(class, free), is_scalar && *at == trimmed),
            }
        };
        let view = fold(text);
        let folded = (!view.is_same()).then_some(Decoding::Fold);
        let chain = leaf.chain.iter().copied().chain(folded).collect();
        let derived = decode::derive(text, &view.text, &[]);
        let plan = Passage {
            start: 0,
            length: 0,
            offset: 0,
            coded: !derived.is_empty(),
            kind: whole.kind(Class::Leaf, free),
            path: leaf.path.to_owned(),
            chain,
        };
        let chunks = self.store.push(text, plan);
        self.sample(text, &view.text, &chunks);
        let noted = Noted { chunks: &chunks, kind: &kind, origin: None };
        self.note(frame, &view, &noted);
        if !view.is_same() {
            self.urls(frame, text, &noted);
        }
        self.chunk_words(text, &view, &chunks);
        self.whole(frame, text, &view.text, 0, &noted);
        if let Some(kinds) = frame.own.kinds(leaf.path).filter(|_| leaf.form != Form::Key) {
            self.own(frame, text, kinds, 0, &chunks);
        }
        for field in fields.iter().filter(|field| field.verbatim) {
            if field.text.len() <= 2 * atoms::LONGEST_LEAF {
                self.whole(frame, &field.text, &fold(&field.text).text, field.range.start, &noted);
            }
            if !frame.own.is_empty()
                && field.stands != Stands::Name
                && let Some(kinds) = frame.own.kinds(&below(leaf, field))
            {
                self.own(frame, &field.text, kinds, field.range.start, &chunks);
            }
        }
        self.decoded(frame, text, &view, derived, &chunks, free);
    }

    /// Notes the atoms of a text.
    fn note(&mut self, frame: &Frame<'_>, view: &View<'_>, noted: &Noted<'_>) {
        atoms::atoms(&view.text, &mut |class, form, range| {
            let range = view.source(range.start)..view.source(range.end);
            self.put(frame, class, form, &range, noted);
        });
    }

    /// Notes the urls of a text that folding would change, letter by letter.
    fn urls(&mut self, frame: &Frame<'_>, text: &str, noted: &Noted<'_>) {
        for range in links::absolute(text) {
            if let Some(forms) = links::read(cut(text, range.clone())).and_then(super::urls::forms) {
                super::urls::sink(&forms, &range, &mut |class, form, range| {
                    self.put(frame, class, form, &range, noted);
                });
            }
        }
    }

    fn chunk_words(&mut self, text: &str, view: &View<'_>, chunks: &[Chunk]) {
        for chunk in chunks {
            if chunks.len() == 1 {
                self.words(&view.text, chunk.block, Layered::No);
            } else {
                self.words(
                    &fold(cut(text, chunk.from..chunk.from + chunk.length)).text,
                    chunk.block,
                    Layered::No,
                );
            }
        }
    }

    fn words(&mut self, folded: &str, block: u32, layered: Layered) {
        let phrases = match layered {
            Layered::Yes => &mut self.coded_phrases,
            Layered::No => &mut self.phrases,
        };
        prints::words(&self.key, folded, &mut self.words, || phrases.signature(block));
    }

    /// Notes what a text is as a whole. It stands from `base` on.
    fn whole(&mut self, frame: &Frame<'_>, text: &str, folded: &str, base: usize, noted: &Noted<'_>) {
        if text.len() > 2 * atoms::LONGEST_LEAF {
            return;
        }
        let lead = text.len() - text.trim_start().len();
        let range = base + lead..base + text.trim_end().len();
        let (kind, _) = (noted.kind)(Class::Leaf, &range);
        // Short and generic words count only where they are all of what a field names.
        let scalars = kind == PlaceKind::IdentityField;
        atoms::whole(folded, scalars, &mut |class, form, _| self.put(frame, class, form, &range, noted));
    }

    /// Notes the STRICT forms of a value in an own-data field.
    fn own(&mut self, frame: &Frame<'_>, text: &str, kinds: &[Kind], base: usize, chunks: &[Chunk]) {
        let planted = self.is_planted(frame.upstream, text);
        let kind = if planted { PlaceKind::Planted } else { PlaceKind::OwnData };
        // A client that sent the value untraced learns nothing by reading it back.
        if self.is_echo(&frame.echo, text) {
            return;
        }
        let range = base..base + text.len();
        let noted = Noted { chunks, kind: &|_, _| (kind, true), origin: None };
        for form in own_forms(super::split::address(text), kinds) {
            self.put(frame, Class::Own, &form, &range, &noted);
        }
    }

    fn put(&mut self, frame: &Frame<'_>, class: Class, form: &str, range: &Range<usize>, noted: &Noted<'_>) {
        let print = self.print(class, form);
        if frame.echo.contains(&print) {
            return;
        }
        let (kind, whole) = (noted.kind)(class, range);
        let (range, look) = match &noted.origin {
            Some(origin) => (origin, Look::Coded),
            None if whole => (range, Look::Whole),
            None => (range, Look::Part),
        };
        let Some(chunk) = chunk_at(noted.chunks, range.start) else { return };
        let offset = chunk.at + u32::try_from(range.start - chunk.from).unwrap_or(0);
        self.insert(class, print, Occurrence::new(kind, look, chunk.block, offset, range.len()));
    }

    /// Notes the decoded views of a text, and theirs. They are not kept: evidence decodes again.
    fn decoded(
        &mut self,
        frame: &Frame<'_>,
        text: &str,
        view: &View<'_>,
        first: Vec<decode::Derived>,
        chunks: &[Chunk],
        free: PlaceKind,
    ) {
        if first.is_empty() {
            return;
        }
        let key = self.key;
        let walk = decode::layers(text, view, first, &|text| word_print(&key, text), &mut |layer| {
            let noted = Noted { chunks, kind: &|_, _| (free, false), origin: Some(layer.origin.clone()) };
            self.note(frame, layer.view, &noted);
            self.whole(frame, layer.text, &layer.view.text, 0, &noted);
            if let Some(chunk) = chunk_at(chunks, layer.origin.start) {
                self.words(&layer.view.text, chunk.block, Layered::Yes);
            }
            true
        });
        if walk == decode::Walk::Cut {
            self.complete = false;
        }
    }
}

/// Whether words stand in plain text or in a decoded view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layered {
    Yes,
    No,
}

/// The part of a passage that holds a place.
fn chunk_at(chunks: &[Chunk], at: usize) -> Option<&Chunk> {
    chunks.get(chunks.partition_point(|chunk| chunk.from <= at).saturating_sub(1))
}

/// The STRICT forms of an own-data value, as the index holds them, of these kinds or of all.
pub(crate) fn own_forms(value: &str, kinds: &[Kind]) -> Vec<String> {
    const ALL: [Kind; 10] = [
        Kind::Email,
        Kind::Url,
        Kind::Host,
        Kind::Phone,
        Kind::Account,
        Kind::Channel,
        Kind::Path,
        Kind::Repo,
        Kind::Id,
        Kind::Name,
    ];
    let vouched = |kind: &&Kind| kinds.is_empty() || kinds.contains(kind);
    ALL.iter()
        .filter(vouched)
        .filter_map(|kind| strict_form(value, *kind).map(|form| own_form(*kind, form.as_str())))
        .collect()
}

/// One STRICT form as the index holds it.
pub(crate) fn own_form(kind: Kind, strict: &str) -> String {
    format!("{kind:?} {strict}")
}

/// The path of a field within a leaf.
fn below(leaf: &Leaf<'_>, field: &Field) -> String {
    format!("{} » {}", leaf.path, field.path)
}

fn leaf_of(stand: Stand<'_>, form: Form) -> Leaf<'_> {
    Leaf {
        path: stand.path,
        key: stand.key,
        chain: &[],
        form,
        stands: if stand.is_item { Stands::Item } else { Stands::Member },
        nested: 0,
    }
}

/// What kind of place a whole scalar under a key is, which says what `field` is, before the class of an atom in it
/// is known.
fn scalar_kind(field: Option<FieldKind>, key: &str, text: &str, stands: Stands) -> Scalar {
    match stands {
        // Of names only addresses count: `{"shared_with": {"ana@a.test": "rw"}}`.
        Stands::Name if shape_of(text).is_none() => return Scalar::Plain,
        // A list that is all there is says what it lists by what was called.
        Stands::Item
            if fields::is_nameless(key)
                && text.split_whitespace().count() <= 3
                && fields::is_identity(text) =>
        {
            return Scalar::Identity;
        }
        _ => {}
    }
    match field {
        Some(FieldKind::Identity) if fields::is_identity(text) => Scalar::Identity,
        Some(FieldKind::Link) if fields::is_link(text) => Scalar::Link,
        _ => Scalar::Plain,
    }
}

/// What a scalar is, before the class of an atom in it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    Identity,
    Link,
    Plain,
}

impl Scalar {
    fn kind(self, class: Class, free: PlaceKind) -> PlaceKind {
        let is_link = matches!(
            class,
            Class::Host | Class::Parent | Class::Tenant | Class::Url | Class::UrlPrefix | Class::UrlNumber
        );
        match self {
            Self::Identity if !is_link => PlaceKind::IdentityField,
            Self::Link if is_link => PlaceKind::LinkField,
            _ => free,
        }
    }
}
