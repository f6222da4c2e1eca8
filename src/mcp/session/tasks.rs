//! Tasks as one client asks for them: `tasks/get`, `tasks/result` and `tasks/cancel` go to the upstream
//! that made the task, `tasks/list` is answered here.

use bytes::Bytes;

use crate::mcp::envelope::{self, Id};
use crate::mcp::method::Method;
use crate::mcp::scan;
use crate::mcp::tasks::Wanted;
use crate::provenance::escaped as escape;

use super::forwarding::{malformed, quoted, text_at, unknown};
use super::{Call, Command, Session};

/// The notification of how a task stands.
pub(super) const STATUS: &str = "notifications/tasks/status";

impl Session {
    /// `tasks/get`, `tasks/result`, `tasks/cancel`.
    pub(super) fn task(&mut self, id: Id, method: Method, params: Option<Bytes>, out: &mut Vec<Command>) {
        let params = params.unwrap_or_default();
        let Some((span, ours)) = text_at(&params, "taskId") else {
            return malformed(&id, "`params` is no object with a string `taskId`", out);
        };
        let Some((upstream, theirs)) = self.tasks.at(&ours) else {
            let why = format!("unknown task `{}`", escape(&ours, 80));
            return unknown(&id, ours, why, out);
        };
        let (upstream, edits) = (upstream.clone(), vec![(span, quoted(theirs))]);
        self.hand_on(id, method, upstream, params, edits, out);
        if let Some(call) = self.calls.get_mut(&self.next_call) {
            call.about = Some(ours);
        }
    }

    /// `tasks/list`: one page.
    pub(super) fn list_tasks(&self, id: &Id, params: Option<&[u8]>, out: &mut Vec<Command>) {
        let cursor = params.and_then(|params| Some(scan::slice(params, &scan::member(params, "cursor")?)));
        if cursor.is_some_and(|raw| raw != b"null") {
            return malformed(id, "this cursor was not given out; start again without one", out);
        }
        out.push(Command::Send(envelope::result(id, &self.tasks.list())));
    }

    /// What an upstream tells of a task by itself, as the client sees it. News of a task of nobody here is
    /// nobody's.
    pub(super) fn task_news(&mut self, upstream: &str, raw: &Bytes) -> Option<Bytes> {
        let told = self.tasks.heard(upstream, raw.clone());
        let may_be_made = |call: &Call| call.wanted == Wanted::Task && *call.upstream == *upstream;
        if told.is_none() && self.calls.values().any(may_be_made) {
            self.tasks.keep(upstream, raw);
        }
        told
    }

    /// Tells what came of a task before the answer that made it known.
    pub(super) fn tell_early(&mut self, call: &Call, out: &mut Vec<Command>) {
        if call.wanted == Wanted::Task {
            let early = self.tasks.early().into_iter();
            out.extend(early.map(|raw| Command::Send(envelope::raw_notification(STATUS, Some(&raw)))));
        }
    }

    /// A result as the client sees it: with our ids of tasks.
    pub(super) fn shown(&mut self, number: u64, call: &Call, raw: Bytes) -> Bytes {
        match (call.method, &call.about) {
            (Method::CallTool, _) if call.wanted == Wanted::Task => {
                self.tasks.create(&call.upstream, (number, call.token.clone()), raw)
            }
            (Method::GetTask | Method::CancelTask, Some(ours)) => self.tasks.told(ours, raw),
            (Method::TaskResult, _) => self.tasks.related(&call.upstream, raw),
            _ => raw,
        }
    }
}
