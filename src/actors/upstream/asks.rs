//! What an upstream asks of the client: whose session it goes to, and what is still on its way.
//!
//! It goes to the one session whose calls run at the upstream, and to none when there is no such session
//! or more than one. `actors/reverse.rs` carries it from here.

use std::collections::BTreeMap;

use actix::prelude::*;
use bytes::Bytes;
use tokio::sync::watch;

use super::UpstreamActor;
use crate::actors::messages::{CallNumber, Patience, RecordNotice, SessionId};
use crate::actors::reverse::{
    AskProgress, Errand, Face, Meet, NOT_ASSOCIATED, RootsChanged, Unrelay, convey,
};
use crate::mcp::{LinkAnswer, LinkEvent as Event, Modes, Offered, Reverse, ReverseRequest};
use crate::provenance::Source;

/// A request of the upstream has its answer.
#[derive(Message)]
#[rtype(result = "()")]
struct Conveyed(u64, LinkAnswer);

struct Open {
    session: SessionId,
    call: CallNumber,
    /// Told when nobody waits any more.
    over: watch::Sender<bool>,
}

/// The sessions that can be asked, and what is on its way to them.
#[derive(Default)]
pub(super) struct Asks {
    sessions: BTreeMap<SessionId, Face>,
    /// How the client can ask its human.
    modes: Modes,
    open: BTreeMap<u64, Open>,
    /// How many are on their way, those too that the upstream gave up and that are not over here.
    running: usize,
}

/// Requests of one upstream that may be on their way at once, and those that one call may make.
const RUNNING: usize = 16;
pub(super) const OF_A_CALL: u32 = 64;

impl UpstreamActor {
    /// The one session whose calls run at this upstream, with the first of them and how long its client
    /// will wait. Roots are also asked for between calls, of the only session there is.
    fn owner(&self, request: &ReverseRequest) -> Option<(SessionId, CallNumber, Patience)> {
        let mut owners = request.calls.iter().filter_map(|id| self.waiters.get(id));
        let Some(first) = owners.next() else {
            let (only, more) = (self.asks.sessions.keys().next(), self.asks.sessions.len() > 1);
            return only
                .filter(|_| !more && request.reverse == Reverse::ListRoots)
                .map(|session| (*session, CallNumber(0), Patience::Short));
        };
        let patience = if first.progress.is_some() { Patience::Long } else { Patience::Short };
        let is_one = owners.all(|waiter| waiter.key.0 == first.key.0);
        is_one.then_some((first.key.0, first.key.1, patience))
    }

    /// Counts a request of the upstream, or says why it is one too many.
    fn admit(&mut self, request: &ReverseRequest) -> Result<(), String> {
        if self.asks.running >= RUNNING {
            return Err(format!("more than {RUNNING} requests to the client are open"));
        }
        let first = request.calls.iter().find(|id| self.waiters.contains_key(id));
        if let Some(waiter) = first.and_then(|id| self.waiters.get_mut(id)) {
            if waiter.asked >= OF_A_CALL {
                return Err(format!("more than {OF_A_CALL} requests to the client for one call"));
            }
            waiter.asked += 1;
        }
        self.asks.running += 1;
        Ok(())
    }

    pub(super) fn ask(&mut self, request: ReverseRequest, ctx: &mut Context<Self>) {
        let number = request.number;
        let owner = self.owner(&request);
        let face = owner.and_then(|(session, ..)| self.asks.sessions.get(&session).cloned());
        let (Some((session, call, patience)), Some(face)) = (owner, face) else {
            let why = "no call of one client alone is running at this server, so there is nobody to ask";
            let answer = LinkAnswer::Refused(NOT_ASSOCIATED, why.to_owned());
            return self.event(Event::Answer(number, answer), ctx);
        };
        if let Err(why) = self.admit(&request) {
            let answer = LinkAnswer::Refused(NOT_ASSOCIATED, why);
            return self.event(Event::Answer(number, answer), ctx);
        }
        let (over, is_over) = watch::channel(false);
        self.asks.open.insert(number, Open { session, call, over });
        let me = ctx.address();
        let errand = Errand {
            gate: self.setting.gate.clone(),
            face,
            session,
            call,
            patience,
            upstream: self.name().clone(),
            number,
            reverse: request.reverse,
            modes: self.asks.modes,
            params: request.params,
            progress: me.clone().recipient(),
            over: is_over,
        };
        actix::spawn(async move {
            let answer = convey(errand).await;
            let _ = me.send(Conveyed(number, answer)).await;
        });
    }

    pub(super) fn unask(&mut self, number: u64, reason: Option<Bytes>) {
        let Some(Open { session, call, over }) = self.asks.open.remove(&number) else { return };
        // Who would be told may be gone.
        let _ = over.send(true);
        let Some(face) = self.asks.sessions.get(&session) else { return };
        let (unrelay, notice, upstream) =
            (face.unrelay.clone(), self.setting.gate.notice.clone(), self.name().clone());
        actix::spawn(async move {
            // ORDER: recorded before seen; what cannot be recorded is not shown.
            let reason = match reason {
                Some(message) => {
                    let notice = notice.send(RecordNotice {
                        upstream: upstream.clone(),
                        call,
                        source: Source::Notification,
                        message: message.clone(),
                    });
                    matches!(notice.await, Ok(Ok(()))).then_some(message)
                }
                None => None,
            };
            let _ = unrelay.send(Unrelay { upstream, number, reason }).await;
        });
    }
}

impl Handler<Meet> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, message: Meet, ctx: &mut Self::Context) {
        let offered = Offered::of(&message.capabilities, self.setting.sampling);
        self.asks.modes = offered.modes();
        self.asks.sessions.extend(message.session);
        self.event(Event::Meet(offered), ctx);
    }
}

impl Handler<RootsChanged> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, _: RootsChanged, ctx: &mut Self::Context) {
        self.event(Event::RootsChanged, ctx);
    }
}

impl Handler<Conveyed> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, Conveyed(number, answer): Conveyed, ctx: &mut Self::Context) {
        self.asks.running = self.asks.running.saturating_sub(1);
        if self.asks.open.remove(&number).is_some() {
            self.event(Event::Answer(number, answer), ctx);
        }
    }
}

impl Handler<AskProgress> for UpstreamActor {
    type Result = ();

    fn handle(&mut self, message: AskProgress, ctx: &mut Self::Context) {
        self.event(Event::AskProgress(message.number, message.params), ctx);
    }
}
