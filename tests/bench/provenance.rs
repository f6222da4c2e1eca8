//! What the provenance index costs: bytes for each byte of history, taking in against folding the same text, and
//! lookups in a history of 1 MB to 1 GB against a scan of the same text with `memchr::memmem` in the same run.
//!
//! `BOUNCER_BENCH_MB="1 10 100 1000" cargo bench --bench provenance -- [FILTER]` (without it: 1 and 10).
//! The history is made by a seeded generator. The table at the end holds the ratios, which are the finding; the
//! times depend on the machine.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a bench reads the clock and prints what it measured, rounded"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bouncer::provenance::{Destination, Engine, Kind, Limits, Record, Source, Standing, extract, loose_text};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
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

/// Stands once in each history, in its middle.
const PLANTED: &str = "marlowe quintrell abernathy";

/// A word; small numbers are common, large ones rare.
fn word(state: &mut u64, out: &mut String) {
    let roll = dice(state);
    let mut seed = (roll % 50).min((roll >> 8) % 20_000);
    for _ in 0..2 + seed % 3 {
        let at = usize::try_from(dice(&mut seed) % 32).unwrap_or(0);
        out.push_str(SYLLABLES.get(at).copied().unwrap_or_default());
    }
}

/// What a history is made of.
#[derive(Clone, Copy, PartialEq)]
enum Make {
    /// Results of 16 KiB as servers return them: prose, addresses, links, ids, some markup, some non-ASCII.
    Text,
    /// Results of 16 KiB that are lists of records, as JSON in text.
    Records,
    /// Nothing but mail addresses of ten bytes, each another, at one domain.
    Tiny,
    /// The same, each at another domain.
    TinyDomains,
    /// Results of 60 bytes.
    Short,
}

impl Make {
    /// One result.
    fn result(self, state: &mut u64) -> String {
        let mut text = String::new();
        match self {
            Self::Text => {
                while text.len() < 16 << 10 {
                    piece(state, &mut text);
                }
            }
            Self::Records => {
                let mut items = Vec::new();
                while items.len() < 80 {
                    let (roll, mut subject) = (dice(state), String::new());
                    for _ in 0..6 {
                        word(state, &mut subject);
                        subject.push(' ');
                    }
                    items.push(json!({
                        "id": format!("{:x}", roll), "sender": format!("u{:x}@h{:x}.example", roll >> 44, roll >> 54),
                        "subject": subject, "size": roll % 9000,
                        "url": format!("https://h{:x}.example/m/{:x}", roll >> 54, roll >> 30),
                    }));
                }
                text = json!({ "result": items }).to_string();
            }
            Self::Tiny => {
                for _ in 0..1600 {
                    let _ = write!(text, "{:05x}@b.co ", dice(state) % (1 << 20));
                }
            }
            Self::TinyDomains => {
                for _ in 0..1600 {
                    let roll = dice(state);
                    let _ = write!(text, "{:x}@{:04x}.co ", roll % 256, (roll >> 20) % (1 << 16));
                }
            }
            Self::Short => {
                let roll = dice(state);
                let _ = write!(text, "Sent to u{:x}@h{:x}.example as message ", roll >> 44, roll >> 54);
                word(state, &mut text);
                let _ = write!(text, " no {}.", roll % 1000);
            }
        }
        text
    }
}

fn piece(state: &mut u64, text: &mut String) {
    let roll = dice(state);
    let _ = match roll % 150 {
        0 => write!(text, "u{:x}@h{:x}.example ", roll >> 44, roll >> 54),
        1 => write!(text, "https://h{:x}.example/docs/{:x} ", roll >> 54, roll >> 50),
        2 => write!(text, "PROJ-{} ", (roll >> 20) % 100_000),
        3..=12 => writeln!(text, "."),
        13 => write!(text, "<b>caf\u{e9}</b> &amp; "),
        _ => {
            word(state, text);
            text.push(' ');
            Ok(())
        }
    };
}

/// A history, and what it took to take it in.
struct History {
    engine: Engine,
    text: String,
    taking_in: Duration,
    folding: Duration,
}

impl History {
    fn new(make: Make, megabytes: usize) -> Self {
        let engine = Engine::new(Limits { bytes: 8 << 30 }, [7; 16]);
        let mut history =
            Self { engine, text: String::new(), taking_in: Duration::ZERO, folding: Duration::ZERO };
        let (mut state, mut call, mut planted) = (1, 0, false);
        while history.text.len() < megabytes << 20 {
            let mut text = make.result(&mut state);
            if !planted && history.text.len() >= megabytes << 19 {
                planted = true;
                text = format!("{PLANTED}. {text}");
            }
            call += 1;
            let message = json!({"content": [{"type": "text", "text": text}]}).to_string();
            let start = Instant::now();
            record(&mut history.engine, call, &message);
            history.taking_in += start.elapsed();
            let start = Instant::now();
            black_box(loose_text(black_box(&text)));
            history.folding += start.elapsed();
            history.text.push_str(&text);
        }
        history
    }

    /// Bytes of index for each byte of text.
    fn ratio(&self) -> f64 {
        self.engine.bytes() as f64 / self.text.len() as f64
    }

    fn speed(&self) -> f64 {
        self.text.len() as f64 / 1e6 / self.taking_in.as_secs_f64()
    }

    fn line(&self, name: &str) -> String {
        format!(
            "| {name} | {:.2} | {:.1} MB/s | 1/{:.1} |\n",
            self.ratio(),
            self.speed(),
            self.taking_in.as_secs_f64() / self.folding.as_secs_f64()
        )
    }
}

fn record(engine: &mut Engine, call: u64, message: &str) {
    engine.record(&Record {
        upstream: "bench",
        tool: Some("read"),
        call,
        source: Source::Result,
        message: message.as_bytes(),
        own_data: &[],
        pointed: false,
    });
}

/// Seconds of one run: the median of what Criterion took; `None` when its filter left it out.
fn time(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut run: impl FnMut()) -> Option<f64> {
    let mut samples: Vec<f64> = Vec::new();
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|rounds| {
            let start = Instant::now();
            for _ in 0..rounds {
                run();
            }
            let spent = start.elapsed();
            samples.push(spent.as_secs_f64() / rounds as f64);
            spent
        });
    });
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied()
}

fn destination(value: &str, kind: Kind) -> Option<Destination> {
    extract(&json!({ "to": value }), &|_| Standing::Authority(Some(kind))).destinations.into_iter().next()
}

/// Lookups of values that nobody showed, but for the planted phrase.
const LOOKUPS: [(&str, &str, Kind); 7] = [
    ("email", "nobody77@nowhere.test", Kind::Email),
    ("url", "https://nowhere.test/a/b", Kind::Url),
    ("phone", "+12025550143", Kind::Phone),
    ("account", "GB21TEST00000012345678", Kind::Account),
    ("phrase, absent", "Quirin Xaver Nobody", Kind::Name),
    ("phrase, present", PLANTED, Kind::Name),
    ("phrase, common words", "the report is in the report", Kind::Name),
];

fn lookups(criterion: &mut Criterion, megabytes: usize) -> String {
    let history = History::new(Make::Text, megabytes);
    let mut table = history.line(&format!("text, {megabytes} MB"));
    let mut group = criterion.benchmark_group(format!("lookup in {megabytes} MB"));
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let scan = time(&mut group, "memmem", || {
        black_box(memchr::memmem::find(black_box(history.text.as_bytes()), b"nobody77@nowhere.test"));
    });
    let mut cells = String::new();
    for (name, value, kind) in LOOKUPS {
        let Some(destination) = destination(value, kind) else { continue };
        let spent = time(&mut group, name, || {
            black_box(history.engine.is_traced(black_box(&destination)));
        });
        if let (Some(scan), Some(spent)) = (scan, spent) {
            let _ = writeln!(
                cells,
                "|   {name} | {:.2} \u{b5}s | {:.0} \u{d7} faster than memmem ({:.2} ms) | |",
                spent * 1e6,
                scan / spent,
                scan * 1e3
            );
        }
    }
    group.finish();
    table.push_str(&cells);
    table
}

/// Taking in, with all decoders, and folding, of the same megabyte.
fn taking_in(criterion: &mut Criterion) {
    for (name, make, count) in
        [("text", Make::Text, 64), ("records", Make::Records, 64), ("short results", Make::Short, 1000)]
    {
        let mut state = 3;
        let texts: Vec<String> = (0..count).map(|_| make.result(&mut state)).collect();
        let messages: Vec<String> = texts
            .iter()
            .map(|text| json!({"content": [{"type": "text", "text": text}]}).to_string())
            .collect();
        let mut group = criterion.benchmark_group(format!("take in {name}"));
        group.sample_size(10).measurement_time(Duration::from_secs(2));
        let bytes: usize = texts.iter().map(String::len).sum();
        group.throughput(Throughput::Bytes(bytes as u64));
        time(&mut group, "record", || {
            let mut engine = Engine::new(Limits::default(), [7; 16]);
            for (call, message) in (1..).zip(&messages) {
                record(&mut engine, call, message);
            }
            black_box(engine);
        });
        time(&mut group, "fold", || {
            for text in &texts {
                black_box(loose_text(black_box(text)));
            }
        });
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let given = std::env::var("BOUNCER_BENCH_MB").unwrap_or_else(|_| "1 10".to_owned());
    let sizes: Vec<usize> = given.split_whitespace().filter_map(|size| size.parse().ok()).collect();
    taking_in(&mut criterion);
    let mut table = String::from(
        "| history | index, bytes a byte | taken in | of the fold's speed |\n|---|---|---|---|\n",
    );
    for megabytes in &sizes {
        table.push_str(&lookups(&mut criterion, *megabytes));
    }
    for (name, make) in [
        ("records", Make::Records),
        ("unique tiny addresses", Make::Tiny),
        ("the same, each at another domain", Make::TinyDomains),
        ("results of 60 bytes", Make::Short),
    ] {
        for megabytes in [1, 10] {
            table.push_str(&History::new(make, megabytes).line(&format!("{name}, {megabytes} MB")));
        }
    }
    criterion.final_summary();
    println!("\n{table}");
}
