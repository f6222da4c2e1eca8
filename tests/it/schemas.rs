//! Tool entries and results: what passes untouched, and the few repairs of the exported copy that
//! keep a client from dropping the whole list.

use serde_json::{Value, json};

use crate::stage::{Client, Stage};

/// A running client over one upstream `a` that lists these tools.
fn listing(tools: &Value, calls: &Value) -> Option<(Stage, Client)> {
    let stage = Stage::new(&[("a", json!({"tools": tools, "calls": calls}))])?;
    let client = stage.client();
    Some((stage, client))
}

/// The exported entry of a tool of `a`.
fn exported(client: &mut Client, tool: &str) -> Value {
    let name = format!("a__{tool}");
    client.tools(&[&name]);
    client.list().into_iter().find(|entry| entry["name"] == name.as_str()).expect("listed")
}

/// Lists one tool and checks what is exported of it, the name aside.
fn check(tool: &Value, expected: &Value) {
    let ok = json!({"name": "ok", "description": "d", "inputSchema": {"type": "object", "properties": {}}});
    let Some((_stage, mut client)) = listing(&json!([ok, tool]), &json!({})) else { return };
    let name = tool["name"].as_str().expect("a name");
    let mut entry = exported(&mut client, name);
    assert_eq!(entry["name"], format!("a__{name}"));
    entry["name"] = json!(name);
    assert_eq!(&entry, expected);
    let mut entry = exported(&mut client, "ok");
    entry["name"] = json!("ok");
    assert_eq!(entry, ok, "its neighbour is as it was");
}

/// Lists one tool and checks that it is exported as it is.
fn unchanged(tool: &Value) {
    check(tool, tool);
}

#[test]
fn a40_a_top_level_any_of_hurts_nobody() {
    let either = json!({"anyOf": [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}]});
    let tools = json!([
        {"name": "ok", "description": "d", "inputSchema": {"type": "object", "properties": {}}},
        {"name": "bad", "description": "d", "inputSchema": either}]);
    let Some((_stage, mut client)) = listing(&tools, &json!({})) else { return };
    let bad = exported(&mut client, "bad");
    assert_eq!(bad["inputSchema"]["type"], "object");
    for word in ["anyOf", "oneOf", "allOf"] {
        assert!(bad["inputSchema"].get(word).is_none(), "providers refuse {word} at the root: {bad}");
    }
    assert_eq!(exported(&mut client, "ok")["inputSchema"], tools[0]["inputSchema"]);
    assert_eq!(client.call("a__bad", &json!({"b": "x"})).text(), r#"{"b": "x"}"#);
}

#[test]
fn a41_a_schema_without_a_type_gets_one() {
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#"});
    let Some((_stage, mut client)) =
        listing(&json!([{"name": "next", "description": "d", "inputSchema": schema}]), &json!({}))
    else {
        return;
    };
    let shown = exported(&mut client, "next")["inputSchema"].clone();
    assert_eq!(shown["type"], "object");
    assert_eq!(shown["$schema"], schema["$schema"]);
}

#[test]
fn a42_a_bad_output_schema_is_dropped_from_the_copy_only() {
    let tools = json!([{"name": "m", "description": "d", "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"$id": "x.v1", "description": "r"}}]);
    let result = json!({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"a": 1}});
    let Some((_stage, mut client)) = listing(&tools, &json!({"m": [{"reply": result}]})) else { return };
    let shown = exported(&mut client, "m");
    assert!(shown.get("outputSchema").is_none_or(|schema| schema["type"] == "object"), "{shown}");
    assert_eq!(client.call("a__m", &json!({})).message["result"], result);
}

#[test]
fn a43_definitions_stay_with_their_references() {
    unchanged(&json!({"name": "f", "description": "d", "inputSchema": {"type": "object",
        "properties": {"f": {"$ref": "#/$defs/F"}}, "$defs": {"F": {"type": "string", "enum": ["fit", "raw"]}},
        "additionalProperties": false}}));
}

#[test]
fn a44_a_dangling_reference_is_withheld() {
    let tools = json!([{"name": "p", "description": "d", "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object", "properties": {"s": {"$ref": "#/$defs/Missing"}}}}]);
    let Some((_stage, mut client)) = listing(&tools, &json!({})) else { return };
    assert!(exported(&mut client, "p").get("outputSchema").is_none());
}

#[test]
fn a45_an_old_required_flag_is_kept() {
    unchanged(&json!({"name": "x", "description": "d", "inputSchema": {"type": "object",
        "properties": {"p": {"type": "string", "required": true}}}}));
}

#[test]
fn a46_a_tool_without_arguments() {
    let tools = json!([{"name": "noargs", "description": "d", "inputSchema": {"type": "object"}}]);
    let Some((_stage, mut client)) = listing(&tools, &json!({})) else { return };
    let shown = exported(&mut client, "noargs")["inputSchema"].clone();
    assert!(
        [json!({"type": "object"}), json!({"type": "object", "properties": {}})].contains(&shown),
        "{shown}"
    );
    for params in [json!({"name": "a__noargs"}), json!({"name": "a__noargs", "arguments": {}})] {
        assert!(client.request("tools/call", &params).message.get("result").is_some());
    }
}

#[test]
fn a47_structured_content_and_meta_pass() {
    let result = json!({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"ids": ["a"]}, "_meta": {"k": 1}});
    let Some((_stage, mut client)) = listing(&json!(["t"]), &json!({"t": [{"reply": result}]})) else {
        return;
    };
    client.tools(&["a__t"]);
    assert_eq!(client.call("a__t", &json!({})).message["result"], result);
}

#[test]
fn a48_a_result_that_breaks_its_schema_passes() {
    let tools = json!([{"name": "t", "description": "d", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"w": {"type": "string", "format": "uri"}}, "required": ["w", "v"]}}]);
    let result = json!({"content": [{"type": "text", "text": "w="}], "structuredContent": {"w": ""}});
    let Some((_stage, mut client)) = listing(&tools, &json!({"t": [{"reply": result}]})) else { return };
    client.tools(&["a__t"]);
    assert_eq!(client.call("a__t", &json!({})).message["result"], result);
}

#[test]
fn a49_an_error_result_is_not_held_against_the_schema() {
    let tools = json!([{"name": "t", "description": "d", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "required": ["sha"]}}]);
    let result = json!({"isError": true, "content": [{"type": "text", "text": "could not resolve host"}]});
    let Some((_stage, mut client)) = listing(&tools, &json!({"t": [{"reply": result}]})) else { return };
    client.tools(&["a__t"]);
    assert_eq!(client.call("a__t", &json!({})).message["result"], result);
}

#[test]
fn a50_every_field_of_a_tool_is_kept() {
    unchanged(&json!({"name": "w", "description": "d", "inputSchema": {"type": "object", "properties": {}},
        "_meta": {"vendor/x": 1}, "annotations": {"readOnlyHint": true}, "title": "W",
        "icons": [{"src": "https://e.test/i.png"}], "execution": {"taskSupport": "optional"}, "futureField": 2}));
}

#[test]
fn payloads_keep_their_bytes() {
    let results = [
        r#"{"content":[{"type":"text","text":"x"}],"n":1.0,"m":0.7,"big":123456789012345678901234567890,"huge":1e400}"#,
        r#"{"content":[{"type":"novel","x":[{}, [ ] ]}],"s":"\ud800 \/ \u00e9","z":-0,"a":1E+2,"a2":null}"#,
        r#"{"content":[],"_meta":{"b":1,"a":2}, "structuredContent" : {"k":[1,2 ,3]}}"#,
    ];
    for raw in results {
        let Some((_stage, mut client)) = listing(&json!(["t"]), &json!({"t": [{"raw_result": raw}]})) else {
            return;
        };
        client.tools(&["a__t"]);
        client.send_line(
            r#"{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{"name":"a__t","arguments":{}}}"#,
        );
        let line = client.wait_line(r#""id":"raw""#);
        assert!(line.contains(raw), "{line}");
    }
}

#[test]
fn arguments_keep_their_bytes() {
    let Some((mut stage, mut client)) = listing(&json!(["t"]), &json!({})) else { return };
    client.tools(&["a__t"]);
    let arguments = r#"{"z":1.0, "a":[0.70,1e2] ,"s":"\u00e9\/","big":12345678901234567890123}"#;
    client.send_line(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{arguments},"name":"a__t","future":{{"b":1,"a":2}}}}}}"#
    ));
    client.answer(&json!(1));
    let lines = stage.upstreams[0].lines();
    let line = lines.iter().find(|line| line.contains("tools/call")).expect("forwarded");
    assert!(line.contains(arguments) && line.contains(r#""future":{"b":1,"a":2}"#), "{line}");
}

#[test]
fn duplicate_keys_in_a_call_are_refused() {
    let Some((mut stage, mut client)) = listing(&json!(["t"]), &json!({})) else { return };
    client.tools(&["a__t"]);
    for params in [
        r#"{"name":"a__t","name":"a__u","arguments":{}}"#,
        r#"{"name":"a__t","arguments":{"to":"a","to":"b"}}"#,
        r#"{"name":"a__t","arguments":{"x":[{"to":"a","\u0074o":"b"}]}}"#,
        r#"{"name":"a__t","arguments":{"To":"a","to":"b"}}"#,
        r#"{"name":"a__t","arguments":{},"Arguments":{"to":"b"}}"#,
    ] {
        client.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":{params:?},"method":"tools/call","params":{params}}}"#
        ));
        let reply = client.answer(&json!(params));
        assert!(
            reply.code() == -32602 || reply.code() == -32600 || reply.blocked(),
            "{params}: {}",
            reply.line
        );
    }
    assert_eq!(stage.upstreams[0].count("tools/call"), 0);
}

#[test]
fn deep_values_pass_or_are_refused_but_break_nothing() {
    for depth in [100, 10_000] {
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let raw = format!(r#"{{"content":[],"deep":{deep}}}"#);
        let Some((_stage, mut client)) = listing(&json!(["t", "u"]), &json!({"t": [{"raw_result": raw}]}))
        else {
            return;
        };
        client.tools(&["a__t"]);
        client.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":"d{depth}","method":"tools/call","params":{{"name":"a__u","arguments":{{"deep":{deep}}}}}}}"#
        ));
        client.send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":"e{depth}","method":"tools/call","params":{{"name":"a__t","arguments":{{}}}}}}"#
        ));
        client.wait_line(&format!(r#""id":"d{depth}""#));
        client.wait_line(&format!(r#""id":"e{depth}""#));
        assert_eq!(client.call("a__u", &json!({"still": "here"})).text(), r#"{"still": "here"}"#);
    }
}
