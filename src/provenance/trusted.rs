//! Trust rules: what a user policy lists under `trusted_destinations`.
//!
//! A rule is an exact value, a mail domain (`@corp.com`, `@*.corp.com`), a domain with all below it
//! (`*.corp.com`), a host (`api.corp.com`), or a url prefix (`https://corp.com/hooks/`). Rules look at
//! STRICT forms only: a destination without one is never covered.

use std::fmt;

use url::Url;

use super::canon::{email, host, shape_of, strict_form, url as remote};
use super::text::is_hidden;
use super::{Destination, DestinationReason, Kind};

/// One entry of `trusted_destinations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRule {
    written: String,
    pattern: Pattern,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// The STRICT form equals that of the rule, read as the destination's kind.
    Exact,
    /// Mail addresses at this domain.
    MailDomain(String),
    /// Mail addresses at names below this domain.
    MailBelow(String),
    /// Mail addresses, hosts and urls at names below this domain.
    Below(String),
    /// The host, on the port where one is given, else on the scheme's own.
    Host(String, Option<u16>),
    /// Urls of one origin whose path starts with these whole components.
    Prefix(Url),
}

impl TrustRule {
    /// Reads one rule.
    ///
    /// # Errors
    /// A sentence fragment saying what is wrong and what to write instead: the rule is empty, holds
    /// invisible characters, has a `*` where none is understood, or names a public suffix, which would
    /// trust strangers.
    pub fn parse(written: &str) -> Result<Self, String> {
        let text = written.trim();
        if text.is_empty() {
            return Err("the trusted destination is empty".to_owned());
        }
        if text.chars().any(|c| is_hidden(c) || matches!(c, '\n' | '\r' | '\t')) {
            return Err(format!("`{}` holds invisible characters", text.escape_default()));
        }
        Ok(Self { written: text.to_owned(), pattern: pattern(text)? })
    }

    /// The rule as it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether the rule is about one value only, not about a domain, host or prefix.
    pub fn is_exact(&self) -> bool {
        self.pattern == Pattern::Exact
    }

    /// Whether the rule vouches for a destination. What was left unparsed is never covered.
    pub fn covers(&self, destination: &Destination) -> bool {
        let Some(strict) = &destination.strict else { return false };
        let strict = strict.as_str();
        match &self.pattern {
            Pattern::Exact => {
                // Leftovers beside other destinations are vouched for only as themselves.
                destination.reason != DestinationReason::Unparsed
                    && strict_form(&self.written, destination.kind).is_some_and(|own| own.as_str() == strict)
            }
            Pattern::MailDomain(domain) => mail_domain(destination, strict) == Some(domain.as_str()),
            Pattern::MailBelow(domain) => {
                mail_domain(destination, strict).is_some_and(|at| is_below(at, domain))
            }
            Pattern::Below(domain) => match destination.kind {
                Kind::Email => mail_domain(destination, strict).is_some_and(|at| is_below(at, domain)),
                _ => host_and_port(destination, strict)
                    .is_some_and(|(at, port)| port.is_none() && is_below(&at, domain)),
            },
            Pattern::Host(name, port) => host_and_port(destination, strict)
                .is_some_and(|(at, at_port)| at == *name && at_port == *port),
            Pattern::Prefix(prefix) => destination.kind == Kind::Url && starts_with(strict, prefix),
        }
    }
}

impl fmt::Display for TrustRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    if let Some(domain) = text.strip_prefix("@*.").or_else(|| text.strip_prefix("*@*.")) {
        return own_domain(domain, text).map(Pattern::MailBelow);
    }
    if let Some(domain) = text.strip_prefix("*@") {
        return own_domain(domain, text).map(Pattern::MailDomain);
    }
    if let Some(domain) = text.strip_prefix('@')
        && domain.contains('.')
    {
        return own_domain(domain, text).map(Pattern::MailDomain);
    }
    if let Some(domain) = text.strip_prefix("*.") {
        return own_domain(domain, text).map(Pattern::Below);
    }
    let open = text.strip_suffix("/*").map(|rest| format!("{rest}/"));
    let prefix = open.as_deref().unwrap_or(text);
    if prefix.contains('*') {
        return Err(format!(
            "`*` is understood only as `*.corp.com`, `@*.corp.com` and at the end of a url, not in `{text}`"
        ));
    }
    if remote::has_scheme(prefix) && (open.is_some() || prefix.ends_with('/') || is_origin(prefix)) {
        let url = remote::strict(prefix).and_then(|strict| Url::parse(&strict).ok());
        let url = url.ok_or_else(|| format!("`{text}` is not a url that can be trusted"))?;
        if url.query().is_some() || !url.username().is_empty() || url.password().is_some() {
            return Err(format!("a url prefix has no query and no user name: `{text}`"));
        }
        return Ok(Pattern::Prefix(url));
    }
    if shape_of(text) == Some(Kind::Host)
        && let Some((name, port)) = host::parse(text)
    {
        return Ok(Pattern::Host(name, port));
    }
    Ok(Pattern::Exact)
}

/// A domain of which the user can own all: not a public suffix.
fn own_domain(domain: &str, written: &str) -> Result<String, String> {
    let ascii = host::domain_ascii(domain).ok_or_else(|| format!("`{written}` does not name a domain"))?;
    if ascii.contains('*') || !ascii.contains('.') || host::registrable(&ascii).is_none() {
        return Err(format!("`{written}` would trust everyone under a public suffix; name a domain you own"));
    }
    Ok(ascii)
}

fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.path() == "/" && url.query().is_none())
}

fn mail_domain<'a>(destination: &Destination, strict: &'a str) -> Option<&'a str> {
    let is_mail = destination.kind == Kind::Email && email::parse(strict).is_some();
    is_mail.then(|| strict.rsplit_once('@').map(|(_, domain)| domain)).flatten()
}

fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// The host and the port that is not the scheme's own; none when a user name stands before the host.
fn host_and_port(destination: &Destination, strict: &str) -> Option<(String, Option<u16>)> {
    match destination.kind {
        Kind::Host => host::parse(strict),
        Kind::Url => {
            let url = Url::parse(strict).ok()?;
            let web = matches!(url.scheme(), "https" | "http" | "wss" | "ws");
            (web && url.username().is_empty() && url.password().is_none())
                .then(|| Some((remote::host_of(&url)?, url.port())))
                .flatten()
        }
        _ => None,
    }
}

fn starts_with(strict: &str, prefix: &Url) -> bool {
    let Ok(url) = Url::parse(strict) else { return false };
    let path = url.path().to_ascii_lowercase();
    // Escaped slashes and dots are read as separators by some servers.
    let plain = !["%2f", "%5c", "%2e"].iter().any(|escape| path.contains(escape));
    let base = prefix.path().trim_end_matches('/');
    let below = url.path().strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let same_origin = url.scheme() == prefix.scheme()
        && url.host_str() == prefix.host_str()
        && url.port_or_known_default() == prefix.port_or_known_default();
    plain && below && same_origin && url.username().is_empty() && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(text: &str, kind: Kind) -> Destination {
        Destination {
            pointer: "/to".to_owned(),
            argument: "to".to_owned(),
            is_key: false,
            text: text.to_owned(),
            kind,
            reason: DestinationReason::Declared,
            strict: strict_form(text, kind),
        }
    }

    fn check(rule: &str, text: &str, kind: Kind, expected: bool) {
        let covers = TrustRule::parse(rule).map(|rule| rule.covers(&destination(text, kind)));
        assert_eq!(covers, Ok(expected), "{rule} and {text}");
    }

    #[test]
    fn rules_cover_strict_forms_only() {
        check("ok@corp.com", "OK@Corp.com", Kind::Email, true);
        check("ok@corp.com", "o\u{212a}@corp.com", Kind::Email, false);
        check("ok@corp.com", "\u{43e}k@corp.com", Kind::Email, false);
        check("ok@corp.com", "ok+x@corp.com", Kind::Email, false);
        check("@corp.com", "any@corp.com", Kind::Email, true);
        check("@corp.com", "any@mail.corp.com", Kind::Email, false);
        check("@corp.com", "any@evilcorp.com", Kind::Email, false);
        check("@corp.com", "any@c\u{43e}rp.com", Kind::Email, false);
        check("*.corp.com", "any@mail.corp.com", Kind::Email, true);
        check("*.corp.com", "https://api.corp.com/x", Kind::Url, true);
        check("*.corp.com", "https://corp.com.evil.test/x", Kind::Url, false);
        check("*.corp.com", "https://corp.com/x", Kind::Url, false);
        check("api.corp.com", "https://api.corp.com/x?y", Kind::Url, true);
        check("api.corp.com", "https://api.corp.com:8443/x", Kind::Url, false);
        check("api.corp.com", "https://user@api.corp.com/x", Kind::Url, false);
        check("api.corp.com", "https://api.corp.com@evil.test/", Kind::Url, false);
        check("https://corp.com/hooks/", "https://corp.com/hooks/a", Kind::Url, true);
        check("https://corp.com/hooks/", "https://corp.com/hooks/../x", Kind::Url, false);
        check("https://corp.com/hooks/", "https://corp.com/hooksx/a", Kind::Url, false);
        check("https://corp.com/hooks/", "https://corp.com/hooks/%2e%2e%2fx", Kind::Url, false);
        check("https://corp.com/hook", "https://corp.com/hook/a", Kind::Url, false);
        check("https://corp.com", "https://corp.com/any", Kind::Url, true);
        check("https://corp.com", "http://corp.com/any", Kind::Url, false);
        check("#team", "team", Kind::Channel, true);
        check("#team", "@team", Kind::Channel, false);
        check("+1 202 555 0143", "+12025550143", Kind::Phone, true);
    }

    #[test]
    fn rules_that_trust_strangers_are_errors() {
        for rule in [
            "",
            "*",
            "*.com",
            "@*.co.uk",
            "*@com",
            "a*@corp.com",
            "https://*.corp.com/",
            "ok\u{200b}@corp.com",
        ] {
            assert!(TrustRule::parse(rule).is_err(), "{rule}");
        }
    }
}
