//! Urls by the WHATWG URL Standard, with the two other spellings of a remote: scp (`git@host:path`)
//! and UNC (`\\host\share`).

use url::Url;

use super::host;
use crate::provenance::text::is_hidden;

/// Reads a whole text as an absolute url with a host. Tabs and newlines are dropped as the standard
/// says; callers that decide trust refuse them first.
pub(crate) fn parse(text: &str) -> Option<Url> {
    parse_with_host(text).map(|(url, _)| url)
}

/// As [`parse`], with the host in one spelling.
pub(crate) fn parse_with_host(text: &str) -> Option<(Url, String)> {
    let text = text.trim();
    if !has_scheme(text) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let name = host_of(&url)?;
    Some((url, name))
}

/// Whether a text opens with `scheme:` followed by a slash or backslash.
pub(crate) fn has_scheme(text: &str) -> bool {
    let text = text.trim_start();
    let mut chars = text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r'));
    if !chars.next().is_some_and(|c| c.is_ascii_alphabetic()) {
        return false;
    }
    let mut seen = 1;
    for c in chars.by_ref() {
        match c {
            ':' => return chars.next().is_some_and(|c| matches!(c, '/' | '\\')),
            c if c.is_ascii_alphanumeric() || "+-.".contains(c) => seen += 1,
            _ => return false,
        }
        if seen > 32 {
            return false;
        }
    }
    false
}

/// The host of a url in one spelling.
pub(crate) fn host_of(url: &Url) -> Option<String> {
    host::of_url(&url.host()?)
}

/// A url written without its scheme, `evil.test/p`, as the https one; the host must be a real name.
pub(crate) fn parse_bare(text: &str) -> Option<Url> {
    let text = text.trim();
    let rest = text.strip_prefix("//").unwrap_or(text);
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let (name, _) = host::parse(authority.rsplit('@').next()?)?;
    // Short spellings of addresses (`1` is 0.0.0.1) are read only behind a scheme.
    let dotted = authority.bytes().filter(|b| *b == b'.').count() == 3 || authority.starts_with('[');
    if !(host::has_real_suffix(&name) || host::is_address(&name) && dotted) {
        return None;
    }
    if text.contains(char::is_whitespace) {
        return None;
    }
    parse(&format!("https://{rest}"))
}

/// A remote in scp form, `git@host:path`, as the ssh url it means.
pub(crate) fn parse_scp(text: &str) -> Option<Url> {
    let text = text.trim();
    let (left, path) = text.split_once(':')?;
    let (user, name) = left.split_once('@')?;
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let sound = !user.is_empty()
        && plain(user)
        && !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(char::is_whitespace)
        && !path.contains('@')
        && host::domain_ascii(name).is_some();
    if !sound {
        return None;
    }
    Url::parse(&format!("ssh://{user}@{name}/{path}")).ok()
}

/// A UNC path, `\\host\share\rest`, as the smb url it means.
pub(crate) fn parse_unc(text: &str) -> Option<Url> {
    let rest = text.trim().strip_prefix("\\\\")?;
    if rest.starts_with('\\') || rest.starts_with('?') || rest.starts_with('.') {
        return None;
    }
    let url = Url::parse(&format!("smb://{}", rest.replace('\\', "/").to_lowercase())).ok()?;
    host_of(&url).map(|_| url)
}

/// The STRICT form: the WHATWG one without fragment and default port. A text with controls, a
/// backslash or blanks has none, for readers differ on where it leads.
pub(crate) fn strict(text: &str) -> Option<String> {
    let text = text.trim();
    if text.chars().any(|c| is_hidden(c) || c.is_whitespace()) || text.contains('\\') {
        return None;
    }
    let mut url = parse(text).or_else(|| parse_scp(text)).or_else(|| parse_bare(text))?;
    url.set_fragment(None);
    Some(url.into())
}

/// The urls nested in a url's query or fragment, decoded: where a redirector leads.
pub(crate) fn nested(url: &Url) -> Vec<String> {
    let fragment = url.fragment().unwrap_or_default();
    let mut found: Vec<String> = url
        .query_pairs()
        .map(|(_, value)| value.into_owned())
        .chain(::url::form_urlencoded::parse(fragment.as_bytes()).map(|(_, value)| value.into_owned()))
        .filter(|value| parse(value).or_else(|| parse_bare(value)).is_some())
        .take(16)
        .collect();
    // The target may also stand in the path: `https://redirect.test/https://evil.test/`.
    let path = url.path();
    if let Some(at) = path.find("http").filter(|at| *at > 0) {
        let inner = path.get(at..).unwrap_or_default();
        let decoded = percent_encoding::percent_decode_str(inner).decode_utf8_lossy().into_owned();
        // Some clients squeeze the two slashes of the inner url to one.
        if parse(&decoded).is_some() {
            found.push(decoded);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(strict(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn strict_urls_drop_fragment_and_default_port_only() {
        check("HTTPS://Corp.test:443/A?b#c", Some("https://corp.test/A?b"));
        check("https://corp.test:8443/", Some("https://corp.test:8443/"));
        check("git@evil.test:org/repo.git", Some("ssh://git@evil.test/org/repo.git"));
        check("corp.example/p", Some("https://corp.example/p"));
        for bad in ["https://a\\b.test/", "ht\ntps://evil.test", "not a url", "12", "https://"] {
            check(bad, None);
        }
    }

    #[test]
    fn redirectors_name_their_target() {
        let url = parse("https://r.test/?u=https%3A%2F%2Fevil.test%2Fp&x=1").map(|url| nested(&url));
        assert_eq!(url.unwrap_or_default(), ["https://evil.test/p"]);
    }
}
