//! The requests of an upstream that the client is to answer, as its link keeps them.
//!
//! Each is known by a number of our own while it is open, belongs to the calls that were in flight at the
//! upstream when it came, and ends exactly once: by its answer, by the upstream giving it up, with the
//! last of those calls, or with the process. `session/relayed.rs` is its other end.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::super::envelope::{self, Id};
use super::super::offered::{Offered, Reverse};
use super::super::requests::token;
use super::super::scan;
use super::{Command, Link, Phase};

/// Requests of one upstream that may be open at once; more are refused.
const OPEN: usize = 16;
/// Bytes of a number in a report of progress.
const NUMBER: usize = 24;

/// A request of an upstream on its way to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The link's number of it.
    pub number: u64,
    /// What is asked.
    pub reverse: Reverse,
    /// The raw params, where it had any.
    pub params: Option<Bytes>,
    /// The ids of the calls in flight at the upstream.
    pub calls: BTreeSet<u64>,
}

/// How a request of an upstream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The raw `result`.
    Result(Bytes),
    /// The raw `error` of the client.
    Error(Bytes),
    /// An error of our own: JSON-RPC code and words.
    Refused(i32, String),
}

#[derive(Debug)]
struct Open {
    id: Id,
    token: Option<Bytes>,
    calls: BTreeSet<u64>,
}

/// The open requests of one upstream.
#[derive(Debug, Default)]
pub(crate) struct Requests(BTreeMap<u64, Open>);

/// Why a request is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// An open request has its id: an answer could not be told apart, so there is none.
    SameId,
    /// Too many are open.
    TooMany,
}

impl Requests {
    /// Takes a request under a number.
    pub(crate) fn open(&mut self, id: &Id, request: &Request) -> Result<(), NotTaken> {
        if self.number_of(id).is_some() {
            return Err(NotTaken::SameId);
        }
        if self.0.len() >= OPEN {
            return Err(NotTaken::TooMany);
        }
        let token = request.params.as_ref().and_then(|params| Some(params.slice(token(params)?)));
        self.0.insert(request.number, Open { id: id.clone(), token, calls: request.calls.clone() });
        Ok(())
    }

    /// The number of the open request that has this id.
    pub(crate) fn number_of(&self, id: &Id) -> Option<u64> {
        self.0.iter().find(|(_, open)| open.id.key() == id.key()).map(|(number, _)| *number)
    }

    /// Ends a request: the id that its answer goes to.
    pub(crate) fn close(&mut self, number: u64) -> Option<Id> {
        self.0.remove(&number).map(|open| open.id)
    }

    /// Ends all.
    pub(crate) fn close_all(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.0).into_keys().collect()
    }

    /// A call has ended: ends the requests that belonged to it and to no other that still runs.
    pub(crate) fn call_ended(&mut self, call: u64) -> Vec<(u64, Id)> {
        let left = |open: &mut Open| open.calls.remove(&call) && open.calls.is_empty();
        let ended: Vec<u64> =
            self.0.iter_mut().filter_map(|(number, open)| left(open).then_some(*number)).collect();
        ended.into_iter().filter_map(|number| Some((number, self.close(number)?))).collect()
    }

    /// The upstream's own progress token of a request.
    pub(crate) fn token(&self, number: u64) -> Option<&Bytes> {
        self.0.get(&number)?.token.as_ref()
    }
}

impl Link {
    /// The upstream makes a request.
    pub(super) fn asked(&mut self, id: &Id, method: &[u8], params: Option<Bytes>, out: &mut Vec<Command>) {
        let offered = self.offered.as_ref();
        let Some(reverse) =
            Reverse::of(method).filter(|reverse| offered.is_some_and(|offered| offered.offers(*reverse)))
        else {
            let why = "this client does not offer that method";
            out.push(Command::Write(envelope::error(id, envelope::METHOD_NOT_FOUND, why)));
            return;
        };
        let request = Request { number: self.mint(), reverse, params, calls: self.in_flight.clone() };
        match self.requests.open(id, &request) {
            Ok(()) => out.push(Command::Ask(request)),
            Err(NotTaken::SameId) => super::note("it used the id of an open request again", out),
            Err(NotTaken::TooMany) => {
                let why = format!("more than {OPEN} requests to the client are open");
                out.push(Command::Write(envelope::error(id, envelope::INVALID_REQUEST, &why)));
            }
        }
    }

    /// The answer to a request has come; one that has ended meanwhile needs none.
    pub(super) fn answered(&mut self, number: u64, answer: &Answer, out: &mut Vec<Command>) {
        let Some(id) = self.requests.close(number) else { return };
        out.push(Command::Write(match answer {
            Answer::Result(raw) => envelope::result(&id, raw),
            Answer::Error(raw) => envelope::raw_error(&id, raw),
            Answer::Refused(code, why) => envelope::error(&id, *code, why),
        }));
    }

    /// The client reports progress of a request, in these raw params. Its numbers pass; its words are
    /// content that nobody judged and stay here.
    pub(super) fn ask_progress(&self, number: u64, params: &[u8], out: &mut Vec<Command>) {
        let Some(theirs) = self.requests.token(number) else { return };
        let mut raw = [b"{\"progressToken\":", &theirs[..]].concat();
        for name in ["progress", "total"] {
            let value = scan::member(params, name).map(|span| scan::slice(params, &span));
            let is_number = |value: &&[u8]| matches!(value.first(), Some(b'-' | b'0'..=b'9'));
            if let Some(value) = value.filter(is_number).filter(|value| value.len() <= NUMBER) {
                raw.extend_from_slice(format!(",\"{name}\":").as_bytes());
                raw.extend_from_slice(value);
            }
        }
        raw.push(b'}');
        out.push(Command::Write(envelope::notification("notifications/progress", Some(&raw))));
    }

    /// The upstream gives a request up. One that is not open is not remembered.
    pub(super) fn given_up(&mut self, params: &Bytes, out: &mut Vec<Command>) {
        let at = |name: &str| scan::member(params, name).map(|span| params.slice(span));
        let number = at("requestId").and_then(Id::read).and_then(|id| self.requests.number_of(&id));
        if let Some(number) = number {
            self.requests.close(number);
            out.push(Command::Unask(number, at("reason").filter(|raw| raw.starts_with(b"\""))));
        }
    }

    /// A call has ended, and with it what was asked on its behalf.
    pub(super) fn call_ended(&mut self, call: u64, out: &mut Vec<Command>) {
        for (number, id) in self.requests.call_ended(call) {
            let why = "the call that this request belonged to has ended";
            out.push(Command::Write(envelope::error(&id, envelope::INVALID_REQUEST, why)));
            out.push(Command::Unask(number, None));
        }
    }

    /// The process is gone, and nobody waits for its requests.
    pub(super) fn forget_requests(&mut self, out: &mut Vec<Command>) {
        out.extend(self.requests.close_all().into_iter().map(|number| Command::Unask(number, None)));
    }

    /// The client is known. A process that waits for it is greeted; one that was greeted before keeps what
    /// it was told.
    pub(super) fn meet(&mut self, offered: Offered, out: &mut Vec<Command>) {
        self.offered = Some(offered);
        if self.phase == Phase::Waiting {
            self.greet(out);
        }
    }

    /// The client's roots are others than before.
    pub(super) fn roots_changed(&self, out: &mut Vec<Command>) {
        let knows = self.offered.as_ref().is_some_and(Offered::tells_roots);
        if knows && matches!(self.phase, Phase::Listing | Phase::Ready) {
            out.push(Command::Write(envelope::notification("notifications/roots/list_changed", None)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(raw: &str) -> Id {
        Id::read(Bytes::copy_from_slice(raw.as_bytes())).unwrap()
    }

    fn request(number: u64, calls: &[u64]) -> Request {
        let params = Some(Bytes::from_static(b"{\"_meta\":{\"progressToken\":\"p\"}}"));
        Request { number, reverse: Reverse::Elicit, params, calls: calls.iter().copied().collect() }
    }

    #[test]
    fn a_request_ends_with_the_last_of_its_calls() {
        let mut open = Requests::default();
        open.open(&id("\"a\""), &request(1, &[7, 8])).unwrap();
        open.open(&id("2"), &request(2, &[])).unwrap();
        assert_eq!(open.token(1).unwrap(), "\"p\"");
        assert_eq!(open.number_of(&id("\"\\u0061\"")), Some(1));
        assert_eq!(open.call_ended(7), []);
        assert_eq!(open.call_ended(7), []);
        assert_eq!(open.call_ended(8), [(1, id("\"a\""))]);
        assert_eq!((open.close(1), open.close(2)), (None, Some(id("2"))));
    }

    #[test]
    fn requests_are_bounded_and_told_apart() {
        let mut open = Requests::default();
        for number in 0..OPEN as u64 {
            open.open(&id(&number.to_string()), &request(number, &[1])).unwrap();
        }
        assert_eq!(open.open(&id("3"), &request(90, &[1])), Err(NotTaken::SameId));
        assert_eq!(open.open(&id("99"), &request(99, &[1])), Err(NotTaken::TooMany));
        assert_eq!(open.close_all().len(), OPEN);
    }
}
