//! The lists as one client gets them: held back while upstreams start, cut into pages, and told to be
//! stale when they are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::mcp::envelope::{self, Id};
use crate::mcp::listing::List;
use crate::mcp::page::Pages;
use crate::mcp::scan;

use super::{Command, Pending, Session, Timer};

/// Changes within this time are one `list_changed`.
const CHANGED_AFTER: Duration = Duration::from_millis(100);

/// What the client knows of the lists.
#[derive(Debug, Default)]
pub(super) struct Known {
    waited: bool,
    timer_runs: bool,
    /// The list the client knows, or was told is stale.
    last: BTreeMap<List, Arc<Pages>>,
    /// The list that it walks through.
    walked: BTreeMap<List, Arc<Pages>>,
}

impl Session {
    /// Whether a list is answered: it was advertised, or an upstream turned out to have it.
    pub(super) fn offers(&self, list: List) -> bool {
        self.advertised.capabilities.has(list.capability()) || self.catalog.offers(list)
    }

    pub(super) fn list(&mut self, id: Id, list: List, params: Option<&[u8]>, out: &mut Vec<Command>) {
        let cursor = params.and_then(|params| Some(scan::slice(params, &scan::member(params, "cursor")?)));
        if let Some(cursor) = cursor.filter(|raw| *raw != b"null") {
            let walked = self.lists.walked.get(&list).zip(scan::text(cursor));
            let page = walked.and_then(|(pages, cursor)| pages.at(&cursor));
            let why = "this cursor was not given out for the list as it is; start again without one";
            out.push(Command::Send(page.map_or_else(
                || envelope::error(&id, envelope::INVALID_PARAMS, why),
                |page| envelope::result(&id, &page),
            )));
        } else if self.lists.waited || self.catalog.is_settled(list) {
            self.answer_list(&id, list, out);
        } else {
            self.pending.insert(id.key(), (id, Pending::List(list)));
            if !self.lists.timer_runs {
                self.lists.timer_runs = true;
                out.push(Command::Timer(Timer::Lists, self.list_wait));
            }
        }
    }

    fn answer_list(&mut self, id: &Id, list: List, out: &mut Vec<Command>) {
        let pages = self.catalog.pages(list);
        out.push(Command::Send(envelope::result(id, &pages.first())));
        if pages.goes_on() {
            self.lists.walked.insert(list, pages.clone());
        }
        self.lists.last.insert(list, pages);
    }

    /// Upstreams have waited long enough for.
    pub(super) fn lists_waited(&mut self, out: &mut Vec<Command>) {
        self.lists.waited = true;
        self.answer_lists(out);
    }

    fn answer_lists(&mut self, out: &mut Vec<Command>) {
        let due = |list| self.lists.waited || self.catalog.is_settled(list);
        let waiting = self.pending.iter().filter_map(|(key, (_, pending))| match pending {
            Pending::List(list) if due(*list) => Some((key.clone(), *list)),
            Pending::List(_) | Pending::Call(_) => None,
        });
        for (key, list) in waiting.collect::<Vec<_>>() {
            if let Some((id, _)) = self.pending.remove(&key) {
                self.answer_list(&id, list, out);
            }
        }
    }

    /// The catalogue may differ from what the client knows.
    pub(super) fn lists_changed(&mut self, out: &mut Vec<Command>) {
        self.answer_lists(out);
        if self.lists.last.iter().any(|(list, known)| *known != self.catalog.pages(*list)) {
            out.push(Command::Timer(Timer::Changed, CHANGED_AFTER));
        }
    }

    /// Tells the client once which of its lists are stale.
    pub(super) fn tell_changed(&mut self, out: &mut Vec<Command>) {
        let mut told = Vec::new();
        for (list, known) in &mut self.lists.last {
            let pages = self.catalog.pages(*list);
            if *known != pages {
                *known = pages;
                told.push(list.changed());
            }
        }
        told.dedup();
        out.extend(told.into_iter().map(|method| Command::Send(envelope::notification(method, None))));
    }
}
