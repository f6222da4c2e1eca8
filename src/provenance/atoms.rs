//! The atoms of a text: every bounded thing in it that could be a destination, in LOOSE form.
//!
//! The text was folded before. Each atom has clean neighbours: `ann@x` is none of `joann@x`, `drop.bin`
//! none of `drop.bin.bak`, and the user name, path and fragment of a url are no hosts, channels or local
//! paths. One pass a class, linear.

use std::ops::Range;

use ::url::Url;

use super::canon::{account, email, host, path, plain, url};
use super::fold::lower;
use super::links;
use super::numbers;
use super::text::{byte, cut, is_other_script, is_unspaced};
use super::tokens;
use super::urls;

/// What an atom is. Each class is a name space of its own in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// A mail address without plus tag.
    Email,
    /// The host of a url.
    Host,
    /// A host above the host of a url, down to the registrable domain.
    Parent,
    /// The domain of a mail address.
    MailDomain,
    /// A shared host with the first segment of the path.
    Tenant,
    /// All digits of a telephone number.
    Phone,
    /// The last nine digits of one.
    PhoneTail,
    /// A bank account without separators.
    Account,
    /// A channel or handle with its sigil.
    Sigil,
    /// A specific token.
    Token,
    /// A path of two components or more, or an absolute one.
    Path,
    /// A whole short leaf.
    Leaf,
    /// A whole scalar of an identity field, however short or common.
    Scalar,
    /// The STRICT form of a url.
    Url,
    /// A url whose path starts with this one.
    UrlPrefix,
    /// A url with small numbers left open.
    UrlNumber,
    /// The STRICT form of a value in an own-data field.
    Own,
}

impl Class {
    /// Whether an atom is all of a value, and not only near it like the host of a url.
    pub(crate) fn is_value(self) -> bool {
        !matches!(
            self,
            Self::Host
                | Self::Parent
                | Self::MailDomain
                | Self::PhoneTail
                | Self::UrlPrefix
                | Self::UrlNumber
        )
    }
}

/// Receives atoms: class, LOOSE form, place in the text.
pub(crate) type Sink<'a> = dyn FnMut(Class, &str, Range<usize>) + 'a;

/// Longest leaf that counts as a whole, in bytes.
pub(crate) const LONGEST_LEAF: usize = 256;
/// Longest word that is looked at as a path.
pub(super) const LONGEST_WORD: usize = 1024;

/// Finds the atoms of a folded text.
pub(crate) fn atoms(text: &str, sink: &mut Sink<'_>) {
    let urls = links::absolute(text);
    let mut skip: Vec<Range<usize>> = Vec::new();
    for span in &urls {
        let end = one_url(text, span.clone(), sink);
        skip.push(span.start..end);
    }
    let mails = mails(text, sink);
    skip.extend(mails);
    skip.sort_by_key(|span| span.start);
    sigils(text, &urls, sink);
    tokens::words(text, &urls, &skip, sink);
    quoted_paths(text, sink);
    numbers::numbers(text, sink);
}

/// The atoms that only a whole leaf has, scalars among them where they are asked for.
pub(crate) fn whole(text: &str, scalars: bool, sink: &mut Sink<'_>) {
    let range = 0..text.len();
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.len() > LONGEST_LEAF {
        return;
    }
    let is_token = trimmed.bytes().all(|b| b.is_ascii_alphanumeric() || is_mark(b))
        && is_specific(without_marks(trimmed).1);
    // A whole specific token is found as such.
    if !is_token || scalars {
        let form = scalar_form(trimmed);
        if !is_token && says_something(&form) {
            sink(Class::Leaf, &form, range.clone());
        }
        if scalars {
            sink(Class::Scalar, &form, range.clone());
        }
    }
    if trimmed.bytes().any(|b| matches!(b, b' ' | b'-' | b'.'))
        && trimmed.bytes().filter(u8::is_ascii_digit).count() >= account::FEWEST_DIGITS
        && let Some(compact) = account::strict(trimmed)
    {
        sink(Class::Account, &compact, range.clone());
    }
    if trimmed.contains(['/', '\\']) && trimmed.contains(' ') && !url::has_scheme(trimmed) {
        one_path(trimmed, range, sink);
    }
}

/// The LOOSE form of a whole scalar.
pub(crate) fn scalar_form(text: &str) -> String {
    let mut form = super::text::squeeze(text);
    if form.is_ascii() {
        form.make_ascii_lowercase();
    } else {
        form = lower(&form);
    }
    if form.starts_with(['#', '@']) {
        form.remove(0);
    }
    form
}

/// The LOOSE form of a whole leaf; `None` where it says nothing: short and without a digit, or generic.
pub(crate) fn leaf_form(text: &str) -> Option<String> {
    Some(scalar_form(text)).filter(|form| says_something(form))
}

fn says_something(form: &str) -> bool {
    let long = form.chars().count() >= 6 && !is_generic(form) && form.contains(char::is_alphanumeric);
    long || form.bytes().any(|b| b.is_ascii_digit())
}

/// Words that name no particular place, however they stand.
pub(crate) fn is_generic(word: &str) -> bool {
    // In order, each once.
    const GENERIC: [&str; 83] = [
        "active",
        "admin",
        "administrator",
        "anyone",
        "archive",
        "boolean",
        "calendar",
        "channel",
        "commenter",
        "completed",
        "contact",
        "contacts",
        "content",
        "contents",
        "default",
        "develop",
        "development",
        "disabled",
        "document",
        "documents",
        "domain",
        "drafts",
        "editor",
        "enabled",
        "everybody",
        "everyone",
        "external",
        "failed",
        "failure",
        "false",
        "folder",
        "folders",
        "general",
        "group",
        "groups",
        "guest",
        "guests",
        "important",
        "inactive",
        "inbox",
        "integer",
        "internal",
        "main",
        "marketing",
        "master",
        "member",
        "members",
        "message",
        "messages",
        "nobody",
        "none",
        "normal",
        "null",
        "number",
        "object",
        "outbox",
        "owner",
        "pending",
        "primary",
        "private",
        "production",
        "public",
        "random",
        "reader",
        "release",
        "releases",
        "report",
        "spam",
        "staging",
        "status",
        "string",
        "subject",
        "success",
        "support",
        "support team",
        "trash",
        "true",
        "undefined",
        "unknown",
        "user",
        "users",
        "viewer",
        "writer",
    ];
    GENERIC.binary_search(&word).is_ok()
}

fn is_mark(b: u8) -> bool {
    matches!(b, b'-' | b'_' | b'.')
}

/// A token without the marks at its ends, and how many stand before it.
pub(super) fn without_marks(token: &str) -> (usize, &str) {
    let bytes = token.as_bytes();
    let start = bytes.iter().position(|b| !is_mark(*b)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|b| !is_mark(*b)).map_or(start, |last| last + 1);
    (start, cut(token, start..end))
}

/// Whether a token is told apart from words: six characters or more with a digit or an inner mark, or
/// sixteen or more.
pub(crate) fn is_specific(token: &str) -> bool {
    let length = if token.is_ascii() { token.len() } else { token.chars().count() };
    length >= 16
        || length >= 6 && token.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.'))
}

/// The LOOSE form of a token: small, a UUID without punctuation.
pub(crate) fn token_form(token: &str) -> String {
    plain::uuid(token).unwrap_or_else(|| lower(token))
}

/// Sinks the atoms of one url and returns where its authority ends.
fn one_url(text: &str, span: Range<usize>, sink: &mut Sink<'_>) -> usize {
    let word = cut(text, span.clone());
    let after_scheme = word.find(':').map_or(0, |colon| colon + 3);
    let authority = cut(word, after_scheme..word.len()).find(['/', '\\', '?', '#']);
    let end = span.start + authority.map_or(word.len(), |length| after_scheme + length);
    plain_host(word, after_scheme, &span, sink);
    if let Some((parsed, name)) = url::parse_with_host(word) {
        hosts(&parsed, &name, &span, sink);
        if parsed.scheme() == "file" {
            one_path(word, span.clone(), sink);
        }
        if parsed.host_str().is_some_and(is_code_host)
            && let Some(mut parts) = parsed.path_segments()
            && let (Some(owner), Some(name)) = (parts.next(), parts.next())
        {
            let name = name.strip_suffix(".git").unwrap_or(name);
            if let Some(repo) = plain::repo(&format!("{owner}/{name}")) {
                sink(Class::Path, &repo, span.clone());
                sink(Class::Leaf, &repo, span.clone());
            }
        }
        if let Some(forms) = urls::forms(parsed) {
            urls::sink(&forms, &span, sink);
        }
    } else if word.len() > 5 && cut(word, 0..5).eq_ignore_ascii_case("file:") {
        one_path(word, span, sink);
    }
    end
}

/// The host of a url that runs on in another script, or in punctuation that no host has: `https://x.test，…`.
fn plain_host(word: &str, after_scheme: usize, span: &Range<usize>, sink: &mut Sink<'_>) {
    if word.is_ascii() && !word.contains([',', '\'', ';', ')', ']', '"']) {
        return;
    }
    let rest = cut(word, after_scheme..word.len());
    let is_host =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '@' | '%' | '[' | ']');
    let end = rest.find(|c: char| !is_host(c)).unwrap_or(rest.len());
    let follows = cut(rest, end..rest.len()).chars().next();
    // A letter of a spaced script may be a part of the name.
    if follows.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c) || matches!(c, '/' | '?' | '#' | '\\'))
    {
        return;
    }
    let prefix = cut(word, 0..after_scheme + end).trim_end_matches(['.', ':', '-', ']']);
    if prefix.len() < word.len()
        && let Some((parsed, name)) = url::parse_with_host(prefix)
    {
        hosts(&parsed, &name, span, sink);
    }
}

fn is_code_host(name: &str) -> bool {
    ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"]
        .iter()
        .any(|known| name == *known || name.strip_suffix(known).is_some_and(|rest| rest.ends_with('.')))
}

pub(super) fn url_hosts(parsed: &Url, span: &Range<usize>, sink: &mut Sink<'_>) {
    if let Some(ascii) = url::host_of(parsed) {
        hosts(parsed, &ascii, span, sink);
    }
}

/// Sinks the host of a url, given in its ASCII form, and what is told by it.
fn hosts(parsed: &Url, ascii: &str, span: &Range<usize>, sink: &mut Sink<'_>) {
    sink(Class::Host, &host::loose(ascii), span.clone());
    for parent in host::lineage(ascii).into_iter().skip(1) {
        sink(Class::Parent, &host::loose(parent), span.clone());
    }
    if let Some(tenant) = urls::tenant(parsed, ascii) {
        sink(Class::Tenant, &tenant, span.clone());
    }
}

/// The LOOSE form of a mail address: no plus tag, letters in the domain.
pub(crate) fn mail_form(local: &str, domain: &str) -> String {
    let base = match local.split_once('+') {
        Some((base, _)) if !base.is_empty() => base,
        _ => local,
    };
    let domain = host::loose(domain);
    let mut form = String::with_capacity(base.len() + 1 + domain.len());
    form.push_str(base);
    if base.is_ascii() {
        form.make_ascii_lowercase();
    } else {
        form = lower(base);
    }
    form.push('@');
    form.push_str(&domain);
    form
}

/// Finds mail addresses and returns their spans.
fn mails(text: &str, sink: &mut Sink<'_>) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut floor = 0;
    for at in memchr::memchr_iter(b'@', text.as_bytes()) {
        let left = cut(text, floor..at);
        let start = floor + run_back(left, |c| c.is_alphanumeric() || "._%+-".contains(c));
        let wide = floor + run_back(left, |c| email::is_atom_or_dot(c) && c != '=' && c != '/');
        let right = cut(text, at + 1..text.len());
        let length = right
            .char_indices()
            .take(254)
            .find(|(_, c)| !(c.is_alphanumeric() || "-.".contains(*c)))
            .map_or_else(|| run_cap(right), |(end, _)| end);
        let domain = cut(right, 0..length).trim_end_matches(['.', '-']).trim_start_matches(['.', '-']);
        let local = quoted_local(left).unwrap_or_else(|| cut(text, start..at)).trim_start_matches(['.', '-']);
        if local.is_empty() || domain.len() < 2 {
            continue;
        }
        let end = at + 1 + domain.len();
        let span = at - local.len()..end;
        sink(Class::Email, &mail_form(local, domain), span.clone());
        if wide < start {
            let local = cut(text, wide..at).trim_start_matches(['.', '-']);
            sink(Class::Email, &mail_form(local, domain), at - local.len()..end);
        }
        // A neighbour of another script is a word of its own.
        if !local.is_ascii() || !domain.is_ascii() {
            let near = local
                .rfind(is_other_script)
                .map_or(local, |last| cut(local, last..local.len()).trim_start_matches(is_other_script));
            let far = domain.find(is_other_script).map_or(domain, |first| cut(domain, 0..first));
            let far = far.trim_end_matches(['.', '-']);
            for (near, far) in [(near, domain), (local, far), (near, far)] {
                if !near.is_empty() && far.contains('.') && (near, far) != (local, domain) {
                    sink(Class::Email, &mail_form(near, far), span.clone());
                }
            }
        }
        if domain.contains('.') {
            sink(Class::MailDomain, &host::loose(domain), span.clone());
        }
        // `git@host:path` is a remote.
        let tail = cut(text, end..text.len());
        let remote = tail.strip_prefix(':').and_then(|rest| rest.chars().next());
        if remote.is_some_and(|c| c.is_alphabetic() || c == '~') && domain.contains('.') {
            sink(Class::Host, &host::loose(domain), span.clone());
        }
        floor = end;
        spans.push(span);
    }
    spans
}

/// The inside of a quoted local part right before the `@`.
fn quoted_local(left: &str) -> Option<&str> {
    let inner = left.strip_suffix('"')?;
    let open = inner.rfind('"')?;
    let local = cut(inner, open + 1..inner.len());
    (!local.is_empty() && local.len() <= 64 && local.chars().all(email::is_atom_or_dot)).then_some(local)
}

fn run_back(left: &str, fits: impl Fn(char) -> bool) -> usize {
    left.char_indices().rev().take(64).take_while(|(_, c)| fits(*c)).last().map_or(left.len(), |(at, _)| at)
}

fn run_cap(text: &str) -> usize {
    text.char_indices().nth(254).map_or(text.len(), |(at, _)| at)
}

/// Channels and handles with their sigil, and mentions.
fn sigils(text: &str, urls: &[Range<usize>], sink: &mut Sink<'_>) {
    let bytes = text.as_bytes();
    let mut spans = urls.iter().peekable();
    for at in memchr::memchr2_iter(b'#', b'@', bytes) {
        while spans.next_if(|span| span.end <= at).is_some() {}
        let in_url = spans.peek().is_some_and(|span| span.contains(&at));
        if in_url && byte(bytes, at) == b'#' {
            continue;
        }
        let before = cut(text, 0..at).chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c) || "_-.&#@".contains(c)) {
            continue;
        }
        let rest = cut(text, at + 1..text.len());
        let length = rest
            .char_indices()
            .take(80)
            .find(|(_, c)| !(c.is_alphanumeric() || "-_.".contains(*c)))
            .map_or(rest.len().min(80), |(end, _)| end);
        let name = rest.get(..length).unwrap_or_default().trim_end_matches(['.', '-']);
        if name.chars().next().is_some_and(char::is_alphanumeric) || name.starts_with('_') {
            sink(Class::Sigil, &lower(name), at..at + 1 + name.len());
        }
        if let Some(end) = name.find(is_unspaced).filter(|end| *end > 0) {
            sink(Class::Sigil, &lower(cut(name, 0..end)), at..at + 1 + end);
        }
        // `<#C1|name>` names the channel twice.
        if before == Some('<')
            && let Some(label) = cut(rest, name.len()..rest.len()).strip_prefix('|')
        {
            let end = label.find('>').filter(|end| *end <= 80).unwrap_or(0);
            let from = at + 1 + name.len() + 1;
            if end > 0 {
                sink(Class::Sigil, &lower(cut(label, 0..end)), from..from + end);
            }
        }
    }
}

pub(super) fn one_path(word: &str, place: Range<usize>, sink: &mut Sink<'_>) {
    if let Some(form) = path_form(word) {
        sink(Class::Path, &form, place);
    }
}

/// The LOOSE form of a path that says enough: two components, or one under a root.
pub(crate) fn path_form(word: &str) -> Option<String> {
    let normal = path::normal(word)?;
    let depth = path::depth(&normal);
    let rooted = normal.starts_with(['/', '~']) || normal.get(1..3) == Some(":/");
    let letters = normal.bytes().filter(u8::is_ascii_alphanumeric).count();
    (letters >= 2 && (depth >= 2 || (rooted && depth == 1 && normal != "~")) && normal.len() <= LONGEST_WORD)
        .then(|| lower(&normal))
}

/// Paths with blanks stand in quotes.
fn quoted_paths(text: &str, sink: &mut Sink<'_>) {
    let bytes = text.as_bytes();
    let mut from = 0;
    for at in memchr::memchr3_iter(b'"', b'\'', b'`', bytes) {
        if at < from {
            continue;
        }
        let next = byte(bytes, at + 1);
        let drive = next.is_ascii_alphabetic()
            && byte(bytes, at + 2) == b':'
            && b"/\\".contains(&byte(bytes, at + 3));
        if !matches!(next, b'/' | b'~' | b'.' | b'\\') && !drive {
            continue;
        }
        let tail = bytes.get(at + 1..(at + 513).min(bytes.len())).unwrap_or_default();
        let line = memchr::memchr(b'\n', tail).unwrap_or(tail.len());
        let Some(length) = memchr::memchr(byte(bytes, at), tail).filter(|length| *length < line) else {
            continue;
        };
        let inside = cut(text, at + 1..at + 1 + length);
        if inside.contains(' ') {
            one_path(inside, at + 1..at + 1 + length, sink);
        }
        from = at + 1 + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::fold::fold;

    fn check(text: &str, class: Class, expected: &[&str]) {
        let view = fold(text);
        let mut found = Vec::new();
        atoms(&view.text, &mut |of, form, range| {
            assert!(view.text.get(range).is_some(), "{text}");
            if of == class {
                found.push(form.to_owned());
            }
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn atoms_have_clean_neighbours() {
        check("to Drop77+q@Evil.TEST. joann@x.test", Class::Email, &["drop77@evil.test", "joann@x.test"]);
        check("\"drop77\"@evil.test", Class::Email, &["drop77@evil.test"]);
        check(
            "a@b\u{fc}cher.test a@xn--bcher-kva.test",
            Class::Email,
            &["a@b\u{fc}cher.test", "a@b\u{fc}cher.test"],
        );
        check("https://good.example@Evil.test:8/x?a=b", Class::Host, &["evil.test"]);
        check("clone git@evil.test:org/x", Class::Host, &["evil.test"]);
        check("http://3221225994/in", Class::Host, &["192.0.2.10"]);
        check("see evil.test/p", Class::Host, &["evil.test"]);
        check("https://evil.test\u{4e0a}\u{4f20}", Class::Host, &["evil.test", "evil.test\u{4e0a}\u{4f20}"]);
        check("andr\u{e9}a@evil.test", Class::Email, &["andr\u{e9}a@evil.test"]);
        check("\u{7528}a@evil.test", Class::Email, &["\u{7528}a@evil.test", "a@evil.test", "a@evil.test"]);
        check(
            "\u{8bf7}\u{7528}INV-2026-0042\u{67e5}",
            Class::Token,
            &["\u{8bf7}\u{7528}inv-2026-0042\u{67e5}", "inv-2026-0042"],
        );
        check("\u{53d1}\u{5230}#drop-x\u{9891}", Class::Sigil, &["drop-x\u{9891}", "drop-x"]);
        check("at 2001:DB8:0::1, noon", Class::Host, &["[2001:db8::1]"]);
        check(
            "#exfil-drop, <#C0EX1|war-room> x#no # Release",
            Class::Sigil,
            &["exfil-drop", "c0ex1", "war-room"],
        );
        check("https://x.test/page#security a@b.test", Class::Sigil, &[]);
        check("-v /srv/x:/data", Class::Path, &["/srv/x:/data", "/srv/x"]);
        check("write '/srv/my drop' or C:\\A\\b.", Class::Path, &["/srv/my", "c:/a/b", "/srv/my drop"]);
        check(
            "id PROJ-12345, word main.rs 12 {3f2b8c1e-7d4a-4e6b-9a0c-5d1e2f3a4b5c}",
            Class::Token,
            &["proj-12345", "main.rs", "3f2b8c1e7d4a4e6b9a0c5d1e2f3a4b5c"],
        );
        check("https://github.com/Evil/Repo.git", Class::Path, &["evil/repo"]);
    }
}
