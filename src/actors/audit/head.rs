//! The end of the log, kept beside it: how long it was, and the hash of its last line.
//!
//! A chain alone does not show that its tail was cut off; against a head it does. The head lies in the
//! same folder, so it protects against a log that was cut by mistake, by a full disk or by a restored
//! backup, and against whoever can write the log but not the head. Against somebody who writes both only
//! a copy that is kept elsewhere helps, and `bouncer audit verify --head` compares with one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A place in the log: all that stands before it is covered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The length of the log, in bytes.
    pub bytes: u64,
    /// The hash of the last line before that.
    pub hash: String,
}

/// The file of the head.
#[derive(Debug, Clone)]
pub struct HeadFile {
    path: PathBuf,
}

/// Bytes of the file that are read.
const MOST: u64 = 4_096;

impl HeadFile {
    /// The file beside this log: `audit.head` for `audit.jsonl`.
    pub fn beside(log: &Path) -> Self {
        Self { path: log.with_extension("head") }
    }

    /// A file that was kept elsewhere.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The head; `None` when there is none yet.
    ///
    /// # Errors
    /// The file cannot be read, or holds no head.
    pub fn read(&self) -> io::Result<Option<Head>> {
        match File::open(&self.path) {
            Ok(mut file) => read(&mut file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Moves the head forward. One that is further already, as another process left it, stays; while
    /// another process moves it, nothing is done: what it writes is as good.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn advance(&self, head: &Head) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // A head that cannot be read is replaced: the log itself is what counts.
        if read(&mut file).ok().flatten().is_some_and(|kept| kept.bytes >= head.bytes) {
            return Ok(());
        }
        let text = format!("{}\n", serde_json::to_string(head)?);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }
}

fn read(file: &mut File) -> io::Result<Option<Head>> {
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text)?;
    if text.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_str(&text)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_only_moves_forward() {
        let folder = tempfile::tempdir().unwrap();
        let heads = HeadFile::beside(&folder.path().join("audit.jsonl"));
        let head = |bytes: u64| Head { bytes, hash: format!("{bytes:064}") };
        assert_eq!(heads.read().unwrap(), None);
        for (bytes, expected) in [(1_000, 1_000), (5, 1_000), (2_000, 2_000)] {
            heads.advance(&head(bytes)).unwrap();
            assert_eq!(heads.read().unwrap(), Some(head(expected)));
        }
        std::fs::write(folder.path().join("audit.head"), "{\"bytes\":").unwrap();
        assert!(heads.read().is_err());
        heads.advance(&head(7)).unwrap();
        assert_eq!(heads.read().unwrap(), Some(head(7)));
    }
}
