//! What travels over the control socket: one line of JSON to the Bouncer, one back.
//!
//! Both ends may be of different versions for a while; a line that is not understood is answered so.
//! Texts in it are as hostile as what they were made from, and are escaped where they are shown.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::policy::{Effect, GrantKey, Offer};

/// The version of the lines.
const VERSION: u8 = 1;

/// What is asked of a Bouncer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// How it stands.
    Status,
    /// Which calls are held.
    Holds,
    /// A person's answer about one of them.
    Answer {
        /// The hold's id.
        id: String,
        /// The answer.
        choice: Choice,
    },
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Yes, exactly this call, once.
    Once,
    /// Yes, for this session.
    Session,
    /// Yes, by this lasting grant, which stands in the state folder already.
    Lasting(String),
    /// No.
    No,
}

/// A request on its way to who can answer it.
#[derive(Debug)]
pub struct Asked {
    /// The request.
    pub request: Request,
    /// To be given the answer.
    pub reply: oneshot::Sender<Reply>,
}

/// What a Bouncer answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Request::Status`].
    Status(Box<StatusReport>),
    /// To [`Request::Holds`], oldest first.
    Holds(Vec<HeldCall>),
    /// To [`Request::Answer`].
    Answered(Answered),
    /// The request was not heard, for this reason.
    NotHeard(String),
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// It counts.
    Taken,
    /// No call is held under that id: its time is over, or somebody has answered.
    Ended,
    /// This answer was not offered; the call is still held.
    NotOffered,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldCall {
    /// Its short id.
    pub id: String,
    /// The name that its client gave itself: hostile text.
    pub client: String,
    /// The upstream's configured name.
    pub upstream: String,
    /// The tool's own name: hostile text.
    pub tool: String,
    /// What it does.
    pub effect: Effect,
    /// What an answer would be about.
    pub keys: Vec<GrantKey>,
    /// The launches of the upstreams that the keys name.
    pub launches: BTreeMap<String, String>,
    /// What may be answered.
    pub offer: Offer,
    /// The question, a line each.
    pub question: String,
    /// Calls of one Bouncer with an equal group are one question: the same tool and the same record.
    #[serde(default)]
    pub group: Option<String>,
    /// Seconds since it was held.
    pub age: u64,
    /// Seconds until it is not held any more.
    pub left: u64,
}

/// How a Bouncer stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// Its version.
    pub version: String,
    /// When it started, in milliseconds since 1970.
    pub started: u64,
    /// The name that its client gave itself: hostile text.
    pub client: String,
    /// The program that started it and its process: hostile text.
    pub program: Option<(String, u32)>,
    /// Its config.
    pub config: String,
    /// The policy files that it read last.
    #[serde(default)]
    pub policies: Vec<String>,
    /// What became of the last time that config and policy were read again.
    #[serde(default)]
    pub reload: Option<ReloadReport>,
    /// Its audit log.
    pub audit: String,
    /// Its upstreams, by name.
    pub upstreams: Vec<UpstreamReport>,
    /// Calls whose question is open in the client.
    pub open: usize,
    /// Calls that wait for their question.
    pub waiting: usize,
    /// Calls that are held for `bouncer approve`.
    pub held: usize,
}

/// What became of reading config and policy again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadReport {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Why nothing of it is in force, a problem each; empty when it loaded.
    pub problems: Vec<String>,
    /// What is not in force before a restart, a line each: hostile names.
    pub waiting: Vec<String>,
}

/// How an upstream stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamReport {
    /// Its configured name.
    pub name: String,
    /// How it stands.
    pub standing: StandingReport,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    /// How often it went away since Bouncer started.
    pub ends: u32,
    /// How many tools clients see.
    pub tools: usize,
    /// Tools that are held back, each with the reason: hostile names.
    pub withheld: BTreeMap<String, String>,
    /// The file of what it writes to its stderr.
    pub log: Option<String>,
}

/// How an upstream stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StandingReport {
    /// It has not listed its tools yet.
    Starting,
    /// It serves.
    Up,
    /// It has served before, is away for this reason, and is started again.
    Restarting(String),
    /// It has never served, for this reason; it is tried again.
    Failed(String),
    /// It was taken out of the configuration while Bouncer ran.
    Removed,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<T> {
    v: u8,
    say: T,
}

fn to_line<T: Serialize>(say: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(&Line { v: VERSION, say }).unwrap_or_default();
    line.push(b'\n');
    line
}

fn from_line<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let line: Line<T> = serde_json::from_slice(line).ok()?;
    (line.v == VERSION).then_some(line.say)
}

impl Request {
    /// The request as a line.
    pub(super) fn to_line(&self) -> Vec<u8> {
        to_line(self)
    }

    /// Reads a line; `None` for anything that this version does not ask.
    pub(super) fn from_line(line: &[u8]) -> Option<Self> {
        from_line(line)
    }
}

impl Reply {
    /// The reply as a line.
    pub(super) fn to_line(&self) -> Vec<u8> {
        to_line(self)
    }

    /// Reads a line; `None` for anything that this version does not answer.
    pub(super) fn from_line(line: &[u8]) -> Option<Self> {
        from_line(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip_and_others_are_not_understood() {
        let answer = |choice| Request::Answer { id: "a2".to_owned(), choice };
        for request in [
            Request::Status,
            Request::Holds,
            answer(Choice::Once),
            answer(Choice::Lasting("g".to_owned())),
            answer(Choice::No),
        ] {
            assert_eq!(Request::from_line(&request.to_line()), Some(request));
        }
        let reply = Reply::Answered(Answered::Ended);
        assert_eq!(Reply::from_line(&reply.to_line()), Some(reply));
        for line in ["", "{}", r#"{"v":2,"say":"status"}"#, r#"{"v":1,"say":"stop"}"#] {
            assert_eq!(Request::from_line(line.as_bytes()), None, "{line}");
        }
    }
}
