//! One scripted upstream as the test sees it: what it reports, and the commands it obeys.
//!
//! The other half is `fixtures/upstream.py`, which says what a script may hold. The link is a Unix
//! socket in the stage's folder; a restarted upstream connects again.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

use super::scene::{DEADLINE, left};

/// What an upstream reported.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A process started, and what it reported of itself.
    Started(Value),
    /// It started a child of its own, with this pid.
    Child(Value),
    /// A line that it got on its input.
    Got(String),
    /// A step reported that it was reached.
    Step,
    /// Everything before the mark with this number has been reported.
    Mark(u64),
    /// Its input ended.
    Eof,
    /// The process, and all that it left running, are gone.
    Gone,
}

/// A scripted upstream.
pub(crate) struct Upstream {
    name: String,
    script: PathBuf,
    socket: PathBuf,
    events: Receiver<Event>,
    links: Arc<Mutex<Vec<UnixStream>>>,
    seen: Vec<Event>,
    marks: u64,
}

impl Upstream {
    /// Writes the script and starts to listen; the program starts the process later.
    pub(crate) fn new(folder: &Path, index: usize, name: &str, script: &Value) -> Self {
        let path = folder.join(format!("script{index}.json"));
        std::fs::write(&path, script.to_string()).expect("a writable folder");
        let socket = folder.join(format!("link{index}"));
        let listener = UnixListener::bind(&socket).expect("a free socket path");
        let (sender, events) = channel();
        let links = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&links);
        std::thread::spawn(move || {
            for link in listener.incoming().map_while(Result::ok) {
                kept.lock().expect("no poison").push(link.try_clone().expect("a second handle"));
                let sender = sender.clone();
                std::thread::spawn(move || listen(link, &sender));
            }
        });
        Self { name: name.to_owned(), script: path, socket, events, links, seen: Vec::new(), marks: 0 }
    }

    /// The entry for an `mcpServers` map.
    pub(crate) fn entry(&self) -> Value {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/upstream.py");
        json!({"command": "python3", "args": [fixture, self.script, self.socket, self.name]})
    }

    /// Waits for the first event, not seen by a wait before, for which `pick` gives a value.
    pub(crate) fn wait<T>(&mut self, what: &str, mut pick: impl FnMut(&Event) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let event = self.events.recv_timeout(left(deadline)).unwrap_or_else(|_| {
                panic!("upstream {}: waited in vain for {what}; it reported {:#?}", self.name, self.seen)
            });
            self.seen.push(event.clone());
            if let Some(found) = pick(&event) {
                return found;
            }
        }
    }

    /// Waits until it has got a message of this method, and gives the message.
    pub(crate) fn got(&mut self, method: &str) -> Value {
        self.wait(method, |event| message(event).filter(|message| message["method"] == method))
    }

    /// Waits until the process and all that it left running are gone.
    pub(crate) fn gone(&mut self) {
        self.wait("its end", |event| matches!(event, Event::Gone).then_some(()));
    }

    /// What the processes that started since the last wait reported of themselves.
    pub(crate) fn starts(&mut self) -> Vec<Value> {
        let new: Vec<Event> = self.events.try_iter().collect();
        self.seen.extend(new.iter().cloned());
        let started = |event| if let Event::Started(report) = event { Some(report) } else { None };
        new.into_iter().filter_map(started).collect()
    }

    /// Waits until as many processes are gone as ever started.
    pub(crate) fn all_gone(&mut self) {
        let deadline = Instant::now() + DEADLINE;
        let count =
            |seen: &[Event], pick: fn(&Event) -> bool| seen.iter().filter(|event| pick(event)).count();
        while count(&self.seen, |event| matches!(event, Event::Gone))
            < count(&self.seen, |event| matches!(event, Event::Started(_)))
        {
            let event = self.events.recv_timeout(left(deadline));
            self.seen.push(event.unwrap_or_else(|_| panic!("a process of {} is left over", self.name)));
        }
    }

    /// The pid of the child that it started before its first line was read.
    pub(crate) fn child(&mut self) -> Value {
        self.settle();
        let child = |event: &Event| if let Event::Child(pid) = event { Some(pid.clone()) } else { None };
        self.seen.iter().find_map(child).expect("it has a child")
    }

    /// Waits until everything that it has done up to now is reported.
    fn settle(&mut self) {
        self.seen.extend(self.events.try_iter());
        let gone = self.seen.iter().filter(|event| matches!(event, Event::Gone)).count();
        self.marks += 1;
        let command = format!("{}\n", json!({"mark": self.marks}));
        {
            let mut links = self.links.lock().expect("no poison");
            let count = links.len();
            let Some(link) = links.last_mut().filter(|_| gone < count) else { return };
            // One that is about to be reported gone takes no mark.
            let _ = link.write_all(command.as_bytes());
        }
        let mark = self.marks;
        self.wait("its report of a mark", |event| {
            (matches!(event, Event::Mark(number) if *number == mark) || matches!(event, Event::Gone))
                .then_some(())
        });
    }

    /// Every message it got up to now, in order.
    pub(crate) fn messages(&mut self) -> Vec<Value> {
        self.settle();
        self.seen.iter().filter_map(message).collect()
    }

    /// The raw lines it got up to now, in order.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        self.settle();
        let line = |event: &Event| if let Event::Got(line) = event { Some(line.clone()) } else { None };
        self.seen.iter().filter_map(line).collect()
    }

    /// How many messages of this method it got up to now.
    pub(crate) fn count(&mut self, method: &str) -> usize {
        self.messages().iter().filter(|message| message["method"] == method).count()
    }

    /// Gives a command to the process that connected last.
    pub(crate) fn tell(&self, command: &Value) {
        let mut links = self.links.lock().expect("no poison");
        let link = links.last_mut().expect("the upstream has connected");
        link.write_all(format!("{command}\n").as_bytes()).expect("the upstream listens");
    }

    /// Lets one step that waits for `name` go on.
    pub(crate) fn release(&self, name: &str) {
        self.tell(&json!({"release": name}));
    }
}

/// The message in a line that was got.
fn message(event: &Event) -> Option<Value> {
    if let Event::Got(line) = event { serde_json::from_str(line).ok() } else { None }
}

/// Turns the reports of one process into events, until its end of the socket is closed by the last
/// process that holds it.
fn listen(link: UnixStream, sender: &Sender<Event>) {
    for line in BufReader::new(link).lines().map_while(Result::ok) {
        let report: Value = serde_json::from_str(&line).expect("a report is JSON");
        let event = match report["event"].as_str() {
            Some("start") => Event::Started(report),
            Some("child") => Event::Child(report["child"].clone()),
            Some("got") => Event::Got(report["line"].as_str().unwrap_or_default().to_owned()),
            Some("mark") => Event::Mark(report["mark"].as_u64().expect("a number")),
            Some("step") => Event::Step,
            _ => Event::Eof,
        };
        // The test may have ended already; then nobody listens.
        let _ = sender.send(event);
    }
    let _ = sender.send(Event::Gone);
}
