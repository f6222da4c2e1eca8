//! Reads the project's own sources and fails when one breaks the shape the project promises:
//! imports along the arrows of `docs/architecture.md`, pure folders free of IO, an essay at the
//! top of each file, files of one idea, and no test construct that hides a failure.
//!
//! It looks at code only: comments and the insides of strings are blanked out first, so a rule
//! may be named in prose without breaking it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect, also in its helpers"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Which modules each module may name besides itself. What is not listed may name none.
const ARROWS: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    ("lib", &[]),
    (
        "cli",
        &[
            "app",
            "introspect",
            "actors",
            "transport",
            "mcp",
            "pack",
            "config",
            "clients",
            "policy",
            "provenance",
            "clock",
        ],
    ),
    (
        "app",
        &[
            "introspect",
            "actors",
            "transport",
            "mcp",
            "pack",
            "config",
            "clients",
            "policy",
            "provenance",
            "clock",
        ],
    ),
    ("introspect", &["mcp", "transport", "pack", "policy", "provenance", "clock"]),
    ("actors", &["transport", "mcp", "policy", "provenance", "clock"]),
    ("transport", &["mcp", "policy", "provenance", "clock"]),
    ("mcp", &["policy", "provenance"]),
    ("clients", &["config", "pack", "policy", "provenance"]),
    ("config", &["pack", "policy", "provenance"]),
    ("pack", &["policy", "provenance"]),
    ("policy", &["provenance"]),
    ("provenance", &[]),
    ("clock", &[]),
];

/// Folders that take values and return values.
const PURE: &[&str] = &["policy", "provenance", "mcp"];

/// What a pure folder may not name, and what to do instead.
const IMPURE: &[(&str, &str)] = &[
    ("tokio", "return a value and let an actor act on it"),
    ("actix", "return a value and let an actor act on it"),
    ("std::fs", "take the contents as an argument"),
    ("std::net", "take `core::net` for address values; sockets belong to `transport`"),
    ("std::process", "children belong to `transport`"),
    ("std::thread", "threads belong to `actors`"),
    ("std::env", "take the value as an argument"),
    ("std::time::Instant", "take the time as an argument"),
    ("std::time::SystemTime", "take the time as an argument"),
    ("SystemTime", "take the time as an argument"),
    ("crate::clock", "take the time as an argument"),
    ("tracing", "return what is worth logging"),
    ("println!", "only `cli` prints"),
    ("eprintln!", "only `cli` prints"),
];

/// Constructs that make a test pass without having shown anything.
const FORBIDDEN: &[(&str, &str)] = &[
    ("#[ignore", "a test that does not run shows nothing"),
    ("#[should_panic", "assert on the error value"),
    ("thread::sleep", "wait for a condition with a deadline, through a channel"),
];

/// More than this and a file is no longer one idea.
const MOST_PRODUCT_LINES: usize = 600;

/// Every `.rs` file below `folder`, in order.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if path.is_dir() && !hidden {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The path as it is written in messages: from the project's root.
fn shown(path: &Path) -> String {
    path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display().to_string()
}

/// The top module of a source file: `policy` for `src/policy/effect.rs`, `app` for `src/app.rs`.
fn top_module(shown: &str) -> &str {
    let inner = shown.strip_prefix("src/").unwrap_or(shown);
    inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs")
}

/// The text with comments and the contents of literals replaced by spaces; lines stay lines.
fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let blank = |out: &mut String, part: &str| {
        out.extend(part.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
    };
    while at < bytes.len() {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_string(rest, at.checked_sub(1).map(|before| bytes[before])) {
            length
        } else if rest.starts_with('"') {
            quoted(rest, '"')
        } else if let Some(length) = character(rest) {
            length
        } else {
            let next = rest.chars().next().expect("not at the end");
            out.push(next);
            at += next.len_utf8();
            continue;
        };
        blank(&mut out, &rest[..length]);
        at += length;
    }
    out
}

/// The length of the raw string literal at the start of `rest`, if one starts there.
fn raw_string(rest: &str, before: Option<u8>) -> Option<usize> {
    if before.is_some_and(|b| b.is_ascii_alphanumeric() && b != b'b' || b == b'_') {
        return None;
    }
    let inner = rest.strip_prefix('r')?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close)?;
    Some(1 + hashes + 1 + end + close.len())
}

/// The length of the quoted literal at the start of `rest`.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of the character literal at the start of `rest`; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.strip_prefix('\'')?.chars();
    let first = chars.next()?;
    if first == '\\' {
        return Some(quoted(rest, '\''));
    }
    (chars.next()? == '\'').then(|| 2 + first.len_utf8())
}

/// The part of a source file that ships: everything before its `mod tests`.
fn product(code: &str) -> &str {
    let end = code.find("#[cfg(test)]\nmod tests").or_else(|| code.find("\nmod tests {"));
    &code[..end.unwrap_or(code.len())]
}

/// Whether `name` stands in `code` as a path of its own, not as the tail of a longer one.
fn names(code: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).find_map(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + name.len()..].chars().next();
        let starts = name.starts_with(part) && before.is_some_and(part);
        let goes_on = name.ends_with(part) && after.is_some_and(part);
        (!starts && !goes_on).then(|| code[..at].matches('\n').count() + 1)
    })
}

/// Every top module that `code` reaches through `root` (`crate` or `bouncer`), with its line.
fn reached(code: &str, root: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let prefix = format!("{root}::");
    for (at, _) in code.match_indices(&prefix) {
        if code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + prefix.len()..];
        let word =
            |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0_usize;
            let mut start = true;
            for (at, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => start = true,
                    c if start && !c.is_whitespace() => {
                        found.push((word(&group[at..]), line));
                        start = false;
                    }
                    _ => {}
                }
            }
        } else {
            found.push((word(rest), line));
        }
    }
    found
}

/// Runs `rule` over every file of `folder` and fails with all that it found.
fn check(folder: &str, rule: impl Fn(&str, &str) -> Vec<String>) {
    let files = sources(folder);
    assert!(!files.is_empty(), "no sources under {folder}");
    let broken: Vec<_> = files
        .iter()
        .flat_map(|path| rule(&shown(path), &fs::read_to_string(path).expect("a readable source")))
        .collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn imports_follow_the_arrows() {
    check("src", |path, text| {
        let from = top_module(path);
        let Some((_, allowed)) = ARROWS.iter().find(|(module, _)| *module == from) else {
            return vec![format!("{path}: module `{from}` has no place in the arrows of tests/tidy.rs")];
        };
        let code = code_only(text);
        let code = product(&code);
        let root = if from == "main" { "bouncer" } else { "crate" };
        reached(code, root)
            .into_iter()
            .filter(|(to, _)| to != from && ARROWS.iter().any(|(module, _)| module == to))
            .filter(|(to, _)| !allowed.contains(&to.as_str()))
            .map(|(to, line)| format!("{path}:{line}: `{from}` names `{to}`, against the arrows"))
            .collect()
    });
}

#[test]
fn pure_folders_do_nothing() {
    check("src", |path, text| {
        if !PURE.contains(&top_module(path)) || path.ends_with("tests.rs") {
            return Vec::new();
        }
        let code = code_only(text);
        let code = product(&code);
        IMPURE
            .iter()
            .filter_map(|(name, instead)| Some((names(code, name)?, name, instead)))
            .map(|(line, name, instead)| format!("{path}:{line}: a pure module names `{name}`; {instead}"))
            .collect()
    });
}

#[test]
fn files_open_with_an_essay() {
    for folder in ["src", "tests"] {
        check(folder, |path, text| {
            let essay = text.starts_with("//! ");
            if essay { Vec::new() } else { vec![format!("{path}:1: no `//!` essay")] }
        });
    }
}

#[test]
fn files_are_one_idea() {
    check("src", |path, text| {
        let code = code_only(text);
        let lines = product(&code).lines().count();
        if lines <= MOST_PRODUCT_LINES || path.ends_with("tests.rs") {
            return Vec::new();
        }
        vec![format!("{path}: {lines} product lines; {MOST_PRODUCT_LINES} is the most, split it")]
    });
}

#[test]
fn module_roots_hold_no_logic() {
    check("src", |path, text| {
        if !path.ends_with("/mod.rs") || path == "src/cli/mod.rs" {
            return Vec::new();
        }
        let code = code_only(text);
        names(&code, "fn")
            .map(|line| vec![format!("{path}:{line}: a mod.rs holds the essay, `mod` and `pub use` only")])
            .unwrap_or_default()
    });
}

#[test]
fn tests_hide_nothing() {
    for folder in ["src", "tests"] {
        check(folder, |path, text| {
            let code = code_only(text);
            FORBIDDEN
                .iter()
                .filter_map(|(name, instead)| Some((names(&code, name)?, name, instead)))
                .map(|(line, name, instead)| format!("{path}:{line}: `{name}` is forbidden; {instead}"))
                .collect()
        });
    }
}

#[test]
fn the_reader_sees_code_only() {
    let check = |input: &str, expected: &str| {
        let code = code_only(input);
        assert_eq!(code.len(), input.len(), "{input}");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{input}");
    };
    check("a // tokio", "a");
    check("a \"tokio \\\" x\" b", "a b");
    check("r#\"tokio\"# c", "c");
    check("'\"' d '\\'' &'a str", "d &'a str");
    check("/* tokio */ e", "e");
    let check = |code: &str, expected: &[&str]| {
        let found: Vec<_> = reached(code, "crate").into_iter().map(|(module, _)| module).collect();
        assert_eq!(found, expected, "{code}");
    };
    check("use crate::policy::Effect;", &["policy"]);
    check("use crate::{policy::{Effect, Role}, mcp};", &["policy", "mcp"]);
    check("fn f() -> crate::app::Running {}", &["app"]);
    check("use my_crate::policy;", &[]);
    assert_eq!(names("use std::time::Instant;", "std::time::Instant"), Some(1));
    assert_eq!(names("\nstruct Instantly;", "Instant"), None);
}
