//! The audit actor: appends records and flushes them to disk.
//!
//! Appending happens on the data path, because a call may not go out before its record stands in the
//! file; flushing happens on a thread of its own, once a second, and at once for sinks, whose calls
//! wait for it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::oneshot;

use super::file::{Appended, AuditFile};
use super::head::{Head, HeadFile};
use crate::actors::soon::Soon;

/// How often a held lock is tried again, and for how long.
const RETRY: Duration = Duration::from_millis(2);
const RETRIES: u32 = 1_000;
/// How often the log is flushed without being asked to.
const FLUSH: Duration = Duration::from_secs(1);

/// Append a verdict. Answered when the line stands in the file and, if wanted, on the disk.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), AuditError>")]
pub struct AppendVerdict {
    /// The line, open.
    pub open: String,
    /// When the answer may come.
    pub flush: Flush,
}

/// Append an outcome, within a few milliseconds. Its loss is reported, and refuses nothing: the call is
/// over.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), AuditError>")]
pub struct AppendOutcome {
    /// The line, open.
    pub open: String,
}

/// When a verdict counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// When the system has it.
    Later,
    /// When the disk has it: for sinks.
    Now,
}

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file could not be written.
    #[error("cannot write the audit log: {0}")]
    Io(#[from] io::Error),
    /// Another process held the lock for seconds.
    #[error("cannot write the audit log: another process holds its lock")]
    Locked,
    /// The flushing thread is gone.
    #[error("cannot flush the audit log: its thread ended")]
    NoFlusher,
}

type Flushed = oneshot::Sender<io::Result<()>>;

/// A request to flush: who waits for it, and the end of the log when it was asked for.
struct Request {
    waiting: Option<Flushed>,
    head: Option<Head>,
}

/// Owns the log.
pub struct AuditActor {
    file: AuditFile,
    heads: HeadFile,
    flusher: mpsc::Sender<Request>,
    /// Whether lines were written since the last flush.
    dirty: bool,
    /// Outcomes that are written with the next verdict, or soon.
    held: Vec<String>,
    handover: Option<SpawnHandle>,
}

/// How long and how many outcomes are held.
const HELD_FOR: Duration = Duration::from_millis(5);
const HELD: usize = 64;

impl AuditActor {
    /// Opens the log and starts its flushing thread.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or the thread not started.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = AuditFile::open(path)?;
        let handle = file.flusher()?;
        let heads = HeadFile::beside(path);
        let kept = heads.clone();
        let (flusher, requests) = mpsc::channel();
        std::thread::Builder::new()
            .name("audit-flush".to_owned())
            .spawn(move || flush_loop(&handle, &kept, &requests))?;
        Ok(Self { file, heads, flusher, dirty: false, held: Vec::new(), handover: None })
    }

    /// Appends, trying again while another process holds the lock.
    fn append(&mut self, open: Vec<String>, tries: u32) -> Soon<Self, Result<(), AuditError>> {
        match self.file.append_all(&open) {
            Ok(Appended::Done) => {
                self.dirty = true;
                Soon::Now(Ok(()))
            }
            Ok(Appended::Locked) if tries < RETRIES => Soon::Later(Box::pin(
                tokio::time::sleep(RETRY)
                    .into_actor(self)
                    .then(move |(), actor, _| actor.append(open, tries + 1).later()),
            )),
            Ok(Appended::Locked) => Soon::Now(Err(AuditError::Locked)),
            Err(error) => Soon::Now(Err(error.into())),
        }
    }

    /// Writes the outcomes that are held.
    fn write_held(&mut self, ctx: &mut Context<Self>) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        let count = held.len();
        let written = self.append(held, 0).later();
        ctx.spawn(written.map(move |written, _, _| report(count, &written)));
    }
}

/// Tells the operator of outcomes that were not written.
fn report(count: usize, written: &Result<(), AuditError>) {
    if let Err(error) = written {
        tracing::error!("{count} outcomes are missing in the audit log: {error}");
    }
}

impl Drop for AuditActor {
    /// The end of the process is no reason to lose what is held.
    fn drop(&mut self) {
        for _ in 0..RETRIES {
            if self.held.is_empty() || !matches!(self.file.append_all(&self.held), Ok(Appended::Locked)) {
                break;
            }
            std::thread::yield_now();
        }
        if let Some(head) = self.file.head() {
            keep(&self.heads, &head);
        }
    }
}

fn flush_loop(file: &File, heads: &HeadFile, requests: &mpsc::Receiver<Request>) {
    while let Ok(first) = requests.recv() {
        // One flush serves all that wait by now.
        let mut head = first.head;
        let mut waiting: Vec<Flushed> = first.waiting.into_iter().collect();
        while let Ok(more) = requests.try_recv() {
            waiting.extend(more.waiting);
            head = more.head.or(head);
        }
        let result = file.sync_data();
        for reply in waiting {
            let copy = result
                .as_ref()
                .map(|&()| ())
                .map_err(|error| io::Error::new(error.kind(), error.to_string()));
            // A caller that is gone needs no answer.
            drop(reply.send(copy));
        }
        if let Some(head) = head.filter(|_| result.is_ok()) {
            keep(heads, &head);
        }
    }
}

/// Keeps the end of the log. Its loss lets a cut tail pass unnoticed, and loses no record.
fn keep(heads: &HeadFile, head: &Head) {
    if let Err(error) = heads.advance(head) {
        tracing::warn!("the end of the audit log could not be kept: {error}");
    }
}

impl Actor for AuditActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1_024);
        ctx.run_interval(FLUSH, |actor, _| {
            if actor.dirty && actor.flusher.send(Request { waiting: None, head: actor.file.head() }).is_ok() {
                actor.dirty = false;
            }
        });
    }
}

impl Handler<AppendVerdict> for AuditActor {
    type Result = Soon<Self, Result<(), AuditError>>;

    fn handle(&mut self, msg: AppendVerdict, _: &mut Self::Context) -> Self::Result {
        let held = self.held.len();
        let mut lines = std::mem::take(&mut self.held);
        lines.push(msg.open);
        let appended = self.append(lines, 0).inspect(move |written| {
            if held > 0 {
                report(held, written);
            }
        });
        if msg.flush == Flush::Later {
            return appended;
        }
        Soon::Later(Box::pin(appended.later().then(|result, actor, _| {
            let (reply, flushed) = oneshot::channel();
            let request = Request { waiting: Some(reply), head: actor.file.head() };
            let asked = result.is_ok() && actor.flusher.send(request).is_ok();
            async move {
                result?;
                if !asked {
                    return Err(AuditError::NoFlusher);
                }
                flushed.await.map_err(|_| AuditError::NoFlusher)?.map_err(AuditError::Io)
            }
            .into_actor(actor)
        })))
    }
}

impl Handler<AppendOutcome> for AuditActor {
    type Result = Result<(), AuditError>;

    /// ORDER: a verdict is in the file before its call goes out; an outcome may be there a moment later.
    fn handle(&mut self, msg: AppendOutcome, ctx: &mut Self::Context) -> Self::Result {
        self.held.push(msg.open);
        if self.held.len() >= HELD {
            self.write_held(ctx);
        } else if self.handover.is_none() {
            self.handover = Some(ctx.run_later(HELD_FOR, |actor, ctx| {
                actor.handover = None;
                actor.write_held(ctx);
            }));
        }
        Ok(())
    }
}
