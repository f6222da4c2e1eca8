//! Answers that come when nobody waits for them any more: late ones in the client, and those in a terminal.
//!
//! The call was refused, so what such an answer does is to be found when the call is tried again. It counts
//! for what its own question offered, and only while the call is held.

use actix::prelude::*;

use crate::clock;
use crate::policy::{GrantKey, LastingGrant, ListYes, Offer};
use crate::transport::{Answered, Choice, HeldCall};

use super::approval::{ApprovalActor, Decision, LISTED};
use super::holds::Held;
use super::messages::{Answer, LateAnswer};

/// Which calls are held, oldest first?
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Vec<HeldCall>")]
pub struct ListHeld;

/// A person's answer about a held call.
#[derive(Debug, Clone)]
pub struct AnswerHeld {
    /// The hold's id.
    pub id: String,
    /// The answer.
    pub choice: Choice,
}

impl Message for AnswerHeld {
    type Result = Answered;
}

impl Handler<LateAnswer> for ApprovalActor {
    type Result = ();

    fn handle(&mut self, msg: LateAnswer, _: &mut Self::Context) {
        if matches!(msg.answer, Answer::TimedOut | Answer::Gone) {
            return;
        }
        let until = self.now().saturating_add(LISTED);
        // What is not held any more was answered elsewhere or is over.
        for held in self.holds.take_asked(msg.question, clock::instant()) {
            match Decision::of(&msg.answer, held.offer) {
                Decision::Session => {
                    self.ledger.grant(held.session, held.effect, &held.keys);
                    self.ledger.keep_once(held.session, &held.digest, "late answer");
                    self.rows.over();
                }
                Decision::Listed => {
                    self.ledger.keep_list(ListYes {
                        session: held.session,
                        group: held.group,
                        calls: held.listed.clone(),
                        left: held.listed,
                        by: "list, late answer".to_owned(),
                        until,
                    });
                    self.rows.over();
                }
                Decision::Once => {
                    self.ledger.keep_once(held.session, &held.digest, "late answer");
                    self.rows.over();
                }
                _ => {
                    let list = (held.group.as_deref(), held.exact.as_deref());
                    self.refuse((held.session, held.effect), &held.keys, list);
                }
            }
        }
    }
}

impl Handler<ListHeld> for ApprovalActor {
    type Result = Vec<HeldCall>;

    fn handle(&mut self, _: ListHeld, _: &mut Self::Context) -> Self::Result {
        let now = clock::instant();
        let launches = &self.launches;
        let named = |held: &Held| {
            let names = held.keys.iter().flat_map(GrantKey::upstreams);
            names.filter_map(|name| Some((name.to_owned(), launches.get(name)?.clone()))).collect()
        };
        self.holds
            .list(now)
            .map(|held| HeldCall {
                id: held.id.clone(),
                client: held.client.to_string(),
                upstream: held.upstream.to_string(),
                tool: held.tool.to_string(),
                effect: held.effect,
                keys: held.keys.clone(),
                launches: named(held),
                offer: held.offer,
                question: held.question.clone(),
                group: held.group.as_ref().map(|group| format!("{}\u{0}{group}", held.session)),
                age: held.age(now).as_secs(),
                left: held.left(now).as_secs(),
            })
            .collect()
    }
}

impl Handler<AnswerHeld> for ApprovalActor {
    type Result = MessageResult<AnswerHeld>;

    fn handle(&mut self, msg: AnswerHeld, _: &mut Self::Context) -> Self::Result {
        let now = clock::instant();
        let Some(held) = self.holds.get(&msg.id, now).cloned() else {
            return MessageResult(Answered::Ended);
        };
        let (session, effect, keys) = (held.session, held.effect, held.keys.as_slice());
        let offered = match &msg.choice {
            Choice::Once | Choice::No => true,
            Choice::Session => held.offer == Offer::Session,
            // FAIL CLOSED: only a grant that stands in the file, and that covers all of it, counts.
            Choice::Lasting(_) => {
                held.offer == Offer::Session
                    && LastingGrant::may_last(effect, keys)
                    && keys
                        .iter()
                        .filter(|key| !matches!(key, GrantKey::Call(_)))
                        .all(|key| self.lasting(effect, key).is_some())
            }
        };
        if !offered {
            return MessageResult(Answered::NotOffered);
        }
        self.holds.take(&msg.id, now);
        match msg.choice {
            Choice::Once => {
                self.ledger.forget_refusals(session, effect, keys);
                self.ledger.keep_once(session, &held.digest, &format!("once, by {}", held.id));
            }
            Choice::Session => {
                self.ledger.grant(session, effect, keys);
            }
            Choice::Lasting(_) => self.ledger.forget_refusals(session, effect, keys),
            Choice::No => {
                self.refuse((session, effect), keys, (held.group.as_deref(), held.exact.as_deref()));
            }
        }
        self.rows.over();
        MessageResult(Answered::Taken)
    }
}
