//! Host names and addresses: IDNA (UTS 46), the WHATWG host parser, and the public suffix list.

use core::net::{IpAddr, Ipv6Addr};
use std::borrow::Cow;

use url::Host;

/// Top-level names that no registry gives out, so the public suffix list does not know them
/// (RFC 6761, RFC 7686, RFC 9476, RFC 8375, and `internal` as reserved by ICANN).
const SPECIAL: [&str; 10] =
    ["test", "example", "invalid", "localhost", "local", "onion", "alt", "internal", "lan", "home"];

/// Endings that are country or generic top-level names, but far more often those of files.
const FILE_LIKE: [&str; 24] = [
    "md", "rs", "py", "sh", "pl", "ps", "cc", "ai", "so", "zip", "mov", "app", "in", "is", "ml", "mm", "ms",
    "pm", "st", "tf", "cs", "ts", "do", "id",
];

/// A domain in its IDNA ASCII form, lower case, without root dot; `None` when it is not one.
pub(crate) fn domain_ascii(text: &str) -> Option<String> {
    // Plain names are as they should be, and most names are plain.
    let plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.');
    let ascii = if plain { Cow::Borrowed(text) } else { Cow::Owned(idna::domain_to_ascii(text).ok()?) };
    let ascii = ascii.strip_suffix('.').unwrap_or(&ascii);
    let sound = !ascii.is_empty()
        && ascii.len() <= 253
        && ascii.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        });
    sound.then(|| ascii.to_owned())
}

/// One host as the WHATWG parser reads it, an IPv6 address that maps an IPv4 one as the latter.
pub(crate) fn of_url(host: &Host<&str>) -> Option<String> {
    match host {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            // Hosts of schemes that are not special are opaque: percent signs and capitals stay.
            let decoded = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
            domain_ascii(&decoded).or_else(|| {
                let plain = decoded.bytes().all(|b| b.is_ascii_graphic() && !b"/\\@:?#<>,;".contains(&b));
                (plain && !decoded.is_empty()).then(|| decoded.to_ascii_lowercase())
            })
        }
        Host::Ipv4(ip) => Some(ip.to_string()),
        Host::Ipv6(ip) => Some(address(IpAddr::V6(*ip))),
    }
}

fn address(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => mapped(v6).unwrap_or_else(|| format!("[{v6}]")),
    }
}

fn mapped(v6: Ipv6Addr) -> Option<String> {
    v6.to_ipv4_mapped().map(|v4| v4.to_string())
}

/// A host with an optional port, standing alone: `evil.test`, `EVIL.test:25`, `192.0.2.1`, `[::1]:80`.
pub(crate) fn parse(text: &str) -> Option<(String, Option<u16>)> {
    let text = text.trim();
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some((address(ip), None));
    }
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, Some(port.parse::<u16>().ok()?))
        }
        _ => (text, None),
    };
    if name.contains(['/', '\\', '@', '?', '#', '%']) || name.contains(char::is_whitespace) {
        return None;
    }
    match Host::parse(name).ok()? {
        Host::Domain(domain) => domain_ascii(&domain).map(|domain| (domain, port)),
        Host::Ipv4(ip) => Some((ip.to_string(), port)),
        Host::Ipv6(ip) => Some((address(IpAddr::V6(ip)), port)),
    }
}

/// The STRICT form: the host, and the port where one is given.
pub(crate) fn strict(text: &str) -> Option<String> {
    let (host, port) = parse(text)?;
    Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
}

/// The LOOSE form of a host that was folded already: letters, not punycode, so that a look-alike behind
/// punycode folds like one in plain sight.
pub(crate) fn loose(folded: &str) -> String {
    let name = folded.trim_end_matches('.');
    if name.is_ascii() && !is_punycode(name) {
        return name.to_ascii_lowercase();
    }
    let (letters, _) = idna::domain_to_unicode(name);
    crate::provenance::fold::folded(&letters).trim_end_matches('.').to_owned()
}

/// Whether a name has letters in punycode.
pub(crate) fn is_punycode(name: &str) -> bool {
    name.contains('-') && name.as_bytes().windows(4).any(|mark| mark.eq_ignore_ascii_case(b"xn--"))
}

/// Whether the text stands for an IP address.
pub(crate) fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<IpAddr>().is_ok()
}

/// Whether a name (ASCII form) ends in a suffix that exists or is reserved.
pub(crate) fn has_real_suffix(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    host.contains('.')
        && (SPECIAL.contains(&last) || psl::suffix(host.as_bytes()).is_some_and(|suffix| suffix.is_known()))
}

/// Whether a bare name is more likely a file's than a host's.
pub(crate) fn is_file_like(host: &str) -> bool {
    host.split('.').count() == 2 && host.rsplit('.').next().is_some_and(|last| FILE_LIKE.contains(&last))
}

/// The registrable domain of a host name; `None` for a public suffix, an address or a single label.
pub(crate) fn registrable(host: &str) -> Option<&str> {
    if is_address(host) {
        return None;
    }
    psl::domain_str(host)
}

/// Whether strangers have places of their own on this very host: an object store, a code host, a page host.
pub(crate) fn is_shared(host: &str) -> bool {
    let private = psl::suffix(host.as_bytes()).is_some_and(|suffix| suffix.typ() == Some(psl::Type::Private));
    let name = host.strip_prefix("www.").unwrap_or(host);
    private && psl::suffix_str(host) == Some(host) || SHARED.contains(&name)
}

/// Hosts where the first path segment, not the name, says whose place it is.
const SHARED: [&str; 19] = [
    "s3.amazonaws.com",
    "storage.googleapis.com",
    "storage.cloud.google.com",
    "drive.google.com",
    "docs.google.com",
    "sites.google.com",
    "script.google.com",
    "dropbox.com",
    "github.com",
    "gist.github.com",
    "raw.githubusercontent.com",
    "gitlab.com",
    "bitbucket.org",
    "hooks.slack.com",
    "discord.com",
    "api.telegram.org",
    "t.me",
    "pastebin.com",
    "webhook.site",
];

/// The host and each of its parents down to the registrable domain, longest first. An address has
/// no parents.
pub(crate) fn lineage(host: &str) -> Vec<&str> {
    let mut all = vec![host];
    let Some(top) = registrable(host) else { return all };
    let mut rest = host;
    while rest.len() > top.len() {
        let Some((_, parent)) = rest.split_once('.') else { break };
        rest = parent;
        all.push(rest);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_the_url_standard_reads_them() {
        for (text, expected) in [
            ("EVIL.test:25", Some("evil.test:25")),
            ("evil.test.", Some("evil.test")),
            ("0xC000020A", Some("192.0.2.10")),
            ("[::ffff:192.0.2.10]", Some("192.0.2.10")),
            ("::1", Some("[::1]")),
            ("a b", None),
            ("user@evil.test", None),
            ("", None),
        ] {
            assert_eq!(strict(text).as_deref(), expected, "{text}");
        }
        assert_eq!(lineage("a.b.evil.test"), ["a.b.evil.test", "b.evil.test", "evil.test"]);
        assert_eq!(lineage("192.0.2.1"), ["192.0.2.1"]);
        assert!(has_real_suffix("kiln.example") && !has_real_suffix("node.jsx"));
    }
}
