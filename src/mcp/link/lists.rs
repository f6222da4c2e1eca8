//! The four lists of an upstream: asked for at the start and after every announced change, page by page.
//!
//! The tools decide when a process is ready and whether it can be worked with at all; the other lists
//! come beside them, and one that fails leaves what was known before.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use super::{Command, Link, Phase, Timer, note};
use crate::mcp::entry;
use crate::mcp::envelope::{self, Body};
use crate::mcp::listing::{Ended, List, Pace, Walk};

#[derive(Debug, Default)]
struct Shelf {
    walk: Option<(u64, Walk)>,
    pace: Pace,
    entries: Vec<Bytes>,
    /// Whether this process has answered it.
    is_known: bool,
}

/// How the lists stand.
#[derive(Debug, Default)]
pub(super) struct Lists(BTreeMap<List, Shelf>);

impl Lists {
    fn of(&mut self, list: List) -> &mut Shelf {
        self.0.entry(list).or_default()
    }

    /// The raw entries of a list, as far as it is known.
    pub(super) fn entries(&self, list: List) -> &[Bytes] {
        self.0.get(&list).map(|shelf| shelf.entries.as_slice()).unwrap_or_default()
    }

    /// The walk that an answer with this id belongs to.
    pub(super) fn answered(&mut self, id: u64) -> Option<(List, Walk)> {
        self.0.iter_mut().find_map(|(list, shelf)| {
            let (_, walk) = shelf.walk.take_if(|(walking, _)| *walking == id)?;
            Some((*list, walk))
        })
    }

    /// The process is gone; what it listed is still the best that is known.
    pub(super) fn stopped(&mut self) {
        for shelf in self.0.values_mut() {
            (shelf.walk, shelf.pace, shelf.is_known) = (None, Pace::default(), false);
        }
    }
}

impl Link {
    /// Asks a new process for all that it declared.
    pub(super) fn begin_lists(&mut self, out: &mut Vec<Command>) {
        for list in List::ALL {
            if self.capabilities.has(list.capability()) {
                self.list(list, Walk::default(), out);
            } else if !std::mem::take(&mut self.lists.of(list).entries).is_empty() && list != List::Tools {
                // What an earlier process of it had is not there any more.
                out.push(Command::Entries(list, Vec::new()));
            }
        }
        if !self.capabilities.has(List::Tools.capability()) {
            self.announce(out);
        }
    }

    /// A list is due again.
    pub(super) fn list_again(&mut self, list: List, out: &mut Vec<Command>) {
        let state = self.lists.of(list);
        if state.walk.is_none() {
            state.pace.listing();
            self.list(list, Walk::default(), out);
        }
    }

    fn list(&mut self, list: List, walk: Walk, out: &mut Vec<Command>) {
        let id = self.mint();
        out.push(Command::Write(envelope::request(id, list.method(), &walk.params())));
        self.lists.of(list).walk = Some((id, walk));
    }

    /// Takes one page.
    pub(super) fn page(
        &mut self,
        now: Duration,
        list: List,
        mut walk: Walk,
        body: Body,
        out: &mut Vec<Command>,
    ) {
        let name = list.method();
        let ended = match body {
            Body::Result(raw) => walk.turn(list, &raw),
            Body::Error(_) => Ended::Failed("ended in an error"),
            Body::Ambiguous => Ended::Failed("came with both result and error"),
        };
        let is_known = self.lists.of(list).is_known;
        let entries = match ended {
            Ended::NotYet => return self.list(list, walk, out),
            Ended::Whole => walk.entries(),
            Ended::Stopped(why) => {
                note(&format!("its `{name}` {why}"), out);
                walk.entries()
            }
            Ended::Failed(why) if list == List::Tools && self.phase == Phase::Listing => {
                return self.give_up(&format!("its `{name}` {why}"), out);
            }
            Ended::Failed(why) => {
                // Many servers with resources have no templates and say so with an error.
                if is_known || list != List::Templates {
                    note(&format!("its `{name}` {why}; the earlier list stays"), out);
                }
                self.lists.of(list).entries.clone()
            }
        };
        let state = self.lists.of(list);
        if is_known && entries == state.entries {
            return self.pause(now, list, Pace::unchanged, out);
        }
        (state.entries, state.is_known) = (entries, true);
        if list == List::Tools {
            self.ready_since = now;
            self.announce(out);
        } else {
            let (entries, notes) = entry::entries(list, &self.terms.prefix, &self.lists.of(list).entries);
            for line in notes {
                note(&line, out);
            }
            out.push(Command::Entries(list, entries));
        }
        self.pause(now, list, Pace::changed, out);
    }

    /// Whether this is the announcement of a changed list, which is then asked for again.
    pub(super) fn list_changed(&mut self, now: Duration, method: &[u8], out: &mut Vec<Command>) -> bool {
        let mut is_one = false;
        for list in List::ALL.into_iter().filter(|list| list.changed().as_bytes() == method) {
            is_one = true;
            if !matches!(self.phase, Phase::Listing | Phase::Ready) {
                continue;
            }
            let state = self.lists.of(list);
            let is_walking = state.walk.is_some();
            if let Some(after) = state.pace.notified(now, is_walking) {
                out.push(Command::Timer(Timer::List(list), after));
            }
        }
        is_one
    }

    /// Tells the pace how a listing went, and sets the timer that it wants.
    fn pause(
        &mut self,
        now: Duration,
        list: List,
        how: fn(&mut Pace, Duration) -> Option<Duration>,
        out: &mut Vec<Command>,
    ) {
        if let Some(after) = how(&mut self.lists.of(list).pace, now) {
            out.push(Command::Timer(Timer::List(list), after));
        }
    }
}
