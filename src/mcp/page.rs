//! A list as clients get it: cut into pages where it is large.
//!
//! A cursor names the list it belongs to by a digest, so that a page of one list is never continued with
//! a page of another; a session that is asked for a page of a list it did not begin says so.

use bytes::Bytes;
use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};

use super::listing::List;

/// Entries and bytes of one page. Many clients ask for the first page only, so it holds what any of them
/// can use.
const PAGE_ENTRIES: usize = 1_000;
const PAGE_BYTES: usize = 4 << 20;

/// The raw results of one list, page by page. There is always a first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pages {
    digest: String,
    pages: Vec<Bytes>,
}

impl Pages {
    /// The pages of these raw entries.
    pub(crate) fn new<'a>(list: List, entries: impl Iterator<Item = &'a Bytes>) -> Self {
        let mut cut: Vec<Vec<u8>> = vec![Vec::new()];
        let mut count = 0;
        let mut digest = Sha256::new();
        for entry in entries {
            digest.update(entry);
            digest.update(b"\n");
            let is_full = count == PAGE_ENTRIES
                || cut.last().is_some_and(|page| !page.is_empty() && page.len() + entry.len() > PAGE_BYTES);
            if is_full {
                cut.push(Vec::new());
                count = 0;
            }
            if let Some(page) = cut.last_mut() {
                if !page.is_empty() {
                    page.push(b',');
                }
                page.extend_from_slice(entry);
            }
            count += 1;
        }
        let digest = digest.finalize();
        let digest = BASE32_NOPAD.encode(digest.get(..10).unwrap_or_default()).to_ascii_lowercase();
        let end = cut.len() - 1;
        let pages = cut.into_iter().enumerate().map(|(at, page)| {
            let next =
                if at < end { format!(",\"nextCursor\":\"{digest}.{}\"", at + 1) } else { String::new() };
            let head = format!("{{\"{}\":[", list.key());
            [head.as_bytes(), &page, b"]", next.as_bytes(), b"}"].concat().into()
        });
        let pages = pages.collect();
        Self { digest, pages }
    }

    /// The first page.
    pub(crate) fn first(&self) -> Bytes {
        self.pages.first().cloned().unwrap_or_default()
    }

    /// Whether more than one follows.
    pub(crate) fn goes_on(&self) -> bool {
        self.pages.len() > 1
    }

    /// The page of a cursor; `None` when it was given out for another list, or never.
    pub(crate) fn at(&self, cursor: &str) -> Option<Bytes> {
        let (digest, at) = cursor.split_once('.')?;
        let at: usize = at.parse().ok()?;
        if digest == self.digest && at > 0 { self.pages.get(at).cloned() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_lists_are_cut_and_every_entry_is_on_one_page() {
        fn check(count: usize, size: usize, expected: usize) {
            let entries: Vec<Bytes> =
                (0..count).map(|n| format!("{{\"n\":{n},\"x\":\"{}\"}}", "x".repeat(size)).into()).collect();
            let pages = Pages::new(List::Resources, entries.iter());
            let mut found = 0;
            let mut page = pages.first();
            let mut walked = 1;
            loop {
                let value: serde_json::Value = serde_json::from_slice(&page).unwrap();
                for entry in value["resources"].as_array().unwrap() {
                    assert_eq!(entry["n"], found);
                    found += 1;
                }
                let Some(cursor) = value["nextCursor"].as_str() else { break };
                page = pages.at(cursor).unwrap();
                walked += 1;
            }
            assert_eq!((found, walked, pages.goes_on()), (count, expected, expected > 1), "{count} × {size}");
        }
        check(0, 0, 1);
        check(1_000, 10, 1);
        check(2_001, 10, 3);
        check(3, 3 << 20, 3);
        check(1, 5 << 20, 1);
    }

    #[test]
    fn a_cursor_belongs_to_its_list() {
        let some =
            |from: usize| -> Vec<Bytes> { (from..from + 1_500).map(|n| n.to_string().into()).collect() };
        let (one, two) = (some(0), some(1));
        let (one, two) = (Pages::new(List::Tools, one.iter()), Pages::new(List::Tools, two.iter()));
        let cursor = format!("{}.1", one.digest);
        assert!(one.at(&cursor).is_some() && two.at(&cursor).is_none());
        for bad in ["", ".", "1", &format!("{}.0", one.digest), &format!("{}.9", one.digest)] {
            assert_eq!(one.at(bad), None, "{bad}");
        }
    }
}
