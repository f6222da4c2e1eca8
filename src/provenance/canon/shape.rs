//! What a whole text is by its shape alone.

use super::{account, email, host, path, phone, plain, url};
use crate::provenance::Kind;
use crate::provenance::text::squeeze;

/// The kind of a text that can hardly be anything else; `None` for words, numbers and prose.
pub(crate) fn shape_of(text: &str) -> Option<Kind> {
    let text = text.trim();
    if text.len() > 4096 {
        return None;
    }
    if email::parse(text).is_some_and(|address| address.domain.contains(['.', '['])) {
        return Some(Kind::Email);
    }
    if url::has_scheme(text) && text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
        return Some(Kind::Path);
    }
    if (url::parse(text).is_some() && !has_blank(text)) || url::parse_scp(text).is_some() {
        return Some(Kind::Url);
    }
    if phone::is_shaped(text) {
        return Some(Kind::Phone);
    }
    if account::is_shaped(text) {
        return Some(Kind::Account);
    }
    if path::is_shaped(text) && text.len() > 2 {
        return url::parse_unc(text).map(|_| Kind::Path);
    }
    if is_bare_host(text) {
        return Some(Kind::Host);
    }
    if text.contains(['/', '?']) && url::parse_bare(text).is_some() {
        return Some(Kind::Url);
    }
    if plain::mention(text).is_some() {
        return Some(Kind::Channel);
    }
    let marked = text.strip_prefix(['#', '@']).is_some_and(|rest| {
        rest.chars().next().is_some_and(char::is_alphanumeric) && rest.chars().all(is_handle_letter)
    });
    if marked && !text.strip_prefix('#').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) {
        return Some(Kind::Channel);
    }
    plain::uuid(text).map(|_| Kind::Id)
}

fn has_blank(text: &str) -> bool {
    text.contains([' ', '\u{a0}'])
}

fn is_handle_letter(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

/// Whether a whole text is a host name that exists or could, and does not look like a file's name.
pub(crate) fn is_bare_host(text: &str) -> bool {
    if !text.contains(['.', ':', '\u{3002}', '\u{ff0e}']) || text.starts_with('.') {
        return false;
    }
    if text.parse::<core::net::IpAddr>().is_ok() {
        return true;
    }
    host::parse(text).is_some_and(|(name, port)| {
        if host::is_address(&name) {
            // Short and hexadecimal spellings are read as addresses only inside urls.
            return text.bytes().filter(|b| *b == b'.').count() == 3;
        }
        host::has_real_suffix(&name) && (port.is_some() || !host::is_file_like(&name))
    })
}

/// The kind of a text that has no strong shape, as well as can be told.
pub(crate) fn weak_kind(text: &str) -> Kind {
    let text = text.trim();
    if path::is_shaped(text) {
        return Kind::Path;
    }
    let words = text.split_whitespace().count();
    if words == 1 {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        if digits == text.len() || plain::uuid(text).is_some() || is_key(text) {
            return Kind::Id;
        }
        if digits > 0
            && text.len() >= 16
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        {
            return Kind::Id;
        }
        if text.matches('/').count() == 1 && plain::repo(text).is_some() {
            return Kind::Repo;
        }
        if text.contains(['/', '\\']) {
            return Kind::Path;
        }
        return Kind::Name;
    }
    if words <= 6 && text.len() <= 64 && !text.contains('\n') && squeeze(text).len() > 1 {
        return Kind::Name;
    }
    Kind::Text
}

/// A ticket key such as `PROJ-12`.
fn is_key(text: &str) -> bool {
    text.split_once('-').is_some_and(|(project, number)| {
        (1..=10).contains(&project.len())
            && project.bytes().all(|b| b.is_ascii_uppercase())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strong_shapes() {
        for (text, expected) in [
            ("a@b.test", Some(Kind::Email)),
            ("https://evil.test/x", Some(Kind::Url)),
            ("git@evil.test:org/repo.git", Some(Kind::Url)),
            ("evil.test/p", Some(Kind::Url)),
            ("evil.test", Some(Kind::Host)),
            ("EVIL.test:25", Some(Kind::Host)),
            ("192.0.2.10", Some(Kind::Host)),
            ("+12025550143", Some(Kind::Phone)),
            ("GB21 TEST 0000 0012 3456 78", Some(Kind::Account)),
            ("#exfil-drop", Some(Kind::Channel)),
            ("@mallory77", Some(Kind::Channel)),
            ("<#C1|x>", Some(Kind::Channel)),
            ("README.md", None),
            ("main.rs", None),
            ("10.2.3", None),
            ("hello", None),
            ("and/or", None),
            ("#87", None),
            ("2026-01-02", None),
            ("docs/README.md", None),
        ] {
            assert_eq!(shape_of(text), expected, "{text}");
        }
    }

    #[test]
    fn weak_kinds() {
        for (text, expected) in [
            ("/srv/x", Kind::Path),
            ("evil/repo", Kind::Repo),
            ("PROJ-12", Kind::Id),
            ("212", Kind::Id),
            ("Ann Miller", Kind::Name),
            ("general", Kind::Name),
            ("please send all of the invoices to the usual place", Kind::Text),
        ] {
            assert_eq!(weak_kind(text), expected, "{text}");
        }
    }
}
