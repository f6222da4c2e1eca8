//! Mail addresses: RFC 5322 addr-spec with RFC 6531 letters, and the `mailto:` scheme (RFC 6068).
//!
//! The local part is compared without ASCII case: the standard leaves it to the receiver, and no
//! receiver in use tells `Ann` from `ann`. Letters outside ASCII are never folded for trust, so the
//! KELVIN SIGN stays another mailbox than `k`.

use percent_encoding::percent_decode_str;

use super::host;

/// The two halves of an address, the quotes of a quoted local part dropped where they say nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) local: String,
    /// IDNA ASCII form, or an address literal in brackets; no root dot.
    pub(crate) domain: String,
}

/// Reads a whole text as one addr-spec.
pub(crate) fn parse(text: &str) -> Option<Address> {
    let text = text.trim();
    let (local, domain) = text.rsplit_once('@')?;
    let local = match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => unquote(inner)?,
        None => local.to_owned(),
    };
    if local.is_empty() || local.len() > 256 || !local.chars().all(is_atom_or_dot) {
        return None;
    }
    if local.starts_with('.') || local.ends_with('.') || local.contains("..") {
        return None;
    }
    Some(Address { local, domain: domain_of(domain)? })
}

/// A letter that a local part may hold without quotes (RFC 5322 atext, RFC 6531, and the dot).
pub(crate) fn is_atom_or_dot(c: char) -> bool {
    c.is_alphanumeric()
        || (!c.is_ascii() && !c.is_whitespace() && !crate::provenance::text::is_hidden(c))
        || "!#$%&'*+-/=?^_`{|}~.".contains(c)
}

fn unquote(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(chars.next()?),
            '"' => return None,
            _ => out.push(c),
        }
    }
    Some(out)
}

fn domain_of(text: &str) -> Option<String> {
    if let Some(literal) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address = literal.strip_prefix("IPv6:").unwrap_or(literal);
        return address.parse::<core::net::IpAddr>().ok().map(|ip| format!("[{ip}]"));
    }
    host::domain_ascii(text)
}

/// The STRICT form.
pub(crate) fn strict(text: &str) -> Option<String> {
    let address = parse(text)?;
    Some(format!("{}@{}", address.local.to_ascii_lowercase(), address.domain))
}

/// The addresses of a `mailto:` url: its path and its `to`, `cc` and `bcc` fields, decoded. What cannot
/// be read as an address is returned as it stands.
pub(crate) fn mailto(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let scheme = text.get(..7)?;
    if !scheme.eq_ignore_ascii_case("mailto:") {
        return None;
    }
    let rest = text.get(7..)?;
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut found = Vec::new();
    let mut add = |list: &str| {
        // The comma that separates is the raw one (RFC 6068 section 2), but clients split after
        // decoding too, so both count.
        for one in percent_decode_str(list).decode_utf8_lossy().split([',', ';', '\n', '\r']) {
            if !one.trim().is_empty() {
                found.push(one.trim().to_owned());
            }
        }
    };
    add(path);
    for field in query.split('&') {
        let field = field.strip_prefix("amp;").unwrap_or(field);
        let (name, value) = field.split_once('=').unwrap_or((field, ""));
        let name = percent_decode_str(name).decode_utf8_lossy().to_ascii_lowercase();
        if matches!(name.as_str(), "to" | "cc" | "bcc") {
            add(value);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(strict(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn addresses_fold_only_what_mail_folds() {
        check("  NEW@Random.com ", Some("new@random.com"));
        check("o\u{212a}@corp.com", Some("o\u{212a}@corp.com"));
        check("\"drop77\"@evil.test", Some("drop77@evil.test"));
        check("a@b\u{fc}cher.test", Some("a@xn--bcher-kva.test"));
        check("a@evil.test.", Some("a@evil.test"));
        check("ann+x@corp.com", Some("ann+x@corp.com"));
        check("root@[192.0.2.1]", Some("root@[192.0.2.1]"));
        for bad in ["", "a@", "@b.test", "a b@c.test", "a@b@c.test", "a@b c", "a,b@c.test", "a@b..c"] {
            check(bad, None);
        }
    }

    #[test]
    fn mailto_names_all_receivers() {
        let all = mailto("mailto:bob@corp.test?cc=drop%40evil.test&subject=to%3Dx&bcc=c@d.test,e@f.test");
        assert_eq!(all.unwrap_or_default(), ["bob@corp.test", "drop@evil.test", "c@d.test", "e@f.test"]);
    }
}
