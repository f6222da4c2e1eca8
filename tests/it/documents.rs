//! The examples in the documents load, so that a reader can copy them, and the tests that they name
//! are there, so that a reader can trust them.

use std::collections::BTreeSet;
use std::path::Path;

use bouncer::{config, pack};

/// The fenced blocks of a language in a document, each with the line after which it stands.
fn blocks(document: &str, language: &str) -> Vec<(usize, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let text = std::fs::read_to_string(path).expect("a document");
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match &mut open {
            Some(_) if line == "```" => found.extend(open.take()),
            Some((_, block)) => *block = format!("{block}{line}\n"),
            None if line == format!("```{language}") => open = Some((number + 1, String::new())),
            None => {}
        }
    }
    found
}

#[test]
fn the_examples_of_the_readme_load() {
    let readme = blocks("README.md", "yaml");
    assert!(readme.len() >= 2, "the README shows a config and a policy");
    for (line, block) in readme {
        let set = |name: &str| Some(format!("/value/of/{name}"));
        let problems = if block.contains("upstreams:") {
            config::parse(&block, Path::new("bouncer.yaml"), &set).err()
        } else {
            pack::compile_policy(&block, "policy.yaml").err()
        };
        assert!(problems.is_none(), "README.md:{line}: {problems:#?}");
    }
    for (line, block) in blocks("README.md", "json") {
        let problems = config::parse(&block, Path::new("servers.json"), &|_| None).err();
        assert!(problems.is_none(), "README.md:{line}: {problems:#?}");
    }
}

/// The names of all test functions of the project.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open = vec![root.join("src"), root.join("tests")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").map_while(Result::ok) {
            let path = entry.path();
            if path.is_dir() && !path.ends_with(".deps") {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                let lines = text.lines().map(str::trim_start);
                let names =
                    lines.filter_map(|line| line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn "));
                found.extend(names.map(|rest| rest.split(['(', '<']).next().unwrap_or(rest).to_owned()));
            }
        }
    }
    found
}

#[test]
fn the_tests_that_the_documents_name_are_there() {
    let tests = tests();
    for document in ["docs/threat-model.md", "docs/protocol.md", "docs/architecture.md"] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(document))
            .expect("a document");
        for name in text.split('`').skip(1).step_by(2) {
            let word =
                |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            let is_there = match name.strip_suffix('…') {
                Some(start) if word(start) => tests.iter().any(|test| test.starts_with(start)),
                // Four words joined are a test; fewer may be anything.
                None if word(name) && name.matches('_').count() >= 3 => tests.contains(name),
                _ => true,
            };
            assert!(is_there, "{document} names `{name}`, and there is no such test");
        }
    }
}
