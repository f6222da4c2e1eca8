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

/// Append an outcome. Its loss is reported, and refuses nothing: the call is over.
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

/// Owns the log.
pub struct AuditActor {
    file: AuditFile,
    flusher: mpsc::Sender<Option<Flushed>>,
    /// Whether lines were written since the last flush.
    dirty: bool,
}

impl AuditActor {
    /// Opens the log and starts its flushing thread.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or the thread not started.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = AuditFile::open(path)?;
        let handle = file.flusher()?;
        let (flusher, requests) = mpsc::channel();
        std::thread::Builder::new()
            .name("audit-flush".to_owned())
            .spawn(move || flush_loop(&handle, &requests))?;
        Ok(Self { file, flusher, dirty: false })
    }

    /// Appends, trying again while another process holds the lock.
    fn append(&mut self, open: String, tries: u32) -> ResponseActFuture<Self, Result<(), AuditError>> {
        match self.file.append(&open) {
            Ok(Appended::Done) => {
                self.dirty = true;
                Box::pin(fut::ready(Ok(())))
            }
            Ok(Appended::Locked) if tries < RETRIES => Box::pin(
                tokio::time::sleep(RETRY)
                    .into_actor(self)
                    .then(move |(), actor, _| actor.append(open, tries + 1)),
            ),
            Ok(Appended::Locked) => Box::pin(fut::ready(Err(AuditError::Locked))),
            Err(error) => Box::pin(fut::ready(Err(error.into()))),
        }
    }
}

fn flush_loop(file: &File, requests: &mpsc::Receiver<Option<Flushed>>) {
    while let Ok(first) = requests.recv() {
        // One flush serves all that wait by now.
        let mut waiting: Vec<Flushed> = first.into_iter().collect();
        while let Ok(more) = requests.try_recv() {
            waiting.extend(more);
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
    }
}

impl Actor for AuditActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1_024);
        ctx.run_interval(FLUSH, |actor, _| {
            if actor.dirty && actor.flusher.send(None).is_ok() {
                actor.dirty = false;
            }
        });
    }
}

impl Handler<AppendVerdict> for AuditActor {
    type Result = ResponseActFuture<Self, Result<(), AuditError>>;

    fn handle(&mut self, msg: AppendVerdict, _: &mut Self::Context) -> Self::Result {
        let appended = self.append(msg.open, 0);
        if msg.flush == Flush::Later {
            return appended;
        }
        Box::pin(appended.then(|result, actor, _| {
            let (reply, flushed) = oneshot::channel();
            let asked = result.is_ok() && actor.flusher.send(Some(reply)).is_ok();
            async move {
                result?;
                if !asked {
                    return Err(AuditError::NoFlusher);
                }
                flushed.await.map_err(|_| AuditError::NoFlusher)?.map_err(AuditError::Io)
            }
            .into_actor(actor)
        }))
    }
}

impl Handler<AppendOutcome> for AuditActor {
    type Result = ResponseActFuture<Self, Result<(), AuditError>>;

    fn handle(&mut self, msg: AppendOutcome, _: &mut Self::Context) -> Self::Result {
        self.append(msg.open, 0)
    }
}
