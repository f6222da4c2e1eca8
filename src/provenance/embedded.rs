//! Destinations inside text: the links and hosts of a message body, and the atoms of an argument
//! that is too long or too free to be a destination itself.

use super::canon::{email, phone, url};
use super::fold::fold;
use super::links;
use super::text::cut;
use super::{Decoding, DestinationReason, Kind, decode};

/// One thing found inside a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) text: String,
    pub(crate) kind: Kind,
    pub(crate) reason: DestinationReason,
}

/// The links and hosts in a text, redirectors' targets after them, at most `most`.
pub(crate) fn links_in(text: &str, most: usize) -> Vec<Found> {
    let mut found = Vec::new();
    let absolute = links::absolute(text);
    let bare = links::bare(text, &absolute);
    for span in absolute.into_iter().chain(bare) {
        if found.len() >= most {
            break;
        }
        let word = cut(text, span);
        let Some(read) = links::read(word) else { continue };
        let kind = if word.contains(['/', '?', '#']) { Kind::Url } else { Kind::Host };
        found.push(embedded(word.to_owned(), kind));
        for target in url::nested(&read) {
            if found.len() < most {
                found.push(embedded(target, Kind::Url));
            }
        }
    }
    found
}

/// The links of a text as a reader's program shows it: escapes and entities undone as well.
pub(crate) fn links_shown(text: &str, most: usize) -> Vec<Found> {
    let mut found = links_in(text, most);
    let view = fold(text);
    for derived in decode::derive(text, &view.text, &[]) {
        let shown = |step: &Decoding| {
            matches!(
                step,
                Decoding::Entities | Decoding::Percent | Decoding::Escapes | Decoding::QuotedPrintable
            )
        };
        if found.len() < most && derived.steps.iter().all(shown) {
            for link in links_in(&derived.text, most - found.len()) {
                if found.len() < most && !found.contains(&link) {
                    found.push(link);
                }
            }
        }
    }
    found
}

/// Links, addresses and telephone numbers in a text, at most `most`.
pub(crate) fn atoms_in(text: &str, most: usize) -> Vec<Found> {
    let mut found = links_in(text, most);
    for at in memchr::memchr_iter(b'@', text.as_bytes()) {
        if found.len() >= most {
            break;
        }
        let left = cut(text, 0..at);
        let local_from = left
            .char_indices()
            .rev()
            .take(64)
            .take_while(|(_, c)| email::is_atom_or_dot(*c) && !"'=/`{|".contains(*c))
            .last()
            .map_or(at, |(from, _)| from);
        let right = cut(text, at + 1..text.len());
        let length = right
            .char_indices()
            .take(254)
            .find(|(_, c)| !(c.is_alphanumeric() || "-.".contains(*c)))
            .map_or(right.len().min(254), |(end, _)| end);
        let domain = right.get(..length).unwrap_or_default().trim_end_matches(['.', '-']);
        let local = cut(text, local_from..at).trim_start_matches('.');
        if !local.is_empty() && domain.contains('.') {
            let address = format!("{local}@{domain}");
            if email::parse(&address).is_some() {
                found.push(embedded(address, Kind::Email));
            }
        }
    }
    for at in memchr::memchr_iter(b'+', text.as_bytes()) {
        if found.len() >= most {
            break;
        }
        let tail = cut(text, at..text.len());
        let length = tail
            .char_indices()
            .skip(1)
            .take(24)
            .find(|(_, c)| !(c.is_ascii_digit() || " -.()".contains(*c)))
            .map_or(tail.len().min(25), |(end, _)| end);
        let number = tail.get(..length).unwrap_or_default().trim_end_matches([' ', '-', '.', '(', ')']);
        if phone::is_shaped(number) {
            found.push(embedded(number.to_owned(), Kind::Phone));
        }
    }
    found
}

fn embedded(text: String, kind: Kind) -> Found {
    Found { text, kind, reason: DestinationReason::Embedded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_give_links_and_targets() {
        let text = "see [x](https://r.test/?u=https%3A%2F%2Fevil.test%2Fp) or evil.example; mail a@b.test";
        let found: Vec<String> = links_in(text, 99).into_iter().map(|found| found.text).collect();
        assert_eq!(
            found,
            ["https://r.test/?u=https%3A%2F%2Fevil.test%2Fp", "https://evil.test/p", "evil.example"]
        );
        let all: Vec<String> = atoms_in("to bob@b.test. call +1 202 555 0143!", 99)
            .into_iter()
            .map(|found| found.text)
            .collect();
        assert_eq!(all, ["bob@b.test", "+1 202 555 0143"]);
    }
}
