//! Grants that outlive a session: their form on disk, and what they cover at a given time.
//!
//! One JSON object a line, a grant or the end of one; later lines count over earlier ones. A line that
//! does not read grants nothing. Only what a session grant may cover may last (sends, fetches, reads
//! and writes that carry content): destroying, spending, running code and changing access are
//! answered call by call. A grant that names an upstream counts only while that upstream is launched
//! as it was, so that another server under an old name inherits nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Effect, GrantKey};

/// How long a grant lasts where nobody says otherwise, in days.
pub const LASTING_DAYS: u64 = 90;
/// The longest that may be said, in days.
pub const MOST_DAYS: u64 = 3_650;
/// Grants and ends that are read from one file; what is beyond grants nothing.
const MOST_LINES: usize = 20_000;
const DAY: u64 = 24 * 60 * 60 * 1000;

/// A grant that lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastingGrant {
    /// Its short id.
    pub id: String,
    /// What calls may do.
    pub effect: Effect,
    /// To what, each with its upstream where it means something there only.
    pub keys: Vec<GrantKey>,
    /// The launch of each upstream that a key names, as it was when this was granted.
    #[serde(default)]
    pub launches: BTreeMap<String, String>,
    /// Which tool of which upstream the question was about, for people.
    pub about: String,
    /// Who answered, and where.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub given: u64,
    /// From when on it does not count any more, likewise.
    pub ends: u64,
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Grant(LastingGrant),
    Revoke { id: String, by: String, at: u64 },
}

impl LastingGrant {
    /// The moment `days` after `now`, days bounded from 1 to [`MOST_DAYS`].
    pub fn end_after(now: u64, days: u64) -> u64 {
        now.saturating_add(days.clamp(1, MOST_DAYS).saturating_mul(DAY))
    }

    /// Whether a grant of this form may last at all.
    pub fn may_last(effect: Effect, keys: &[GrantKey]) -> bool {
        !effect.is_answered_by_call() && keys.iter().any(|key| !matches!(key, GrantKey::Call(_)))
    }

    /// The grant as a line of the file. Keys of a single call do not last and are left out.
    pub fn to_line(&self) -> String {
        let mut grant = self.clone();
        grant.keys.retain(|key| !matches!(key, GrantKey::Call(_)));
        line(&Line::Grant(grant))
    }

    /// Whether it counts at this time for upstreams that are launched so.
    pub fn counts(&self, now: u64, launches: &BTreeMap<String, String>) -> bool {
        now < self.ends
            && self.keys.iter().flat_map(GrantKey::upstreams).all(|upstream| {
                let then = self.launches.get(upstream);
                then.is_some() && then == launches.get(upstream)
            })
    }
}

/// The end of a grant as a line of the file.
pub fn revoke_line(id: &str, by: &str, at: u64) -> String {
    line(&Line::Revoke { id: id.to_owned(), by: by.to_owned(), at })
}

fn line(line: &Line) -> String {
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

/// What a file grants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lasting {
    grants: Vec<LastingGrant>,
    /// Lines that could not be read, counted.
    pub unread: usize,
}

impl Lasting {
    /// Reads a file's text.
    pub fn read(text: &str) -> Self {
        let mut lasting = Self::default();
        for (at, row) in text.lines().enumerate().filter(|(_, row)| !row.trim().is_empty()) {
            match serde_json::from_str::<Line>(row) {
                _ if at >= MOST_LINES => lasting.unread += 1,
                Ok(Line::Grant(grant)) if LastingGrant::may_last(grant.effect, &grant.keys) => {
                    lasting.grants.retain(|other| other.id != grant.id);
                    lasting.grants.push(grant);
                }
                Ok(Line::Revoke { id, .. }) => lasting.grants.retain(|grant| grant.id != id),
                Ok(Line::Grant(_)) | Err(_) => lasting.unread += 1,
            }
        }
        lasting
    }

    /// The grants that were not revoked, ended ones too, oldest first.
    pub fn grants(&self) -> &[LastingGrant] {
        &self.grants
    }

    /// The id of the grant that covers `key` for this effect at this time.
    pub fn granted(
        &self,
        effect: Effect,
        key: &GrantKey,
        now: u64,
        launches: &BTreeMap<String, String>,
    ) -> Option<&str> {
        self.grants
            .iter()
            .find(|grant| grant.effect == effect && grant.keys.contains(key) && grant.counts(now, launches))
            .map(|grant| grant.id.as_str())
    }

    /// The text of a file that holds nothing but what still counts at this time.
    pub fn rest(&self, now: u64) -> String {
        self.grants.iter().filter(|grant| now < grant.ends).map(LastingGrant::to_line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(upstream: Option<&str>, strict: &str) -> GrantKey {
        GrantKey::Destination { upstream: upstream.map(str::to_owned), strict: strict.to_owned() }
    }

    fn grant(id: &str, key: GrantKey, launch: Option<&str>) -> LastingGrant {
        LastingGrant {
            id: id.to_owned(),
            effect: Effect::Send,
            keys: vec![key, GrantKey::Call("digest".to_owned())],
            launches: launch.map(|launch| ("chat".to_owned(), launch.to_owned())).into_iter().collect(),
            about: "send of chat".to_owned(),
            by: "ana".to_owned(),
            given: 0,
            ends: LastingGrant::end_after(0, LASTING_DAYS),
        }
    }

    fn launches(launch: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("chat".to_owned(), launch.to_owned())])
    }

    #[test]
    fn a_grant_covers_its_effect_until_it_ends_or_is_revoked() {
        let mail = to(None, "a@b.example");
        let text = grant("g1", mail.clone(), None).to_line();
        let lasting = Lasting::read(&text);
        let check = |lasting: &Lasting, effect, key: &GrantKey, now, expected: Option<&str>| {
            assert_eq!(lasting.granted(effect, key, now, &launches("x")), expected, "{key:?} at {now}");
        };
        check(&lasting, Effect::Send, &mail, 1, Some("g1"));
        check(&lasting, Effect::Account, &mail, 1, None);
        check(&lasting, Effect::Send, &to(None, "c@b.example"), 1, None);
        check(&lasting, Effect::Send, &GrantKey::Call("digest".to_owned()), 1, None);
        check(&lasting, Effect::Send, &mail, 90 * DAY - 1, Some("g1"));
        check(&lasting, Effect::Send, &mail, 90 * DAY, None);
        assert_eq!(lasting.rest(90 * DAY), "");
        assert_eq!(lasting.rest(1), text);
        let revoked = Lasting::read(&format!("{text}{}", revoke_line("g1", "ana", 5)));
        check(&revoked, Effect::Send, &mail, 1, None);
    }

    #[test]
    fn another_server_under_the_name_inherits_nothing() {
        let channel = to(Some("chat"), "#general");
        for (granted, now, expected) in [(Some("a"), "a", true), (Some("a"), "b", false), (None, "a", false)]
        {
            let lasting = Lasting::read(&grant("g1", channel.clone(), granted).to_line());
            let found = lasting.granted(Effect::Send, &channel, 1, &launches(now));
            assert_eq!(found.is_some(), expected, "{granted:?} {now}");
        }
    }

    #[test]
    fn lines_that_do_not_read_grant_nothing() {
        let good = grant("g1", to(None, "a@b.example"), None);
        let grave = LastingGrant { effect: Effect::Destroy, ..good.clone() };
        let call = LastingGrant { keys: vec![GrantKey::Call("d".to_owned())], ..good.clone() };
        let torn = good.to_line();
        let torn = torn.get(..40).unwrap_or_default();
        let text = format!("x\n{}{}{}{torn}", grave.to_line(), call.to_line(), good.to_line());
        let lasting = Lasting::read(&text);
        assert_eq!((lasting.grants().len(), lasting.unread), (1, 4));
    }
}
