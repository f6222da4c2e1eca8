//! Reading the log again, line by line and in constant memory, and checking its chain on the way.

use std::io::{self, BufRead};

use super::chain::{GENESIS, verify_line};
use super::head::Head;

/// Bytes of one line; a longer one is no record of ours.
const LINE: usize = 128 * 1024 * 1024;

/// One line of the log.
#[derive(Debug)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Where it begins, in bytes.
    pub at: u64,
    /// Its bytes without the line break; those before the limit when it is too long.
    pub bytes: &'a [u8],
    /// Whether it ends with a line break, as a whole line does.
    pub is_whole: bool,
}

/// The lines of a log.
pub struct Records<R> {
    source: R,
    buffer: Vec<u8>,
    number: u64,
    at: u64,
}

impl<R: BufRead> Records<R> {
    /// Reads from the start.
    pub fn new(source: R) -> Self {
        Self { source, buffer: Vec::new(), number: 0, at: 0 }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let at = self.at;
        let mut is_whole = false;
        loop {
            let chunk = self.source.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', chunk);
            let (kept, used) = end.map_or((chunk.len(), chunk.len()), |end| (end, end + 1));
            let room = (LINE + 1).saturating_sub(self.buffer.len()).min(kept);
            self.buffer.extend_from_slice(chunk.get(..room).unwrap_or_default());
            self.source.consume(used);
            self.at += used as u64;
            if end.is_some() {
                is_whole = true;
                break;
            }
        }
        if self.at == at {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(Line { number: self.number, at, bytes: &self.buffer, is_whole }))
    }
}

/// The first place where a log is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The number of the record, from 1; one past the last for a tail that is missing.
    pub record: u64,
    /// Where it begins, in bytes.
    pub at: u64,
    /// What is wrong, in our own words.
    pub why: &'static str,
}

/// What a check of the chain found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Records read.
    pub records: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The first break.
    pub broken: Option<Broken>,
    /// How many records are broken in all.
    pub breaks: u64,
    /// The end of the log as it is.
    pub head: Option<Head>,
}

impl Checked {
    fn note(&mut self, record: u64, at: u64, why: &'static str) {
        self.breaks += 1;
        self.broken.get_or_insert(Broken { record, at, why });
    }
}

/// Checks every line of a log, and its end against a head that was kept.
///
/// # Errors
/// The log cannot be read.
pub fn verify(source: impl BufRead, kept: Option<&Head>) -> io::Result<Checked> {
    let mut records = Records::new(source);
    let mut checked = Checked::default();
    let mut prev = GENESIS.to_owned();
    let mut head_met = kept.is_none_or(|head| head.bytes == 0);
    while let Some(line) = records.next_line()? {
        let end = line.at + line.bytes.len() as u64 + u64::from(line.is_whole);
        checked.records = line.number;
        checked.bytes = end;
        let link = match std::str::from_utf8(line.bytes) {
            _ if line.bytes.len() > LINE => Err("it is too long to be a record"),
            _ if !line.is_whole => Err("it is cut short"),
            Ok(text) => verify_line(text),
            Err(_) => Err("it is not UTF-8"),
        };
        match link {
            Ok(link) if link.prev == prev => prev = link.hash,
            Ok(link) => {
                checked.note(line.number, line.at, "the record before it is missing or was changed");
                prev = link.hash;
            }
            Err(why) => checked.note(line.number, line.at, why),
        }
        if let Some(head) = kept.filter(|head| head.bytes == end) {
            head_met = true;
            if head.hash != prev {
                checked.note(
                    line.number,
                    line.at,
                    "it is not the record that was last when the head was kept",
                );
            }
        }
        checked.head = Some(Head { bytes: end, hash: prev.clone() });
    }
    if let Some(head) = kept.filter(|_| !head_met) {
        let (record, at) = (checked.records + 1, checked.bytes);
        let why = if head.bytes > checked.bytes {
            "records after this place are missing: the log is shorter than when the head was kept"
        } else {
            "no record ends where the head was kept: the log was written anew"
        };
        checked.note(record, at, why);
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::super::chain::seal;
    use super::*;

    fn log(records: u32) -> (String, Head) {
        let mut text = String::new();
        let mut prev = GENESIS.to_owned();
        for n in 0..records {
            seal(&format!("{{\"kind\":\"verdict\",\"n\":{n}"), &mut prev, &mut text);
        }
        let head = Head { bytes: text.len() as u64, hash: prev };
        (text, head)
    }

    #[test]
    fn the_first_break_is_named() {
        let (whole, head) = log(5);
        let lines: Vec<&str> = whole.lines().collect();
        let join = |lines: &[&str]| lines.join("\n") + "\n";
        let check = |text: &str, expected: Option<(u64, &str)>| {
            let checked = verify(text.as_bytes(), Some(&head)).unwrap();
            let seen = checked.broken.as_ref().map(|broken| (broken.record, broken.why));
            match (seen, expected) {
                (Some((record, why)), Some((at, piece))) => {
                    assert!(record == at && why.contains(piece), "{seen:?} / {expected:?}");
                }
                (seen, expected) => assert_eq!(seen, expected),
            }
        };
        check(&whole, None);
        check(&whole.replace("\"n\":2", "\"n\":7"), Some((3, "hash does not fit")));
        check(&join(&[lines[0], lines[2], lines[3], lines[4]]), Some((2, "missing")));
        check(&join(&lines[..3]), Some((4, "missing")));
        check(&whole[..whole.len() - 20], Some((5, "cut short")));
        check(&format!("{whole}{{\"foreign\":1}}\n"), Some((6, "no hash")));
        check("", Some((1, "missing")));
        let (other, _) = log(9);
        check(&other, None);
        let (longer, _) = log(6);
        check(&longer.replacen("verdict", "outcome", 1), Some((1, "hash does not fit")));
    }

    #[test]
    fn a_log_without_a_head_is_checked_by_its_chain_alone() {
        let (whole, head) = log(3);
        let checked = verify(whole.as_bytes(), None).unwrap();
        assert_eq!((checked.records, checked.broken, checked.head), (3, None, Some(head)));
        let cut = whole.lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
        assert_eq!(verify(cut.as_bytes(), None).unwrap().broken, None);
    }

    #[test]
    fn a_clock_that_jumps_breaks_no_chain_and_no_count() {
        let (mut text, mut prev) = (String::new(), GENESIS.to_owned());
        let mut counts = super::super::summary::Summary::default();
        // Back by years, to the beginning of time, and further than any calendar.
        for ts in [1_796_000_000_000, 1_500_000_000_000, 0, u64::MAX, 1_796_000_000_001] {
            let open = format!(
                "{{\"kind\":\"verdict\",\"ts\":{ts},\"tool\":\"t\",\"verdict\":\"allow\",\"contract\":\"pin\""
            );
            let start = text.len();
            seal(&open, &mut prev, &mut text);
            counts.add(text[start..].trim_end().as_bytes());
        }
        let head = Head { bytes: text.len() as u64, hash: prev };
        let checked = verify(text.as_bytes(), Some(&head)).unwrap();
        assert_eq!((checked.records, checked.broken), (5, None));
        assert_eq!(counts.verdicts.allow, 5);
    }

    #[test]
    fn two_chains_in_one_file_are_no_chain() {
        let (whole, _) = log(2);
        let twice = format!("{whole}{whole}");
        assert_eq!(verify(twice.as_bytes(), None).unwrap().broken.unwrap().record, 3);
    }
}
