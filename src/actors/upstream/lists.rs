//! What an upstream says without being called: its lists and notifications, on their way past the gate
//! to the sessions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use bytes::Bytes;
use tracing::info;

use super::{Heard, Timer, UpstreamActor};
use crate::actors::messages::{Admission, AdmitAgain, CallNumber, RecordListing, RecordNotice};
use crate::mcp::{Entry, List, Listed, Listing, Standing, Tool};
use crate::provenance::Source;

/// Between two looks at what a person may have accepted meanwhile; only while something is withheld.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What it listed, as far as the gate has seen it.
#[derive(Default)]
pub(super) struct Shelf {
    listing: Listing,
    /// Counts listings, so that an overtaken answer of the gate is dropped.
    turns: BTreeMap<List, u64>,
}

impl Shelf {
    fn turn(&mut self, list: List) -> u64 {
        let turn = self.turns.entry(list).or_default();
        *turn += 1;
        *turn
    }

    fn is_overtaken(&self, list: List, turn: u64) -> bool {
        self.turns.get(&list) != Some(&turn)
    }
}

impl UpstreamActor {
    /// Takes the tools of a process, and what it said of itself.
    pub(super) fn listed(&mut self, listed: Listed, ctx: &mut Context<Self>) {
        self.permit = None;
        self.timers.remove(&Timer::Start);
        let turn = self.shelf.turn(List::Tools);
        info!(upstream = %self.name(), tools = listed.tools.len(), "listed");
        let record = RecordListing {
            upstream: self.name().clone(),
            tools: listed.tools.clone(),
            instructions: listed.instructions,
            server_info: listed.server_info,
            capabilities: listed.capabilities.clone(),
        };
        // ORDER: the gate has seen a listing before any client does.
        let admission = self.setting.gate.listing.send(record).into_actor(self);
        ctx.spawn(admission.map(move |admission, this, ctx| {
            if this.shelf.is_overtaken(List::Tools, turn) {
                return;
            }
            match admission {
                Ok(Ok(admission)) => {
                    this.shelf.listing.tools =
                        listed.tools.into_iter().filter(|tool| (this.setting.admits)(&tool.name)).collect();
                    this.shelf.listing.capabilities = listed.capabilities;
                    this.admitted(turn, admission, ctx);
                }
                // FAIL CLOSED: what could not be recorded is not shown.
                Ok(Err(_)) | Err(_) => {
                    this.stand(Standing::Down("its tools could not be recorded".to_owned()));
                }
            }
        }));
    }

    /// Shows the tools as the gate admits them, and looks again while some are withheld.
    fn admitted(&mut self, turn: u64, admission: Admission, ctx: &mut Context<Self>) {
        let Admission { withheld, reworded } = admission;
        let listing = &mut self.shelf.listing;
        let before = |tool: &Arc<Tool>| {
            let words = reworded.get(&tool.name)?;
            Some((tool.name.clone(), Arc::new(tool.described_as(words))))
        };
        listing.reworded = listing.tools.iter().filter_map(before).collect();
        listing.withheld = withheld;
        let listing = listing.clone();
        let withholds = !listing.withheld.is_empty();
        if !matches!(&self.standing, Standing::Ready(shown) if **shown == listing) {
            self.stand(Standing::Ready(Arc::new(listing)));
        }
        if withholds {
            ctx.run_later(LOOK_AGAIN, move |this, ctx| this.look_again(turn, ctx));
        }
    }

    /// Asks the gate what is withheld now, since a person may accept it at any time.
    fn look_again(&mut self, turn: u64, ctx: &mut Context<Self>) {
        if self.shelf.is_overtaken(List::Tools, turn) || !matches!(self.standing, Standing::Ready(_)) {
            return;
        }
        let again = self.setting.gate.again.send(AdmitAgain { upstream: self.name().clone() });
        ctx.spawn(again.into_actor(self).map(move |admission, this, ctx| {
            // A gate that does not answer refuses every call: what was withheld stays so.
            if let Ok(Some(admission)) = admission
                && !this.shelf.is_overtaken(List::Tools, turn)
                && matches!(this.standing, Standing::Ready(_))
            {
                this.admitted(turn, admission, ctx);
            }
        }));
    }

    /// Takes another list. It is shown beside the tools, once they are there.
    pub(super) fn entries(&mut self, list: List, entries: Vec<Arc<Entry>>, ctx: &mut Context<Self>) {
        let turn = self.shelf.turn(list);
        let record = RecordNotice {
            upstream: self.name().clone(),
            call: CallNumber(0),
            source: Source::Listing,
            message: whole(&entries),
        };
        // ORDER: the gate has seen a list before any client does.
        let recorded = self.setting.gate.notice.send(record).into_actor(self);
        ctx.spawn(recorded.map(move |recorded, this, _| {
            if this.shelf.is_overtaken(list, turn) {
                return;
            }
            // FAIL CLOSED: what could not be recorded is not shown.
            let entries = if matches!(recorded, Ok(Ok(()))) { entries } else { Vec::new() };
            this.shelf.listing.set(list, entries.into());
            if matches!(this.standing, Standing::Ready(_)) {
                this.stand(Standing::Ready(Arc::new(this.shelf.listing.clone())));
            }
        }));
    }

    /// Passes a notification on. A session whose mailbox is full loses it, and nothing else.
    pub(super) fn heard(&self, method: &Bytes, params: Option<&Bytes>) {
        for listener in &self.listeners {
            let upstream = self.name().clone();
            let _ = listener.try_send(Heard { upstream, method: method.clone(), params: params.cloned() });
        }
    }
}

/// The raw entries of a list as one JSON array.
fn whole(entries: &[Arc<Entry>]) -> Bytes {
    let mut out = b"[".to_vec();
    for (at, entry) in entries.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&entry.listed);
    }
    out.push(b']');
    out.into()
}
