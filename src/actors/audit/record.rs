//! What stands in a line of the audit log.
//!
//! Two kinds, joined by session and call number. The names `tool`, `args`, `verdict`, `reason`,
//! `contract` and `ts` are those of the reference format, so that its readers find them. Values with
//! the shape of a secret are masked; the digest of the raw arguments stays, so that a masked call can
//! still be compared.

use std::borrow::Cow;
use std::cell::Cell;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::policy::{Finding, Verdict};
use crate::provenance::{mask_secrets, secret_key};

/// Characters of one string of the arguments that are kept; longer ones are cut with their length.
const STRING: usize = 2_000;
/// Leaves of the arguments that are kept.
const LEAVES: usize = 512;

/// A record whose text is ready but for its place in the chain.
pub trait Sealing {
    /// The line as an open object, without its closing brace.
    fn open(&self) -> String;
}

/// The verdict on a call, written before it is forwarded or refused.
#[derive(Debug, Clone, serde::Serialize)]
pub struct VerdictRecord<'a> {
    /// Always `verdict`.
    pub kind: &'static str,
    /// Milliseconds since the Unix epoch.
    pub ts: u64,
    /// The session, unique over processes.
    pub session: &'a str,
    /// The session's number of the call.
    pub call: u64,
    /// The client's own name, as it gave it.
    pub client: &'a str,
    /// The upstream's configured name.
    pub upstream: &'a str,
    /// The tool's own name at its upstream.
    pub tool: &'a str,
    /// The arguments, masked and bounded.
    pub args: Masked<'a>,
    /// SHA-256 of the raw arguments, hex.
    pub args_sha256: String,
    /// `allow`, `ask` (then refused or not, see `answer`) or `deny`.
    pub verdict: &'static str,
    /// The contract that decided.
    pub contract: &'static str,
    /// Why, with values: for people, never for the model.
    pub reason: Cow<'static, str>,
    /// The findings, masked and bounded like the arguments.
    pub evidence: Value,
    /// The grant or answer that let it pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// What became of the question, where one was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'static str>,
}

/// How a forwarded call ended.
#[derive(Debug, Clone, serde::Serialize)]
pub struct OutcomeRecord<'a> {
    /// Always `outcome`.
    pub kind: &'static str,
    /// Milliseconds since the Unix epoch.
    pub ts: u64,
    /// The session, unique over processes.
    pub session: &'a str,
    /// The session's number of the call.
    pub call: u64,
    /// The upstream's configured name.
    pub upstream: &'a str,
    /// The tool's own name at its upstream.
    pub tool: &'a str,
    /// `result`, `error`, `cancelled` or `lost`.
    pub outcome: &'static str,
    /// From handing the call to the upstream to its end.
    pub latency_ms: u64,
    /// Bytes of the message sent.
    pub sent: usize,
    /// Bytes of the payload received.
    pub received: usize,
}

impl<T: Serialize> Sealing for T {
    fn open(&self) -> String {
        // A usual line fits without growing.
        let mut bytes = Vec::with_capacity(768);
        let written = serde_json::to_writer(&mut bytes, self).is_ok();
        let line = String::from_utf8(bytes).ok().filter(|_| written);
        let mut line = line.unwrap_or_else(|| "{\"kind\":\"unwritable\"}".to_owned());
        line.pop();
        line
    }
}

impl<'a> VerdictRecord<'a> {
    /// The record of `verdict` on a call.
    pub fn new(
        (ts, session, call, client): (u64, &'a str, u64, &'a str),
        (upstream, tool): (&'a str, &'a str),
        arguments: &'a Value,
        raw: &[u8],
        verdict: &'a Verdict,
    ) -> Self {
        Self {
            kind: "verdict",
            ts,
            session,
            call,
            client,
            upstream,
            tool,
            args: Masked(arguments),
            args_sha256: data_encoding::HEXLOWER.encode(&Sha256::digest(raw)),
            verdict: verdict.outcome.as_str(),
            contract: verdict.contract.as_str(),
            reason: match verdict.reason() {
                Cow::Owned(reason) => cut(&mask_secrets(&reason)).into_owned().into(),
                Cow::Borrowed(plain) => plain.into(),
            },
            evidence: evidence(&verdict.findings),
            grant: None,
            answer: None,
        }
    }
}

/// What an upstream asked of the client.
#[derive(Debug, Clone, serde::Serialize)]
pub struct RequestRecord<'a> {
    /// Always `request`.
    pub kind: &'static str,
    /// Milliseconds since the Unix epoch.
    pub ts: u64,
    /// The session, unique over processes.
    pub session: &'a str,
    /// The session's number of the call that it belongs to.
    pub call: u64,
    /// The client's own name, as it gave it.
    pub client: &'a str,
    /// The upstream's configured name.
    pub upstream: &'a str,
    /// The method.
    pub tool: &'a str,
    /// The params, masked and bounded.
    pub args: Value,
    /// SHA-256 of the raw params, hex.
    pub args_sha256: String,
    /// `allow`, `ask` or `deny`.
    pub verdict: &'static str,
    /// Why it was not passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// What became of our own question, where one was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'static str>,
}

impl<'a> RequestRecord<'a> {
    /// The record of a request, with verdict, reason and answer.
    pub fn new(
        (ts, session, call, client): (u64, &'a str, u64, &'a str),
        (upstream, tool): (&'a str, &'static str),
        raw: &[u8],
        (verdict, reason, answer): (&'static str, Option<&'a str>, Option<&'static str>),
    ) -> Self {
        let args =
            serde_json::from_slice(raw).map_or_else(|_| Value::from("unreadable"), |args| masked(&args));
        let args_sha256 = data_encoding::HEXLOWER.encode(&Sha256::digest(raw));
        let kind = "request";
        Self { kind, ts, session, call, client, upstream, tool, args, args_sha256, verdict, reason, answer }
    }
}

/// What a client answered an upstream.
#[derive(Debug, Clone, serde::Serialize)]
pub struct AnswerRecord<'a> {
    /// Always `answer`.
    pub kind: &'static str,
    /// Milliseconds since the Unix epoch.
    pub ts: u64,
    /// The session, unique over processes.
    pub session: &'a str,
    /// The session's number of the call that it belongs to.
    pub call: u64,
    /// The client's own name, as it gave it.
    pub client: &'a str,
    /// The upstream's configured name.
    pub upstream: &'a str,
    /// The method.
    pub tool: &'a str,
    /// `accept`, `decline`, `cancel`, `unknown`, `result`, `error`, `unanswered` or `gone`.
    pub action: &'static str,
    /// What went to the upstream. Of what a human entered only the lengths.
    pub args: Value,
    /// SHA-256 of the raw content, hex; not of what a human entered, which may be short enough to guess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_sha256: Option<String>,
    /// `allow`, `ask` or `deny`.
    pub verdict: &'static str,
    /// Why it was not passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The grant or answer that let it pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}

impl<'a> AnswerRecord<'a> {
    /// The record of an answer: its action, content and raw content, then verdict, reason and grant.
    pub fn new(
        (ts, session, call, client): (u64, &'a str, u64, &'a str),
        (upstream, tool): (&'a str, &'static str),
        (action, content, raw): (&'static str, &Value, &[u8]),
        (verdict, reason, grant): (&'static str, Option<&'a str>, Option<String>),
    ) -> Self {
        let by_human = content.get("action").is_some();
        let args = if by_human { lengths(content, &mut LEAVES.clone()) } else { masked(content) };
        let digest = || data_encoding::HEXLOWER.encode(&Sha256::digest(raw));
        let args_sha256 = (!by_human && !raw.is_empty()).then(digest);
        let kind = "answer";
        Self {
            kind,
            ts,
            session,
            call,
            client,
            upstream,
            tool,
            action,
            args,
            args_sha256,
            verdict,
            reason,
            grant,
        }
    }
}

/// The shape of what a human entered: the fields, and how long each answer is.
fn lengths(value: &Value, left: &mut usize) -> Value {
    if *left == 0 {
        return Value::from("…");
    }
    *left -= 1;
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .take(LEAVES)
                .map(|(key, value)| (cut(key).into_owned(), lengths(value, left)))
                .collect(),
        ),
        Value::Array(items) => {
            Value::Array(items.iter().take(LEAVES).map(|item| lengths(item, left)).collect())
        }
        Value::String(text) => Value::from(format!("[masked, {} characters]", text.chars().count())),
        Value::Number(_) => Value::from("[masked, a number]"),
        other => other.clone(),
    }
}

/// Findings that stand in a record.
const FINDINGS: usize = 64;

/// The findings fit for the log: the worst of them, with the values in them masked and cut.
fn evidence(findings: &[Finding]) -> Value {
    let kept = findings.iter().take(FINDINGS).filter_map(|finding| serde_json::to_value(finding).ok());
    let mut all: Vec<Value> = kept.map(|finding| masked(&finding)).collect();
    if findings.len() > FINDINGS {
        all.push(Value::String(format!("… {} findings in all", findings.len())));
    }
    Value::Array(all)
}

fn masked(value: &Value) -> Value {
    serde_json::to_value(Masked(value)).unwrap_or_else(|_| Value::from("unwritable"))
}

/// A value fit for the log: secrets masked, long strings cut, at most [`LEAVES`] leaves.
#[derive(Debug, Clone, Copy)]
pub struct Masked<'a>(&'a Value);

impl Serialize for Masked<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        Part { key: None, value: self.0, left: &Cell::new(LEAVES) }.serialize(out)
    }
}

/// A part of a masked value.
struct Part<'a> {
    /// The nearest name above it.
    key: Option<&'a str>,
    value: &'a Value,
    /// Leaves that may still be written.
    left: &'a Cell<usize>,
}

impl Serialize for Part<'_> {
    // Depth is bounded by the JSON reader (128 levels).
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self { key, value, left } = *self;
        match value {
            Value::Object(map) => {
                let mut members = out.serialize_map(None)?;
                for (key, value) in map {
                    if left.get() == 0 {
                        members.serialize_entry("…", &format!("{} members in all", map.len()))?;
                        break;
                    }
                    members.serialize_entry(key, &Part { key: Some(key), value, left })?;
                }
                members.end()
            }
            Value::Array(items) => {
                let mut all = out.serialize_seq(None)?;
                for value in items {
                    if left.get() == 0 {
                        all.serialize_element(&format!("… {} items in all", items.len()))?;
                        break;
                    }
                    all.serialize_element(&Part { key, value, left })?;
                }
                all.end()
            }
            leaf => {
                left.set(left.get().saturating_sub(1));
                match leaf {
                    Value::String(text) if key.is_some_and(secret_key) && !text.is_empty() => {
                        out.serialize_str("[masked]")
                    }
                    Value::String(text) => out.serialize_str(&cut(&mask_secrets(text))),
                    other => other.serialize(out),
                }
            }
        }
    }
}

fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(STRING) {
        None => Cow::Borrowed(text),
        Some((at, _)) => {
            let kept = text.get(..at).unwrap_or_default();
            Cow::Owned(format!("{kept}… [{} characters in all]", text.chars().count()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_long_strings_cut() {
        let args = serde_json::json!({
            "to": "ana@corp.example",
            "password": "hunter2hunter2",
            "body": "token ghp_0123456789abcdefghijklmnopqrstuvwxyzAB and more",
            "long": "x".repeat(5_000),
        });
        let shown = masked(&args).to_string();
        assert!(shown.contains("ana@corp.example"));
        assert!(!shown.contains("hunter2") && !shown.contains("ghp_0123456789"), "{shown}");
        assert!(shown.contains("and more") && shown.contains("[5000 characters in all]"), "{shown}");
    }
}
