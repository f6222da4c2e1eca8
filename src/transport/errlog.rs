//! What an upstream writes to its stderr: kept in a file of bounded size, and its last words in memory
//! for error messages.
//!
//! The text is the upstream's: it is written to the file as it comes, and escaped wherever else it
//! is shown.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::provenance::escaped;

/// A log grows to this size, then becomes the one old log.
const FILE_LIMIT: u64 = 4 << 20;
/// Kept in memory.
const TAIL: usize = 2048;

/// The log of one upstream.
#[derive(Debug)]
pub struct ErrorLog {
    path: Option<PathBuf>,
    file: Option<File>,
    size: u64,
    tail: Vec<u8>,
}

impl ErrorLog {
    /// A log at `path`; without one only the last words are kept. A file that cannot be opened is no
    /// reason not to run.
    pub fn open(path: Option<&Path>) -> Self {
        let file = path.and_then(|path| append(path).ok());
        let size = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
        Self { path: path.map(Path::to_owned), file, size, tail: Vec::new() }
    }

    /// Takes what came.
    pub fn write(&mut self, chunk: &[u8]) {
        self.tail.extend_from_slice(chunk);
        if self.tail.len() > TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
        if self.size > FILE_LIMIT {
            self.turn_over();
        }
        if let Some(file) = &mut self.file {
            // A full disk loses lines of a log, never a call.
            match file.write_all(chunk) {
                Ok(()) => self.size += chunk.len() as u64,
                Err(_) => self.file = None,
            }
        }
    }

    fn turn_over(&mut self) {
        let Some(path) = &self.path else { return };
        self.file = None;
        let mut old = path.as_os_str().to_owned();
        old.push(".1");
        if std::fs::rename(path, old).is_ok() {
            self.file = append(path).ok();
            self.size = 0;
        }
    }

    /// The last lines, at most three, escaped, on one line; empty if nothing was written.
    pub fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.tail);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let from = lines.len().saturating_sub(3);
        let last: Vec<String> = lines.iter().skip(from).map(|line| escaped(line, 200)).collect();
        last.join(" | ")
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_bounded_and_the_last_words_are_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("up.log");
        let mut log = ErrorLog::open(Some(&path));
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..11 {
            log.write(&chunk);
        }
        log.write(b"\none\ntwo \x1b[2Jtwo\n\nthree\nfour\n");
        assert_eq!(log.last_words(), "two \\u{1b}[2Jtwo | three | four");
        let sizes: Vec<u64> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), 2);
        assert!(sizes.iter().all(|size| *size <= FILE_LIMIT + (1 << 20)), "{sizes:?}");
    }
}
