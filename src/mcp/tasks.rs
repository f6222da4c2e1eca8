//! Tasks (2025-11-25): a call that is answered at once with a task, whose state and result are asked for later.
//!
//! A client knows a task by an id of ours, so a task is asked of the upstream that made it, and of no other;
//! an id of another client or server stands for nothing. What a client is told of a task keeps the bytes
//! that the upstream wrote, but for the id. `session/tasks.rs` answers with it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::scan::{self, Span};

/// The key of `_meta` that says which task a message belongs to.
const RELATED: &str = "io.modelcontextprotocol/related-task";
/// Tasks of one session that are remembered; the oldest gives way.
const TASKS: usize = 1_024;
/// News of tasks that may wait for the answer which makes them known.
const EARLY: usize = 64;
/// Bytes of an upstream's own id of a task, and of what is kept to list one.
const ID: usize = 1_024;
const KEPT: usize = 4_096;

/// What a call is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wanted {
    /// Its result.
    #[default]
    Result,
    /// A task, if the upstream makes one.
    Task,
}

/// The id of the task in the raw answer to a call that asked for one.
pub fn created(result: &[u8]) -> Option<String> {
    let task = scan::member(result, "task")?;
    Some(id_in(scan::slice(result, &task))?.1)
}

/// Where the id of a raw task stands, and the id.
fn id_in(task: &[u8]) -> Option<(Span, String)> {
    let span = scan::member(task, "taskId")?;
    let id = scan::text(scan::slice(task, &span))?.into_owned();
    (!id.is_empty() && id.len() <= ID).then_some((span, id))
}

#[derive(Debug)]
struct Task {
    ours: String,
    upstream: Arc<str>,
    theirs: String,
    /// The session's number of the call that made it, and the client's progress token of that.
    call: (u64, Option<Bytes>),
    /// What was last told of it, as the client sees it.
    last: Bytes,
}

/// The tasks of one session.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    open: VecDeque<Task>,
    made: u64,
    /// What upstreams told of tasks that are not known yet.
    early: VecDeque<(Arc<str>, Bytes)>,
}

impl Tasks {
    /// The upstream of a task, and its own id of it.
    pub(crate) fn at(&self, ours: &str) -> Option<(&Arc<str>, &str)> {
        self.open.iter().find(|task| task.ours == ours).map(|task| (&task.upstream, task.theirs.as_str()))
    }

    /// The answer to a call that asked for a task, as the client sees it. One that holds no task is the
    /// result of a server that made none.
    pub(crate) fn create(&mut self, upstream: &Arc<str>, call: (u64, Option<Bytes>), result: Bytes) -> Bytes {
        let Some(at) = scan::member(&result, "task") else { return result };
        let Some((span, theirs)) = id_in(scan::slice(&result, &at)) else { return result };
        self.made += 1;
        let ours = format!("task-{}", self.made);
        let span = at.start + span.start..at.start + span.end;
        let shown = with_id(&result, span, &ours);
        let last = scan::member(&shown, "task").map(|span| kept(&shown.slice(span))).unwrap_or_default();
        if self.open.len() >= TASKS {
            self.open.pop_front();
        }
        self.open.push_back(Task { ours, upstream: upstream.clone(), theirs, call, last });
        shown
    }

    /// The client's progress token of the call with this number, which made a task.
    pub(crate) fn token(&self, call: u64) -> Option<&[u8]> {
        self.open.iter().find(|task| task.call.0 == call)?.call.1.as_deref()
    }

    /// What an upstream answers about a task, as the client sees it: its id stands in it as ours.
    pub(crate) fn told(&mut self, ours: &str, raw: Bytes) -> Bytes {
        let Some((span, _)) = id_in(&raw) else { return raw };
        let shown = with_id(&raw, span, ours);
        if let Some(task) = self.open.iter_mut().find(|task| task.ours == ours)
            && shown.len() <= KEPT
        {
            task.last = kept(&shown);
        }
        shown
    }

    /// What an upstream tells of a task by itself; `None` for one that this session does not know.
    pub(crate) fn heard(&mut self, upstream: &str, raw: Bytes) -> Option<Bytes> {
        let (_, theirs) = id_in(&raw)?;
        let ours = self.ours(upstream, &theirs)?.to_owned();
        Some(self.told(&ours, raw))
    }

    /// A message of an upstream that says which task it belongs to, with our id of it. One of a task that is
    /// not known stays as it is.
    pub(crate) fn related(&self, upstream: &str, raw: Bytes) -> Bytes {
        let span = || {
            let meta = scan::member(&raw, "_meta")?;
            let related = scan::member(scan::slice(&raw, &meta), RELATED)?;
            let start = meta.start + related.start;
            let (span, theirs) = id_in(scan::slice(&raw, &(start..meta.start + related.end)))?;
            Some((start + span.start..start + span.end, self.ours(upstream, &theirs)?))
        };
        match span() {
            Some((span, ours)) => with_id(&raw, span, ours),
            None => raw,
        }
    }

    /// The raw result of a `tasks/list`: the session's tasks, each as it was last heard of.
    pub(crate) fn list(&self) -> Vec<u8> {
        let tasks: Vec<&[u8]> =
            self.open.iter().map(|task| &task.last[..]).filter(|task| !task.is_empty()).collect();
        [b"{\"tasks\":[", tasks.join(&b","[..]).as_slice(), b"]}"].concat()
    }

    /// Keeps what an upstream told of a task that is not known yet: the answer which names it may be on
    /// its way.
    pub(crate) fn keep(&mut self, upstream: &str, raw: &Bytes) {
        if raw.len() <= KEPT {
            if self.early.len() >= EARLY {
                self.early.pop_front();
            }
            self.early.push_back((upstream.into(), Bytes::copy_from_slice(raw)));
        }
    }

    /// What was kept and is known now, as the client sees it.
    pub(crate) fn early(&mut self) -> Vec<Bytes> {
        let mut told = Vec::new();
        for (upstream, raw) in std::mem::take(&mut self.early) {
            match self.heard(&upstream, raw.clone()) {
                Some(raw) => told.push(raw),
                None => self.early.push_back((upstream, raw)),
            }
        }
        told
    }

    fn ours(&self, upstream: &str, theirs: &str) -> Option<&str> {
        // The latest: a server that was restarted may count anew.
        let of = |task: &&Task| *task.upstream == *upstream && task.theirs == theirs;
        self.open.iter().rev().find(of).map(|task| task.ours.as_str())
    }
}

/// What is kept of a raw task for the list: the members that a task has, and no more bytes than are worth it.
fn kept(task: &Bytes) -> Bytes {
    if task.len() > KEPT {
        return Bytes::new();
    }
    // A copy, so that it does not keep the message that it came in.
    Bytes::from(scan::without(task, &["_meta"]).to_vec())
}

fn with_id(raw: &[u8], span: Span, ours: &str) -> Bytes {
    let quoted = serde_json::Value::from(ours).to_string();
    let mut out = Vec::with_capacity(raw.len() + quoted.len());
    scan::splice(raw, &[(span, quoted.as_bytes())], &mut out);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    #[test]
    fn a_task_is_known_by_an_id_of_ours() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let mut tasks = Tasks::default();
        let shown = tasks.create(
            &a,
            (4, Some(raw("9"))),
            raw(r#"{ "task":{"taskId":"7","status":"working","x":1.0},"n":1e400}"#),
        );
        assert_eq!(shown, r#"{ "task":{"taskId":"task-1","status":"working","x":1.0},"n":1e400}"#);
        tasks.create(&b, (5, None), raw(r#"{"task":{"taskId":"7","status":"working"}}"#));
        assert_eq!((tasks.token(4), tasks.token(5), tasks.token(6)), (Some(&b"9"[..]), None, None));
        assert_eq!(tasks.at("task-1"), Some((&a, "7")));
        assert_eq!(tasks.at("task-2"), Some((&b, "7")));
        assert_eq!((tasks.at("7"), tasks.at("task-3")), (None, None));
        let told = tasks.told("task-2", raw(r#"{"_meta":{},"taskId":"other","status":"completed"}"#));
        assert_eq!(told, r#"{"_meta":{},"taskId":"task-2","status":"completed"}"#);
        assert_eq!(tasks.heard("c", raw(r#"{"taskId":"7"}"#)), None);
        tasks.keep("c", &raw(r#"{"taskId":"9"}"#));
        tasks.keep("b", &raw(r#"{"taskId":"7","status":"x"}"#));
        assert_eq!(tasks.early(), [r#"{"taskId":"task-2","status":"x"}"#]);
        assert_eq!(tasks.early().len(), 0);
        tasks.told("task-2", raw(r#"{"taskId":"7","status":"completed"}"#));
        assert_eq!(
            tasks.heard("a", raw(r#"{"taskId":"7","status":"failed"}"#)).unwrap(),
            r#"{"taskId":"task-1","status":"failed"}"#
        );
        let related = |id: &str| raw(&format!(r#"{{"m":1.0,"_meta":{{"{RELATED}":{{"taskId":"{id}"}}}}}}"#));
        assert_eq!(tasks.related("b", related("7")), related("task-2"));
        assert_eq!(tasks.related("b", related("8")), related("8"));
        assert_eq!(
            String::from_utf8(tasks.list()).unwrap(),
            r#"{"tasks":[{"taskId":"task-1","status":"failed"},{"taskId":"task-2","status":"completed"}]}"#
        );
    }

    #[test]
    fn what_holds_no_task_passes_and_the_oldest_gives_way() {
        let a: Arc<str> = "a".into();
        let mut tasks = Tasks::default();
        for plain in [r#"{"content":[]}"#, r#"{"task":7}"#, r#"{"task":{"taskId":""}}"#, "[]"] {
            assert_eq!(tasks.create(&a, (1, None), raw(plain)), plain);
        }
        assert_eq!(tasks.list(), br#"{"tasks":[]}"#);
        for n in 0..=TASKS {
            tasks.create(&a, (1, None), raw(&format!(r#"{{"task":{{"taskId":"{n}"}}}}"#)));
        }
        assert_eq!((tasks.at("task-1"), tasks.open.len()), (None, TASKS));
        assert_eq!(created(br#"{"task":{"taskId":"x"}}"#).as_deref(), Some("x"));
    }
}
