//! The text of all passages in the order of recording, in blocks of 64 KiB, compressed (LZ4) once full.
//!
//! A block carries the directory of its passages with it: where each stood and how it was decoded. Both
//! are read again only for evidence and for phrases.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::provenance::text::head;
use crate::provenance::{Decoding, PlaceKind};

/// Bytes of text in a full block.
pub(crate) const BLOCK: usize = 64 * 1024;
/// Bytes of a cut passage that stand again at the start of its next part, so that no phrase is cut.
const OVERLAP: usize = 256;

/// One leaf, or a part of a long one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Where it starts in the block.
    pub(crate) start: usize,
    /// Its bytes.
    pub(crate) length: usize,
    /// Where this part starts within the text it is a part of.
    pub(crate) offset: usize,
    /// Whether anything in it decodes.
    pub(crate) coded: bool,
    /// What kind of place the leaf is.
    pub(crate) kind: PlaceKind,
    /// JSON path of the leaf.
    pub(crate) path: String,
    /// How it was decoded.
    pub(crate) chain: Vec<Decoding>,
}

/// Where a part of a passage was put.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    /// Where the part starts in the passage.
    pub(crate) from: usize,
    pub(crate) length: usize,
    pub(crate) block: u32,
    pub(crate) at: u32,
}

/// A passage as it is looked through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Where it starts in the block, and its bytes.
    pub(crate) start: usize,
    pub(crate) length: usize,
    /// As in [`Passage`].
    pub(crate) coded: bool,
    pub(crate) kind: PlaceKind,
    /// Where the directory tells more.
    entry: usize,
}

/// One block, its text unpacked and its directory as it is held.
pub(crate) struct Block<'a> {
    text: Cow<'a, str>,
    directory: Directory<'a>,
}

enum Directory<'a> {
    Open(&'a [Passage]),
    Sealed(Vec<u8>),
}

#[derive(Debug)]
struct Sealed {
    packed: Vec<u8>,
    length: usize,
    text: usize,
}

/// The log.
#[derive(Debug, Default)]
pub(crate) struct Store {
    sealed: VecDeque<Sealed>,
    /// The number of the first block that is still held.
    first: u32,
    text: String,
    passages: Vec<Passage>,
    bytes: usize,
}

impl Store {
    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.text.capacity() + self.passages.len() * size_of::<Passage>()
    }

    /// The number of the block that is being written.
    pub(crate) fn current(&self) -> u32 {
        self.first + u32::try_from(self.sealed.len()).unwrap_or(u32::MAX)
    }

    /// The next place to be written, as block and offset.
    pub(crate) fn end(&self) -> (u32, u32) {
        (self.current(), u32::try_from(self.text.len()).unwrap_or(u32::MAX))
    }

    /// Appends a passage, in parts where it is long.
    pub(crate) fn push(&mut self, text: &str, mut passage: Passage) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut from = 0;
        loop {
            let rest = text.get(from..).unwrap_or_default();
            // One byte is for the line end, so that the block does not grow past its size.
            let room = (BLOCK - 1).saturating_sub(self.text.len());
            if rest.len() > room && room < BLOCK / 2 {
                self.seal();
                continue;
            }
            let mut length = head(rest, room).len();
            if length < rest.len() {
                // Between words, where there is a gap near the end.
                let part = rest.get(..length).unwrap_or_default();
                let gap = part.rfind(char::is_whitespace).map_or(0, |gap| gap + 1);
                length = if gap + 1024 > length && gap > 0 { gap } else { length };
            }
            let part = rest.get(..length).unwrap_or_default();
            let at = self.text.len();
            chunks.push(Chunk {
                from,
                length,
                block: self.current(),
                at: u32::try_from(at).unwrap_or(u32::MAX),
            });
            self.text.push_str(part);
            self.text.push('\n');
            let is_last = length == rest.len();
            let (path, chain) = if is_last {
                (std::mem::take(&mut passage.path), std::mem::take(&mut passage.chain))
            } else {
                (passage.path.clone(), passage.chain.clone())
            };
            let offset = passage.offset + from;
            self.passages.push(Passage { start: at, length, offset, path, chain, ..passage });
            if self.text.len() >= BLOCK {
                self.seal();
            }
            if is_last {
                return chunks;
            }
            let back = from + length - OVERLAP.min(length / 2);
            from = (back..=from + length).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        }
    }

    fn seal(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        let passages = std::mem::take(&mut self.passages);
        let mut raw = text.into_bytes();
        let length_of_text = raw.len();
        for passage in &passages {
            write(passage, &mut raw);
        }
        let mut packed = lz4_flex::block::compress(&raw);
        packed.shrink_to_fit();
        self.bytes += packed.len() + size_of::<Sealed>();
        self.sealed.push_back(Sealed { packed, length: raw.len(), text: length_of_text });
    }

    /// Drops the oldest block; `false` when there is none left but the one being written.
    pub(crate) fn give_up_oldest(&mut self) -> bool {
        let Some(gone) = self.sealed.pop_front() else { return false };
        self.bytes -= gone.packed.len() + size_of::<Sealed>();
        self.first += 1;
        true
    }

    /// The number of the oldest block held.
    pub(crate) fn oldest(&self) -> u32 {
        self.first
    }

    /// A block to look through; `None` when it was given up.
    pub(crate) fn block(&self, block: u32) -> Option<Block<'_>> {
        if block == self.current() {
            return Some(Block {
                text: Cow::Borrowed(&self.text),
                directory: Directory::Open(&self.passages),
            });
        }
        let (mut raw, end) = self.unpack(block)?;
        let directory = Directory::Sealed(raw.split_off(end));
        Some(Block { text: Cow::Owned(String::from_utf8(raw).ok()?), directory })
    }

    /// The passage that holds a place, and its text.
    pub(crate) fn passage(&self, block: u32, offset: usize) -> Option<(String, Passage)> {
        if block == self.current() {
            let at = self.passages.partition_point(|passage| passage.start <= offset).checked_sub(1)?;
            let passage = self.passages.get(at)?.clone();
            let text = self.text.get(passage.start..passage.start + passage.length)?.to_owned();
            return Some((text, passage));
        }
        let (raw, text) = self.unpack(block)?;
        let directory = raw.get(text..)?;
        let mut at = 0;
        let mut last = None;
        while at < directory.len() {
            let here = at;
            if skip(directory, &mut at)? > offset {
                break;
            }
            last = Some(here);
        }
        let passage = read(directory, &mut last?)?;
        let text = raw.get(passage.start..passage.start + passage.length)?;
        Some((String::from_utf8_lossy(text).into_owned(), passage))
    }

    /// A sealed block: text and directory, and where the text ends.
    fn unpack(&self, block: u32) -> Option<(Vec<u8>, usize)> {
        let sealed = self.sealed.get(usize::try_from(block.checked_sub(self.first)?).ok()?)?;
        let raw = lz4_flex::block::decompress(&sealed.packed, sealed.length).ok()?;
        Some((raw, sealed.text))
    }
}

impl Block<'_> {
    /// The text of all passages, each with a line end behind it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The passages, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> {
        let mut at = 0;
        std::iter::from_fn(move || match &self.directory {
            Directory::Open(passages) => {
                let passage = passages.get(at)?;
                let (start, length, coded, kind) =
                    (passage.start, passage.length, passage.coded, passage.kind);
                at += 1;
                Some(Part { start, length, coded, kind, entry: at - 1 })
            }
            Directory::Sealed(raw) => {
                let part = read_head(raw, &mut at)?.part;
                skip_tail(raw, &mut at)?;
                Some(part)
            }
        })
    }

    /// All that is known of a part.
    pub(crate) fn passage(&self, part: Part) -> Option<Passage> {
        match &self.directory {
            Directory::Open(passages) => passages.get(part.entry).cloned(),
            Directory::Sealed(raw) => read(raw, &mut { part.entry }),
        }
    }
}

/// Steps over one entry of a directory and returns where its passage starts.
fn skip(raw: &[u8], at: &mut usize) -> Option<usize> {
    let start = read_head(raw, at)?.part.start;
    skip_tail(raw, at)?;
    Some(start)
}

/// Steps over what stands behind the head of an entry: its chain and its path.
fn skip_tail(raw: &[u8], at: &mut usize) -> Option<()> {
    for _ in 0..read_number(raw, at)? {
        read_number(raw, at)?;
    }
    let size = read_number(raw, at)?;
    *at += size;
    Some(())
}

/// The head of an entry.
struct Head {
    part: Part,
    offset: usize,
}

fn read_head(raw: &[u8], at: &mut usize) -> Option<Head> {
    let entry = *at;
    let start = read_number(raw, at)?;
    let length = read_number(raw, at)?;
    let offset = read_number(raw, at)?;
    let coded = read_number(raw, at)? == 1;
    let kind = *KINDS.get(read_number(raw, at)?)?;
    Some(Head { part: Part { start, length, coded, kind, entry }, offset })
}

fn write_number(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.extend(u8::try_from(value & 0x7f | 0x80));
        value >>= 7;
    }
    out.extend(u8::try_from(value));
}

fn read_number(raw: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0;
    for shift in (0..).step_by(7).take(10) {
        let byte = *raw.get(*at)?;
        *at += 1;
        value |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

const KINDS: [PlaceKind; 6] = [
    PlaceKind::OwnData,
    PlaceKind::LinkField,
    PlaceKind::IdentityField,
    PlaceKind::Planted,
    PlaceKind::PointedText,
    PlaceKind::FreeText,
];

fn write(passage: &Passage, out: &mut Vec<u8>) {
    write_number(passage.start, out);
    write_number(passage.length, out);
    write_number(passage.offset, out);
    write_number(usize::from(passage.coded), out);
    write_number(KINDS.iter().position(|kind| *kind == passage.kind).unwrap_or(5), out);
    write_number(passage.chain.len(), out);
    for step in &passage.chain {
        write_number(Decoding::ALL.iter().position(|known| known == step).unwrap_or(0), out);
    }
    write_number(passage.path.len(), out);
    out.extend_from_slice(passage.path.as_bytes());
}

fn read(raw: &[u8], at: &mut usize) -> Option<Passage> {
    let Head { part: Part { start, length, coded, kind, .. }, offset } = read_head(raw, at)?;
    let steps = read_number(raw, at)?;
    let mut chain = Vec::new();
    for _ in 0..steps {
        chain.push(*Decoding::ALL.get(read_number(raw, at)?)?);
    }
    let size = read_number(raw, at)?;
    let path = raw.get(*at..*at + size)?;
    *at += size;
    Some(Passage {
        start,
        length,
        offset,
        coded,
        kind,
        path: String::from_utf8_lossy(path).into_owned(),
        chain,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_come_back_from_sealed_blocks() {
        let mut store = Store::default();
        let plan = Passage {
            start: 0,
            length: 0,
            offset: 0,
            coded: true,
            kind: PlaceKind::IdentityField,
            path: "$['a'][0]".to_owned(),
            chain: vec![Decoding::Base64, Decoding::Percent],
        };
        let text = "some words é and more ".repeat(10_000);
        let chunks = store.push(&text, plan.clone());
        assert!(chunks.len() > 3);
        for chunk in &chunks {
            let (block, passage) =
                store.passage(chunk.block, chunk.at as usize + 5).unwrap_or_else(|| panic!());
            assert_eq!((passage.offset, passage.length), (chunk.from, chunk.length));
            assert_eq!((&passage.path, &passage.chain, passage.coded), (&plan.path, &plan.chain, plan.coded));
            assert_eq!(Some(block.as_str()), text.get(chunk.from..chunk.from + chunk.length));
        }
        for number in 0..=store.current() {
            let block = store.block(number).unwrap_or_else(|| panic!("{number}"));
            for part in block.parts() {
                let passage = block.passage(part).unwrap_or_else(|| panic!());
                assert_eq!((part.start, part.length, part.kind), (passage.start, passage.length, plan.kind));
                let read = store.passage(number, part.start).map(|(text, _)| text);
                assert_eq!(block.text().get(part.start..part.start + part.length), read.as_deref());
            }
        }
        let covered = chunks.last().map(|chunk| chunk.from + chunk.length);
        assert_eq!(covered, Some(text.len()));
        assert!(store.bytes() < text.len());
        assert!(store.give_up_oldest() && store.block(0).is_none());
    }
}
