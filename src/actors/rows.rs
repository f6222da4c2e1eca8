//! Questions in a row that a person refused or left unanswered, and the rest that they get then.
//!
//! Calls of the agent are one row, and those of it that are about one source another: what one record asks
//! for until nobody listens any more must not take the answers to other questions with it, and many records
//! together must not ask for ever. What each server asks of its own accord is a row of its own for the same
//! reason.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::approval::Hold;

/// Questions in a row about one source that may be refused or stay unanswered before no more are asked about it.
const IN_A_ROW: u32 = 5;
/// The same for all sources together.
const ALTOGETHER: u32 = 10;
/// How long that lasts, unless the user types again.
const REST: Duration = Duration::from_secs(600);

/// Whose wish a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The agent's, that calls.
    Agent,
    /// The upstream's, that asks something of the client.
    Server,
}

/// Which rows a question is in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose<'a> {
    /// The agent's, with what it is about: the tool and the record that its targets were read in. Without such a
    /// record it is one of those that nothing tells apart.
    Agent(Option<&'a str>),
    /// This server's.
    Server(&'a str),
}

impl<'a> From<&'a Hold> for Whose<'a> {
    fn from(hold: &'a Hold) -> Self {
        match hold.wish {
            Wish::Agent => Self::Agent(hold.group.as_deref()),
            Wish::Server => Self::Server(&hold.upstream),
        }
    }
}

#[derive(Debug, Default)]
struct Row {
    refused: u32,
    resting_since: Option<Instant>,
}

impl Row {
    fn is_resting(&self, now: Instant) -> bool {
        self.resting_since.is_some_and(|since| now.saturating_duration_since(since) < REST)
    }

    /// Whether it was resting, and that is over.
    fn has_rested(&self, now: Instant) -> bool {
        self.resting_since.is_some() && !self.is_resting(now)
    }

    fn refused(&mut self, most: u32, now: Instant) {
        if self.has_rested(now) {
            *self = Self::default();
        }
        self.refused += 1;
        if self.refused >= most {
            self.resting_since = Some(now);
        }
    }
}

/// The rows of all.
#[derive(Debug, Default)]
pub(super) struct Rows {
    agent: Row,
    /// Of what the agent's are about. No more than `ALTOGETHER`, because then all of them rest.
    sources: BTreeMap<Option<String>, Row>,
    servers: BTreeMap<String, Row>,
}

impl Rows {
    /// Whether nothing of this kind is asked now. Who rests from all of the agent's questions rests from all.
    pub(super) fn is_resting<'a>(&self, whose: impl Into<Whose<'a>>, now: Instant) -> bool {
        let row = match whose.into() {
            Whose::Agent(source) => self.sources.get(&source.map(str::to_owned)),
            Whose::Server(server) => self.servers.get(server),
        };
        self.agent.is_resting(now) || row.is_some_and(|row| row.is_resting(now))
    }

    /// A question was refused, or nobody answered it.
    pub(super) fn refused<'a>(&mut self, whose: impl Into<Whose<'a>>, now: Instant) {
        match whose.into() {
            Whose::Agent(source) => {
                if self.agent.has_rested(now) {
                    self.sources.clear();
                }
                self.agent.refused(ALTOGETHER, now);
                self.sources.entry(source.map(str::to_owned)).or_default().refused(IN_A_ROW, now);
            }
            Whose::Server(server) => {
                self.servers.entry(server.to_owned()).or_default().refused(IN_A_ROW, now);
            }
        }
    }

    /// A question had its yes.
    pub(super) fn allowed<'a>(&mut self, whose: impl Into<Whose<'a>>) {
        match whose.into() {
            Whose::Agent(_) => {
                self.agent = Row::default();
                self.sources.clear();
            }
            Whose::Server(server) => drop(self.servers.remove(server)),
        }
    }

    /// A person is there, and asks for more.
    pub(super) fn over(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_refused_tires_of_itself_alone() {
        let (mut rows, now): (_, Instant) = (Rows::default(), crate::clock::instant());
        let (a, b, agent) = (Whose::Server("a"), Whose::Server("b"), Whose::Agent(None));
        for _ in 0..IN_A_ROW {
            assert!(!rows.is_resting(a, now));
            rows.refused(a, now);
        }
        assert!(rows.is_resting(a, now));
        assert!(!rows.is_resting(b, now) && !rows.is_resting(agent, now));
        assert!(!rows.is_resting(a, now + REST));
        rows.refused(a, now + REST);
        assert!(!rows.is_resting(a, now + REST), "it starts anew");
        for _ in 0..ALTOGETHER {
            rows.refused(agent, now);
        }
        assert!(rows.is_resting(agent, now) && rows.is_resting(b, now));
        rows.allowed(b);
        assert!(rows.is_resting(agent, now), "what one server may does not end it");
        rows.over();
        assert!(!rows.is_resting(a, now) && !rows.is_resting(agent, now));
    }

    #[test]
    fn a_record_that_is_refused_tires_of_itself_and_many_of_all() {
        let (mut rows, now): (_, Instant) = (Rows::default(), crate::clock::instant());
        let (mail, page, none) =
            (Whose::Agent(Some("mail 3")), Whose::Agent(Some("page 4")), Whose::Agent(None));
        for _ in 0..IN_A_ROW {
            assert!(!rows.is_resting(mail, now));
            rows.refused(mail, now);
        }
        assert!(rows.is_resting(mail, now) && !rows.is_resting(page, now) && !rows.is_resting(none, now));
        for n in IN_A_ROW..ALTOGETHER {
            assert!(!rows.is_resting(page, now), "{n}");
            let source = format!("page {n}");
            rows.refused(Whose::Agent(Some(&source)), now);
        }
        assert!(
            rows.is_resting(page, now) && rows.is_resting(none, now),
            "however many records they come from"
        );
        assert!(!rows.is_resting(page, now + REST) && !rows.is_resting(mail, now + REST));
        rows.refused(page, now + REST);
        assert!(!rows.is_resting(page, now + REST) && !rows.is_resting(mail, now + REST), "all start anew");
        rows.refused(mail, now + REST);
        rows.allowed(page);
        for _ in 0..IN_A_ROW {
            assert!(!rows.is_resting(mail, now + REST), "a yes ends every row");
            rows.refused(mail, now + REST);
        }
    }
}
