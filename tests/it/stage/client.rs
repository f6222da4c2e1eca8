//! A client that speaks raw lines to a spawned program, and keeps every line it gets.
//!
//! It answers the reverse requests of a proxy only as the test says, so that silence can be tested.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::{DEADLINE, left};

/// An answer to a request of the client.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// The line as it came.
    pub(crate) line: String,
    /// The message in it.
    pub(crate) message: Value,
}

impl Reply {
    /// The text of the first content block of a result.
    pub(crate) fn text(&self) -> &str {
        self.message["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text in {}", self.line))
    }

    /// The code of an error; 0 when it is none.
    pub(crate) fn code(&self) -> i64 {
        self.message["error"]["code"].as_i64().unwrap_or(0)
    }

    /// Whether it is an error, of the protocol or of the tool.
    pub(crate) fn failed(&self) -> bool {
        self.message.get("error").is_some() || self.message["result"]["isError"] == true
    }

    /// Whether it is a refusal by Bouncer.
    pub(crate) fn blocked(&self) -> bool {
        self.message["result"]["isError"] == true && self.text().starts_with("[bouncer blocked]")
    }
}

/// A question that Bouncer put to the human.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// Its request id.
    pub(crate) id: Value,
    /// The text shown.
    pub(crate) message: String,
    /// The form.
    pub(crate) schema: Value,
}

/// The client's end of a running program.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// All lines up to now.
    heard: Vec<Reply>,
    /// How many of them a wait has passed.
    passed: usize,
    said: Receiver<String>,
    stderr: String,
    next: u64,
}

impl Client {
    /// Starts the program with its streams piped.
    pub(crate) fn start(program: &Path, arguments: &[String], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("piped");
        let lines = read_lines(stdout);
        let pipe = child.stderr.take().expect("piped");
        let said = read_lines(pipe);
        Self { child, stdin, lines, heard: Vec::new(), passed: 0, said, stderr: String::new(), next: 1000 }
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to stderr up to now.
    pub(crate) fn stderr(&mut self) -> &str {
        for line in self.said.try_iter() {
            self.stderr.push_str(&line);
            self.stderr.push('\n');
        }
        &self.stderr
    }

    /// Waits until stderr, from the start, holds all of these pieces.
    pub(crate) fn says(&mut self, pieces: &[&str]) {
        let deadline = Instant::now() + DEADLINE;
        while !pieces.iter().all(|piece| self.stderr.contains(piece)) {
            match self.said.recv_timeout(left(deadline)) {
                Ok(line) => self.stderr = format!("{}{line}\n", self.stderr),
                Err(error) => self.fail(&format!("{pieces:?} on stderr"), error),
            }
        }
    }

    /// Waits until stderr, from the start, holds a piece so many times.
    pub(crate) fn says_times(&mut self, piece: &str, times: usize) {
        let deadline = Instant::now() + DEADLINE;
        while self.stderr.matches(piece).count() < times {
            match self.said.recv_timeout(left(deadline)) {
                Ok(line) => self.stderr = format!("{}{line}\n", self.stderr),
                Err(error) => self.fail(&format!("{piece:?} {times} times on stderr"), error),
            }
        }
    }

    /// Asks the program to read its files again.
    pub(crate) fn hang_up(&self) {
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).expect("it runs");
    }

    /// Writes bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the program reads");
    }

    /// Writes a line as it is.
    pub(crate) fn send_line(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Writes a message, with `jsonrpc` put in front.
    pub(crate) fn send(&mut self, message: &Value) {
        let mut whole = json!({"jsonrpc": "2.0"});
        let (Some(whole_map), Some(map)) = (whole.as_object_mut(), message.as_object()) else {
            panic!("{message} is no object");
        };
        whole_map.extend(map.clone());
        self.send_line(&whole.to_string());
    }

    /// Waits for the first line, not passed by a wait before, for which `pick` gives a value. Lines
    /// that it passes over stay in [`Self::heard`].
    pub(crate) fn wait<T>(&mut self, what: &str, mut pick: impl FnMut(&Reply) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            while let Some(reply) = self.heard.get(self.passed) {
                self.passed += 1;
                if let Some(found) = pick(reply) {
                    return found;
                }
            }
            match self.lines.recv_timeout(left(deadline)) {
                Ok(line) => self.keep(line),
                Err(error) => self.fail(what, error),
            }
        }
    }

    /// Keeps a line. Nothing but messages may stand on stdout; a message that this parser cannot hold
    /// (too deep, a number out of range) is kept as its envelope.
    fn keep(&mut self, line: String) {
        #[derive(serde::Deserialize)]
        struct Envelope<'a> {
            jsonrpc: String,
            #[serde(default)]
            id: Value,
            #[serde(borrow)]
            result: Option<&'a serde_json::value::RawValue>,
        }
        let message = serde_json::from_str(&line).unwrap_or_else(|error| {
            let envelope: Envelope<'_> = serde_json::from_str(&line)
                .unwrap_or_else(|_| panic!("not a message on stdout: {line:?}: {error}"));
            assert_eq!(envelope.jsonrpc, "2.0");
            json!({"id": envelope.id, "result": envelope.result.map(|raw| raw.get().len())})
        });
        self.heard.push(Reply { line, message });
    }

    /// Waits for a line that holds `piece`.
    pub(crate) fn wait_line(&mut self, piece: &str) -> String {
        self.passed = 0;
        self.wait(piece, |reply| reply.line.contains(piece).then(|| reply.line.clone()))
    }

    fn fail(&mut self, what: &str, error: RecvTimeoutError) -> ! {
        let ended = self.child.try_wait().expect("a child of ours");
        let heard: Vec<_> =
            self.heard.iter().map(|reply| reply.line.chars().take(300).collect::<String>()).collect();
        let stderr = self.stderr().to_owned();
        panic!("waited in vain for {what}: {error}, exit {ended:?}\nheard: {heard:#?}\nstderr:\n{stderr}");
    }

    /// Waits for the answer to the request with this id, and starts again from the first line that
    /// was heard, so that answers may come in any order.
    pub(crate) fn answer(&mut self, id: &Value) -> Reply {
        self.passed = 0;
        self.wait(&format!("the answer to {id}"), |reply| {
            let answers = reply.message.get("method").is_none() && reply.message.get("id") == Some(id);
            answers.then(|| reply.clone())
        })
    }

    /// Sends a request without waiting for its answer; gives its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = json!(self.next);
        self.send(&json!({"id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Reply {
        let id = self.ask(method, params);
        self.answer(&id)
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"method": method, "params": params}));
    }

    /// Calls a tool and waits for the answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Reply {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Does the handshake with these capabilities.
    pub(crate) fn initialize(&mut self, version: &str, capabilities: &Value) -> Reply {
        let info = json!({"name": "stage", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let reply = self.request("initialize", &params);
        self.notify("notifications/initialized", &json!({}));
        reply
    }

    /// The tools that are listed now, through every page.
    pub(crate) fn list(&mut self) -> Vec<Value> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let reply = self.request("tools/list", &params);
            let result = &reply.message["result"];
            tools.extend(
                result["tools"].as_array().unwrap_or_else(|| panic!("no tools: {}", reply.line)).clone(),
            );
            let Some(cursor) = result.get("nextCursor") else { return tools };
            params = json!({"cursor": cursor});
        }
    }

    /// The names of the tools listed, once all of `wanted` are among them.
    pub(crate) fn tools(&mut self, wanted: &[&str]) -> Vec<String> {
        loop {
            let listed = self.list();
            let names: Vec<_> =
                listed.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect();
            if wanted.iter().all(|name| names.iter().any(|have| have == name)) {
                return names;
            }
            self.changed(&format!("{wanted:?} among {names:?}"));
        }
    }

    /// Waits for the next `list_changed` of tools.
    pub(crate) fn changed(&mut self, why: &str) {
        self.wait(&format!("list_changed: {why}"), |reply| {
            (reply.message["method"] == "notifications/tools/list_changed").then_some(())
        });
    }

    /// Waits for the next question.
    pub(crate) fn question(&mut self) -> Question {
        self.wait("a question", |reply| {
            (reply.message["method"] == "elicitation/create").then(|| Question {
                id: reply.message["id"].clone(),
                message: reply.message["params"]["message"].as_str().unwrap_or_default().to_owned(),
                schema: reply.message["params"]["requestedSchema"].clone(),
            })
        })
    }

    /// Waits for the next request of this method, and gives the whole message.
    pub(crate) fn asked(&mut self, method: &str) -> Value {
        self.wait(method, |reply| {
            let asks = reply.message["method"] == method && reply.message.get("id").is_some();
            asks.then(|| reply.message.clone())
        })
    }

    /// Answers such a request with a result.
    pub(crate) fn give(&mut self, request: &Value, result: &Value) {
        self.send(&json!({"id": request["id"], "result": result}));
    }

    /// Answers a question with a result.
    pub(crate) fn reply(&mut self, question: &Question, result: &Value) {
        self.send(&json!({"id": question.id, "result": result}));
    }

    /// Answers a question by choosing `decision`.
    pub(crate) fn decide(&mut self, question: &Question, decision: &str) {
        self.reply(question, &json!({"action": "accept", "content": {"decision": decision}}));
    }

    /// Everything heard up to now, once a ping sent now has been answered: what did not come by then
    /// was not sent for anything asked before.
    pub(crate) fn heard(&mut self) -> Vec<Reply> {
        self.request("ping", &json!({}));
        self.heard.clone()
    }

    /// How many messages of this method came up to now.
    pub(crate) fn count(&mut self, method: &str) -> usize {
        self.heard().iter().filter(|reply| reply.message["method"] == method).count()
    }

    /// Closes the program's input.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Kills the program, as a crash of the client would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a child of ours");
    }

    /// Waits for the program's end: its stdout closes when it and its children are gone.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(left(deadline)) {
                Ok(line) => self.keep(line),
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().expect("a child of ours"),
                Err(error) => self.fail("the program's end", error),
            }
        }
    }
}

/// The lines of a stream, as they come, through a channel that closes with the stream.
fn read_lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
            if sender.send(text).is_err() {
                break;
            }
            line.clear();
        }
    });
    lines
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        // A test that failed must leave nothing behind, and one that ended well must end in time.
        let deadline = Instant::now() + Duration::from_secs(if std::thread::panicking() { 0 } else { 10 });
        while self.lines.recv_timeout(left(deadline)).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
