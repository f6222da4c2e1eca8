//! Destinations out of the arguments of a call, whatever their shape.
//!
//! Every leaf and key is looked at. What an argument means to the call is the caller's to say, leaf by
//! leaf, through [`Standing`]. Nothing that stands in an argument with authority is dropped silently:
//! what no parser understands is a destination of its own, which nothing vouches for.

use serde_json::Value;

use super::canon::{email, shape_of, strict_form, weak_kind};
use super::embedded::{self, Found};
use super::fold::fold;
use super::split;
use super::text::{head, is_hidden};
use super::{Destination, DestinationReason as Reason, Kind, Standing};

/// An argument longer than this, in bytes, is not a destination; what stands in it is looked up.
pub(crate) const LONGEST_DESTINATION: usize = 16 * 1024;
/// More destinations than this in one call are not told apart.
const MOST_DESTINATIONS: usize = 256;
/// How many are looked for in one text: one more, so that what is left out is noticed.
const MOST_IN_TEXT: usize = MOST_DESTINATIONS + 1;
/// JSON inside strings inside JSON is read this deep.
const DEEPEST_TEXT: usize = 3;

/// What [`extract`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extraction {
    /// The destinations in the order of the arguments.
    pub destinations: Vec<Destination>,
    /// Whether there were more than are told. FAIL CLOSED: such a call has destinations that nobody
    /// looked at, so it may not be allowed.
    pub truncated: bool,
}

/// Finds the destinations in `args`.
///
/// `standing` is asked with dotted paths as policies write them (`message.to[]`): for each leaf with its
/// own path, for each key with the path of the object that holds it.
pub fn extract(args: &Value, standing: &dyn Fn(&str) -> Standing) -> Extraction {
    let mut work = Work { out: Extraction::default(), standing };
    work.walk(args, "", "", None, 0);
    work.out
}

/// Whether an argument holds one line by its name.
fn is_one_line(argument: &str) -> bool {
    let name = argument.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    ["subject", "title", "name", "filename", "header", "summary"].iter().any(|word| name.ends_with(word))
}

struct Work<'a> {
    out: Extraction,
    standing: &'a dyn Fn(&str) -> Standing,
}

/// Where a leaf or key stands.
struct Spot<'a> {
    pointer: &'a str,
    argument: &'a str,
    is_key: bool,
}

impl Work<'_> {
    /// Walks one value without recursion. `inherited` is the standing of the string that held this JSON.
    fn walk(
        &mut self,
        root: &Value,
        pointer: &str,
        argument: &str,
        inherited: Option<Standing>,
        depth: usize,
    ) {
        let nested = inherited.is_some();
        let mut open: Vec<(&Value, String, String, bool)> =
            vec![(root, pointer.to_owned(), argument.to_owned(), false)];
        while let Some((value, pointer, argument, is_label)) = open.pop() {
            match value {
                Value::Array(items) => {
                    let argument = format!("{argument}[]");
                    for (at, item) in items.iter().enumerate().rev() {
                        let pointer = if nested { pointer.clone() } else { format!("{pointer}/{at}") };
                        open.push((item, pointer, argument.clone(), is_label));
                    }
                }
                Value::Object(members) => {
                    let own = self.stand(&argument, inherited);
                    let labels = holds_address(members);
                    for (key, member) in members {
                        let pointer = join(&pointer, key, nested);
                        if key_counts(key, member, own) && !argument.is_empty() || shape_of(key).is_some() {
                            let spot = Spot { pointer: &pointer, argument: &argument, is_key: true };
                            self.text(key, own, &spot, depth);
                        }
                    }
                    for (key, member) in members.iter().rev() {
                        let below =
                            if argument.is_empty() { key.clone() } else { format!("{argument}.{key}") };
                        let label = labels && is_name_key(key);
                        open.push((member, join(&pointer, key, nested), below, label));
                    }
                }
                Value::Null => {}
                Value::String(text) => {
                    let stand = self.stand(&argument, inherited);
                    if is_label && matches!(stand, Standing::Authority(_)) && plain_label(text) {
                        continue;
                    }
                    let spot = Spot { pointer: &pointer, argument: &argument, is_key: false };
                    self.text(text, stand, &spot, depth);
                }
                Value::Bool(_) | Value::Number(_) => {
                    if let Standing::Authority(kind) = self.stand(&argument, inherited) {
                        let spot = Spot { pointer: &pointer, argument: &argument, is_key: false };
                        let kind = kind.unwrap_or(if value.is_number() { Kind::Id } else { Kind::Text });
                        self.push(&value.to_string(), kind, Reason::Declared, &spot);
                    }
                }
            }
        }
    }

    fn stand(&self, argument: &str, inherited: Option<Standing>) -> Standing {
        match inherited {
            Some(Standing::Undeclared) | None => (self.standing)(argument),
            Some(outer) => outer,
        }
    }

    fn text(&mut self, text: &str, standing: Standing, spot: &Spot<'_>, depth: usize) {
        let trimmed = text.trim_matches(|c: char| c.is_whitespace());
        if trimmed.is_empty() || standing == Standing::Ignored {
            return;
        }
        if standing != Standing::Content
            && depth < DEEPEST_TEXT
            && trimmed.starts_with(['{', '['])
            && let Ok(inner) = serde_json::from_str::<Value>(trimmed)
        {
            let before = self.out.destinations.len();
            self.walk(&inner, spot.pointer, spot.argument, Some(standing), depth + 1);
            if self.out.destinations.len() > before || !matches!(standing, Standing::Authority(_)) {
                return;
            }
            // `[]` written as text holds nothing; any other JSON without a destination is itself one.
            if matches!(&inner, Value::Array(items) if items.is_empty()) {
                return;
            }
        }
        if trimmed.len() > LONGEST_DESTINATION {
            self.oversized(trimmed, standing, spot);
            return;
        }
        match standing {
            Standing::Ignored => {}
            Standing::Content => {
                self.found(embedded::links_shown(trimmed, MOST_IN_TEXT), spot);
                if is_one_line(spot.argument) && text.contains(['\n', '\r']) {
                    // A second line in a subject is a header of its own to many a mailer.
                    self.addresses(trimmed, spot);
                }
            }
            Standing::Undeclared => self.undeclared(trimmed, spot),
            Standing::Authority(kind) => self.authority(trimmed, kind, spot),
        }
    }

    fn oversized(&mut self, text: &str, standing: Standing, spot: &Spot<'_>) {
        match standing {
            Standing::Ignored => {}
            Standing::Authority(_) => {
                self.found(embedded::atoms_in(text, MOST_IN_TEXT), spot);
                self.unparsed(head(text, 256), spot);
            }
            Standing::Content | Standing::Undeclared => {
                self.found(embedded::links_in(text, MOST_IN_TEXT), spot);
            }
        }
    }

    /// Each leaf is a destination whatever its shape.
    fn authority(&mut self, text: &str, kind: Option<Kind>, spot: &Spot<'_>) {
        if let Some(addresses) = email::mailto(text) {
            for address in &addresses {
                self.piece(address, spot);
            }
            if addresses.is_empty() {
                self.unparsed(text, spot);
            }
            return;
        }
        let pieces = split::pieces(text);
        let shaped = pieces.iter().filter(|piece| shape_of(split::address(piece)).is_some()).count();
        if shaped == 0 || pieces.len() == 1 {
            self.whole(text, kind, spot);
            return;
        }
        // A url may hold commas; it is a list only when a later piece is a destination too.
        if shaped == 1 && shape_of(text) == Some(Kind::Url) {
            self.push(text, Kind::Url, Reason::Declared, spot);
            return;
        }
        for piece in pieces {
            self.piece(piece, spot);
        }
    }

    /// A text that is no list of several destinations with shapes.
    fn whole(&mut self, text: &str, kind: Option<Kind>, spot: &Spot<'_>) {
        let address = split::address(text);
        if let Some(list) = email::mailto(address).filter(|_| address.len() < text.len()) {
            for one in &list {
                self.piece(one, spot);
            }
            return;
        }
        if let Some(shape) = shape_of(address) {
            // A file name or token may be host-shaped; what the policy says it is comes first then.
            let kind = match (shape, kind) {
                (
                    Kind::Host,
                    Some(kind @ (Kind::Path | Kind::Repo | Kind::Id | Kind::Name | Kind::Channel)),
                ) => kind,
                (Kind::Url, Some(Kind::Path)) if super::canon::url::parse(address).is_none() => Kind::Path,
                (shape, _) => shape,
            };
            self.push(address, kind, Reason::Declared, spot);
            return;
        }
        let single = !text.contains(char::is_whitespace);
        if matches!(kind, Some(Kind::Channel | Kind::Id | Kind::Repo) | None)
            && text.contains([',', ';', '\n'])
        {
            let pieces = split::pieces(text);
            if pieces.len() > 1 && pieces.iter().all(|piece| !piece.contains(char::is_whitespace)) {
                for piece in pieces {
                    self.push(piece, kind.unwrap_or_else(|| weak_kind(piece)), Reason::Declared, spot);
                }
                return;
            }
        }
        let line = !text.contains(['\n', '\r']) && text.len() <= 2048;
        let kind = match kind {
            Some(kind @ (Kind::Email | Kind::Url | Kind::Host | Kind::Phone | Kind::Account)) => {
                if strict_form(text, kind).is_some() {
                    kind
                } else {
                    weak_kind(text)
                }
            }
            Some(kind @ Kind::Path) if line => kind,
            Some(kind @ (Kind::Channel | Kind::Id | Kind::Name)) if line && text.len() <= 256 => kind,
            Some(kind @ Kind::Repo) if single => kind,
            _ => weak_kind(text),
        };
        self.push(text, kind, Reason::Declared, spot);
        if matches!(kind, Kind::Text | Kind::Name) {
            self.found(embedded::atoms_in(text, MOST_IN_TEXT), spot);
        }
    }

    /// One piece of a list in which some pieces have shapes: what has none is left over.
    fn piece(&mut self, piece: &str, spot: &Spot<'_>) {
        let address = split::address(piece);
        if let Some(list) = email::mailto(address) {
            for one in &list {
                match shape_of(one) {
                    Some(kind) => self.push(one, kind, Reason::Declared, spot),
                    None => self.unparsed(one, spot),
                }
            }
        } else if let Some(kind) = shape_of(address) {
            self.push(address, kind, Reason::Declared, spot);
        } else {
            self.unparsed(piece, spot);
            self.found(embedded::atoms_in(piece, MOST_IN_TEXT), spot);
        }
    }

    fn unparsed(&mut self, text: &str, spot: &Spot<'_>) {
        self.push(text, weak_kind(text), Reason::Unparsed, spot);
    }

    /// An argument nobody declared: a destination when shaped like one, and its links.
    fn undeclared(&mut self, text: &str, spot: &Spot<'_>) {
        if let Some(addresses) = email::mailto(text) {
            for address in &addresses {
                self.piece(address, spot);
            }
            return;
        }
        // Characters without ink and look-alikes hide a shape from us, and maybe not from the upstream.
        let folded =
            || (text.len() <= 320 && !text.is_ascii()).then(|| shape_of(fold(text).text.trim())).flatten();
        if let Some(kind) = shape_of(text).or_else(folded) {
            if kind != Kind::Path {
                self.push(text, kind, Reason::Shaped, spot);
            }
            return;
        }
        let pieces = split::pieces(text);
        let kinds: Vec<(&str, Option<Kind>)> =
            pieces.iter().map(|piece| split::address(piece)).map(|one| (one, shape_of(one))).collect();
        let shaped = kinds.iter().filter(|(_, kind)| kind.is_some_and(|kind| kind != Kind::Path)).count();
        // A list of receivers, or one short line that names some; a longer text is content.
        let counts = shaped > 0 && (shaped == kinds.len() || (!text.contains('\n') && text.len() <= 320));
        if counts {
            for (one, kind) in kinds {
                if let Some(kind) = kind.filter(|kind| *kind != Kind::Path) {
                    self.push(one, kind, Reason::Shaped, spot);
                }
            }
        } else if !spot.is_key {
            self.found(embedded::links_shown(text, MOST_IN_TEXT), spot);
            // Nothing says that this argument is content: an address in a short text may be a receiver.
            if text.len() <= 320 {
                self.addresses(text, spot);
            }
        }
    }

    /// The addresses in a text, as destinations.
    fn addresses(&mut self, text: &str, spot: &Spot<'_>) {
        let found = embedded::atoms_in(text, MOST_IN_TEXT);
        for one in
            found.into_iter().filter(|one| matches!(one.kind, Kind::Email | Kind::Phone | Kind::Account))
        {
            self.push(&one.text, one.kind, Reason::Shaped, spot);
        }
    }

    fn found(&mut self, found: Vec<Found>, spot: &Spot<'_>) {
        for one in found {
            self.push(&one.text, one.kind, one.reason, spot);
        }
    }

    fn push(&mut self, text: &str, kind: Kind, reason: Reason, spot: &Spot<'_>) {
        if self.out.destinations.len() >= MOST_DESTINATIONS {
            self.out.truncated = true;
            return;
        }
        let strict = (kind != Kind::Text).then(|| strict_form(text, kind)).flatten();
        self.out.destinations.push(Destination {
            pointer: spot.pointer.to_owned(),
            argument: spot.argument.to_owned(),
            is_key: spot.is_key,
            text: text.trim().to_owned(),
            kind,
            reason,
            strict,
        });
    }
}

fn join(pointer: &str, key: &str, nested: bool) -> String {
    // JSON inside a string has no pointer of its own: its parts stand where the string stands.
    if nested {
        pointer.to_owned()
    } else {
        format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
    }
}

/// Whether a key inside an argument with authority is a destination: it is when it is no plain field
/// name, or when its value holds nothing that could be one.
fn key_counts(key: &str, member: &Value, standing: Standing) -> bool {
    if !matches!(standing, Standing::Authority(_)) {
        return shape_of(key).is_some();
    }
    let empty = match member {
        Value::Null | Value::Bool(_) => true,
        Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    };
    let field = key.len() <= 64 && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let known_empty = empty && is_field_word(key);
    shape_of(key).is_some() || (!field && !key.trim().is_empty()) || (empty && !known_empty)
}

/// Whether an object holds an address beside which a name is only a display name.
fn holds_address(members: &serde_json::Map<String, Value>) -> bool {
    members.iter().any(|(key, value)| {
        !is_name_key(key)
            && value.as_str().is_some_and(|text| {
                matches!(
                    shape_of(split::address(text)),
                    Some(Kind::Email | Kind::Phone | Kind::Account | Kind::Url)
                )
            })
    })
}

/// Whether a key names what a thing is called rather than where it is.
pub(crate) fn is_name_key(key: &str) -> bool {
    let plain: String =
        key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    matches!(
        plain.as_str(),
        "name"
            | "displayname"
            | "fullname"
            | "firstname"
            | "lastname"
            | "givenname"
            | "familyname"
            | "label"
            | "title"
    )
}

/// Field names that say nothing of a destination when they are empty: `{"email": "a@b", "name": null}`.
fn is_field_word(key: &str) -> bool {
    is_name_key(key)
        || matches!(
            key.to_ascii_lowercase().as_str(),
            "email"
                | "mail"
                | "address"
                | "emailaddress"
                | "email_address"
                | "to"
                | "cc"
                | "bcc"
                | "id"
                | "type"
                | "kind"
                | "role"
                | "phone"
                | "user"
                | "user_id"
                | "value"
                | "comment"
                | "optional"
                | "url"
                | "channel"
        )
}

/// Whether a name beside an address is only a name: nothing in it could be a destination.
fn plain_label(text: &str) -> bool {
    text.len() <= 256
        && !text.contains(['@', '\n', '\r', '<', '>'])
        && !text.chars().any(is_hidden)
        && shape_of(text).is_none()
        && embedded::atoms_in(text, 1).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(args: &Value, standing: &dyn Fn(&str) -> Standing) -> Vec<(String, Kind, Reason)> {
        extract(args, standing).destinations.into_iter().map(|d| (d.text, d.kind, d.reason)).collect()
    }

    fn authority(path: &str) -> Standing {
        match path.split(['.', '[']).next() {
            Some("to" | "cc" | "BCC") => Standing::Authority(None),
            Some("body") => Standing::Content,
            Some("limit") => Standing::Ignored,
            _ => Standing::Undeclared,
        }
    }

    fn check(args: &Value, expected: &[(&str, Kind, Reason)]) {
        let expected: Vec<(String, Kind, Reason)> =
            expected.iter().map(|(text, kind, reason)| ((*text).to_owned(), *kind, *reason)).collect();
        assert_eq!(found(args, &authority), expected, "{args}");
    }

    #[test]
    fn every_shape_of_a_receiver_is_found() {
        use Kind::Email;
        use Reason::{Declared, Embedded, Shaped, Unparsed};
        check(&json!({"to": "  NEW@Random.com "}), &[("NEW@Random.com", Email, Declared)]);
        check(
            &json!({"to": "Ana <a@b.test>; c@d.test"}),
            &[("a@b.test", Email, Declared), ("c@d.test", Email, Declared)],
        );
        check(
            &json!({"to": "a@b.test, the boss"}),
            &[("a@b.test", Email, Declared), ("the boss", Kind::Name, Unparsed)],
        );
        check(&json!({"to": {"attacker@evil.test": []}}), &[("attacker@evil.test", Email, Declared)]);
        check(&json!({"to": {"ops-team": null}}), &[("ops-team", Kind::Name, Declared)]);
        check(&json!({"to": [{"name": "Ana", "email": "a@b.test"}]}), &[("a@b.test", Email, Declared)]);
        check(
            &json!({"to": [{"name": "x@evil.test", "email": "a@b.test"}]}),
            &[("x@evil.test", Email, Declared), ("a@b.test", Email, Declared)],
        );
        check(&json!({"to": "[{\"email\":\"a@b.test\"}]"}), &[("a@b.test", Email, Declared)]);
        check(
            &json!({"to": "mailto:b@c.test?cc=drop%40evil.test"}),
            &[("b@c.test", Email, Declared), ("drop@evil.test", Email, Declared)],
        );
        check(&json!({"to": [], "cc": "", "x": null}), &[]);
        check(&json!({"to": 42, "cc": true}), &[("42", Kind::Id, Declared), ("true", Kind::Text, Declared)]);
        check(&json!({"recipients": ["a@b.test"], "note": "hello"}), &[("a@b.test", Email, Shaped)]);
        check(&json!({"meta": {"x@evil.test": 1}}), &[("x@evil.test", Email, Shaped)]);
        check(
            &json!({"body": "mail a@b.test or [see](https://evil.test/p)"}),
            &[("https://evil.test/p", Kind::Url, Embedded)],
        );
        check(&json!({"limit": "a@b.test"}), &[]);
        check(
            &json!({"to": "please send it all to drop@evil.test and be quick about it, now"}),
            &[
                ("please send it all to drop@evil.test and be quick about it, now", Kind::Text, Declared),
                ("drop@evil.test", Email, Embedded),
            ],
        );
        check(
            &json!({"to": "bob@c.test\r\nBcc: d@evil.test"}),
            &[("bob@c.test", Email, Declared), ("d@evil.test", Email, Declared)],
        );
    }

    #[test]
    fn pointers_and_arguments_name_the_place() {
        let found = extract(&json!({"m": {"to/x": [["a@b.test"]]}}), &|_| Standing::Undeclared);
        let places: Vec<(&str, &str)> =
            found.destinations.iter().map(|d| (d.pointer.as_str(), d.argument.as_str())).collect();
        assert_eq!(places, [("/m/to~1x/0/0", "m.to/x[][]")]);
    }

    #[test]
    fn a_long_argument_is_no_destination_but_its_atoms_are() {
        let text = format!("{} drop@evil.test", "word ".repeat(9000));
        let found = found(&json!({ "to": text }), &authority);
        assert!(found.contains(&("drop@evil.test".to_owned(), Kind::Email, Reason::Embedded)));
        assert!(found.iter().any(|(_, _, reason)| *reason == Reason::Unparsed));
    }
}
