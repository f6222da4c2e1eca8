//! Lines: what a message may look like on a pipe, and what must not break the reader.

use serde_json::{Value, json};

use crate::stage::{Event, Options, Stage};

/// The limit on one message that holds when nobody sets another: 64 MiB.
const LIMIT: usize = 64 * 1024 * 1024;

#[test]
fn a20_a_banner_before_the_handshake_is_skipped() {
    let banner = json!([
        "Example MCP Server version : 1.0.0\n",
        "\n",
        "{\"half\": \n",
        "\u{feff}ready\r\n",
        "[1, 2]\n",
        "null\n"
    ]);
    let Some(stage) = Stage::new(&[("x", json!({"banner": banner, "tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["x__t"]);
    assert_eq!(client.call("x__t", &json!({"n": 1})).text(), r#"{"n": 1}"#);
}

#[test]
fn a22_a_line_that_is_not_utf8_does_not_end_the_connection() {
    let Some(stage) =
        Stage::new(&[("a", json!({"tools": ["t"], "calls": {"t": [{"hex": "fffe0a"}, {"echo": true}]}}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.send_bytes(b"\xff\xfe\n");
    client.send_line(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let reply = client.answer(&json!(1));
    assert_eq!(reply.message["result"], json!({}));
    client.tools(&["a__t"]);
    assert_eq!(client.call("a__t", &json!({})).text(), "{}");
    assert!(client.heard().iter().all(|reply| reply.message.get("id") != Some(&Value::Null)));
}

#[test]
fn a24_text_reaches_the_upstream_as_utf8() {
    let Some(mut stage) = Stage::new(&[("notes", json!({"tools": ["add"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["notes__add"]);
    let text = "Đường ★ тест";
    client.call("notes__add", &json!({"text": text}));
    assert_eq!(stage.upstreams[0].got("tools/call")["params"]["arguments"], json!({"text": text}));
}

#[test]
fn a26_a_message_over_the_limit_costs_one_call_only() {
    let script = json!({"tools": ["big", "t"], "calls": {"big": [{"big": LIMIT + 1}]}});
    let Some(stage) = Stage::new(&[("a", script)]) else { return };
    let mut client = stage.client();
    client.tools(&["a__big"]);
    let reply = client.call("a__big", &json!({}));
    let said = reply.message["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("limit") && said.contains('a'), "{}", &reply.line[..reply.line.len().min(300)]);
    assert_eq!(client.call("a__t", &json!({"still": "here"})).text(), r#"{"still": "here"}"#);
}

#[test]
fn a26_the_limit_is_the_users_to_set() {
    let options =
        Options { settings: Some(json!({"limits": {"message_bytes": "10M"}})), ..Options::default() };
    let script = json!({"tools": ["big", "t"], "calls": {"big": [{"big": 11_534_336}]}});
    let Some(stage) = Stage::with(&[("a", script)], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__big"]);
    let reply = client.call("a__big", &json!({}));
    let said = reply.message["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("message_bytes"), "it says how to raise the limit: {said}");
    assert_eq!(client.call("a__t", &json!({"still": "here"})).text(), r#"{"still": "here"}"#);
}

#[test]
fn a_message_just_within_the_limit_passes() {
    let size = LIMIT - 200;
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["big"], "calls": {"big": [{"big": size}]}}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__big"]);
    assert_eq!(client.call("a__big", &json!({})).text().len(), size);
}

#[test]
fn a_line_of_the_client_over_the_limit_costs_that_line_only() {
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    client.send_bytes(
        br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a__t","arguments":{"text":""#,
    );
    let part = vec![b'a'; 1024 * 1024];
    for _ in 0..=64 {
        client.send_bytes(&part);
    }
    client.send_bytes(b"\"}}}\n");
    assert_eq!(client.call("a__t", &json!({"still": "here"})).text(), r#"{"still": "here"}"#);
}

#[test]
fn a28_a_message_may_be_split_anywhere() {
    let wide = "é".repeat(2000);
    let long = "a".repeat(5 * 1024 * 1024);
    let script = json!({
        "tools": ["wide", "long"],
        "calls": {"wide": [{"split": [wide, 1, 30, 999, 1, 1, 1]}], "long": [{"split": [long, 4_194_305]}]},
    });
    let Some(mut stage) = Stage::new(&[("a", script)]) else { return };
    let mut client = stage.client();
    client.tools(&["a__wide"]);
    for (tool, text, parts) in [("a__wide", &wide, 6), ("a__long", &long, 1)] {
        let id = client.ask("tools/call", &json!({"name": tool, "arguments": {}}));
        for _ in 0..parts {
            stage.upstreams[0].wait("a part", |event| matches!(event, Event::Step).then_some(()));
            client.heard();
            stage.upstreams[0].release("split");
        }
        assert_eq!(client.answer(&id).text(), text);
    }
}

#[test]
fn a_client_may_split_its_lines_and_end_them_with_crlf_and_start_with_a_bom() {
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.run();
    client.send_bytes(b"\xef\xbb\xbf");
    client.initialize("2025-06-18", &json!({}));
    client.tools(&["a__t"]);
    client.send_bytes(b"\r\n\n{\"jsonrpc\":\"2.0\",\"id\":\"\xc3");
    client.send_bytes(b"\xa9\",\"method\":\"ping\"}\r\n");
    assert_eq!(client.answer(&json!("é")).message["result"], json!({}));
}

#[test]
fn a30_content_length_framing_is_named() {
    let framed = "Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}";
    let lsp = json!({"tools": ["t"], "on": {"initialize": [{"raw": framed}]}});
    let Some(stage) = Stage::new(&[("lsp", lsp), ("b", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["b__t"]);
    client.says(&["lsp", "Content-Length"]);
    assert_eq!(client.call("b__t", &json!({})).text(), "{}");
}

#[test]
fn a32_a_batch_is_refused_entry_by_entry_or_checked_entry_by_entry() {
    for version in ["2025-03-26", "2025-06-18"] {
        let Some(mut stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
        let mut client = stage.run();
        client.initialize(version, &json!({}));
        client.tools(&["a__t"]);
        client.send_line(
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__t","arguments":{}}},{"jsonrpc":"2.0","method":"notifications/whatever"}]"#,
        );
        // The answers may come one by one or as a batch.
        let refused = [1, 2].map(|id| {
            let line = client.wait_line(&format!("\"id\":{id},"));
            let message: Value = serde_json::from_str(&line).expect("a message");
            let entries = message.as_array().cloned().unwrap_or_else(|| vec![message]);
            let entry = entries.into_iter().find(|entry| entry["id"] == id).expect("under its own id");
            entry["error"]["code"] == -32600
        });
        assert!(refused == [true, true] || refused == [false, false], "partly executed");
        assert_eq!(stage.upstreams[0].count("tools/call") == 0, refused[1]);
        assert!(version == "2025-03-26" || refused[1], "{version} has no batches");
    }
}

#[test]
fn line_breaks_inside_a_result_do_not_break_the_frame() {
    // A pretty-printing upstream would have its message cut in lines, of which none is JSON; escaped
    // line breaks and line separators inside strings are ordinary text.
    let tricky = r#"{"content":[{"type":"text","text":"a\nb\r\n\u2028\u2029c"}],"x":"\u0000"}"#;
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"], "calls": {"t": [{"raw_result": tricky}]}}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    let reply = client.call("a__t", &json!({}));
    assert!(reply.line.contains(tricky), "{}", reply.line);
}
