//! Ids of which something was given up. They are still known to be such: whoever stood behind one may stand
//! there unseen, however much of it is read again.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Ids that are remembered as given up. FAIL CLOSED: of an upstream that has more, everything counts as such.
const MOST: usize = 1 << 16;

/// What was given up.
#[derive(Debug, Default)]
pub(super) struct Faded {
    /// Digests of upstream and id. Equal ones of two ids only ask once more.
    ids: BTreeSet<u64>,
    /// The upstreams of which it is not known which ids.
    upstreams: BTreeSet<String>,
}

impl Faded {
    /// Something of an id was given up.
    pub(super) fn id(&mut self, upstream: &str, id: &str) {
        if self.ids.len() < MOST {
            self.ids.insert(digest(upstream, id));
        } else {
            self.upstream(upstream);
        }
    }

    /// Something of an upstream was not taken in.
    pub(super) fn upstream(&mut self, upstream: &str) {
        if !self.upstreams.contains(upstream) {
            self.upstreams.insert(upstream.to_owned());
        }
    }

    /// Whether something of an id was given up, or may have been.
    pub(super) fn holds(&self, upstream: &str, id: &str) -> bool {
        self.holds_any(upstream) || self.ids.contains(&digest(upstream, id))
    }

    /// Whether it may have been any id of an upstream.
    pub(super) fn holds_any(&self, upstream: &str) -> bool {
        self.upstreams.contains(upstream)
    }
}

fn digest(upstream: &str, id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (upstream, id).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{Faded, MOST};

    #[test]
    fn what_is_given_up_stays_known_as_such() {
        let mut faded = Faded::default();
        faded.id("mail", "t1");
        assert!(faded.holds("mail", "t1") && !faded.holds("mail", "t2") && !faded.holds("drive", "t1"));
        for n in 0..=MOST {
            faded.id("drive", &n.to_string());
        }
        assert!(faded.ids.len() <= MOST);
        assert!(faded.holds("drive", "unheard of") && !faded.holds("mail", "t2"));
    }
}
