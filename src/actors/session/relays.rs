//! What upstreams ask of this client, while it has not answered.

use std::sync::Arc;

use actix::prelude::*;
use bytes::Bytes;
use tokio::sync::oneshot;

use super::SessionActor;
use crate::actors::reverse::{AskProgress, Face, Meet, Relay, RelayedAnswer, RootsChanged, Unrelay};
use crate::actors::upstream::tell;
use crate::mcp::{Body, SessionEvent as Event};

/// What an upstream asked, while the client has not answered.
pub(super) struct Relaying {
    upstream: Arc<str>,
    number: u64,
    reply: oneshot::Sender<RelayedAnswer>,
    progress: Recipient<AskProgress>,
}

/// The wait for what an upstream asked is over.
#[derive(Message)]
#[rtype(result = "()")]
struct Overdue(u64);

impl SessionActor {
    pub(super) fn relayed(&mut self, id: u64, body: Body) {
        if let Some(relaying) = self.relaying.remove(&id) {
            // Who asked may have given up.
            let _ = relaying.reply.send(RelayedAnswer::Answer(body));
        }
    }

    pub(super) fn relayed_progress(&self, id: u64, params: Bytes) {
        if let Some(relaying) = self.relaying.get(&id) {
            tell(&relaying.progress, AskProgress { number: relaying.number, params });
        }
    }

    pub(super) fn roots_changed(&self) {
        for upstream in self.upstreams.values() {
            tell(&upstream.roots, RootsChanged);
        }
    }

    /// Tells every upstream of the client.
    pub(super) fn meet(&self, capabilities: &Bytes, ctx: &Context<Self>) {
        let me = ctx.address();
        let face = Face {
            client: self.session.client().clone(),
            relay: me.clone().recipient(),
            unrelay: me.clone().recipient(),
            asker: self.session.can_ask().then(|| Arc::new(me.recipient())),
        };
        for upstream in self.upstreams.values() {
            let meet = Meet { capabilities: capabilities.clone(), session: Some((self.id, face.clone())) };
            tell(&upstream.meet, meet);
        }
    }
}

impl Handler<Relay> for SessionActor {
    type Result = ResponseFuture<RelayedAnswer>;

    fn handle(&mut self, message: Relay, ctx: &mut Self::Context) -> Self::Result {
        if self.has_ended {
            return Box::pin(async { RelayedAnswer::Gone });
        }
        let (reply, answer) = oneshot::channel();
        let id = self.session.mint();
        let Relay { reverse, params, number, upstream, progress, wait } = message;
        self.relaying.insert(id, Relaying { upstream: upstream.clone(), number, reply, progress });
        self.event(Event::Relay(id, upstream, reverse, params), ctx);
        let me = ctx.address();
        Box::pin(async move {
            if let Ok(answer) = tokio::time::timeout(wait, answer).await {
                return answer.unwrap_or(RelayedAnswer::Gone);
            }
            let _ = me.send(Overdue(id)).await;
            RelayedAnswer::TimedOut
        })
    }
}

impl Handler<Overdue> for SessionActor {
    type Result = ();

    fn handle(&mut self, Overdue(id): Overdue, ctx: &mut Self::Context) {
        if self.relaying.remove(&id).is_some() {
            self.event(Event::Unrelay(id, None), ctx);
        }
    }
}

impl Handler<Unrelay> for SessionActor {
    type Result = ();

    fn handle(&mut self, message: Unrelay, ctx: &mut Self::Context) {
        let is_it = |open: &Relaying| open.number == message.number && open.upstream == message.upstream;
        let found = self.relaying.iter().find(|(_, open)| is_it(open)).map(|(id, _)| *id);
        if let Some(id) = found {
            self.relaying.remove(&id);
            self.event(Event::Unrelay(id, message.reason), ctx);
        }
    }
}
