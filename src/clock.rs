//! The only place that reads a clock. Everything else is given the time, so that the pure modules
//! stay pure and tests decide what time it is.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Wall-clock time as milliseconds since the Unix epoch; 0 if the clock stands before it.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
pub fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Monotonic time, for latencies and waits.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the monotonic clock")]
pub fn instant() -> Instant {
    Instant::now()
}
