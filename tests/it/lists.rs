//! Listing tools: paging, changes, storms of changes, and one bad upstream among good ones.

use serde_json::json;

use crate::stage::{Event, Stage};

/// What the client is shown for one upstream `a` with these pages, and how often it was asked.
fn paged(pages: &serde_json::Value, wanted: &[&str], most_requests: usize) {
    let Some(mut stage) = Stage::new(&[("a", json!({"pages": pages}))]) else { return };
    let mut client = stage.client();
    assert_eq!(client.tools(wanted), wanted);
    let asked = stage.upstreams[0].count("tools/list");
    assert!(asked <= most_requests, "asked {asked} times");
    let empty = client.heard().iter().filter(|reply| reply.message["result"]["nextCursor"] == "").count();
    assert_eq!(empty, 0, "an empty cursor reached the client");
}

#[test]
fn a33_a_list_that_announces_itself_changed_is_not_asked_for_ever() {
    let changed = json!([{"notify": {"method": "notifications/tools/list_changed"}}]);
    let script = json!({"tools": ["t"], "after": {"tools/list": changed}});
    let Some(mut stage) = Stage::new(&[("a", script)]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    for _ in 0..300 {
        client.call("a__t", &json!({}));
    }
    let asked = stage.upstreams[0].count("tools/list");
    assert!(asked <= 4, "asked {asked} times during 300 calls");
    assert!(client.count("notifications/tools/list_changed") <= 1, "the list never changed");
}

#[test]
fn a34_a_burst_of_changes_is_one_change() {
    let burst =
        json!([{"notify": {"method": "notifications/tools/list_changed"}, "times": 200}, {"echo": true}]);
    let Some(mut stage) = Stage::new(&[("a", json!({"tools": ["burst"], "calls": {"burst": burst}}))]) else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__burst"]);
    let before = (stage.upstreams[0].count("tools/list"), client.count("notifications/tools/list_changed"));
    client.call("a__burst", &json!({}));
    stage.upstreams[0].got("tools/list");
    for _ in 0..100 {
        client.call("a__t", &json!({}));
    }
    assert!(stage.upstreams[0].count("tools/list") <= before.0 + 2);
    assert!(client.count("notifications/tools/list_changed") <= before.1 + 1);
}

#[test]
fn a36_a_change_is_looked_at_twice_even_undeclared() {
    let Some(mut stage) = Stage::new(&[("a", json!({"capabilities": {"tools": {}}, "tools": ["one"]}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__one"]);
    let upstream = &mut stage.upstreams[0];
    upstream.got("tools/list");
    upstream.tell(&json!({"send": {"method": "notifications/tools/list_changed"}}));
    // The first look finds the list as it was; a server may announce before it has changed, so there is another,
    // without another word.
    upstream.got("tools/list");
    upstream.got("tools/list");
    client.tools(&["a__one"]);
}

#[test]
fn a37_an_empty_cursor_on_the_only_page() {
    paged(
        &json!([{"cursor": null, "tools": ["t1"], "nextCursor": ""}, {"cursor": "", "tools": ["t1"], "nextCursor": ""}]),
        &["a__t1"],
        2,
    );
}

#[test]
fn a38_a_cursor_that_does_not_advance() {
    let names = ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"];
    let page = json!({"cursor": null, "tools": names, "nextCursor": "8"});
    paged(
        &json!([page, {"cursor": "8", "tools": names, "nextCursor": "8"}]),
        &["a__t1", "a__t2", "a__t3", "a__t4", "a__t5", "a__t6", "a__t7", "a__t8"],
        3,
    );
}

#[test]
fn a39_an_empty_cursor_may_be_a_page() {
    paged(
        &json!([{"cursor": null, "tools": ["t1"], "nextCursor": ""}, {"cursor": "", "tools": ["t2"]}]),
        &["a__t1", "a__t2"],
        2,
    );
}

#[test]
fn every_page_is_followed() {
    let mut pages = Vec::new();
    let mut wanted = Vec::new();
    for page in 0..12 {
        let cursor = if page == 0 { json!(null) } else { json!(format!("c{page}")) };
        let mut entry = json!({"cursor": cursor, "tools": [format!("t{page:02}")]});
        if page < 11 {
            entry["nextCursor"] = json!(format!("c{}", page + 1));
        }
        pages.push(entry);
        wanted.push(format!("a__t{page:02}"));
    }
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    paged(&json!(pages), &wanted, 12);
}

#[test]
fn a_list_that_pages_for_ever_ends() {
    // Each page names a new cursor, which the last entry answers with a cursor that is new again only
    // by its text; the walk must stop by itself.
    let Some(stage) = Stage::new(&[
        (
            "a",
            json!({"on": {"tools/list": [{"raw": "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}],\"nextCursor\":\"$ID\"}}\n"}]}}),
        ),
        ("b", json!({"tools": ["t"]})),
    ]) else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["b__t"]);
    assert_eq!(client.call("b__t", &json!({})).text(), "{}");
}

#[test]
fn one_failing_list_does_not_fail_the_others() {
    let error = json!({"on": {"tools/list": [{"error": {"code": -32603, "message": "no"}}]}});
    let junk = json!({"on": {"tools/list": [{"raw_result": "{\"tools\":7}"}]}});
    let dies = json!({"on": {"tools/list": [{"exit": 3}]}});
    let odd = json!({"on": {"tools/list": [{"raw_result": "{\"tools\":[1,{\"name\":5},{\"name\":\"ok\",\"inputSchema\":{\"type\":\"object\"}}]}"}]}});
    let Some(stage) = Stage::new(&[
        ("error", error),
        ("junk", junk),
        ("dies", dies),
        ("odd", odd),
        ("good", json!({"tools": ["t"]})),
    ]) else {
        return;
    };
    let mut client = stage.client();
    let names = client.tools(&["good__t", "odd__ok"]);
    assert_eq!(names, ["good__t", "odd__ok"]);
    assert_eq!(client.call("good__t", &json!({})).text(), "{}");
}

#[test]
fn a_tool_that_comes_later_is_announced() {
    let Some(mut stage) = Stage::new(&[("a", json!({"tools": ["one"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["a__one"]);
    stage.upstreams[0].wait("its start", |event| matches!(event, Event::Started(_)).then_some(()));
    stage.upstreams[0].tell(&json!({"set": {"tools": []}}));
    stage.upstreams[0].tell(&json!({"send": {"method": "notifications/tools/list_changed"}}));
    client.changed("the tool is gone");
    assert!(client.list().is_empty());
}
