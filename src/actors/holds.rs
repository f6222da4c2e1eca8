//! Calls that were refused although a person could allow them: kept for ten minutes under a short id.
//!
//! Nobody waits for these any more. A yes is kept for the next try, so what is here is only what the
//! answer would be about, and the question.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::policy::{Effect, GrantKey, Offer};

use super::approval::Hold;

/// How long a person may take.
const HELD: Duration = Duration::from_secs(600);
/// Calls that are held; the oldest gives way, so that a flood of calls cannot keep the next one out.
const MOST: usize = 256;
/// What ids are made of: no two that look alike.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

/// A held call.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) id: String,
    pub(super) session: u64,
    pub(super) digest: String,
    pub(super) effect: Effect,
    pub(super) keys: Vec<GrantKey>,
    pub(super) offer: Offer,
    pub(super) exact: Option<String>,
    pub(super) listed: BTreeSet<String>,
    pub(super) client: Arc<str>,
    pub(super) upstream: Arc<str>,
    pub(super) tool: Arc<str>,
    pub(super) question: String,
    pub(super) group: Option<String>,
    since: Instant,
    asked: Option<AskedThere>,
}

/// The question in the client that may still be answered there, and what it was about: the same call may
/// be about more by the time it is held again.
#[derive(Debug, Clone)]
struct AskedThere {
    question: u64,
    offer: Offer,
    keys: Vec<GrantKey>,
    listed: BTreeSet<String>,
}

impl Held {
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }

    pub(super) fn left(&self, now: Instant) -> Duration {
        HELD.saturating_sub(self.age(now))
    }
}

/// The held calls, oldest first.
#[derive(Debug, Default)]
pub(super) struct Holds {
    held: VecDeque<Held>,
}

impl Holds {
    /// Holds a call and returns its id. An equal call that is held already is held anew under its id.
    /// `None` when there is no id to be had: then the call is simply refused. `asked`: the question in the
    /// client, and what it offered.
    pub(super) fn keep(&mut self, hold: &Hold, asked: Option<(u64, Offer)>, now: Instant) -> Option<String> {
        self.end(now);
        // A terminal accepts new words with `check --accept`, which shows all that changed.
        if hold.offer == Offer::Words {
            return None;
        }
        let equal = |held: &Held| held.session == hold.session && held.digest == hold.digest;
        let old = self.held.iter().position(equal).and_then(|at| self.held.remove(at));
        let asked = asked.map(|(question, offer)| AskedThere {
            question,
            offer,
            keys: hold.keys.clone(),
            listed: hold.listed.clone(),
        });
        let asked = asked.or_else(|| old.as_ref().and_then(|old| old.asked.clone()));
        let id = match old {
            Some(old) => old.id,
            None => short_id().filter(|id| self.held.iter().all(|held| held.id != *id))?,
        };
        self.held.push_back(Held {
            id: id.clone(),
            session: hold.session,
            digest: hold.digest.clone(),
            effect: hold.effect,
            keys: hold.keys.clone(),
            offer: hold.offer,
            exact: hold.exact.clone(),
            listed: hold.listed.clone(),
            client: Arc::clone(&hold.client),
            upstream: Arc::clone(&hold.upstream),
            tool: Arc::clone(&hold.tool),
            question: hold.question.to_string(),
            group: hold.group.clone(),
            since: now,
            asked,
        });
        while self.held.len() > MOST {
            self.held.pop_front();
        }
        Some(id)
    }

    /// The calls that are held at this moment.
    pub(super) fn list(&mut self, now: Instant) -> impl Iterator<Item = &Held> {
        self.end(now);
        self.held.iter()
    }

    /// The call under an id.
    pub(super) fn get(&mut self, id: &str, now: Instant) -> Option<&Held> {
        self.list(now).find(|held| held.id == id)
    }

    /// Takes the call under an id.
    pub(super) fn take(&mut self, id: &str, now: Instant) -> Option<Held> {
        self.end(now);
        let at = self.held.iter().position(|held| held.id == id)?;
        self.held.remove(at)
    }

    /// Takes the calls that shared a question in the client, each as it was asked about there.
    pub(super) fn take_asked(&mut self, question: u64, now: Instant) -> Vec<Held> {
        self.end(now);
        let mut taken = Vec::new();
        for held in std::mem::take(&mut self.held) {
            match held.asked.clone().filter(|asked| asked.question == question) {
                Some(AskedThere { offer, keys, listed, .. }) => {
                    taken.push(Held { offer, keys, listed, asked: None, ..held });
                }
                None => self.held.push_back(held),
            }
        }
        taken
    }

    fn end(&mut self, now: Instant) {
        self.held.retain(|held| held.age(now) < HELD);
    }
}

/// Six random letters and digits; `None` on a system that has no randomness left.
pub fn short_id() -> Option<String> {
    let mut bytes = [0_u8; 6];
    getrandom::fill(&mut bytes).ok()?;
    let letter = |byte: &u8| LETTERS.get(usize::from(byte % 32)).map(|letter| char::from(*letter));
    bytes.iter().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::CallNumber;
    use crate::actors::Patience;
    use crate::actors::rows::Wish;
    use crate::policy::Question;

    fn hold(digest: usize) -> Hold {
        Hold {
            session: 1,
            call: CallNumber(1),
            client: "stage".into(),
            upstream: "mail".into(),
            tool: "send".into(),
            digest: digest.to_string(),
            effect: Effect::Send,
            keys: vec![],
            offer: Offer::Once,
            group: None,
            exact: None,
            listed: BTreeSet::new(),
            question: Question { head: "Send?".to_owned(), items: vec![], list: vec![], tail: vec![] },
            asker: None,
            patience: Patience::Short,
            wish: Wish::Agent,
            over: None,
        }
    }

    #[test]
    fn holds_end_after_their_time_and_an_equal_call_starts_it_anew() {
        let mut holds = Holds::default();
        let start = crate::clock::instant();
        let at = |seconds| start + Duration::from_secs(seconds);
        let id = holds.keep(&hold(1), Some((7, Offer::Once)), at(0)).expect("an id");
        assert_eq!(holds.keep(&hold(1), None, at(500)), Some(id.clone()));
        assert!(holds.get(&id, at(1_099)).is_some());
        assert_eq!(holds.get(&id, at(1_099)).map(|held| held.left(at(1_099)).as_secs()), Some(1));
        assert!(holds.get(&id, at(1_100)).is_none());
        assert!(holds.take_asked(7, at(1_100)).is_empty());
    }

    #[test]
    fn an_answer_in_the_client_is_about_what_was_asked_there() {
        let mut holds = Holds::default();
        let now = crate::clock::instant();
        holds.keep(&hold(1), Some((7, Offer::Once)), now).expect("an id");
        let more = Hold { offer: Offer::Listed, listed: BTreeSet::from(["x".to_owned()]), ..hold(1) };
        holds.keep(&more, None, now).expect("an id");
        let taken = holds.take_asked(7, now);
        assert_eq!(
            taken.iter().map(|held| (held.offer, held.listed.len())).collect::<Vec<_>>(),
            [(Offer::Once, 0)]
        );
    }

    #[test]
    fn a_flood_of_calls_does_not_keep_the_next_one_out() {
        let mut holds = Holds::default();
        let now = crate::clock::instant();
        for digest in 0..MOST + 10 {
            assert!(holds.keep(&hold(digest), None, now).is_some());
        }
        assert_eq!(holds.list(now).count(), MOST);
        let last = holds.keep(&hold(9_999), None, now).expect("an id");
        assert_eq!(holds.take(&last, now).map(|held| held.digest), Some("9999".to_owned()));
    }
}
