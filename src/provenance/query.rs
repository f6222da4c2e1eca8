//! The questions that a value puts to the index: each LOOSE form it may have stood in, with the class of
//! atom and what a hit is worth.
//!
//! A value is asked for in every shape it parses as; a declared kind adds shapes. It is decoded like
//! records are, and for structured kinds asked for by rot13 and backwards, which are not undone in records.

use std::collections::VecDeque;

use ::url::Url;

use super::atoms::{self, Class};
use super::canon::{account, host, phone, plain, shape_of, url};
use super::decode;
use super::fold::{fold, lower};
use super::text::cut;
use super::{Decoding, Floor, Kind};
use super::{links, numbers};

/// Encodings over encodings in a value are undone this deep.
const DEEPEST_CODE: usize = 3;
/// Shortest account with a country code, in characters (ISO 13616: Norway).
const SHORTEST_ACCOUNT: usize = 15;
/// Urls and accounts among other signs that are asked for, of each.
const WRAPPED: usize = 16;
/// Longest remote, in bytes.
const LONGEST_REMOTE: usize = 2_048;
/// Longest value whose decoded views are asked for.
const LONGEST_CODE: usize = 16 * 1024;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) class: Class,
    pub(crate) text: String,
    pub(crate) floor: Floor,
    /// How the value was read to get here.
    pub(crate) chain: Vec<Decoding>,
    /// The digits of a telephone number of which only the tail is asked for.
    pub(crate) digits: Option<String>,
    /// Whether the form is asked for as a host, whatever its class.
    pub(crate) is_host: bool,
}

/// All questions about a value.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    pub(crate) forms: Vec<Form>,
    /// Texts that are looked for as phrases.
    pub(crate) phrases: Vec<(String, Vec<Decoding>)>,
}

/// The questions about a value of a kind.
pub(crate) fn questions(text: &str, kind: Kind) -> Questions {
    let mut out = Questions::default();
    out.plain(text, kind, &[]);
    if text.len() <= LONGEST_CODE {
        let mut open = VecDeque::from([(text.to_owned(), Vec::new(), 0)]);
        let mut budget = 64_usize;
        while let Some((text, chain, depth)) = open.pop_front() {
            let view = fold(&text);
            for derived in decode::derive(&text, &view.text, &chain) {
                budget = budget.saturating_sub(1);
                if budget == 0 {
                    return out;
                }
                let chain: Vec<Decoding> = chain.iter().copied().chain(derived.steps).collect();
                out.plain(&derived.text, shape_of(&derived.text).unwrap_or(kind), &chain);
                if depth + 1 < DEEPEST_CODE {
                    open.push_back((derived.text, chain, depth + 1));
                }
            }
        }
    }
    out
}

impl Questions {
    fn ask(&mut self, class: Class, form: impl Into<String>, floor: Floor, chain: &[Decoding]) {
        self.add(class, form.into(), floor, chain, false);
    }

    fn ask_host(&mut self, class: Class, form: impl Into<String>, floor: Floor, chain: &[Decoding]) {
        self.add(class, form.into(), floor, chain, true);
    }

    fn add(&mut self, class: Class, form: String, floor: Floor, chain: &[Decoding], is_host: bool) {
        let form = Form { class, text: form, floor, chain: chain.to_vec(), digits: None, is_host };
        if !form.text.is_empty() && !self.forms.contains(&form) {
            self.forms.push(form);
        }
    }

    /// Asks for one reading of a value.
    fn plain(&mut self, text: &str, kind: Kind, chain: &[Decoding]) {
        let view = fold(text.trim());
        let text = view.text.trim();
        let mut kinds = vec![kind];
        kinds.extend(shape_of(text).filter(|shape| *shape != kind));
        for kind in kinds {
            match kind {
                Kind::Email => self.email(text, chain),
                Kind::Url | Kind::Host => self.remote(text, chain),
                Kind::Phone => self.phone(text, chain),
                Kind::Account => self.account(text, chain),
                Kind::Path => self.path(text, chain),
                Kind::Repo => self.repo(text, chain),
                Kind::Channel | Kind::Id | Kind::Name | Kind::Text => self.token(text, kind, chain),
            }
        }
        self.wrapped(text, chain);
    }

    /// Asks for what a value holds among other signs: a remote as programs write it, a url in brackets or behind
    /// another scheme, an account with a name beside it.
    fn wrapped(&mut self, text: &str, chain: &[Decoding]) {
        let known =
            || url::parse(text).is_some() || url::parse_scp(text).is_some() || url::parse_unc(text).is_some();
        if let Some((name, parsed)) = remote_of(text).filter(|_| !known()) {
            self.hosts(&name, Some(&parsed), Floor::Deny, chain);
        }
        if text.len() > LONGEST_REMOTE {
            return;
        }
        for range in links::absolute(text).into_iter().filter(|range| *range != (0..text.len())).take(WRAPPED)
        {
            if let Some(inner) = links::read(cut(text, range))
                && let Some(ascii) = url::host_of(&inner)
            {
                self.hosts(&ascii, Some(&inner), Floor::Deny, chain);
            }
        }
        if text.len() > SHORTEST_ACCOUNT {
            let mut left = WRAPPED;
            numbers::numbers(text, &mut |class, form, _| {
                if class == Class::Account && left > 0 && account::is_iban(form) {
                    left -= 1;
                    self.ask(Class::Account, form, Floor::Deny, chain);
                }
            });
        }
    }

    fn email(&mut self, text: &str, chain: &[Decoding]) {
        self.mails(text, chain);
        for (turned, step) in turned(text) {
            let mut chain = chain.to_vec();
            chain.push(step);
            if let Some((local, domain)) = turned.rsplit_once('@') {
                self.ask(Class::Email, atoms::mail_form(local, domain), Floor::Deny, &chain);
            }
        }
    }

    fn mails(&mut self, text: &str, chain: &[Decoding]) {
        atoms::atoms(text, &mut |class, form, _| match class {
            Class::Email => self.ask(class, form, Floor::Deny, chain),
            Class::MailDomain => {
                self.ask(Class::MailDomain, form, Floor::Ask, chain);
                self.ask(Class::Host, form, Floor::Ask, chain);
            }
            _ => {}
        });
        // An address whose domain has no dot is still one.
        if let Some((local, domain)) = text.rsplit_once('@') {
            let local = local.trim_start_matches('"').trim_end_matches('"');
            self.ask(Class::Email, atoms::mail_form(local, domain.trim_end_matches('.')), Floor::Deny, chain);
        }
    }

    fn remote(&mut self, text: &str, chain: &[Decoding]) {
        let parsed = url::parse(text)
            .or_else(|| url::parse_scp(text))
            .or_else(|| url::parse_unc(text))
            .or_else(|| url::parse_bare(text));
        let ascii =
            parsed.as_ref().and_then(url::host_of).or_else(|| host::parse(text).map(|(name, _)| name));
        let Some(ascii) = ascii else { return };
        self.hosts(&ascii, parsed.as_ref(), Floor::Deny, chain);
        let loose = host::loose(&ascii);
        for (turned, step) in turned(&loose) {
            let mut chain = chain.to_vec();
            chain.push(step);
            self.ask_host(Class::Host, turned.clone(), Floor::Deny, &chain);
            self.ask_host(Class::Token, turned, Floor::Deny, &chain);
        }
        for nested in parsed.iter().flat_map(url::nested) {
            if let Some(inner) = links::read(&nested)
                && let Some(ascii) = url::host_of(&inner)
            {
                self.hosts(&ascii, Some(&inner), Floor::Ask, chain);
            }
        }
    }

    /// The host itself and its parents down to the registrable domain; hosts below it, and mail domains, are
    /// only near it.
    fn hosts(&mut self, ascii: &str, parsed: Option<&Url>, floor: Floor, chain: &[Decoding]) {
        let tenant = parsed.and_then(|parsed| super::urls::tenant(parsed, ascii));
        let host_floor = if tenant.is_some() { Floor::Ask } else { floor };
        if let Some(tenant) = tenant {
            self.ask_host(Class::Tenant, tenant, floor, chain);
        }
        for name in host::lineage(ascii) {
            let loose = host::loose(name);
            self.ask_host(Class::Host, loose.clone(), host_floor, chain);
            if name != loose {
                self.ask_host(Class::Token, name, host_floor, chain);
            }
            self.ask_host(Class::MailDomain, loose.clone(), Floor::Ask, chain);
            self.ask_host(Class::Token, loose, host_floor, chain);
        }
        self.ask_host(Class::Parent, host::loose(ascii), Floor::Ask, chain);
    }

    fn phone(&mut self, text: &str, chain: &[Decoding]) {
        let Some(number) = phone::parse(text) else { return };
        let digits = number.digits;
        self.ask(Class::Phone, digits.as_str(), Floor::Deny, chain);
        self.ask(Class::Token, digits.as_str(), Floor::Deny, chain);
        if let Some(tail) = super::numbers::tail_of(&digits) {
            let full = if number.international { format!("+{digits}") } else { digits.clone() };
            self.forms.push(Form {
                class: Class::PhoneTail,
                text: tail.to_owned(),
                floor: Floor::Deny,
                chain: chain.to_vec(),
                digits: Some(full),
                is_host: false,
            });
            let back = decode::reversed(&digits);
            let mut chain = chain.to_vec();
            chain.push(Decoding::Reversed);
            self.ask(Class::Phone, back.as_str(), Floor::Deny, &chain);
            self.ask(Class::Token, back, Floor::Deny, &chain);
        }
    }

    fn account(&mut self, text: &str, chain: &[Decoding]) {
        let Some(compact) = account::strict(text) else { return };
        self.ask(Class::Account, compact.as_str(), Floor::Deny, chain);
        self.ask(Class::Token, lower(&compact), Floor::Deny, chain);
        if compact.bytes().all(|b| b.is_ascii_digit()) && compact.len() >= 9 {
            self.ask(Class::Phone, compact.trim_start_matches('0'), Floor::Deny, chain);
        }
        for (turned, step) in turned(&compact) {
            let mut chain = chain.to_vec();
            chain.push(step);
            self.ask(Class::Token, lower(&turned), Floor::Deny, &chain);
            self.ask(Class::Account, turned, Floor::Deny, &chain);
        }
    }

    fn path(&mut self, text: &str, chain: &[Decoding]) {
        if let Some(form) = atoms::path_form(text) {
            self.ask(Class::Path, form, Floor::Deny, chain);
            for (turned, step) in turned(text) {
                let mut chain = chain.to_vec();
                chain.push(step);
                if let Some(form) = atoms::path_form(&turned) {
                    self.ask(Class::Path, form, Floor::Deny, &chain);
                }
            }
        }
        if url::parse_unc(text).is_some() || url::parse(text).is_some() {
            self.remote(text, chain);
        }
    }

    fn repo(&mut self, text: &str, chain: &[Decoding]) {
        let Some(repo) = plain::repo(text) else {
            self.token(text, Kind::Name, chain);
            return;
        };
        // `and/or` has the shape of one too.
        self.ask(Class::Leaf, repo.as_str(), Floor::Deny, chain);
        self.ask(Class::Scalar, repo.as_str(), Floor::Deny, chain);
        if !atoms::is_specific(&repo) {
            return;
        }
        self.ask(Class::Path, repo.as_str(), Floor::Deny, chain);
        for (turned, step) in turned(&repo) {
            let mut chain = chain.to_vec();
            chain.push(step);
            self.ask(Class::Path, turned, Floor::Deny, &chain);
        }
    }

    fn token(&mut self, text: &str, kind: Kind, chain: &[Decoding]) {
        let label = text
            .strip_prefix("<#")
            .or_else(|| text.strip_prefix("<@"))
            .and_then(|rest| rest.strip_suffix('>'))
            .and_then(|rest| rest.split_once('|'))
            .map(|(_, label)| label);
        let first = plain::mention(text).unwrap_or(text);
        for name in std::iter::once(first).chain(label) {
            self.one_token(name.strip_prefix(['#', '@']).unwrap_or(name).trim(), kind, chain);
        }
    }

    fn one_token(&mut self, name: &str, kind: Kind, chain: &[Decoding]) {
        let marks = ['-', '_', '.'];
        if !name.contains(char::is_alphanumeric) {
            return;
        }
        if let Some(leaf) = atoms::leaf_form(name)
            && (kind == Kind::Id || leaf.chars().count() >= 6 && !atoms::is_generic(&leaf))
        {
            self.ask(Class::Leaf, leaf, Floor::Deny, chain);
        }
        self.ask(Class::Scalar, atoms::scalar_form(name), Floor::Deny, chain);
        if name.contains(char::is_whitespace) {
            if name.chars().count() >= 10 {
                self.phrases.push((name.to_owned(), chain.to_vec()));
            }
            return;
        }
        let stripped = name.trim_matches(marks);
        if stripped.chars().count() >= 2 && kind != Kind::Text {
            self.ask(Class::Sigil, lower(stripped), Floor::Deny, chain);
        }
        let form = atoms::token_form(name);
        let form = if form == lower(name) { lower(stripped) } else { form };
        let specific = atoms::is_specific(&form);
        if specific {
            self.ask(Class::Token, form.as_str(), Floor::Deny, chain);
        }
        if let Some(form) = name.contains('/').then(|| atoms::path_form(name)).flatten() {
            self.ask(Class::Path, form, Floor::Deny, chain);
        }
        if specific && matches!(kind, Kind::Channel | Kind::Id) {
            // As it is spelled as well: nobody takes the strokes out of an id that stands backwards.
            let spelled = lower(stripped);
            for (turned, step) in turned(&form).into_iter().chain(turned(&spelled)) {
                let mut chain = chain.to_vec();
                chain.push(step);
                self.ask(Class::Token, turned, Floor::Deny, &chain);
            }
        }
    }
}

/// The host of a remote that is written as programs take it, and what it is as a url: `user@x.test:/b`, `x.test::m`,
/// `*.x.test`, `http:x.test`.
fn remote_of(text: &str) -> Option<(String, Url)> {
    const SCHEMES: [&str; 5] = ["http:", "https:", "ftp:", "ws:", "wss:"];
    let scheme = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_remote = scheme.is_some()
        || text.contains(":/") && !text.contains("://")
        || text.contains("::")
        || text.starts_with(['*', '.', '/']) && text.contains('.')
        || text.split_once('@').is_some_and(|(user, _)| user.contains(':'));
    if !is_remote || text.len() > LONGEST_REMOTE {
        return None;
    }
    let rest = scheme.unwrap_or(text).trim_start_matches('/');
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, more) = host.split_at(host.find(':').unwrap_or(host.len()));
    let host = host.trim_start_matches(['*', '.']);
    let dotted = host.contains('.') && !host.ends_with('.') && !host.contains(char::is_whitespace);
    let (name, _) = dotted.then(|| host::parse(host)).flatten()?;
    let path = if path.is_empty() { more } else { path };
    let parsed = Url::parse(&format!("https://{name}/{}", path.trim_start_matches([':', '/']))).ok()?;
    Some((name, parsed))
}

/// A value by rot13 and backwards, where that changes it.
fn turned(text: &str) -> Vec<(String, Decoding)> {
    let by_rot13 = decode::rot13(text);
    let both = decode::reversed(&by_rot13);
    [(by_rot13, Decoding::Rot13), (decode::reversed(text), Decoding::Reversed), (both, Decoding::Rot13)]
        .into_iter()
        .filter(|(turned, _)| turned != text)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_has_a_host_however_it_is_written() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(remote_of(text).map(|(name, _)| name).as_deref(), expected, "{text}");
        };
        for text in [
            "user@evil.test:/b",
            "evil.test:/b",
            "evil.test::m",
            "*.evil.test",
            ".evil.test",
            "http:evil.test/x",
        ] {
            check(text, Some("evil.test"));
        }
        check("//evil.test/x", Some("evil.test"));
        check("user:pw@evil.test", Some("evil.test"));
        for text in ["ops@evil.test", "a.txt", "./a", "../a.txt", "C:/a.b/c", "::1", "std::vec"] {
            check(text, None);
        }
    }
}
