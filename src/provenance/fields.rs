//! What the key of a field says of its value: who, or where to.
//!
//! It is only a hint of what kind of place a value stood in. Nothing found by its key alone ever trusts.

use std::collections::BTreeMap;

use super::canon::{shape_of, url};
use super::{Kind, embedded, split};

/// The part that somebody takes in a record.
const PARTS: [&str; 39] = [
    "sender",
    "from",
    "reply",
    "replyto",
    "to",
    "cc",
    "bcc",
    "recipient",
    "recipients",
    "owner",
    "owners",
    "author",
    "authors",
    "creator",
    "organizer",
    "organiser",
    "assignee",
    "assignees",
    "reporter",
    "participant",
    "participants",
    "attendee",
    "attendees",
    "member",
    "members",
    "guest",
    "guests",
    "shared",
    "collaborator",
    "collaborators",
    "contact",
    "contacts",
    "user",
    "reviewer",
    "reviewers",
    "invitee",
    "invitees",
    "payee",
    "requester",
];
/// What tells who somebody is.
const MARKS: [&str; 16] = [
    "email",
    "emails",
    "mail",
    "address",
    "addresses",
    "username",
    "login",
    "handle",
    "phone",
    "telephone",
    "mobile",
    "account",
    "iban",
    "channel",
    "channels",
    "name",
];
/// Words that may stand beside those.
const BESIDE: [&str; 14] = [
    "id", "ids", "with", "by", "display", "full", "first", "last", "number", "real", "list", "e", "created",
    "primary",
];
/// Words that end the key of a url.
const LINKS: [&str; 8] = ["url", "uri", "link", "href", "permalink", "src", "urls", "links"];
/// Words of a key at most.
const MOST_WORDS: usize = 4;

/// What a key says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Who: a sender, an owner, a member.
    Identity,
    /// Where to: a url.
    Link,
}

/// What a key says of its value, if anything.
pub(crate) fn field_kind(key: &str) -> Option<FieldKind> {
    let words = small_words(key);
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).take(MOST_WORDS + 1).collect();
    let last = words.last()?;
    if words.len() <= MOST_WORDS && LINKS.contains(last) || words == ["web", "page"] {
        return Some(FieldKind::Link);
    }
    is_who(&words, &|word| PARTS.contains(word) || MARKS.contains(word)).then_some(FieldKind::Identity)
}

/// What the keys said that were asked about last; records repeat theirs.
#[derive(Debug, Default)]
pub(crate) struct Keys(BTreeMap<String, Option<FieldKind>>);

impl Keys {
    /// As [`field_kind`].
    pub(crate) fn kind(&mut self, key: &str) -> Option<FieldKind> {
        const MOST: usize = 64;
        const LONGEST: usize = 64;
        if let Some(known) = self.0.get(key) {
            return *known;
        }
        let kind = field_kind(key);
        if key.len() <= LONGEST {
            if self.0.len() >= MOST {
                self.0.clear();
            }
            self.0.insert(key.to_owned(), kind);
        }
        kind
    }
}

/// Whether a key names people who take part in its record: `sender`, `shared_with`, `organizerEmail`, and not
/// the `name` or `phone` of the record itself.
pub(crate) fn names_people(key: &str) -> bool {
    let words = small_words(key);
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).take(MOST_WORDS + 1).collect();
    is_who(&words, &|word| PARTS.contains(word))
}

/// Whether a word of the key is such, and the others go with it.
fn is_who(words: &[&str], is: &dyn Fn(&&str) -> bool) -> bool {
    let fits = |word: &&str| PARTS.contains(word) || MARKS.contains(word) || BESIDE.contains(word);
    words.len() <= MOST_WORDS && words.iter().any(is) && words.iter().all(fits)
}

/// The words of a key in snake, kebab or camel case, small, apart by blanks.
fn small_words(key: &str) -> String {
    let mut words = String::with_capacity(key.len().min(64) + 8);
    let mut open = false;
    let mut before_small = false;
    for c in key.chars().take(64) {
        if !c.is_alphanumeric() {
            open = false;
            continue;
        }
        if !open || (c.is_uppercase() && before_small) {
            words.push(' ');
        }
        open = true;
        before_small = c.is_lowercase() || c.is_numeric();
        if c.is_ascii() {
            words.push(c.to_ascii_lowercase());
        } else {
            words.extend(c.to_lowercase());
        }
    }
    words
}

/// Whether a whole scalar is what an identity field holds: addresses, or a short name.
pub(crate) fn is_identity(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || text.len() > 320 || text.contains('\n') {
        return false;
    }
    let shaped = |piece: &&str| {
        matches!(
            shape_of(split::address(piece)),
            Some(Kind::Email | Kind::Phone | Kind::Account | Kind::Channel | Kind::Id)
        )
    };
    let pieces = split::pieces(text);
    if !pieces.is_empty() && pieces.iter().all(shaped) {
        return true;
    }
    let words = text.split_whitespace().count();
    words <= 5 && text.len() <= 80 && shape_of(text).is_none() && embedded::atoms_in(text, 1).is_empty()
}

/// Whether a whole scalar is a url.
pub(crate) fn is_link(text: &str) -> bool {
    let text = text.trim();
    !text.contains(char::is_whitespace) && (url::parse(text).is_some() || url::parse_bare(text).is_some())
}

/// Whether the items of a list under this key are what the whole structure is about.
pub(crate) fn is_nameless(key: &str) -> bool {
    matches!(key.to_ascii_lowercase().as_str(), "" | "result" | "results" | "items" | "values" | "data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_who_and_where() {
        for key in [
            "from",
            "Reply-To",
            "senderEmail",
            "shared_with",
            "owner_id",
            "participants",
            "display_name",
            "user",
        ] {
            assert_eq!(field_kind(key), Some(FieldKind::Identity), "{key}");
        }
        for key in ["url", "html_url", "webUrl", "href", "link"] {
            assert_eq!(field_kind(key), Some(FieldKind::Link), "{key}");
        }
        for key in ["body", "text", "description", "to_do", "note", "content"] {
            assert_eq!(field_kind(key), None, "{key}");
        }
    }

    #[test]
    fn people_take_part_and_things_have_names() {
        for key in ["from", "Reply-To", "senderEmail", "shared_with", "owner_id", "participants", "user_name"]
        {
            assert!(names_people(key), "{key}");
        }
        for key in
            ["name", "display_name", "email", "channel", "account", "phone", "body", "to_do", "html_url"]
        {
            assert!(!names_people(key), "{key}");
        }
    }
}
