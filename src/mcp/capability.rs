//! What a server declares of itself: read from upstreams, kept from run to run, advertised to clients.
//!
//! `initialize` is answered before any upstream is up, so what Bouncer advertises is what its upstreams
//! declared in the last run, or everything where that is not known.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::scan;

/// One thing that a server may offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// Tools.
    Tools,
    /// Resources and templates.
    Resources,
    /// Subscriptions to resources.
    Subscribe,
    /// Prompts.
    Prompts,
    /// Completions.
    Completions,
    /// Log messages and their level.
    Logging,
    /// Calls that are answered with a task.
    Tasks,
}

/// What a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capabilities(BTreeSet<Capability>);

impl Capabilities {
    /// All that is offered where nothing is known. Tasks are not: a client that reckons with them calls
    /// otherwise.
    pub fn all() -> Self {
        use Capability::{Completions, Logging, Prompts, Resources, Subscribe, Tools};
        [Tools, Resources, Subscribe, Prompts, Completions, Logging].into_iter().collect()
    }

    /// Reads raw `capabilities` of an answer to `initialize`.
    pub(crate) fn read(raw: &Bytes) -> Self {
        let named = [
            (Capability::Tools, "tools"),
            (Capability::Resources, "resources"),
            (Capability::Prompts, "prompts"),
            (Capability::Completions, "completions"),
            (Capability::Logging, "logging"),
        ];
        let declared = named.into_iter().filter(|(_, name)| scan::member(raw, name).is_some());
        let subscribes = scan::member(raw, "resources").is_some_and(|resources| {
            let resources = scan::slice(raw, &resources);
            scan::member(resources, "subscribe").is_some_and(|it| scan::slice(resources, &it) == b"true")
        });
        let subscribe = subscribes.then_some(Capability::Subscribe);
        let inner = |raw: Bytes, name: &&str| scan::member(&raw, name).map(|span| raw.slice(span));
        let calls = ["tasks", "requests", "tools", "call"].iter().try_fold(raw.clone(), inner);
        let tasks = calls.map(|_| Capability::Tasks);
        declared.map(|(capability, _)| capability).chain(subscribe).chain(tasks).collect()
    }

    /// Whether this is offered.
    pub fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    /// Adds what another server offers.
    pub fn join(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// As a server declares it, every list as one that may change.
    pub(crate) fn declared(&self) -> Value {
        let mut out = Map::new();
        for capability in &self.0 {
            match capability {
                Capability::Tools => out.insert("tools".to_owned(), json!({ "listChanged": true })),
                Capability::Resources => {
                    let subscribe = self.has(Capability::Subscribe);
                    let resources = if subscribe {
                        json!({ "subscribe": true, "listChanged": true })
                    } else {
                        json!({ "listChanged": true })
                    };
                    out.insert("resources".to_owned(), resources)
                }
                Capability::Prompts => out.insert("prompts".to_owned(), json!({ "listChanged": true })),
                Capability::Completions => out.insert("completions".to_owned(), json!({})),
                Capability::Logging => out.insert("logging".to_owned(), json!({})),
                Capability::Tasks => {
                    let tasks = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
                    out.insert("tasks".to_owned(), tasks)
                }
                Capability::Subscribe => None,
            };
        }
        Value::Object(out)
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(from: I) -> Self {
        Self(from.into_iter().collect())
    }
}

/// How much of what happens a client wants to be told, RFC 5424, from the most to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Everything.
    Debug,
    /// What goes on.
    Info,
    /// What is worth a look.
    Notice,
    /// What may be wrong.
    Warning,
    /// What is wrong.
    Error,
    /// What broke.
    Critical,
    /// What needs somebody.
    Alert,
    /// The end.
    Emergency,
}

impl Level {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_is_declared() {
        fn check(raw: &str, declared: &str) {
            assert_eq!(
                Capabilities::read(&Bytes::copy_from_slice(raw.as_bytes())).declared().to_string(),
                declared,
                "{raw}"
            );
        }
        check("{}", "{}");
        check("null", "{}");
        check(r#"{"tools":{}}"#, r#"{"tools":{"listChanged":true}}"#);
        check(
            r#"{"resources":{"subscribe":true},"logging":{},"experimental":{}}"#,
            r#"{"resources":{"subscribe":true,"listChanged":true},"logging":{}}"#,
        );
        check(
            r#"{"tasks":{"requests":{"tools":{"call":{}}},"x":1}}"#,
            r#"{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#,
        );
        check(r#"{"tasks":{"list":{},"requests":{"sampling":{}}}}"#, "{}");
        check(r#"{"resources":{"subscribe":"yes"}}"#, r#"{"resources":{"listChanged":true}}"#);
        let all = Capabilities::all().declared().to_string();
        assert_eq!(Capabilities::read(&all.into()), Capabilities::all());
    }
}
