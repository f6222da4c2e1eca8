//! What the provenance index costs: memory and time for each byte of history, and how long a lookup takes in
//! a history of 1 MB to 1 GB, against a linear scan of the same text in the same run.
//!
//! `cargo bench --bench provenance -- [MEGABYTES …]` (default 1 10 100). The history is made by a seeded generator.
//! Ratios are the finding; the times depend on the machine.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a bench reads the clock and prints what it measured, rounded"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use bouncer::provenance::{Destination, Engine, Kind, Limits, Record, Source, Standing, extract};
use serde_json::json;

/// Splitmix64.
fn dice(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const SYLLABLES: [&str; 32] = [
    "ba", "co", "de", "fi", "gu", "ha", "jo", "ke", "li", "mu", "na", "po", "qui", "re", "si", "tu", "va",
    "wo", "xe", "yi", "zu", "st", "tr", "ing", "er", "ion", "al", "en", "or", "at", "is", "ed",
];

fn pick<'a>(all: &'a [&'a str], roll: u64) -> &'a str {
    all.get(usize::try_from(roll).unwrap_or(0) % all.len()).copied().unwrap_or("")
}

/// A word; small numbers are common, large ones rare.
fn word(state: &mut u64, out: &mut String) {
    let roll = dice(state);
    let mut seed = (roll % 50).min((roll >> 8) % 20_000);
    for _ in 0..2 + seed % 3 {
        out.push_str(pick(&SYLLABLES, dice(&mut seed)));
    }
}

/// A result of about 16 KiB as servers return them: prose, records, some markup, some non-ASCII.
fn result(state: &mut u64) -> String {
    let mut text = String::new();
    while text.len() < 16 << 10 {
        let roll = dice(state);
        let _ = match roll % 150 {
            0 => write!(text, "u{:x}@h{:x}.example ", roll >> 44, roll >> 54),
            1 => write!(text, "https://h{:x}.example/docs/{:x} ", roll >> 54, roll >> 50),
            2 => write!(text, "PROJ-{} ", (roll >> 20) % 100_000),
            3..=12 => writeln!(text, "."),
            13 => write!(text, "<b>caf\u{e9}</b> &amp; "),
            _ => {
                word(state, &mut text);
                text.push(' ');
                Ok(())
            }
        };
    }
    text
}

fn destination(value: &str, kind: Kind) -> Option<Destination> {
    extract(&json!({ "to": value }), &|_| Standing::Authority(Some(kind))).destinations.into_iter().next()
}

/// Microseconds of one run, the mean of as many as fit in a fifth of a second.
fn mean(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut runs = 0_u32;
    while runs < 3 || start.elapsed().as_millis() < 200 {
        run();
        runs += 1;
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(runs)
}

fn measure(megabytes: usize) {
    let mut engine = Engine::new(Limits { bytes: 8 << 30 }, [7; 16]);
    let mut state = 1;
    let (mut all, mut spent, mut folding) = (String::new(), 0.0, 0.0);
    let mut call = 0;
    while all.len() < megabytes << 20 {
        let text = result(&mut state);
        call += 1;
        let message = json!({"content": [{"type": "text", "text": text}]}).to_string();
        let start = Instant::now();
        engine.record(&Record {
            upstream: "bench",
            tool: Some("read"),
            call,
            source: Source::Result,
            message: message.as_bytes(),
            own_data: &[],
            pointed: false,
        });
        spent += start.elapsed().as_secs_f64();
        let start = Instant::now();
        black_box(text.to_lowercase());
        folding += start.elapsed().as_secs_f64();
        all.push_str(&text);
    }
    let bytes = all.len() as f64;
    let scan = mean(|| {
        black_box(memchr::memmem::find(all.as_bytes(), b"nobody77@nowhere.test"));
    });
    println!(
        "| {megabytes} MB | {:.1} MB/s in, 1/{:.0} of lowercasing | {:.2} B/B | scan {scan:.0} \u{b5}s |",
        bytes / 1e6 / spent,
        spent / folding,
        engine.bytes() as f64 / bytes,
    );
    for (value, kind) in [
        ("nobody77@nowhere.test", Kind::Email),
        ("https://nowhere.test/a/b", Kind::Url),
        ("+12025550143", Kind::Phone),
        ("GB21TEST00000012345678", Kind::Account),
        ("Quirin Xaver Nobody", Kind::Name),
    ] {
        let Some(destination) = destination(value, kind) else { continue };
        let lookup = mean(|| {
            black_box(engine.is_traced(&destination));
        });
        println!("|   | {value} | {lookup:.2} \u{b5}s | {:.0} \u{d7} faster than the scan |", scan / lookup);
    }
}

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![1, 10, 100] } else { given };
    for megabytes in sizes {
        measure(megabytes);
    }
}
