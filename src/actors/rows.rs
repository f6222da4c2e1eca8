//! Questions in a row that a person refused or left unanswered, and the rest that they get then.
//!
//! Calls of the agent are one row. What each server asks of its own accord is a row of its own: a server
//! that asks until nobody listens any more must not take the answers to the agent's questions with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Questions in a row that may be refused or stay unanswered before no more are asked.
const IN_A_ROW: u32 = 5;
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

#[derive(Debug, Default)]
struct Row {
    refused: u32,
    resting_since: Option<Instant>,
}

impl Row {
    fn is_resting(&self, now: Instant) -> bool {
        self.resting_since.is_some_and(|since| now.saturating_duration_since(since) < REST)
    }

    fn refused(&mut self, now: Instant) {
        if self.resting_since.is_some() && !self.is_resting(now) {
            *self = Self::default();
        }
        self.refused += 1;
        if self.refused >= IN_A_ROW {
            self.resting_since = Some(now);
        }
    }
}

/// The rows of all.
#[derive(Debug, Default)]
pub(super) struct Rows {
    agent: Row,
    servers: BTreeMap<Arc<str>, Row>,
}

impl Rows {
    /// Whether nothing of this kind is asked now. Who rests from the agent's questions rests from all.
    pub(super) fn is_resting(&self, wish: Wish, upstream: &str, now: Instant) -> bool {
        let server = || self.servers.get(upstream).is_some_and(|row| row.is_resting(now));
        self.agent.is_resting(now) || (wish == Wish::Server && server())
    }

    /// A question was refused, or nobody answered it.
    pub(super) fn refused(&mut self, wish: Wish, upstream: &Arc<str>, now: Instant) {
        match wish {
            Wish::Agent => self.agent.refused(now),
            Wish::Server => self.servers.entry(upstream.clone()).or_default().refused(now),
        }
    }

    /// A question had its yes.
    pub(super) fn allowed(&mut self, wish: Wish, upstream: &str) {
        match wish {
            Wish::Agent => self.agent = Row::default(),
            Wish::Server => drop(self.servers.remove(upstream)),
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
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        for _ in 0..IN_A_ROW {
            assert!(!rows.is_resting(Wish::Server, &a, now));
            rows.refused(Wish::Server, &a, now);
        }
        assert!(rows.is_resting(Wish::Server, &a, now));
        assert!(!rows.is_resting(Wish::Server, &b, now) && !rows.is_resting(Wish::Agent, &a, now));
        assert!(!rows.is_resting(Wish::Server, &a, now + REST));
        rows.refused(Wish::Server, &a, now + REST);
        assert!(!rows.is_resting(Wish::Server, &a, now + REST), "it starts anew");
        for _ in 0..IN_A_ROW {
            rows.refused(Wish::Agent, &a, now);
        }
        assert!(rows.is_resting(Wish::Agent, &b, now) && rows.is_resting(Wish::Server, &b, now));
        rows.allowed(Wish::Server, &b);
        assert!(rows.is_resting(Wish::Agent, &b, now), "what one server may does not end it");
        rows.over();
        assert!(!rows.is_resting(Wish::Server, &a, now) && !rows.is_resting(Wish::Agent, &a, now));
    }
}
