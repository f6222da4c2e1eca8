//! The requests of upstreams that wait for the client's answer, as the session keeps them.
//!
//! A request gets an id of ours, and its progress token is that id too. What a client says of an id that
//! is not open is about nothing. `link/reverse.rs` is the other end; what may be relayed at all is judged
//! between the two.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::super::envelope::{self, Body, Id};
use super::super::offered::Reverse;
use super::super::requests;
use super::super::scan::{self, Span};
use super::{Command, Session};

/// Whether a request carried a progress token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reports {
    /// The client may report progress.
    Wanted,
    /// It may not.
    No,
}

/// The open requests.
#[derive(Debug, Default)]
pub(crate) struct Relayed(BTreeMap<u64, Reports>);

impl Relayed {
    /// The line that asks the client, under an id that was never used.
    pub(crate) fn ask(&mut self, id: u64, reverse: Reverse, params: Option<&[u8]>) -> Bytes {
        let Some(params) = params else {
            self.0.insert(id, Reports::No);
            return envelope::passed_request(id, reverse.name(), None);
        };
        let number = id.to_string();
        let token = requests::token(params);
        self.0.insert(id, if token.is_some() { Reports::Wanted } else { Reports::No });
        let edits: Vec<(Span, &[u8])> = token.into_iter().map(|span| (span, number.as_bytes())).collect();
        let mut raw = Vec::with_capacity(params.len() + number.len());
        scan::splice(params, &edits, &mut raw);
        envelope::passed_request(id, reverse.name(), Some(&raw))
    }

    /// Ends a request. Whether it was open.
    pub(crate) fn close(&mut self, id: u64) -> bool {
        self.0.remove(&id).is_some()
    }

    /// The line that tells the client to give a request up, if it was open.
    pub(crate) fn withdraw(&mut self, id: u64, reason: Option<&[u8]>) -> Option<Bytes> {
        self.close(id).then(|| {
            let reason = reason.map(|raw| [b",\"reason\":", raw].concat()).unwrap_or_default();
            let params = [format!("{{\"requestId\":{id}").as_bytes(), &reason, b"}"].concat();
            envelope::notification("notifications/cancelled", Some(&params))
        })
    }

    /// The open request that a `notifications/progress` is about.
    pub(crate) fn progress(&self, params: &Bytes) -> Option<u64> {
        let token = scan::member(params, "progressToken")?;
        let id = Id::read(params.slice(token))?.number()?;
        (self.0.get(&id) == Some(&Reports::Wanted)).then_some(id)
    }
}

impl Session {
    /// An upstream asks the client something, under an id from [`Session::mint`].
    pub(super) fn relay(&mut self, id: u64, reverse: Reverse, params: Option<&[u8]>, out: &mut Vec<Command>) {
        let line = self.relayed.ask(id, reverse, params);
        out.push(Command::Send(line));
    }

    /// Nobody waits for the answer any more.
    pub(super) fn unrelay(&mut self, id: u64, reason: Option<&[u8]>, out: &mut Vec<Command>) {
        out.extend(self.relayed.withdraw(id, reason).map(Command::Send));
    }

    /// The client answers something that an upstream asked. Whether it did.
    pub(super) fn relayed_answer(&mut self, id: u64, body: &Body, out: &mut Vec<Command>) -> bool {
        let was_open = self.relayed.close(id);
        if was_open {
            out.push(Command::Relayed(id, body.clone()));
        }
        was_open
    }

    /// The client reports progress of what an upstream asked.
    pub(super) fn relayed_progress(&self, params: Bytes, out: &mut Vec<Command>) {
        if let Some(id) = self.relayed.progress(&params) {
            out.push(Command::RelayedProgress(id, params));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_becomes_our_id_and_nothing_else_changes() {
        let mut open = Relayed::default();
        let line =
            open.ask(7, Reverse::Sample, Some(br#"{"n":1.0,"_meta":{"k":1e400,"progressToken":"t"}}"#));
        assert_eq!(
            line,
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\",\"params\":{\"n\":1.0,\"_meta\":{\"k\":1e400,\"progressToken\":7}}}\n"
        );
        let told = |open: &Relayed, raw: &'static str| open.progress(&Bytes::from_static(raw.as_bytes()));
        assert_eq!(told(&open, r#"{"progressToken":7,"progress":1}"#), Some(7));
        assert_eq!(told(&open, r#"{"progressToken":8}"#), None);
        assert_eq!(
            open.ask(8, Reverse::ListRoots, None),
            "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"roots/list\"}\n"
        );
        assert_eq!(told(&open, r#"{"progressToken":8}"#), None);
        let line = open.withdraw(7, Some(b"\"why\"")).unwrap();
        assert!(line.ends_with(b"\"params\":{\"requestId\":7,\"reason\":\"why\"}}\n"), "{line:?}");
        assert_eq!((open.withdraw(7, None), told(&open, r#"{"progressToken":7}"#)), (None, None));
        assert!(open.close(8) && !open.close(8));
    }
}
