//! The log's file, shared by all processes of a state folder.
//!
//! A line is appended under an advisory lock, after the last line was read again if another process
//! wrote meanwhile, so that there is one chain for all. The lock is held for two system calls; it is
//! taken without waiting, because a process that is stopped while it holds it must not stop us.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::chain::{GENESIS, seal, verify_line};
use super::head::Head;

/// Bytes read from the end of the file to find its last line, doubled until it is found.
const TAIL: u64 = 16 * 1024;
/// Bytes of room for lines that are kept from one append to the next.
const KEPT: usize = 16 * 1024;

/// The open log.
#[derive(Debug)]
pub struct AuditFile {
    file: File,
    /// Length of the file after our last line: another length means that somebody else wrote.
    known_len: u64,
    prev: String,
    /// What is written at once, kept for its room.
    lines: String,
}

/// How an append ended.
#[derive(Debug)]
pub enum Appended {
    /// The line is in the file.
    Done,
    /// Another process holds the lock: try again soon.
    Locked,
}

impl AuditFile {
    /// Opens or creates the log with mode 0600.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or its end is not a line of a log.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        Ok(Self { file, known_len: u64::MAX, prev: GENESIS.to_owned(), lines: String::new() })
    }

    /// The end of the log after our last line; `None` before it.
    pub fn head(&self) -> Option<Head> {
        (self.known_len != u64::MAX).then(|| Head { bytes: self.known_len, hash: self.prev.clone() })
    }

    /// A second handle for flushing from another thread.
    ///
    /// # Errors
    ///
    /// The system has no handle left.
    pub fn flusher(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Appends one open object (without its closing brace) as a line of the chain.
    ///
    /// # Errors
    ///
    /// The line could not be written whole; a part of it that was written is taken back.
    pub fn append(&mut self, open: &str) -> io::Result<Appended> {
        self.append_all(&[open])
    }

    /// Appends several under one lock and in one write: all of them or none.
    ///
    /// # Errors
    ///
    /// As [`Self::append`].
    pub fn append_all(&mut self, open: &[impl AsRef<str>]) -> io::Result<Appended> {
        if !self.lock()? {
            return Ok(Appended::Locked);
        }
        let result = self.append_locked(open);
        self.unlock()?;
        result.map(|()| Appended::Done)
    }

    fn append_locked(&mut self, open: &[impl AsRef<str>]) -> io::Result<()> {
        let len = self.file.metadata()?.len();
        if len != self.known_len {
            self.prev = self.last_hash(len)?;
        }
        // FAIL CLOSED: until the lines stand in the file, their hash is not known to be the last.
        self.known_len = u64::MAX;
        self.lines.clear();
        self.lines.shrink_to(KEPT);
        for open in open {
            seal(open.as_ref(), &mut self.prev, &mut self.lines);
        }
        if let Err(error) = self.file.write_all(self.lines.as_bytes()) {
            // Half a line would break the chain for everybody: take it back.
            self.file.set_len(len)?;
            return Err(error);
        }
        self.known_len = len + self.lines.len() as u64;
        Ok(())
    }

    /// The hash of the last line. A last line that was cut short (a crash, a full disk) is ended
    /// with a line break, so that it stays visible as a broken line and the chain goes on from it.
    fn last_hash(&mut self, len: u64) -> io::Result<String> {
        if len == 0 {
            return Ok(GENESIS.to_owned());
        }
        let mut window = TAIL;
        loop {
            let from = len.saturating_sub(window);
            let mut tail = String::new();
            let mut bytes = Vec::new();
            self.file.seek(SeekFrom::Start(from))?;
            Read::by_ref(&mut self.file).take(len - from).read_to_end(&mut bytes)?;
            tail.push_str(&String::from_utf8_lossy(&bytes));
            let whole = tail.strip_suffix('\n');
            let body = whole.unwrap_or(&tail);
            let start = body.rfind('\n');
            if start.is_none() && from > 0 {
                window *= 2;
                continue;
            }
            let last = body.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
            if whole.is_none() {
                self.file.write_all(b"\n")?;
            }
            return Ok(match verify_line(last) {
                Ok(link) => link.hash,
                // The break is found by verification; what we add must still be one chain.
                Err(_) => last_good(body).unwrap_or_else(|| GENESIS.to_owned()),
            });
        }
    }

    #[cfg(unix)]
    fn lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(unix)]
    fn unlock(&self) -> io::Result<()> {
        Ok(rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock)?)
    }

    #[cfg(not(unix))]
    fn lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(std::fs::TryLockError::WouldBlock) => Ok(false),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }

    #[cfg(not(unix))]
    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

fn last_good(body: &str) -> Option<String> {
    body.rsplit('\n').find_map(|line| verify_line(line).ok()).map(|link| link.hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::audit::chain::Link;

    fn links(path: &Path) -> Vec<Result<Link, &'static str>> {
        std::fs::read_to_string(path).unwrap().lines().map(verify_line).collect()
    }

    #[test]
    fn two_writers_make_one_chain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let (mut a, mut b) = (AuditFile::open(&path).unwrap(), AuditFile::open(&path).unwrap());
        for n in 0..20 {
            let writer = if n % 3 == 0 { &mut b } else { &mut a };
            assert!(matches!(writer.append(&format!("{{\"n\":{n}")).unwrap(), Appended::Done));
        }
        let mut prev = GENESIS.to_owned();
        for link in links(&path) {
            let link = link.unwrap();
            assert_eq!(link.prev, prev);
            prev = link.hash;
        }
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let (holder, mut other) = (AuditFile::open(&path).unwrap(), AuditFile::open(&path).unwrap());
        assert!(holder.lock().unwrap());
        assert!(matches!(other.append("{\"n\":1").unwrap(), Appended::Locked));
        holder.unlock().unwrap();
        assert!(matches!(other.append("{\"n\":1").unwrap(), Appended::Done));
    }

    #[test]
    fn a_line_cut_short_stays_visible_and_the_chain_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        AuditFile::open(&path).unwrap().append("{\"n\":0").unwrap();
        let mut raw = OpenOptions::new().append(true).open(&path).unwrap();
        raw.write_all(b"{\"n\":1,\"hal").unwrap();
        AuditFile::open(&path).unwrap().append("{\"n\":2").unwrap();
        let found = links(&path);
        assert_eq!(found.len(), 3);
        assert!(found[1].is_err());
        assert_eq!(found[2].as_ref().unwrap().prev, found[0].as_ref().unwrap().hash);
    }

    #[test]
    fn long_lines_are_found_from_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        AuditFile::open(&path).unwrap().append(&format!("{{\"n\":\"{}\"", "x".repeat(100_000))).unwrap();
        AuditFile::open(&path).unwrap().append("{\"n\":2").unwrap();
        let found = links(&path);
        assert_eq!(found[1].as_ref().unwrap().prev, found[0].as_ref().unwrap().hash);
    }
}
