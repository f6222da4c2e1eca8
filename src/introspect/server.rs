//! The protocol: JSON-RPC lines in, JSON-RPC lines out, one after the other.
//!
//! Nothing here waits for anything, so requests are answered in their order and none needs an id of ours.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value, json};

use super::{Knowledge, prompts, resources, tools};
use crate::mcp::{LATEST, REVISIONS};

/// The longest line that is read, in bytes.
const LINE: u64 = 16 * 1024 * 1024;

/// A fault in the terms of JSON-RPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    code: i64,
    message: String,
}

impl Fault {
    /// Parameters that cannot be used.
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self { code: -32602, message: message.into() }
    }

    /// A resource that is not there.
    pub(super) fn no_resource() -> Self {
        Self { code: -32002, message: "there is no such resource".to_owned() }
    }

    fn as_json(&self) -> Value {
        json!({"code": self.code, "message": self.message})
    }
}

/// The server.
pub struct Server {
    knowledge: Knowledge,
}

/// Serves until the input ends.
///
/// # Errors
/// The streams cannot be used.
pub fn serve(knowledge: Knowledge, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let server = Server::new(knowledge);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut *input).take(LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let is_cut = read as u64 == LINE && !line.ends_with(b"\n");
        let answer = if is_cut {
            skip_line(input)?;
            Some(answered(
                &Value::Null,
                Err(Fault { code: -32600, message: "the message is too long".to_owned() }),
            ))
        } else {
            server.line(&line)
        };
        if let Some(answer) = answer {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
}

/// Passes over the rest of a line without keeping it.
fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let chunk = input.fill_buf()?;
        let end = memchr::memchr(b'\n', chunk);
        let used = end.map_or(chunk.len(), |end| end + 1);
        if chunk.is_empty() {
            return Ok(());
        }
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

fn answered(id: &Value, result: Result<Value, Fault>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(fault) => json!({"jsonrpc": "2.0", "id": id, "error": fault.as_json()}),
    }
}

impl Server {
    /// A server over this knowledge.
    pub fn new(knowledge: Knowledge) -> Self {
        Self { knowledge }
    }

    /// The answer to one line, if it asks for one.
    pub fn line(&self, line: &[u8]) -> Option<Value> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Array(batch)) if !batch.is_empty() => {
                let answers: Vec<Value> = batch.iter().filter_map(|message| self.message(message)).collect();
                (!answers.is_empty()).then_some(Value::Array(answers))
            }
            Ok(message) => self.message(&message),
            Err(_) => {
                let fault = Fault { code: -32700, message: "the message is no JSON".to_owned() };
                Some(answered(&Value::Null, Err(fault)))
            }
        }
    }

    fn message(&self, message: &Value) -> Option<Value> {
        let invalid = |id: &Value| {
            let fault = Fault { code: -32600, message: "the message is no request".to_owned() };
            Some(answered(id, Err(fault)))
        };
        let id = message.get("id");
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // An answer to something that was never asked is nobody's.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            return if is_answer { None } else { invalid(id.unwrap_or(&Value::Null)) };
        };
        let id = match id {
            Some(id @ (Value::String(_) | Value::Number(_))) => id,
            Some(_) => return invalid(&Value::Null),
            None => return None,
        };
        let nothing = json!({});
        let params = message.get("params").unwrap_or(&nothing);
        Some(answered(id, self.request(method, params)))
    }

    fn request(&self, method: &str, params: &Value) -> Result<Value, Fault> {
        let text = |key: &str| {
            let value = params.get(key).and_then(Value::as_str);
            value.ok_or_else(|| Fault::params(format!("`{key}` must be a string")))
        };
        match method {
            "initialize" => Ok(initialized(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": tools::list()})),
            "tools/call" => {
                let nothing = json!({});
                let arguments = params.get("arguments").filter(|value| !value.is_null()).unwrap_or(&nothing);
                tools::call(&self.knowledge, text("name")?, arguments)
            }
            "prompts/list" => Ok(json!({"prompts": prompts::list()})),
            "prompts/get" => {
                let nothing = json!({});
                let arguments = params.get("arguments").filter(|value| !value.is_null()).unwrap_or(&nothing);
                prompts::get(text("name")?, arguments)
            }
            "resources/list" => Ok(json!({"resources": resources::list()})),
            "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
            "resources/read" => resources::read(&self.knowledge, text("uri")?),
            _ => Err(Fault { code: -32601, message: "there is no such method".to_owned() }),
        }
    }
}

fn initialized(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = asked.filter(|asked| REVISIONS.contains(asked)).unwrap_or(LATEST);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
        "serverInfo": {"name": "bouncer", "title": "Bouncer", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Answers what Bouncer would say of a tool call, checks policies, and counts the audit log. \
                         Nothing here sends a call or changes a policy.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Guard;

    fn server() -> Server {
        let audit = Box::new(|_| Ok(json!({"calls": 0})));
        Server::new(Knowledge {
            user: Vec::new(),
            files: Vec::new(),
            guard: Guard::default(),
            folder: None,
            follow: |_| None,
            audit,
        })
    }

    #[test]
    fn lines_are_answered_as_the_protocol_says() {
        let check = |line: &str, pointer: &str, expected: Value| {
            let answer = server().line(line.as_bytes()).unwrap_or_default();
            assert_eq!(answer.pointer(pointer).cloned().unwrap_or_default(), expected, "{line}: {answer}");
        };
        let old =
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#;
        check(old, "/result/protocolVersion", json!("2024-11-05"));
        let unknown =
            r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"1999-01-01"}}"#;
        check(unknown, "/result/protocolVersion", json!(LATEST));
        check(unknown, "/id", json!("a"));
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "", Value::Null);
        check(r#"{"jsonrpc":"2.0","id":2,"method":"nothing/here"}"#, "/error/code", json!(-32601));
        check("{", "/error/code", json!(-32700));
        check("[]", "/error/code", json!(-32600));
        check("7", "/error/code", json!(-32600));
        check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "/error/code", json!(-32600));
        check(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#, "", Value::Null);
        check(
            r#"[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]"#,
            "/0/id",
            json!(3),
        );
        check(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}"#, "/error/code", json!(-32602));
        check(
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x"}}"#,
            "/error/code",
            json!(-32602),
        );
        check("", "", Value::Null);
    }

    #[test]
    fn a_line_that_is_too_long_is_told_and_passed_over() {
        let mut input = vec![b'x'; usize::try_from(LINE).unwrap() + 10];
        input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        let mut output = Vec::new();
        let knowledge = server().knowledge;
        serve(knowledge, &mut input.as_slice(), &mut output).unwrap();
        let answers: Vec<Value> = String::from_utf8(output)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(answers.len(), 2);
        assert_eq!((&answers[0]["error"]["code"], &answers[1]["id"]), (&json!(-32600), &json!(1)));
    }
}
