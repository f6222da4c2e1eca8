//! What the human reads when a call is asked about.
//!
//! The order is fixed: the verb and effect; the destination in full, its registrable domain named,
//! punycode beside IDN; the upstream by its configured name; the place it was read at; what the
//! content carries; why it is asked. Upstream text and arguments are equally hostile: both are
//! escaped and bounded.

use std::fmt::{self, Write as _};

use crate::provenance::{Destination, DestinationReason, Kind, Place, escaped, escaped_around};

use super::Effect;
use super::facts::{DestinationFacts, Facts, FlowContent, Via};
use super::handle::Handle;
use super::origin::Provenance;
use super::verdict::{Reason, Verdict};

/// Characters of a destination that are shown; longer ones are cut with a mark.
const DESTINATION: usize = 300;
/// Characters of the place that are shown, and those kept before the value.
const EXCERPT: usize = 60;
const AROUND: usize = 20;
/// Destinations named one by one; the rest is counted.
pub(super) const NAMED: usize = 8;

/// What the question is about, beside the verdict.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The configured name of the upstream.
    pub upstream: &'a str,
    /// The tool, as the upstream names it: hostile text.
    pub tool: &'a str,
    /// Amounts and currencies of the call, as they stand in the arguments: hostile text.
    pub amounts: &'a [String],
    /// When this Bouncer began to listen, in words, if the history is not complete.
    pub since: Option<&'a str>,
    /// What is said of the list that the one target stands in: escaped lines.
    pub list: &'a [String],
}

/// The text of a question, in parts, so that several calls can share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Verb, effect, tool and upstream.
    pub head: String,
    /// What the call is about, a line each.
    pub items: Vec<String>,
    /// The list that what the call is about stands in.
    pub list: Vec<String>,
    /// Amounts, what is carried, and why it is asked.
    pub tail: Vec<String>,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        self.items.iter().chain(&self.list).chain(&self.tail).try_for_each(|line| write!(f, "\n{line}"))
    }
}

impl Question {
    /// One question for several calls of one tool: their count, and the first of what they are about.
    pub fn merged(questions: &[&Self]) -> String {
        let [first, rest @ ..] = questions else { return String::new() };
        if rest.is_empty() {
            return first.to_string();
        }
        let mut items: Vec<&str> = Vec::new();
        let mut tail: Vec<&str> = Vec::new();
        let list =
            if rest.iter().all(|other| other.list == first.list) { first.list.as_slice() } else { &[] };
        for question in questions {
            items.extend(question.items.iter().map(String::as_str));
            for line in &question.tail {
                if !tail.contains(&line.as_str()) {
                    tail.push(line);
                }
            }
        }
        let mut lines = vec![format!("{} {} calls:", first.head, questions.len())];
        let more = items.len().saturating_sub(2 * NAMED);
        lines.extend(items.into_iter().take(2 * NAMED).map(str::to_owned));
        if more > 0 {
            lines.push(format!("… and {more} more lines"));
        }
        lines.extend_from_slice(list);
        lines.extend(tail.into_iter().take(NAMED).map(str::to_owned));
        lines.join("\n")
    }
}

/// The question that `verdict` calls for.
pub fn question(subject: Subject<'_>, facts: &Facts, verdict: &Verdict) -> Question {
    let mut lines = Vec::new();
    let mut shown = 0_usize;
    for finding in &verdict.findings {
        let Reason::Destination { facts: destination, provenance, place } = &finding.reason else { continue };
        shown += 1;
        if shown > NAMED {
            continue;
        }
        lines.push(destination_line(destination, *provenance));
        if let Some(place) = place {
            lines.push(place_line(place, &destination.destination));
        }
    }
    if shown > NAMED {
        lines.push(format!("… and {} more", shown - NAMED));
    }
    for about in facts.about.iter().take(NAMED) {
        let mut line = format!(
            "about: {} (argument {})",
            escaped(&about.text, DESTINATION),
            escaped(&about.argument, 64)
        );
        line.extend(about.handle.as_ref().map(behind));
        lines.push(line);
    }
    if facts.about.len() > NAMED {
        lines.push("… and more that it is about".to_owned());
    }
    let mut tail = Vec::new();
    if !subject.amounts.is_empty() {
        let amounts: Vec<_> = subject.amounts.iter().take(NAMED).map(|amount| escaped(amount, 40)).collect();
        tail.push(format!("amount: {}", amounts.join(", ")));
    }
    for finding in verdict.open() {
        if let Reason::Flow(flow) = &finding.reason {
            tail.push(flow_line(&flow.pointer, &flow.content));
        }
    }
    tail.push(format!("why: {}", why(verdict)));
    if !facts.complete {
        let since = subject.since.map_or_else(String::new, |since| format!(" since {since}"));
        tail.push(format!("note: what was read is known only in part{since}"));
    }
    Question { head: headline(subject, facts.effect), items: lines, list: subject.list.to_vec(), tail }
}

fn headline(subject: Subject<'_>, effect: Effect) -> String {
    let tool = escaped(subject.tool, 64);
    let upstream = escaped(subject.upstream, 64);
    let verb = match effect {
        Effect::Read => "Read",
        Effect::Fetch => "Fetch",
        Effect::Write => "Write",
        Effect::Send => "Send",
        Effect::Spend => "Spend money",
        Effect::Destroy => "Destroy",
        Effect::Execute => "Run code",
        Effect::Account => "Change access",
    };
    format!("{verb} with `{tool}` of server `{upstream}`?")
}

fn destination_line(facts: &DestinationFacts, provenance: Provenance) -> String {
    let destination = &facts.destination;
    let label = match (destination.reason, facts.role) {
        _ if facts.via == Via::Behind => "and so to",
        (DestinationReason::Embedded, _) => "link in the text",
        (_, Some(super::Role::Target)) => "target",
        (_, Some(super::Role::Command)) => "command",
        (_, Some(super::Role::Path)) => "path",
        _ => "to",
    };
    let mut line = format!(
        "{label}: {} (argument {}, {})",
        escaped(&destination.text, DESTINATION),
        escaped(&destination.argument, 64),
        words(provenance)
    );
    if let Some(handle) = &facts.handle {
        line.push_str(&behind(handle));
    }
    if let Some(domain) = domain(destination.kind, &destination.text) {
        line.push_str(", domain ");
        line.push_str(&domain);
    }
    line
}

/// What stands behind an id, in words: ` — "Lunch", with ana@…, bo@… and 3 more`.
fn behind(handle: &Handle) -> String {
    // Writing to a string cannot fail.
    let mut said = String::new();
    for (at, name) in handle.names.iter().enumerate() {
        let mark = if at == 0 { " —" } else { ", also" };
        let _ = write!(said, "{mark} \"{}\"", escaped(name, 60));
    }
    let (named, more) = handle.people.split_at(handle.people.len().min(3));
    if !named.is_empty() {
        let people: Vec<String> = named.iter().map(|person| escaped(person, 60)).collect();
        let _ = write!(said, ", with {}", people.join(", "));
    }
    if !more.is_empty() {
        let _ = write!(said, " and {} more", more.len());
    }
    if handle.cut {
        said.push_str(", and others");
    }
    said
}

fn words(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Allowlisted => "trusted by your policy",
        Provenance::Granted => "allowed by you before",
        Provenance::Typed => "typed by you",
        Provenance::OwnData => "from your own data",
        Provenance::TypedNotAsked => "named by you, but not for this",
        Provenance::LinkField => "a link that was read",
        Provenance::IdentityField => "a person or account field that was read",
        Provenance::Planted => "in your own data, but put there from what was read",
        Provenance::PointedText => "in the text you pointed at",
        Provenance::Unproven => "not seen anywhere before",
        Provenance::AlteredLink => "made from a link that was read",
        Provenance::FreeText => "in text that was read",
    }
}

/// The registrable domain of a destination with a host, with its Unicode and ASCII forms when they
/// differ. A number for a machine has none.
fn domain(kind: Kind, text: &str) -> Option<String> {
    let host = match kind {
        Kind::Email => text.rsplit_once('@')?.1.to_owned(),
        Kind::Url => url::Url::parse(text).ok()?.host_str()?.to_owned(),
        Kind::Host => text.to_owned(),
        _ => return None,
    };
    let number = host.trim_matches(['[', ']']).parse::<core::net::IpAddr>().is_ok();
    if number { None } else { host_words(&host) }
}

/// The registrable domain of a host, with its Unicode and ASCII forms when they differ.
pub(super) fn host_words(host: &str) -> Option<String> {
    let ascii = idna::domain_to_ascii(host.trim_matches(['.', '>', ' '])).ok()?;
    let registrable = psl::domain_str(&ascii).map_or_else(|| ascii.clone(), str::to_owned);
    let (unicode, _) = idna::domain_to_unicode(&registrable);
    Some(if unicode == registrable {
        escaped(&registrable, 100)
    } else {
        format!("{} ({})", escaped(&registrable, 100), escaped(&unicode, 100))
    })
}

fn place_line(place: &Place, destination: &Destination) -> String {
    let tool = place.tool.as_deref().map_or_else(|| "its listing".to_owned(), |tool| escaped(tool, 64));
    let excerpt = without_other_links(&place.excerpt, &destination.text);
    let at = excerpt.find(&destination.text).unwrap_or(0);
    let excerpt = escaped_around(&marked(&excerpt, at, &destination.text), (at, at), AROUND, EXCERPT);
    format!(
        "read at: {} {tool}, call {}{}: \"{excerpt}\"",
        escaped(&place.upstream, 64),
        place.call,
        spoken_path(&place.path)
    )
}

/// Where in a result, as a person says it: `messages[0].from`. A text block as a whole has no path
/// that would tell a person more than the excerpt does.
fn spoken_path(path: &str) -> String {
    let inner = path.rsplit('»').next().unwrap_or(path).trim();
    let mut spoken = String::new();
    for part in inner.trim_start_matches('$').split(['[', ']']).filter(|part| !part.is_empty()) {
        match part.strip_prefix('\'').and_then(|part| part.strip_suffix('\'')) {
            Some(name) if spoken.is_empty() => spoken.push_str(name),
            Some(name) => {
                spoken.push('.');
                spoken.push_str(name);
            }
            None => {
                spoken.push('[');
                spoken.push_str(part);
                spoken.push(']');
            }
        }
    }
    if spoken.is_empty() || spoken.starts_with("content[") {
        return String::new();
    }
    format!(", {}", escaped(&spoken, 80))
}

/// The excerpt with the destination set off, so that the eye finds it and its end.
fn marked(excerpt: &str, at: usize, destination: &str) -> String {
    match (excerpt.get(..at), excerpt.get(at..).and_then(|rest| rest.strip_prefix(destination))) {
        (Some(before), Some(after)) if !destination.is_empty() && !after.starts_with('>') => {
            format!("{before}<{destination}>{after}")
        }
        _ => excerpt.to_owned(),
    }
}

/// The excerpt with links other than the destination taken out: the question is about one place, and
/// a link cut short or meant for somebody else only misleads.
fn without_other_links(excerpt: &str, destination: &str) -> String {
    let is_link = |word: &str| word.contains("://") || word.to_ascii_lowercase().contains("www.");
    let mut out = String::with_capacity(excerpt.len());
    for word in excerpt.split_inclusive(char::is_whitespace) {
        if !is_link(word) || word.contains(destination) {
            out.push_str(word);
            continue;
        }
        out.push_str("[link]");
        out.extend(word.chars().filter(|c| c.is_whitespace()));
    }
    out
}

fn flow_line(pointer: &str, content: &FlowContent) -> String {
    match content {
        FlowContent::Secret { shape, from } => {
            let read = from.as_ref().map_or_else(String::new, |from| {
                format!(", read from server `{}` (call {})", escaped(&from.upstream, 64), from.call)
            });
            format!("carries: what looks like a {shape}, in {}{read}", escaped(pointer, 64))
        }
        FlowContent::Text { from, chars, container } => {
            let of = container.as_ref().map_or_else(String::new, |it| format!("{} of ", escaped(it, 100)));
            let tool =
                from.tool.as_deref().map_or_else(|| "its listing".to_owned(), |tool| escaped(tool, 64));
            let much = chars.map_or_else(
                || "perhaps text that is no longer kept,".to_owned(),
                |chars| format!("{chars} characters"),
            );
            let excerpt = match escaped(&from.excerpt, EXCERPT) {
                excerpt if excerpt.is_empty() => String::new(),
                excerpt => format!(": \"{excerpt}\""),
            };
            format!(
                "carries: {much} read from {of}server `{}` ({tool}, call {}){excerpt}",
                escaped(&from.upstream, 64),
                from.call
            )
        }
    }
}

fn why(verdict: &Verdict) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for finding in verdict.open() {
        let reason = match &finding.reason {
            Reason::Destination { facts, provenance, .. } => match provenance {
                _ if facts.destination.reason == DestinationReason::Unparsed => {
                    "part of the destination could not be read"
                }
                Provenance::Unproven => "you did not name this destination",
                Provenance::TypedNotAsked => "you named it, but did not ask for this",
                Provenance::PointedText => "it comes from the text you pointed at",
                Provenance::Planted => "it entered your own data from what was read",
                _ => "it comes from what was read, not from you",
            },
            Reason::NoDestination => "it names no destination that could be checked",
            Reason::TooManyDestinations => "it reaches more destinations than could be checked",
            Reason::Amount { .. } => "you did not name this amount",
            Reason::TooMuchContent => "it carries more content than could be checked",
            Reason::Flow(_) => "content of one server would go to another",
            Reason::Constraint { rule, .. } => rule,
            _ => continue,
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.join("; ")
}

#[cfg(test)]
mod tests {
    use super::{Kind, domain, marked, spoken_path, without_other_links};

    #[test]
    fn domains_are_named_and_numbers_have_none() {
        for (kind, text, said) in [
            (Kind::Email, "ana@mail.corp.example.co.uk", Some("example.co.uk")),
            (Kind::Url, "https://a.b.example/x", Some("b.example")),
            (Kind::Host, "xn--mnchen-3ya.example", Some("xn--mnchen-3ya.example (m\u{fc}nchen.example)")),
            (Kind::Url, "http://127.0.0.1:8080/x", None),
            (Kind::Url, "http://[::1]/x", None),
            (Kind::Email, "root@[10.0.0.7]", None),
            (Kind::Host, "10.0.0.7", None),
            (Kind::Path, "/x", None),
        ] {
            assert_eq!(domain(kind, text).as_deref(), said, "{text}");
        }
    }

    #[test]
    fn places_are_said_as_people_say_them() {
        for (path, said) in [
            ("$['content'][0]['text'] » $['messages'][0]['from']", ", messages[0].from"),
            ("$['structuredContent']['body']", ", structuredContent.body"),
            ("$['content'][0]['text']", ""),
            ("$['content'][0]['text'] » $[2]['body']", ", [2].body"),
            ("", ""),
        ] {
            assert_eq!(spoken_path(path), said, "{path}");
        }
    }

    #[test]
    fn the_destination_is_set_off_and_other_links_go() {
        assert_eq!(marked("see www.a.test!", 4, "www.a.test"), "see <www.a.test>!");
        assert_eq!(marked("Ana <a@b.test>", 5, "a@b.test"), "Ana <a@b.test>");
        assert_eq!(without_other_links("x https://evil.test/a y", "a@b.test"), "x [link] y");
    }
}
