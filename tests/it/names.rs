//! Exported names: unique, stable, short, and resolved by table.

use serde_json::{Value, json};

use crate::stage::{Options, Stage};

/// An upstream whose tools answer with the upstream's and the tool's name.
fn naming(upstream: &str, tools: &[&str]) -> Value {
    let calls: serde_json::Map<_, _> = tools
        .iter()
        .map(|tool| ((*tool).to_owned(), json!([{"text": format!("{upstream} / {tool}")}])))
        .collect();
    json!({"tools": tools, "calls": calls})
}

/// Every exported name with what its call answers, once `count` tools are listed or the program has
/// said on stderr that names collide.
fn routes(upstreams: &[(&str, &[&str])], count: usize) -> Option<Vec<(String, String)>> {
    let scripts: Vec<_> = upstreams.iter().map(|(name, tools)| (*name, naming(name, tools))).collect();
    // What the tools do is not what this is about, and some of these names speak of destruction.
    let options =
        Options { policy: Some("tools: {\"*\": {effect: read}}\n".to_owned()), ..Options::default() };
    let stage = Stage::with(&scripts, options)?;
    let mut client = stage.client();
    loop {
        let names = client.tools(&[]);
        let said = client.stderr().to_owned();
        if names.len() >= count || said.contains("collide") || said.contains("collision") {
            assert!(names.len() >= count || upstreams.iter().all(|(name, _)| said.contains(name)), "{said}");
            let answered = names.into_iter().map(|name| {
                let reply = client.call(&name, &json!({}));
                (name, reply.text().to_owned())
            });
            return Some(answered.collect());
        }
        client.changed("more tools");
    }
}

/// Checks the routes of upstreams whose names do not collide.
fn check(upstreams: &[(&str, &[&str])], expected: &[(&str, &str)]) {
    let Some(routes) = routes(upstreams, expected.len()) else { return };
    let routes: Vec<_> = routes.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(routes, expected);
}

/// Checks that every tool that is listed leads to another tool, and that none shadows another.
fn distinct(upstreams: &[(&str, &[&str])], count: usize) {
    let Some(routes) = routes(upstreams, count) else { return };
    let mut texts: Vec<_> = routes.iter().map(|(_, text)| text).collect();
    let mut names: Vec<_> = routes.iter().map(|(name, _)| name).collect();
    texts.sort();
    texts.dedup();
    names.sort();
    names.dedup();
    assert_eq!((texts.len(), names.len()), (routes.len(), routes.len()), "{routes:#?}");
    for (name, _) in &routes {
        safe(name);
    }
}

/// Checks that a name is one that every client takes.
fn safe(name: &str) {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    assert!(plain && name.len() <= 50 && !name.is_empty(), "{name}");
}

#[test]
fn a53_two_ways_to_split_a_name() {
    distinct(&[("a", &["b__c"]), ("a__b", &["c"])], 2);
    distinct(&[("a__b", &["c"]), ("a", &["b__c"])], 2);
}

#[test]
fn a54_underscores_at_the_seam() {
    distinct(&[("acme_", &["status"]), ("acme", &["_status"])], 2);
    distinct(&[("acme", &["_status"]), ("acme_", &["status"])], 2);
}

#[test]
fn a55_a_server_name_with_two_underscores() {
    let Some(mut stage) = Stage::new(&[("my__server", json!({"tools": ["do_thing"]}))]) else { return };
    let mut client = stage.client();
    let name = loop {
        if let Some(name) = client.tools(&[]).pop() {
            break name;
        }
        client.changed("a tool");
    };
    client.call(&name, &json!({}));
    assert_eq!(stage.upstreams[0].got("tools/call")["params"]["name"], "do_thing");
}

#[test]
fn a56_hyphens_are_part_of_a_name() {
    check(&[("ctx", &["resolve-library-id"])], &[("ctx__resolve-library-id", "ctx / resolve-library-id")]);
}

#[test]
fn a58_long_names_are_shortened_and_stay() {
    let long = "GOOGLESHEETS_SPREADSHEETS_VALUES_BATCH_CLEAR_BY_DATA_FILTER";
    let longer = format!("{long}_AND_FORMAT");
    let upstreams: &[(&str, &[&str])] = &[("g", &[long, &longer])];
    let Some(first) = routes(upstreams, 2) else { return };
    let Some(second) = routes(upstreams, 2) else { return };
    assert_eq!(first, second, "the same after a restart");
    for (name, _) in &first {
        safe(name);
    }
    // Who else is there does not change a name.
    let Some(third) = routes(&[("g", &[long]), ("h", &[long])], 2) else { return };
    assert_eq!(
        third.iter().find(|(_, text)| text == &format!("g / {long}")),
        first.iter().find(|(_, text)| text == &format!("g / {long}"))
    );
}

#[test]
fn a60_the_same_tool_on_two_servers() {
    check(
        &[("x", &["search"]), ("y", &["search"])],
        &[("x__search", "x / search"), ("y__search", "y / search")],
    );
}

#[test]
fn a61_server_names_with_spaces_and_other_scripts() {
    distinct(&[("My Tools 工具", &["lookup"]), ("工具", &["lookup"])], 2);
    let Some(first) = routes(&[("My Tools 工具", &["lookup"])], 1) else { return };
    let Some(second) = routes(&[("My Tools 工具", &["lookup"])], 1) else { return };
    assert_eq!(first, second);
}

#[test]
fn a62_odd_tool_names_are_taken() {
    distinct(
        &[(
            "a",
            &["event_types-get_event_type", "_5gpt_query", "123_tool", "namespace/subtool", "dots.in.it"],
        )],
        5,
    );
}

#[test]
fn d18_names_stack_no_further_than_needed() {
    check(&[("chrome-devtools", &["click"])], &[("chrome-devtools__click", "chrome-devtools / click")]);
}

#[test]
fn a_name_that_was_never_listed_is_an_invalid_argument() {
    let Some(mut stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    for name in ["t", "a__u", "a__t ", "A__T", "a_t", ""] {
        assert_eq!(client.call(name, &json!({})).code(), -32602, "{name:?}");
    }
    assert_eq!(stage.upstreams[0].count("tools/call"), 0);
}
