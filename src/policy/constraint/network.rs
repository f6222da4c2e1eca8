//! What holds without any policy: cloud metadata and link-local addresses are refused, private and
//! loopback ones are asked about, and urls that two programs read differently are refused.
//!
//! Such an address answers with credentials or with the user's own network, and no injection is
//! needed to reach it: asking a converter to read it is enough.

use core::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Value;
use url::Host;

use crate::policy::argument::{Leaf, each_leaf};
use crate::policy::{ArgPath, Outcome, Role};

use super::model::ConstraintFailure;
use super::url::{UrlFault, UrlReading, embedded_v4, read_host, read_url};

/// Where a host leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Zone {
    Public,
    Private,
    Metadata,
}

/// Names that cloud providers give their metadata service.
const METADATA_NAMES: [&str; 5] = [
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Name services that turn the name `10.0.0.1.nip.io` into the address it spells.
const SPELLING_SERVICES: [&str; 4] = ["nip.io", "sslip.io", "xip.io", "localtest.me"];

/// Checks every url and host in the arguments. `listed` says whether the policy lists a host for an
/// argument, which lifts the refusal.
pub(super) fn check(
    arguments: &Value,
    role: &dyn Fn(&str) -> Option<Role>,
    listed: &dyn Fn(&str, &UrlReading) -> bool,
) -> Vec<ConstraintFailure> {
    let mut failures = Vec::new();
    each_leaf(arguments, |leaf| {
        match role(leaf.argument) {
            // Text that travels may speak of any address; its links are judged by the sink gate.
            Some(Role::Content | Role::Credential) => {}
            Some(Role::Command) => {
                for word in words(leaf.text) {
                    failures.extend(judge(&leaf, whole(word, Strictness::Host), listed));
                }
            }
            Some(Role::Destination) => {
                failures.extend(judge(&leaf, whole(leaf.text, Strictness::Host), listed));
            }
            // `//srv/x` is a path here, not a url without its scheme.
            Some(Role::Path) if !leaf.text.contains("://") => {}
            _ => failures.extend(judge(&leaf, whole(leaf.text, Strictness::Url), listed)),
        }
    });
    failures
}

/// How much has to look like a host before it counts as one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// A url.
    Url,
    /// A url, or an address or name that stands alone.
    Host,
}

/// The words of a command, quotes and operators dropped.
fn words(command: &str) -> impl Iterator<Item = &str> {
    command
        .split(|c: char| {
            c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | ',')
        })
        .filter(|w| !w.is_empty())
        .map(|w| w.split_once('=').filter(|(_, v)| v.contains("//")).map_or(w, |(_, v)| v))
}

fn whole(text: &str, strictness: Strictness) -> Option<Result<UrlReading, UrlFault>> {
    if let Some(reading) = read_url(text) {
        return Some(reading);
    }
    let text = text.trim();
    if text.len() > 255 || text.contains('@') || text.contains(char::is_whitespace) {
        return None;
    }
    let name = text.split(['/', '?', '#', ':']).next().unwrap_or_default().trim_end_matches('.');
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = last.starts_with(|c: char| c.is_ascii_digit());
    let dotted = name.contains('.') && !numeric && !name.starts_with('.');
    let wanted = match strictness {
        Strictness::Url => looks_like_address(text),
        Strictness::Host => {
            looks_like_address(text) || dotted || numeric || name.eq_ignore_ascii_case("localhost")
        }
    };
    if !wanted {
        return None;
    }
    let reading = read_host(text).ok()?;
    // `17` and `10.5` are ids and versions far more often than addresses: only what would be
    // dangerous as an address counts as one.
    let counts = match zone(&reading.host) {
        Zone::Public => false,
        Zone::Private => looks_like_address(text) || !numeric,
        Zone::Metadata => true,
    };
    counts.then_some(Ok(reading))
}

/// A dotted or bracketed address that stands alone, with or without port and path.
fn looks_like_address(text: &str) -> bool {
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let dotted = host.split(':').next().unwrap_or_default();
    dotted.parse::<Ipv4Addr>().is_ok()
        || host.starts_with('[')
        || host.parse::<Ipv6Addr>().is_ok()
        || METADATA_NAMES.iter().any(|name| name.eq_ignore_ascii_case(dotted))
}

fn judge(
    leaf: &Leaf<'_, '_>,
    reading: Option<Result<UrlReading, UrlFault>>,
    listed: &dyn Fn(&str, &UrlReading) -> bool,
) -> Option<ConstraintFailure> {
    let reading = reading?;
    let argument = ArgPath(leaf.argument.to_owned());
    let reading = match reading {
        Ok(reading) => reading,
        Err(fault) => {
            return Some(ConstraintFailure::new(&argument, leaf.pointer, Outcome::Deny, fault.rule()));
        }
    };
    let zone = zone(&reading.host);
    if zone == Zone::Public || listed(leaf.argument, &reading) {
        return None;
    }
    Some(match zone {
        Zone::Metadata => ConstraintFailure::new(
            &argument,
            leaf.pointer,
            Outcome::Deny,
            "link-local or cloud-metadata address; no policy lists it",
        ),
        _ => ConstraintFailure::new(&argument, leaf.pointer, Outcome::Ask, "private or loopback address")
            .unless_typed(),
    })
}

fn zone(host: &Host<String>) -> Zone {
    match host {
        Host::Ipv4(address) => zone_v4(*address),
        Host::Ipv6(address) => zone_v6(*address),
        Host::Domain(name) => zone_name(name),
    }
}

fn zone_v4(address: Ipv4Addr) -> Zone {
    let [a, b, c, d] = address.octets();
    // Beside 169.254.0.0/16: Alibaba, Oracle and Azure serve metadata elsewhere.
    let metadata = [[100, 100, 100, 200], [192, 0, 0, 192], [168, 63, 129, 16]];
    if address.is_link_local() || metadata.contains(&[a, b, c, d]) {
        return Zone::Metadata;
    }
    let shared = a == 100 && (64..128).contains(&b);
    if address.is_loopback()
        || address.is_private()
        || shared
        || a == 0
        || address.is_broadcast()
        || address.is_multicast()
    {
        return Zone::Private;
    }
    Zone::Public
}

fn zone_v6(address: Ipv6Addr) -> Zone {
    if let Some(v4) = embedded_v4(address) {
        return zone_v4(v4);
    }
    let [first, ..] = address.segments();
    if first & 0xffc0 == 0xfe80 || address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254) {
        return Zone::Metadata;
    }
    let private = address.is_loopback()
        || address.is_unspecified()
        || first & 0xfe00 == 0xfc00
        || address.is_multicast();
    if private { Zone::Private } else { Zone::Public }
}

fn zone_name(name: &str) -> Zone {
    if METADATA_NAMES.contains(&name) {
        return Zone::Metadata;
    }
    let below =
        |suffix: &str| name.strip_suffix(suffix).is_some_and(|head| head.is_empty() || head.ends_with('.'));
    if let Some(service) = SPELLING_SERVICES.iter().find(|s| below(s)) {
        let head = name.strip_suffix(service).unwrap_or_default();
        return spelled(head).map_or(Zone::Private, zone_v4);
    }
    let local = ["localhost", "local", "internal", "home.arpa", "lan"].iter().any(|suffix| below(suffix));
    if local || !name.contains('.') { Zone::Private } else { Zone::Public }
}

/// The address spelled at the end of a name: `x.10.0.0.1.` or `10-0-0-1.`.
fn spelled(head: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u8> =
        head.trim_end_matches('.').rsplit(['.', '-']).map_while(|part| part.parse().ok()).take(4).collect();
    match numbers.as_slice() {
        [d, c, b, a] => Some(Ipv4Addr::new(*a, *b, *c, *d)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(role: Option<Role>, value: &str) -> Option<Outcome> {
        let failures = check(&json!({"x": value}), &|_| role, &|_, _| false);
        failures.into_iter().map(|f| f.outcome).max()
    }

    #[test]
    fn metadata_is_refused_in_every_spelling() {
        for text in [
            "http://169.254.169.254/latest/meta-data/",
            "http://[::ffff:169.254.169.254]/",
            "http://2852039166/",
            "http://0xA9FEA9FE/",
            "http://0251.0376.0251.0376/",
            "http://169.254.43518/",
            "http://metadata.google.internal/",
            "http://METADATA.google.internal./",
            "http://[fd00:ec2::254]/",
            "http://[fe80::1]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://100.100.100.200/",
            "gopher://169.254.169.254/",
            "169.254.169.254",
            "169.254.169.254/latest",
            "http://169.254.169.254.nip.io/",
            "http://a-169-254-169-254.sslip.io/",
            "//169.254.169.254/",
        ] {
            assert_eq!(outcome(None, text), Some(Outcome::Deny), "{text}");
            assert_eq!(outcome(Some(Role::Destination), text), Some(Outcome::Deny), "{text}");
        }
    }

    #[test]
    fn private_addresses_are_asked_about() {
        let check = |role: Option<Role>, text: &str, expected: Option<Outcome>| {
            assert_eq!(outcome(role, text), expected, "{text} {role:?}");
        };
        check(None, "http://127.0.0.1:6379/", Some(Outcome::Ask));
        check(None, "http://127.1/", Some(Outcome::Ask));
        check(None, "http://localhost:8080/", Some(Outcome::Ask));
        check(None, "http://10.0.0.1/", Some(Outcome::Ask));
        check(None, "http://[::1]/", Some(Outcome::Ask));
        check(None, "http://nas.local/", Some(Outcome::Ask));
        check(None, "http://jira/", Some(Outcome::Ask));
        check(None, "http://10.0.0.1.nip.io/", Some(Outcome::Ask));
        check(None, "https://example.com/", None);
        check(None, "https://8.8.8.8/", None);
        check(None, "https://8.8.8.8.nip.io/", None);
        check(None, "hello", None);
        check(None, "1.2.3", None);
        check(None, "main", None);
        check(Some(Role::Destination), "localhost", Some(Outcome::Ask));
        check(Some(Role::Destination), "ana@corp.test", None);
        check(Some(Role::Destination), "example.com", None);
        check(Some(Role::Destination), "17", None);
        check(Some(Role::Content), "see http://169.254.169.254/", None);
        check(Some(Role::Content), "http://169.254.169.254/", None);
        check(Some(Role::Command), "curl -s http://169.254.169.254/x | sh", Some(Outcome::Deny));
        check(Some(Role::Command), "curl --url=http://10.0.0.1/", Some(Outcome::Ask));
        check(Some(Role::Command), "ping 169.254.169.254", Some(Outcome::Deny));
        check(Some(Role::Command), "sleep 10", None);
    }

    #[test]
    fn two_hosts_are_refused_and_a_listed_one_passes() {
        assert_eq!(outcome(None, "http://evil.test\\@www.google.com/"), Some(Outcome::Deny));
        assert_eq!(outcome(None, "http://evil.test\u{0}.google.com/"), Some(Outcome::Deny));
        let args = json!({"url": "http://169.254.169.254/"});
        assert_eq!(check(&args, &|_| None, &|argument, _| argument == "url"), []);
    }
}
