//! Notices of upstreams that wait to be recorded, bounded for each upstream.
//!
//! While there is too much to index they wait; what comes beyond the bounds then is lost, as what comes to a
//! client that does not read.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracing::warn;

use crate::provenance::escaped;

/// Notices of one upstream that may wait, and their bytes. One that is longer waits alone.
const NOTICES: usize = 4_096;
const BYTES: usize = 16 << 20;

/// What waits, by upstream.
#[derive(Debug, Default)]
pub(super) struct Waiting(BTreeMap<Arc<str>, Load>);

#[derive(Debug, Default)]
struct Load {
    notices: usize,
    bytes: usize,
    was_told: bool,
}

impl Waiting {
    /// Whether a notice may wait as well; then it does.
    pub(super) fn admit(&mut self, upstream: &Arc<str>, bytes: usize) -> bool {
        let load = self.0.entry(upstream.clone()).or_default();
        let is_fit =
            load.notices < NOTICES && (load.notices == 0 || load.bytes.saturating_add(bytes) <= BYTES);
        if is_fit {
            load.notices += 1;
            load.bytes = load.bytes.saturating_add(bytes);
        } else if !std::mem::replace(&mut load.was_told, true) {
            let name = escaped(upstream, 80);
            warn!("upstream `{name}` sends more notifications than can be recorded; some are lost");
        }
        is_fit
    }

    /// A notice waits no longer.
    pub(super) fn leave(&mut self, upstream: &str, bytes: usize) {
        if let Some(load) = self.0.get_mut(upstream) {
            load.notices = load.notices.saturating_sub(1);
            load.bytes = load.bytes.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_in_count_and_bytes() {
        let mut waiting = Waiting::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        assert_eq!((0..10_000).filter(|_| waiting.admit(&a, 10)).count(), NOTICES);
        assert!(waiting.admit(&b, BYTES * 4), "one alone may be longer, whatever others have");
        assert!(!waiting.admit(&b, 1));
        waiting.leave(&b, BYTES * 4);
        assert_eq!((0..100).filter(|_| waiting.admit(&b, BYTES / 8)).count(), 8);
        waiting.leave(&a, 10);
        assert!(waiting.admit(&a, 10) && !waiting.admit(&a, 10));
    }
}
