//! Requests that are no tool calls, as the gate judges them: a resource read, a prompt fetched, a completion.
//!
//! Each is put to the same decision as a tool, under the name of its method: a read, whose arguments are
//! content that flows to the upstream. A uri that leads out of the upstream and that it did not list is
//! a destination, and reading it is a fetch. A policy may rule on them by their names, as on tools.

use serde_json::json;

use crate::provenance::Kind;

use super::binding::UpstreamIdentity;
use super::heuristics::{Annotations, ToolDescription};
use super::policy::Policy;
use super::tool::{ArgRule, Audience, ToolPolicy};
use super::{ArgPath, Effect, Layer, Role};

impl Policy {
    /// The rule of a request that is no tool call, by its method's name. `effect` is a read or a fetch.
    pub fn request_policy(&self, upstream: &UpstreamIdentity, method: &str, effect: Effect) -> ToolPolicy {
        // A uri of the upstream's own says nothing of a host, whatever it looks like.
        let uri = if effect == Effect::Fetch { Role::Destination } else { Role::Content };
        let roles = [
            ("uri", uri),
            ("name", Role::Selector),
            ("taskId", Role::Selector),
            ("ref", Role::Content),
            ("arguments", Role::Content),
            ("argument", Role::Content),
            ("context", Role::Content),
        ];
        let properties: serde_json::Map<_, _> =
            roles.iter().map(|(name, _)| ((*name).to_owned(), json!({}))).collect();
        let description = ToolDescription {
            name: method.to_owned(),
            title: String::new(),
            description: String::new(),
            annotations: Annotations::default(),
            input_schema: json!({ "type": "object", "properties": properties }),
        };
        let mut policy = self.tool_policy(upstream, &description);
        // What the words of a method's name suggest is known better here.
        if policy.effect_layer == Layer::Heuristic {
            policy.effect = effect;
        }
        policy.also.retain(|(_, layer)| *layer > Layer::Heuristic);
        policy.budget = policy.budget.filter(|budget| budget.layer > Layer::Heuristic);
        policy.creates = None;
        policy.args.retain(|arg| arg.layer > Layer::Heuristic);
        for (name, role) in roles {
            if policy.args.iter().all(|arg| arg.path.0 != name) {
                policy.args.push(ArgRule {
                    path: ArgPath(name.to_owned()),
                    role,
                    kind: (role == Role::Destination).then_some(Kind::Url),
                    audience: Audience::No,
                    layer: Layer::Heuristic,
                });
            }
        }
        policy
    }
}

/// Schemes whose uris lead over a network, whatever stands behind them.
const NETWORK: [&str; 34] = [
    "http", "https", "ws", "wss", "ftp", "ftps", "sftp", "tftp", "scp", "ssh", "telnet", "smb", "cifs",
    "nfs", "dav", "davs", "webdav", "git", "svn", "gopher", "dict", "ldap", "ldaps", "imap", "imaps", "pop",
    "pops", "smtp", "smtps", "mailto", "s3", "gs", "rtsp", "ipfs",
];

/// Whether reading this uri may reach past the upstream that is asked: by its scheme, by a host in it that
/// could exist, or by another uri inside it. A scheme of the server's own with a word behind it
/// (`memo://insights`) stays.
pub fn is_outward(uri: &str) -> bool {
    let plain = percent_encoding::percent_decode_str(uri).decode_utf8_lossy();
    // Twice: a uri inside a query is often encoded once more.
    let plain = percent_encoding::percent_decode_str(&plain).decode_utf8_lossy().to_lowercase();
    let cleaned: String = plain.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    let cleaned = cleaned.replace('\\', "/");
    let Some((scheme, rest)) = cleaned.split_once(':') else {
        // No uri at all: what it means is the upstream's business, so it is judged.
        return true;
    };
    let scheme = scheme.strip_prefix("view-source").unwrap_or(scheme);
    if NETWORK.iter().any(|known| scheme == *known || scheme.ends_with(&format!("+{known}"))) {
        return true;
    }
    let names_network = |text: &str| {
        text.match_indices(':').any(|(at, _)| {
            let head = text.get(..at).unwrap_or_default();
            let word = head.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '+' && c != '-' && c != '.');
            word.into_iter().next().is_some_and(|word| NETWORK.contains(&word))
        })
    };
    if names_network(rest) || rest.trim_start_matches('/').contains("//") && !rest.starts_with("///") {
        return true;
    }
    let Some(authority) = rest.strip_prefix("//") else { return false };
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if scheme == "file" {
        return !matches!(host, "" | "localhost");
    }
    authority.contains('@') || host.contains(['.', ':', '[', '%']) || spells_address(host)
}

/// Whether a word is an address written as one number, as `2130706433` and `0x7f000001` are. Smaller numbers
/// are ids.
fn spells_address(host: &str) -> bool {
    let number = match host.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => host.parse().ok(),
    };
    number.is_some_and(|number| number >= 1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_is_told_from_what_stays() {
        for (uri, outward) in [
            ("https://evil.test/x", true),
            ("HTTP://evil.test", true),
            ("ht\ttps://evil.test", true),
            ("view-source:https://evil.test", true),
            ("git+ssh://evil.test/r", true),
            ("s3://bucket/key", true),
            ("mailto:a@evil.test", true),
            ("//evil.test/x", true),
            ("evil.test", true),
            ("file://evil.test/share/x", true),
            ("file:\\\\evil.test\\share", true),
            ("file:///etc/hosts", false),
            ("file://localhost/etc/hosts", false),
            ("file:/etc/hosts", false),
            ("demo://resource/dynamic/text/5", false),
            ("memo://insights", false),
            ("ui://w", false),
            ("db://evil.test/x", true),
            ("db://10.0.0.1/x", true),
            ("db://2130706433/x", true),
            ("db://0x7f000001/x", true),
            ("db://7/x", false),
            ("db://user@host/x", true),
            ("db://host:99/x", true),
            ("demo://page?url=https://evil.test/x", true),
            ("demo://page?url=https%3A%2F%2Fevil.test", true),
            ("demo://page?url=https%253A%252F%252Fevil.test", true),
            ("demo://page?at=//evil.test/x", true),
            ("note:2026-11-30", false),
            ("urn:isbn:0451450523", false),
            ("postgres://orders/schema", false),
        ] {
            assert_eq!(is_outward(uri), outward, "{uri}");
        }
    }

    #[test]
    fn the_effect_and_the_roles_are_those_of_the_request_and_the_user_may_rule() {
        let upstream = UpstreamIdentity { name: "a".into(), ..UpstreamIdentity::default() };
        let check = |method: &str, effect: Effect, uri: Role| {
            let policy = Policy::default().request_policy(&upstream, method, effect);
            assert_eq!((policy.effect, policy.role_of("uri")), (effect, Some(uri)), "{method}");
            assert_eq!(policy.role_of("arguments.x"), Some(Role::Content));
            assert!(policy.budget.is_none() && policy.also.is_empty());
        };
        check("resources/read", Effect::Read, Role::Content);
        check("resources/read", Effect::Fetch, Role::Destination);
        check("resources/unsubscribe", Effect::Read, Role::Content);
        check("prompts/get", Effect::Read, Role::Content);
        check("completion/complete", Effect::Read, Role::Content);
    }
}
