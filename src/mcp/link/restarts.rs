//! The end of a process and the start of the next: what becomes of its calls, and how long the pause is.
//!
//! The pause doubles with every failure since the last steady process, and no more processes are started
//! within a minute than the configuration says.

use std::time::Duration;

use super::{Command, Link, Outcome, Phase, QUEUE_LIMIT, Timer, escape};

const FIRST_BACKOFF: Duration = Duration::from_millis(100);
const LAST_BACKOFF: Duration = Duration::from_secs(30);
const MINUTE: Duration = Duration::from_secs(60);
/// A process that was ready for this long was no failed start.
const STEADY: Duration = Duration::from_secs(20);

impl Link {
    /// A new process runs.
    pub(super) fn opened(&mut self, now: Duration, out: &mut Vec<Command>) {
        self.starts.push_back(now);
        if self.offered.is_none() { self.phase = Phase::Waiting } else { self.greet(out) }
    }

    /// A process is gone, or could not be started.
    pub(super) fn closed(&mut self, now: Duration, why: &str, out: &mut Vec<Command>) {
        if self.phase == Phase::Ready && now.saturating_sub(self.ready_since) >= STEADY {
            self.failures = 0;
        }
        let was_ready = self.phase == Phase::Ready;
        self.forget_requests(out);
        let name = escape(&self.terms.name, 80);
        for id in std::mem::take(&mut self.in_flight) {
            let why = format!(
                "The server `{name}` stopped while this call was running ({why}), so its outcome is unknown. \
                 It is being started again; check whether the call took effect before repeating it."
            );
            out.push(Command::Done(id, Outcome::Lost(why)));
        }
        self.phase = Phase::Away;
        self.lists.stopped();
        self.subscribing.clear();
        self.tasks_asked.clear();
        self.tasked.clear();
        let mut why = self.why_closing.take().unwrap_or_else(|| why.to_owned());
        let mut after = self.backoff();
        if let Some(rest) = self.rest(now).filter(|rest| *rest > after) {
            after = rest;
            let limit = self.terms.starts_per_minute;
            why = format!(
                "{why}; it was started {limit} times within a minute, which is the limit \
                 (`limits.restarts_per_minute` in the configuration)"
            );
        }
        self.failures = self.failures.saturating_add(1);
        if !was_ready || after > QUEUE_LIMIT / 10 {
            self.fail_waiting("could not be started", out);
        }
        out.push(Command::Down(why));
        out.push(Command::Timer(Timer::Restart, after));
    }

    /// The pause before the next start: doubled with every failure since the last steady process.
    pub(super) fn backoff(&self) -> Duration {
        FIRST_BACKOFF.saturating_mul(1 << self.failures.min(12)).min(LAST_BACKOFF)
    }

    /// How long the next start has to wait for the minute in which there were as many as there may be.
    fn rest(&mut self, now: Duration) -> Option<Duration> {
        while self.starts.front().is_some_and(|start| now.saturating_sub(*start) >= MINUTE) {
            self.starts.pop_front();
        }
        let over = self.starts.len().checked_sub(usize::try_from(self.terms.starts_per_minute).ok()?)?;
        Some(MINUTE.saturating_sub(now.saturating_sub(*self.starts.get(over)?)))
    }
}
