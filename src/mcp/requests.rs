//! The params that a session reads: of `initialize` and `tools/call`, and the answer to a question.
//!
//! Only what is needed is read, by span; the rest stays raw and is forwarded unseen.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::capability::Capabilities;
use super::envelope::Body;
use super::link::{LATEST, REVISIONS};
use super::offered::Modes;
use super::scan::{self, Span};
use super::session::Said;
use super::tasks::Wanted;

/// The one revision with batches.
pub(crate) const BATCH_REVISION: &str = "2025-03-26";
/// The first revision in which an elicitation has modes.
const MODES_SINCE: &str = "2025-11-25";

/// What a client said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// The revision spoken from here on.
    pub(crate) version: &'static str,
    /// `clientInfo.name`.
    pub(crate) client: Arc<str>,
    /// How it can ask its human.
    pub(crate) modes: Modes,
    /// Raw `capabilities`; `{}` where there are none.
    pub(crate) capabilities: Bytes,
}

impl Default for Greeting {
    fn default() -> Self {
        Self {
            version: LATEST,
            client: "".into(),
            modes: Modes::default(),
            capabilities: Bytes::from_static(b"{}"),
        }
    }
}

impl Greeting {
    /// Reads raw params of `initialize`; what is missing or malformed counts as not said.
    pub(crate) fn read(params: &[u8]) -> Self {
        let at = |name: &str| scan::member(params, name).map(|span| scan::slice(params, &span));
        let asked = at("protocolVersion").and_then(scan::text);
        let version = REVISIONS.into_iter().find(|known| asked.as_deref() == Some(known)).unwrap_or(LATEST);
        let inner = |outer: Option<&'_ [u8]>, name: &str| {
            outer.and_then(|raw| scan::member(raw, name).map(|span| scan::slice(raw, &span).to_vec()))
        };
        let client = inner(at("clientInfo"), "name");
        let client = client.as_deref().and_then(scan::text).unwrap_or_default().as_ref().into();
        let modes = inner(at("capabilities"), "elicitation").map(|raw| Modes::read(&raw)).unwrap_or_default();
        let capabilities = Bytes::copy_from_slice(at("capabilities").unwrap_or(b"{}"));
        Self { version, client, modes, capabilities }
    }

    /// The raw result of `initialize`.
    pub(crate) fn answer(&self, advertised: &Advertised) -> String {
        let mut answer = json!({
            "protocolVersion": self.version,
            "capabilities": advertised.capabilities.declared(),
            "serverInfo": { "name": "bouncer", "title": "Bouncer", "version": env!("CARGO_PKG_VERSION") },
        });
        let sections = advertised.instructions.iter();
        let sections: Vec<String> =
            sections.map(|(name, text)| format!("# {name}\n\n{}", text.trim_end())).collect();
        if let Some(answer) = answer.as_object_mut().filter(|_| !sections.is_empty()) {
            answer.insert("instructions".to_owned(), sections.join("\n\n").into());
        }
        answer.to_string()
    }

    /// Whether an elicitation says its mode.
    pub(crate) fn names_modes(&self) -> bool {
        self.version >= MODES_SINCE
    }
}

/// What the answer to `initialize` says of the upstreams, before any of them is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertised {
    /// What they offer.
    pub capabilities: Capabilities,
    /// How they say they want to be used, by upstream: hostile text, recorded before.
    pub instructions: Vec<(Arc<str>, String)>,
}

/// The raw params of a `tools/call`, and where in them things stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    /// All of them.
    pub(crate) params: Bytes,
    /// The name asked for, decoded.
    pub(crate) exported: String,
    /// The value of `name`.
    pub(crate) name: Span,
    /// The raw `arguments`.
    pub(crate) arguments: Option<Bytes>,
    /// The value of `_meta.progressToken`.
    pub(crate) token: Option<Span>,
    /// Whether a task is asked for.
    pub(crate) wanted: Wanted,
}

impl ToolCall {
    /// Reads them; `None` when they are no object with a string `name`.
    pub(crate) fn read(params: Bytes) -> Option<Self> {
        let mut name = None;
        let mut arguments = None;
        let mut meta = None;
        let mut wanted = Wanted::Result;
        let mut cursor = scan::Cursor::new(&params);
        let scanned = cursor.members(|key, value| {
            let key = scan::slice(&params, &key);
            if scan::is(key, "name") {
                name = Some(value);
            } else if scan::is(key, "arguments") {
                arguments = Some(value);
            } else if scan::is(key, "_meta") {
                meta = Some(value);
            } else if scan::is(key, "task") && scan::slice(&params, &value).starts_with(b"{") {
                wanted = Wanted::Task;
            }
        });
        scanned.ok()?;
        let name = name?;
        let exported = scan::text(scan::slice(&params, &name))?.into_owned();
        let token = meta.and_then(|meta| token_in(&params, &meta));
        let arguments = arguments.map(|span| params.slice(span));
        Some(Self { params, exported, name, arguments, token, wanted })
    }
}

/// Where the value of `_meta.progressToken` stands in raw params, if there is one.
pub(crate) fn token(params: &[u8]) -> Option<Span> {
    token_in(params, &scan::member(params, "_meta")?)
}

fn token_in(params: &[u8], meta: &Span) -> Option<Span> {
    let token = scan::member(scan::slice(params, meta), "progressToken")?;
    let token = meta.start + token.start..meta.start + token.end;
    // Only a string or a number is a token; anything else is passed on as it is.
    matches!(scan::slice(params, &token).first(), Some(b'"' | b'-' | b'0'..=b'9')).then_some(token)
}

/// What is judged of a request that is no tool call: its params as the upstream gets them, without `_meta`,
/// which differs from one try to the next.
pub(crate) fn judged(params: &Bytes, edits: &[(Span, Bytes)]) -> Bytes {
    let mut whole = Vec::with_capacity(params.len() + 64);
    let mut sorted: Vec<(Span, &[u8])> =
        edits.iter().map(|(span, value)| (span.clone(), &value[..])).collect();
    sorted.sort_by_key(|(span, _)| span.start);
    scan::splice(params, &sorted, &mut whole);
    let mut out = Vec::with_capacity(whole.len());
    for (key, value) in scan::members(&whole).unwrap_or_default() {
        let key = scan::slice(&whole, &key);
        if !scan::is(key, "_meta") {
            out.push(if out.is_empty() { b'{' } else { b',' });
            out.extend_from_slice(key);
            out.push(b':');
            out.extend_from_slice(scan::slice(&whole, &value));
        }
    }
    if out.is_empty() {
        out.push(b'{');
    }
    out.push(b'}');
    out.into()
}

/// What an answer to `elicitation/create` says. Anything but a well-formed `accept` is a refusal.
pub(crate) fn said(body: &Body) -> Said {
    let Body::Result(raw) = body else { return Said::Cancel };
    let at = |name: &str| scan::member(raw, name).map(|span| scan::slice(raw, &span));
    match at("action").and_then(scan::text).as_deref() {
        Some("accept") => {
            let content = at("content").and_then(|raw| serde_json::from_slice(raw).ok());
            Said::Accept(content.unwrap_or(Value::Null))
        }
        Some("cancel") => Said::Cancel,
        _ => Said::Decline,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_are_read_leniently() {
        fn check(params: &str, version: &str, client: &str, can_ask: bool) {
            let found = Greeting::read(params.as_bytes());
            assert_eq!(
                (found.version, &*found.client, found.modes.form),
                (version, client, can_ask),
                "{params}"
            );
        }
        check("", LATEST, "", false);
        check(
            "{\"protocolVersion\":\"2024-11-05\",\"clientInfo\":{\"name\":\"c\"}}",
            "2024-11-05",
            "c",
            false,
        );
        check("{\"protocolVersion\":\"2030-01-01\",\"capabilities\":{\"elicitation\":{}}}", LATEST, "", true);
        check("{\"capabilities\":{\"elicitation\":{\"form\":{},\"url\":{}}}}", LATEST, "", true);
        check("{\"capabilities\":{\"elicitation\":{\"url\":{}}}}", LATEST, "", false);
        check("{\"capabilities\":{\"elicitation\":null}}", LATEST, "", false);
    }

    #[test]
    fn anything_but_an_accept_is_a_refusal() {
        fn check(raw: &'static str, expected: Said) {
            let found = said(&Body::Result(Bytes::from_static(raw.as_bytes())));
            assert!(found == expected, "{raw}: {found:?}");
            drop(expected);
        }
        check(
            r#"{"action":"accept","content":{"decision":"allow_once"}}"#,
            Said::Accept(json!({"decision":"allow_once"})),
        );
        check(r#"{"action":"accept"}"#, Said::Accept(Value::Null));
        check(r#"{"action":"reject"}"#, Said::Decline);
        check(r#"{"action":"Accept"}"#, Said::Decline);
        check(r#"{"action":"cancel"}"#, Said::Cancel);
        check("{}", Said::Decline);
        assert_eq!(said(&Body::Error(Bytes::from_static(b"{}"))), Said::Cancel);
        assert_eq!(said(&Body::Ambiguous), Said::Cancel);
    }
}
