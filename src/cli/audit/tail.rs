//! The last records of a log, and those that come, each under its number.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use super::record;

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// Until interrupted.
    Growing,
    /// No further than what is there.
    No,
}

/// How often a log that does not grow is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes of one read.
const CHUNK: usize = 64 * 1024;
/// Bytes looked at from the end, doubled until enough lines are found.
const WINDOW: u64 = 64 * 1024;
/// The most bytes that are held for showing the last lines.
const MOST: u64 = 64 * 1024 * 1024;

/// Shows the last records.
pub(super) fn tail(log: &Path, lines: usize, follow: Follow, out: &mut dyn Write) -> io::Result<()> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    let mut at = start(&mut file, length, lines)?;
    let mut number = count(&mut file, at)?;
    let mut partial = Vec::new();
    loop {
        file.seek(SeekFrom::Start(at))?;
        let mut reader = BufReader::new((&mut file).take(u64::MAX));
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = reader.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            at += read as u64;
            let fresh = chunk.get(..read).unwrap_or_default();
            for piece in fresh.split_inclusive(|byte| *byte == b'\n') {
                partial.extend_from_slice(piece);
                if piece.ends_with(b"\n") {
                    partial.pop();
                    number += 1;
                    writeln!(out, "{number} {}", record::brief(&partial))?;
                    partial.clear();
                } else if partial.len() as u64 > MOST {
                    partial.clear();
                }
            }
        }
        drop(reader);
        if follow == Follow::No {
            if !partial.is_empty() {
                writeln!(out, "{} {}", number + 1, record::brief(&partial))?;
            }
            return Ok(());
        }
        out.flush()?;
        std::thread::park_timeout(LOOK);
        // A log that is shorter than what was shown of it is another one.
        let now = std::fs::metadata(log)?.len();
        if now < at {
            file = File::open(log)?;
            at = 0;
            number = 0;
            partial.clear();
        }
    }
}

/// How many lines end before this place.
fn count(file: &mut File, end: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(CHUNK, file.take(end));
    let mut lines = 0;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(lines);
        }
        lines += memchr::memchr_iter(b'\n', chunk).count() as u64;
        let read = chunk.len();
        reader.consume(read);
    }
}

/// Where the last `lines` lines begin.
fn start(file: &mut File, length: u64, lines: usize) -> io::Result<u64> {
    let mut window = WINDOW;
    loop {
        let from = length.saturating_sub(window);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        (&mut *file).take(length - from).read_to_end(&mut bytes)?;
        let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let mut breaks = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
        if lines == 0 {
            return Ok(length);
        }
        if let Some((at, _)) = breaks.nth(lines - 1) {
            return Ok(from + at as u64 + 1);
        }
        if from == 0 || window >= MOST {
            return Ok(from);
        }
        window *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_found_from_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let line = |n: u32| {
            format!("{{\"verdict\":\"allow\",\"tool\":\"t{n}\",\"pad\":\"{}\"}}\n", "x".repeat(30_000))
        };
        std::fs::write(&path, (0..20).map(line).collect::<String>()).unwrap();
        let check = |lines: usize, first: Option<&str>| {
            let mut out = Vec::new();
            tail(&path, lines, Follow::No, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().count(), lines.min(20));
            assert_eq!(
                text.lines().next().map(|line| line.contains(first.unwrap())),
                first.map(|_| true),
                "{text}"
            );
            for (number, row) in (21 - lines.min(20)..).zip(text.lines()) {
                assert!(row.starts_with(&format!("{number} ")), "{row}");
            }
        };
        check(3, Some("t17"));
        check(15, Some("t5"));
        check(100, Some("t0"));
        check(0, None);
    }
}
