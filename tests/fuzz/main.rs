//! Runs each fuzz target for two seconds on mutations of realistic seeds, the same ones in the same order each time.
//!
//! What is asserted stands in `targets.rs`; here is only the mutator. A failure prints the input.

#![expect(
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test stops at what it did not expect; the clock says when two seconds are over"
)]

mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long each target runs.
const RUN: Duration = Duration::from_secs(2);
/// Longest input.
const LONGEST: usize = 4096;

/// What servers return and clients send, in the shapes that are read as structure.
const SEEDS: [&str; 14] = [
    r#"{"content":[{"type":"text","text":"{\"emails\":[{\"id\":7,\"sender\":\"ann@corp.test\",\"subject\":\"Q3\"}]}"}]}"#,
    r#"{"to":["Ann <ann@corp.test>","bob@corp.test"],"cc":{"email":"x@y.test","name":"X Y"},"body":"see https://corp.test/a?b=c#d"}"#,
    r#"["ann@corp.test, \"Bob, B\" <bob@corp.test>; Friends: c@corp.test;", 42, null, {"+1 202 555 0143": true}]"#,
    "From: Ann <ann@corp.test>\nTo: bob@corp.test\nSubject: plan\n\nHi Bob,\nplease pay DE89 3704 0044 0532 0130 00.\n",
    "- id: 3\n  owner: ann@corp.test\n  shared_with: {bob@corp.test: rw}\n  link: 'https://corp.test/f/3'\n- id: 4\n",
    "id=3 owner=\"ann@corp.test\" path=/srv/my_files/a.txt; next=https://corp.test/3",
    "<html><body><p>Write to <b>ann</b>@corp.test or <a href='//corp.test/x'>here</a>&nbsp;&#64;</p></body></html>",
    "# Notes\n\nSee [the plan](https://corp.test/plan \"t\") and **ann@corp.test**, #general, @ann, `/etc/hosts`.\n",
    "2026-03-01T10:00:00Z ERROR worker-17 POST https://api.corp.test/v1/items?id=a%40b.test 500 \\u0040 =40",
    "mailto:ann@corp.test?cc=bob@corp.test&subject=x%0D%0ABcc:%20c@corp.test",
    "YW5uQGNvcnAudGVzdA== 616e6e40636f72702e74657374 61 6e 6e 40 63 6f 72 70 M5XW6ZBAOZQWY5LF",
    "ann [at] corp [dot] test, a n n @ c o r p . t e s t, hxxps://corp[.]test/x, naa//:sptth",
    "\u{ff41}\u{ff4e}\u{ff4e}\u{ff20}corp\u{3002}test a\u{200b}nn@\u{441}orp.test \u{e0061}\u{e006e}\u{e006e} e\u{301}",
    "\\\\host\\share\\a b.txt file:///srv/x/../y C:\\Users\\ann ~/.ssh/id 192.0.2.10:80 [2001:db8::1] 0x7f.1",
];

/// What is put in.
const PARTS: [&str; 40] = [
    "a@b.test",
    "https://",
    "evil.test/",
    "\\u0040",
    "&#64;",
    "%40",
    "=40",
    "<b>",
    "**",
    " at ",
    " dot ",
    "[.]",
    "\u{200b}",
    "\u{e0041}",
    "é",
    "\u{ff20}",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\n",
    "- ",
    "key: value\n",
    "64 72 6f 70 37 37 40 65 ",
    "ZHJvcDc3QGV2aWwudGVzdA==",
    "+1 202 555 0143",
    "DE19 5001 0517 ",
    "#x-y",
    "\\\\h\\s",
    "file:///a/../b",
    "a=b ",
    "\0",
    "\u{fffd}",
    "d r o p 7 7 ",
    "mailto:",
    "\\ud83d",
    "|",
];

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x ^ (x >> 31)) >> 8).unwrap_or(0) % below.max(1)
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.roll(length + 1);
        start..start + self.roll((length - start).min(64) + 1)
    }
}

/// The seeds, with the texts and values of the evasion vectors.
fn seeds() -> Vec<Vec<u8>> {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../vectors/evasions.json")).expect("the vectors are JSON");
    let of_rows = rows.iter().flat_map(|row| ["corpus_text", "call_value"].map(|field| row[field].as_str()));
    SEEDS.into_iter().chain(of_rows.flatten()).map(|seed| seed.as_bytes().to_vec()).collect()
}

/// One seed with up to six changes.
fn mutated(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[dice.roll(seeds.len())].clone();
    for _ in 0..dice.roll(7) {
        let range = dice.range(bytes.len());
        match dice.roll(8) {
            0 => drop(bytes.drain(range)),
            1 => {
                let part = bytes[range.clone()].to_vec();
                drop(bytes.splice(range.start..range.start, part));
            }
            2 if !bytes.is_empty() => {
                let at = dice.roll(bytes.len());
                bytes[at] = u8::try_from(dice.roll(256)).unwrap_or(0);
            }
            3 => {
                let other = &seeds[dice.roll(seeds.len())];
                let part = other[dice.range(other.len())].to_vec();
                drop(bytes.splice(range, part));
            }
            4 => {
                let part = data_encoding::BASE64.encode(&bytes[range.clone()]);
                drop(bytes.splice(range, part.into_bytes()));
            }
            5 => bytes = Value::String(String::from_utf8_lossy(&bytes).into_owned()).to_string().into_bytes(),
            _ => drop(bytes.splice(range.start..range.start, PARTS[dice.roll(PARTS.len())].bytes())),
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

fn run(name: &str) {
    let (_, target) = targets::TARGETS.iter().find(|(known, _)| *known == name).expect("a known target");
    let seeds = seeds();
    let mut dice = Dice(7);
    let start = Instant::now();
    let mut runs = 0_usize;
    while runs == 0 || start.elapsed() < RUN {
        let input = mutated(&mut dice, &seeds);
        runs += 1;
        let held = catch_unwind(AssertUnwindSafe(|| target(&input))).is_ok();
        assert!(held, "{name}: input {runs}: {:?}", String::from_utf8_lossy(&input));
    }
    println!("{name}: {runs} inputs");
}

#[test]
fn extraction() {
    run("extraction");
}

#[test]
fn decoding() {
    run("decoding");
}

#[test]
fn index() {
    run("index");
}
