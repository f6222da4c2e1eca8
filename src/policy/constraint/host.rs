//! Hosts that a policy lists, and whether a value leads to one of them.

use url::Host;

use super::url::{UrlReading, read_host, read_url};

/// A host of a policy: `example.com`, `*.example.com` (its subdomains, not itself), `127.0.0.1`,
/// each with or without a port. Without a port every port is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    source: String,
    host: Host<String>,
    port: Option<u16>,
    subdomains: bool,
}

impl HostPattern {
    /// Reads a host pattern; `None` when it is none.
    pub fn new(source: &str) -> Option<Self> {
        let (subdomains, rest) = match source.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, source),
        };
        if rest.is_empty()
            || rest.contains(['/', '@', '*', '?', '#', '\\'])
            || rest.contains(char::is_whitespace)
        {
            return None;
        }
        let reading = read_host(rest).ok()?;
        // A wildcard over an address, or over a public suffix such as `com`, would mean everyone.
        let too_wide = match &reading.host {
            Host::Domain(name) => psl::domain(name.as_bytes()).is_none() && name.as_str() != "localhost",
            _ => true,
        };
        if subdomains && too_wide {
            return None;
        }
        Some(Self { source: source.to_owned(), host: reading.host, port: reading.port, subdomains })
    }

    /// As the policy wrote it.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether a url or host is of this host.
    pub fn matches(&self, reading: &UrlReading) -> bool {
        let host = match (&self.host, &reading.host) {
            (Host::Domain(ours), Host::Domain(theirs)) if self.subdomains => {
                theirs.strip_suffix(ours.as_str()).is_some_and(|head| head.len() > 1 && head.ends_with('.'))
            }
            (ours, theirs) => ours == theirs,
        };
        host && (self.port.is_none() || self.port == reading.port)
    }
}

/// Whether a value, read as a url or else as a bare host, is of one of the hosts.
pub(super) fn any_matches(patterns: &[HostPattern], text: &str) -> bool {
    let reading = read_url(text).unwrap_or_else(|| read_host(text));
    // Userinfo in a bare host is a mail address, or a trick: neither is a host.
    let bare_user = read_url(text).is_none() && text.contains('@');
    !bare_user && reading.is_ok_and(|r| patterns.iter().any(|p| p.matches(&r)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_whole_labels() {
        let check = |pattern: &str, value: &str, expected: bool| {
            let pattern = HostPattern::new(pattern).unwrap();
            assert_eq!(any_matches(&[pattern], value), expected, "{value}");
        };
        check("*.google.com", "https://www.google.com/x", true);
        check("*.google.com", "https://google.com/", false);
        check("*.google.com", "https://evilgoogle.com/", false);
        check("*.google.com", "http://evil.test#.google.com", false);
        check("*.google.com", "http://evil.test\\@www.google.com/", false);
        check("*.google.com", "http://evil.test%00.google.com/", false);
        check("google.com", "google.com", true);
        check("google.com", "GOOGLE.com./x", true);
        check("google.com:8080", "http://google.com/", false);
        check("google.com:8080", "http://google.com:8080/", true);
        check("127.0.0.1", "http://2130706433/", true);
        check("google.com", "me@google.com", false);
        check("google.com", "", false);
    }

    #[test]
    fn patterns_that_mean_everyone_are_none() {
        let check =
            |text: &str, expected: bool| assert_eq!(HostPattern::new(text).is_some(), expected, "{text}");
        check("*.example.com", true);
        check("*.com", false);
        check("*.co.uk", false);
        check("*", false);
        check("https://a.test", false);
        check("", false);
    }
}
