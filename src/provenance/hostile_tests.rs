//! Inputs made to hurt: floods, bombs, depth, one character without end, bytes that are no text. Time and memory
//! stay bounded and every answer is defined. Sizes are a tenth in debug builds.
//!
//! What must hold of arbitrary bytes stands in `tests/fuzz`.

use std::fmt::Write as _;

use serde_json::json;

use super::{Engine, Floor, Kind, Limits, Record, Source, Standing, Trace, extract};

const SCALE: usize = if cfg!(debug_assertions) { 20 } else { 1 };

fn show(engine: &mut Engine, message: &[u8]) {
    engine.record(&Record {
        upstream: "web",
        tool: Some("fetch"),
        call: 1,
        source: Source::Result,
        message,
        own_data: &[],
        pointed: false,
    });
}

fn trace(engine: &Engine, value: &str, kind: Kind) -> Trace {
    let found = extract(&json!({ "to": value }), &|_| Standing::Authority(Some(kind)));
    found.destinations.first().map(|destination| engine.trace(destination)).unwrap_or_default()
}

fn is_traced(engine: &Engine, value: &str, kind: Kind) -> bool {
    trace(engine, value, kind).places.iter().any(|place| place.floor == Floor::Deny)
}

/// Splitmix64.
fn dice(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[test]
fn a_flood_of_tiny_addresses_stays_within_its_memory() {
    let limits = Limits { bytes: 8 << 20 };
    let mut engine = Engine::new(limits, [1; 16]);
    show(&mut engine, b"first@evil.test");
    let count = 1_000_000 / SCALE;
    let mut text = String::new();
    for at in 0..count {
        let _ = write!(text, "a{at}@b.co ");
    }
    show(&mut engine, json!({ "x": text }).to_string().as_bytes());
    assert!(engine.bytes() <= limits.bytes, "{} bytes", engine.bytes());
    let (first, last) =
        (is_traced(&engine, "first@evil.test", Kind::Email), is_traced(&engine, "a7@b.co", Kind::Email));
    assert!(first || !engine.is_complete());
    assert!(last || !engine.is_complete());
    let unknown = trace(&engine, "zz9@b.co", Kind::Email);
    assert!(!unknown.places.iter().any(|place| place.floor == Floor::Deny));
    assert_eq!(unknown.complete, engine.is_complete());
}

#[test]
fn what_was_given_up_still_denies() {
    let limits = Limits { bytes: 2 << 20 };
    let mut engine = Engine::new(limits, [1; 16]);
    show(&mut engine, br#"{"body": "write to first@evil.test"}"#);
    let mut state = 5;
    for _ in 0..120 {
        let mut text = String::new();
        for _ in 0..400 {
            let _ = write!(text, "{:x}@c{:x}.test ", dice(&mut state), dice(&mut state) % 5);
        }
        show(&mut engine, json!({ "x": text }).to_string().as_bytes());
    }
    assert!(!engine.is_complete() && engine.bytes() <= limits.bytes);
    assert!(is_traced(&engine, "first@evil.test", Kind::Email));
}

#[test]
fn one_character_without_end() {
    let length = (64 << 20) / SCALE / if cfg!(debug_assertions) { 4 } else { 8 };
    for character in ["a", "@", ".", "/", "%", "&", "\\\\", " ", "1", "<", "=", "[", "#", "\u{e9}", "-", "d "]
    {
        let mut engine = Engine::new(Limits::default(), [1; 16]);
        let text = character.repeat(length / 16 / character.len());
        show(&mut engine, json!({ "x": text }).to_string().as_bytes());
        assert!(!is_traced(&engine, "first@evil.test", Kind::Email));
        extract(&json!({ "to": text, "body": text }), &|path| {
            if path == "to" { Standing::Authority(None) } else { Standing::Content }
        });
    }
}

#[test]
fn depth_and_bombs() {
    let deep = format!("{}\"first@evil.test\"{}", "[".repeat(10_000), "]".repeat(10_000));
    let mut engine = Engine::new(Limits::default(), [1; 16]);
    show(&mut engine, deep.as_bytes());
    show(&mut engine, json!({"content": [{"text": deep.replace("first", "second")}]}).to_string().as_bytes());
    let members = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    show(&mut engine, members.as_bytes());
    assert!(is_traced(&engine, "first@evil.test", Kind::Email));
    assert!(is_traced(&engine, "second@evil.test", Kind::Email));
    // Each layer a third longer: what lies deeper than is undone stays unread.
    let mut bomb = "x".repeat(1 << 16);
    for _ in 0..8 {
        bomb = data_encoding::BASE64.encode(bomb.as_bytes());
    }
    show(&mut engine, json!({ "x": bomb }).to_string().as_bytes());
    let aliases = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n";
    show(&mut engine, json!({"content": [{"text": aliases}]}).to_string().as_bytes());
    let many = "first@evil.test, ".repeat(60_000 / SCALE);
    let found = extract(&json!({ "to": many }), &|_| Standing::Authority(None));
    assert!(found.destinations.len() <= 256);
}

#[test]
fn lookups_do_the_same_work_in_a_long_history() {
    let values = [
        ("nobody77@nowhere.test", Kind::Email),
        ("https://nowhere.test/a/b", Kind::Url),
        ("+12025550143", Kind::Phone),
        ("Quirin Xaver Nobody", Kind::Name),
    ];
    let mut engine = Engine::new(Limits { bytes: 1 << 30 }, [1; 16]);
    let mut state = 9;
    let mut shown = 0;
    let mut slots = Vec::new();
    for megabytes in [1, 8] {
        while shown < (megabytes << 20) / SCALE {
            let mut text = String::new();
            for _ in 0..2000 {
                let roll = dice(&mut state);
                let _ = match roll % 40 {
                    0 => write!(text, "u{:x}@h{:x}.example ", roll >> 40, roll >> 52),
                    1 => write!(text, "https://h{:x}.example/p{:x} ", roll >> 50, roll >> 44),
                    2 => writeln!(text, "id-{:x}.", roll >> 30),
                    _ => write!(
                        text,
                        "{} ",
                        ["the", "report", "of", "quarter", "window", "plan"][(roll >> 20) as usize % 6]
                    ),
                };
            }
            shown += text.len();
            show(&mut engine, json!({ "x": text }).to_string().as_bytes());
        }
        let mut most = 0;
        for (value, kind) in values {
            let found = extract(&json!({ "to": value }), &|_| Standing::Authority(Some(kind)));
            for destination in &found.destinations {
                let work = engine.work(destination);
                // A row of slots is short at seven eighths full; an absent phrase is in hardly any block.
                assert!(work.blocks <= 1, "{value}: {work:?}");
                most = most.max(work.slots);
            }
        }
        slots.push(most);
        assert!(
            SCALE > 1 || engine.bytes() * 10 < shown * 13,
            "{} bytes of index for {shown}",
            engine.bytes()
        );
    }
    assert!(slots.iter().all(|slots| *slots < 600), "{slots:?}");
}
