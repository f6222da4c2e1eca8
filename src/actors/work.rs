//! What an actor has under way, polled within its own turn.
//!
//! A task for every call costs two allocations that are aligned to cache lines, which the system's allocator
//! is slow at, and a turn of the scheduler each time that it goes on. Here a call is one future among those
//! of its actor, and only those that were woken are polled. A panic ends the future that it came from and
//! nothing else, as it would end a task.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

/// Futures that each give a `T`.
pub(super) struct Work<T>(FuturesUnordered<Pin<Box<dyn Future<Output = T>>>>);

impl<T: 'static> Work<T> {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self(FuturesUnordered::new())
    }

    /// Adds a future, which is polled in the next [`Self::poll_next`], and what it gives if it panics. Nobody is
    /// woken for it: to be called in the actor's own turn, before that polls.
    pub(super) fn add(&self, future: impl Future<Output = T> + 'static, panicked: T) {
        let ended = AssertUnwindSafe(future).catch_unwind();
        self.0.push(Box::pin(ended.map(|ended| ended.unwrap_or(panicked))));
    }

    /// What the next that has ended gives; `None` when nothing is under way. When it is pending, `cx` is
    /// woken once one of them can go on.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_next_unpin(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_panic_ends_its_own_future_only() {
        let mut work = Work::new();
        work.add(async { 1 }, 0);
        work.add(async { std::panic::resume_unwind(Box::new("hostile")) }, 3);
        work.add(std::future::pending(), 0);
        work.add(async { 2 }, 0);
        let mut cx = Context::from_waker(Waker::noop());
        let mut ended = Vec::new();
        while let Poll::Ready(Some(one)) = work.poll_next(&mut cx) {
            ended.push(one);
        }
        ended.sort_unstable();
        assert_eq!(ended, [1, 2, 3]);
    }
}
