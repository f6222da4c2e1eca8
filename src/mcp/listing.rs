//! The lists of an upstream: walking through the pages of one, and how often that may be done.
//!
//! A [`Walk`] follows every cursor, the empty one too, and stops at the first that repeats or whose page
//! brings nothing new. A [`Pace`] keeps an upstream that announces a change after every list from
//! being listed for ever: at most one listing a second, one delayed second look after a list that
//! did not change, and long pauses once announcements only echo our own listings.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;

use super::capability::Capability;
use super::export;

/// Pages of one list; more is a fault.
const MAX_PAGES: usize = 1_000;
/// Bytes of one list; more is a fault.
const MAX_BYTES: usize = 64 << 20;

/// One of the four lists of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// Tools.
    Tools,
    /// Resources.
    Resources,
    /// Templates of uris of resources.
    Templates,
    /// Prompts.
    Prompts,
}

impl List {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// The request for it.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The list of a request.
    pub(crate) fn asked(method: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.method().as_bytes() == method)
    }

    /// The member of the result that holds it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The member of an entry that it is asked for by.
    pub(crate) fn entry_key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// The notification that it has changed.
    pub(crate) fn changed(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
        }
    }

    /// What a server declares that has it.
    pub(crate) fn capability(self) -> Capability {
        match self {
            Self::Tools => Capability::Tools,
            Self::Resources | Self::Templates => Capability::Resources,
            Self::Prompts => Capability::Prompts,
        }
    }
}

/// How a walk stands after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Another page follows.
    NotYet,
    /// That was the last page.
    Whole,
    /// It goes round in circles or does not end; what was read counts. For the operator, after the list's name.
    Stopped(&'static str),
    /// It cannot be read, said in the same way.
    Failed(&'static str),
}

/// A walk through the pages of one list.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    entries: Vec<Bytes>,
    seen: BTreeSet<Bytes>,
    cursors: BTreeSet<Bytes>,
    cursor: Option<Bytes>,
    bytes: usize,
}

impl Walk {
    /// The raw params of the next request.
    pub(crate) fn params(&self) -> Vec<u8> {
        match &self.cursor {
            Some(cursor) => [b"{\"cursor\":", &cursor[..], b"}"].concat(),
            None => b"{}".to_vec(),
        }
    }

    /// Takes the raw result of one page.
    pub(crate) fn turn(&mut self, list: List, result: &Bytes) -> Ended {
        let Ok(page) = export::page(list, result) else { return Ended::Failed("cannot be read") };
        let mut brought = 0_usize;
        for entry in page.entries {
            self.bytes += entry.len();
            if self.seen.insert(entry.clone()) {
                brought += 1;
                self.entries.push(entry);
            }
        }
        let Some(cursor) = page.cursor else { return Ended::Whole };
        if !self.cursors.insert(cursor.clone()) || (brought == 0 && self.cursors.len() > 1) {
            return Ended::Stopped("repeats a page for ever; what came before counts");
        }
        if self.cursors.len() >= MAX_PAGES || self.bytes > MAX_BYTES {
            return Ended::Stopped("does not end; what came before counts");
        }
        self.cursor = Some(cursor);
        Ended::NotYet
    }

    /// The entries found, each once, in the order listed.
    pub(crate) fn entries(self) -> Vec<Bytes> {
        self.entries
    }
}

/// Between two listings.
const SPACING: Duration = Duration::from_secs(1);
/// An announcement this soon after a listing may be its echo.
const ECHO: Duration = Duration::from_millis(500);
/// The pause after echoes of two unchanged lists, doubled with each more.
const QUIET: Duration = Duration::from_secs(30);

/// When to list again.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    last: Option<Duration>,
    unchanged: u32,
    is_due: bool,
    is_announced: bool,
    second_look: bool,
}

impl Pace {
    /// The upstream announced a change. Returns after which time to list, unless that is settled already.
    pub(crate) fn notified(&mut self, now: Duration, is_walking: bool) -> Option<Duration> {
        self.is_announced = true;
        if is_walking || self.is_due {
            return None;
        }
        self.is_due = true;
        let since = self.last.map_or(SPACING, |last| now.saturating_sub(last));
        if since > ECHO {
            self.unchanged = 0;
        }
        let spacing = match self.unchanged {
            0 | 1 => SPACING,
            more => QUIET.saturating_mul(1 << (more - 2).min(6)),
        };
        Some(spacing.saturating_sub(since))
    }

    /// A listing begins.
    pub(crate) fn listing(&mut self) {
        self.is_due = false;
        self.second_look = std::mem::take(&mut self.is_announced);
    }

    /// A listing brought a change, or was the first.
    pub(crate) fn changed(&mut self, now: Duration) -> Option<Duration> {
        self.last = Some(now);
        self.unchanged = 0;
        self.second_look = false;
        self.again(now)
    }

    /// A listing brought nothing new. If it was announced, the list may have been stale at that
    /// instant, so it gets one second look.
    pub(crate) fn unchanged(&mut self, now: Duration) -> Option<Duration> {
        self.last = Some(now);
        self.unchanged = self.unchanged.saturating_add(1);
        if std::mem::take(&mut self.second_look) && self.unchanged < 2 {
            self.is_due = true;
            return Some(SPACING);
        }
        self.again(now)
    }

    /// Announcements during a listing lead to another one.
    fn again(&mut self, now: Duration) -> Option<Duration> {
        if self.is_announced { self.notified(now, false) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(pages: &[&str]) -> (usize, usize, Ended) {
        let mut walk = Walk::default();
        let mut asked = 0;
        let mut ended = Ended::NotYet;
        while ended == Ended::NotYet {
            let page = pages[asked.min(pages.len() - 1)];
            ended = walk.turn(List::Tools, &Bytes::copy_from_slice(page.as_bytes()));
            asked += 1;
        }
        (asked, walk.entries().len(), ended)
    }

    #[test]
    fn walks_end() {
        let one = r#"{"tools":[{"name":"t1"}],"nextCursor":""}"#;
        let two = r#"{"tools":[{"name":"t2"}]}"#;
        let stuck = r#"{"tools":[{"name":"t1"},{"name":"t2"}],"nextCursor":"8"}"#;
        assert!(matches!(walk(&[one]), (2, 1, Ended::Stopped(_))));
        assert_eq!(walk(&[one, two]), (2, 2, Ended::Whole));
        assert!(matches!(walk(&[stuck]), (2, 2, Ended::Stopped(_))));
        assert_eq!(walk(&[two]), (1, 1, Ended::Whole));
        assert!(matches!(walk(&["{}"]), (1, 0, Ended::Failed(_))));
    }

    #[test]
    fn the_cursor_goes_back_as_it_came() {
        let mut walk = Walk::default();
        assert_eq!(walk.params(), b"{}");
        walk.turn(List::Tools, &Bytes::from_static(br#"{"tools":[],"nextCursor":"\u00e9"}"#));
        assert_eq!(walk.params(), br#"{"cursor":"\u00e9"}"#);
    }

    /// Runs a pace against an upstream that announces at `announces` (milliseconds), and again after
    /// every listing if it echoes; returns when it was listed.
    fn run(announces: &[u64], echo: Option<u64>, until: u64) -> Vec<u64> {
        let mut pace = Pace::default();
        let mut due = None;
        let mut echoes = Vec::new();
        let mut listed = Vec::new();
        assert_eq!(pace.changed(Duration::ZERO), None);
        for at in 0..until {
            let now = Duration::from_millis(at);
            let now_told = announces.iter().filter(|when| **when == at).count()
                + echoes.iter().filter(|when| **when == at).count();
            for _ in 0..now_told {
                if let Some(after) = pace.notified(now, false) {
                    due = Some(now + after);
                }
            }
            if due.is_some_and(|due| due <= now) {
                pace.listing();
                listed.push(at);
                due = pace.unchanged(now).map(|after| now + after);
                echoes.extend(echo.map(|after| at + after));
            }
        }
        listed
    }

    #[test]
    fn bursts_are_one_listing_and_a_second_look() {
        assert_eq!(run(&vec![500; 200], None, 60_000), [1_000, 2_000]);
        assert_eq!(run(&[5_000], None, 60_000), [5_000, 6_000]);
    }

    #[test]
    fn echoes_do_not_go_on_for_ever() {
        let listed = run(&[10], Some(20), 600_000);
        assert!(listed.len() <= 7, "{listed:?}");
        assert!(listed.windows(2).all(|pair| pair[1] - pair[0] >= 1_000), "{listed:?}");
    }
}
