//! The examples in the documents load, so that a reader can copy them.

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
