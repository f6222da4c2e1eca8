//! Urls as several programs read them. Where two readings of the standards lead to different hosts,
//! the url is refused: one program checks it and another dials it.
//!
//! The reading that counts is the WHATWG one; RFC 3986 (the last `@` and the first `@`, backslash
//! as data) is held against it.

use core::net::Ipv4Addr;

use url::{Host, Url};

/// A url that all readings agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlReading {
    /// The host: an address, or a lower-case IDNA name without the root dot.
    pub host: Host<String>,
    /// The port, where it is not the scheme's default.
    pub port: Option<u16>,
}

/// Why a url is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlFault {
    /// It holds control characters.
    Control,
    /// Two readings lead to different hosts.
    TwoHosts,
    /// It does not parse.
    Unreadable,
}

impl UrlFault {
    /// The rule in our own words.
    pub fn rule(self) -> &'static str {
        match self {
            Self::Control => "url holds control characters",
            Self::TwoHosts => "url leads to different hosts for different readers",
            Self::Unreadable => "url cannot be read",
        }
    }
}

/// Reads a value as a url. `None`: it is none, and holds no host that anything would dial.
///
/// Without a scheme only `//host…` counts here; a bare host is the caller's to recognise.
pub fn read_url(text: &str) -> Option<Result<UrlReading, UrlFault>> {
    let trimmed = text.trim_matches([' ', '\t', '\n', '\r', '\u{c}']);
    let (scheme, rest) = split_scheme(trimmed)?;
    Some(read(scheme, rest))
}

/// Reads a bare host, with or without port and path: `evil.test/p`, `127.0.0.1:6379`, `[::1]`.
pub(super) fn read_host(text: &str) -> Result<UrlReading, UrlFault> {
    read("http", &format!("//{}", text.trim()))
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    if text.starts_with("//") || text.starts_with("\\\\") {
        return Some(("http", text));
    }
    // Tabs and newlines are dropped by the WHATWG reading, so `ht\ntp://x` has a scheme for it.
    let at = text.find(':')?;
    let (scheme, rest) = text.split_at(at);
    let rest = rest.get(1..)?;
    let word = |s: &str| {
        s.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '\t' | '\n' | '\r'))
            && s.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
    };
    if !word(scheme) {
        return None;
    }
    let special = is_special(&scheme.replace(['\t', '\n', '\r'], ""));
    let slashes = rest.trim_start_matches(['\t', '\n', '\r']).starts_with(['/', '\\']);
    // `http:evil.test` has a host in the WHATWG reading; `note:text` and `C:\x` have none in any.
    let has_authority = if special { true } else { rest.starts_with("//") };
    (has_authority && (slashes || special)).then_some((scheme, rest))
}

fn is_special(scheme: &str) -> bool {
    ["http", "https", "ws", "wss", "ftp"].iter().any(|s| scheme.eq_ignore_ascii_case(s))
}

fn read(scheme: &str, rest: &str) -> Result<UrlReading, UrlFault> {
    if scheme.chars().chain(rest.chars()).any(char::is_control) {
        return Err(UrlFault::Control);
    }
    // Other schemes are read as http, so that `redis://2852039166` names an address for us too.
    let as_http = format!("{}:{rest}", if is_special(scheme) { scheme } else { "http" });
    let url = Url::parse(&as_http).map_err(|_| UrlFault::Unreadable)?;
    let host = url.host().ok_or(UrlFault::Unreadable)?.to_owned();
    for other in rfc_hosts(rest) {
        let same = Url::parse(&format!("http://{other}/")).ok().and_then(|u| u.host().map(|h| h.to_owned()));
        if same.as_ref() != Some(&host) {
            return Err(UrlFault::TwoHosts);
        }
    }
    let host = match host {
        Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_owned()),
        address => address,
    };
    Ok(UrlReading { host, port: url.port() })
}

/// The hosts that RFC 3986 readers find: the authority runs to the first of `/ ? #`, userinfo ends
/// at an `@`.
fn rfc_hosts(rest: &str) -> Vec<String> {
    let Some(after) = rest.strip_prefix("//") else { return vec![String::new()] };
    let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((userinfo, last)) = authority.rsplit_once('@') else {
        return vec![without_port(authority)];
    };
    let mut hosts = vec![without_port(last)];
    if userinfo.contains('@') {
        // Readers disagree on which `@` ends the userinfo; no host satisfies them all.
        hosts.push(String::new());
    }
    // `good.test@evil.test`: a person, and many a filter, reads the part before the `@` as the host.
    let user = userinfo.split(':').next().unwrap_or_default();
    if user.contains('.') && psl::suffix(user.to_ascii_lowercase().as_bytes()).is_some_and(|s| s.is_known()) {
        hosts.push(without_port(user));
    }
    hosts
}

fn without_port(authority: &str) -> String {
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or_default().to_owned();
    }
    authority.split(':').next().unwrap_or_default().to_owned()
}

/// The IPv4 address that an IPv6 one carries: mapped, compatible, NAT64 (RFC 6052) or 6to4 (RFC 3056).
pub(super) fn embedded_v4(address: core::net::Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |hi: u16, lo: u16| {
        let ([a, b], [c, d]) = (hi.to_be_bytes(), lo.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, hi, lo] if hi != 0 || lo > 1 => Some(from(hi, lo)),
        [0, 0, 0, 0, 0, 0xffff, hi, lo]
        | [0, 0, 0, 0, 0xffff, 0, hi, lo]
        | [0x64, 0xff9b, 0, 0, 0, 0, hi, lo]
        | [0x2002, hi, lo, ..] => Some(from(hi, lo)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_agree_or_the_url_is_refused() {
        let check = |text: &str, expected: Option<Result<&str, UrlFault>>| {
            let got = read_url(text).map(|r| r.map(|u| u.host.to_string()));
            assert_eq!(got, expected.map(|r| r.map(str::to_owned)), "{text:?}");
        };
        check("https://docs.python.org/3/", Some(Ok("docs.python.org")));
        check("  https://A.Test:443/x  ", Some(Ok("a.test")));
        check("http://2852039166/", Some(Ok("169.254.169.254")));
        check("http://0xA9FEA9FE/", Some(Ok("169.254.169.254")));
        check("http://0251.0376.0251.0376/", Some(Ok("169.254.169.254")));
        check("redis://127.1:6379", Some(Ok("127.0.0.1")));
        check("http://[::ffff:169.254.169.254]/", Some(Ok("[::ffff:a9fe:a9fe]")));
        check("//evil.test/p", Some(Ok("evil.test")));
        check("http://user:pass@host.test/", Some(Ok("host.test")));
        check("https://first.last@host.test/", Some(Ok("host.test")));
        check("https://good.com@evil.test/", Some(Err(UrlFault::TwoHosts)));
        check("http://evil.test\\@www.google.com/", Some(Err(UrlFault::TwoHosts)));
        check("http://a@b@evil.test/", Some(Err(UrlFault::TwoHosts)));
        check("http://evil.test\0.google.com/", Some(Err(UrlFault::Control)));
        check("http://evil.test%00.google.com/", Some(Err(UrlFault::Unreadable)));
        check("http://evil.test#.google.com", Some(Ok("evil.test")));
        check("http:evil.test", Some(Err(UrlFault::TwoHosts)));
        check("http:/evil.test", Some(Err(UrlFault::TwoHosts)));
        check("ht\ntp://evil.test", Some(Err(UrlFault::Control)));
        check("\\\\evil.test\\x", Some(Err(UrlFault::TwoHosts)));
        check("https://%65vil.com/", Some(Ok("evil.com")));
        check("http://", Some(Err(UrlFault::Unreadable)));
        check("note: remember", None);
        check("C:\\x", None);
        check("mailto:a@b.test", None);
        check("plain words", None);
        check("urn:isbn:1", None);
    }

    #[test]
    fn addresses_inside_addresses() {
        let check = |text: &str, expected: Option<&str>| {
            let got = embedded_v4(text.parse().unwrap()).map(|a| a.to_string());
            assert_eq!(got.as_deref(), expected, "{text}");
        };
        check("::ffff:169.254.169.254", Some("169.254.169.254"));
        check("64:ff9b::a9fe:a9fe", Some("169.254.169.254"));
        check("2002:a9fe:a9fe::", Some("169.254.169.254"));
        check("::1", None);
        check("::", None);
        check("fe80::1", None);
    }
}
