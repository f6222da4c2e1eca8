//! Random interleavings of calls, cancellations, answers and decisions, through the real
//! program: a denied call never arrives, a budget is never overspent, no id is answered twice.
//!
//! A case is one run of the program over many short rounds. In a round a handful of calls go out in a
//! random order, some are cancelled, the server answers some late and some twice, and the human says
//! yes or no. The program sees them as fast as the pipe takes them, so what overlaps what is up to
//! the machine; the invariants hold for all of it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use serde_json::{Value, json};

use crate::stage::{Client, Options, Stage};

/// Rounds in one run of the program, and runs.
const ROUNDS: usize = 500;
const RUNS: u32 = 4;
/// What the policy lets each capped tool do.
const MOST: usize = 2;
/// Refusals in a row after which the program stops to ask for a while, which this test is not about.
const PATIENCE: u32 = 3;

/// One thing that happens in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A call of the round's tool, of which only so many may pass.
    Capped,
    /// A call that the policy denies.
    Never,
    /// A call that the server holds until told, and then answers twice.
    Slow,
    /// A call that a human is asked about, and whether the human will say yes.
    Send(Decision),
    /// The client gives up the call made so many steps before.
    Cancel(usize),
    /// The server lets one held call go on.
    Release,
}

/// What the human will say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Yes,
    No,
}

/// A round: mostly plain calls; questions are written to disk each, so they are rarer.
fn round() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => Just(Step::Capped),
        3 => Just(Step::Never),
        3 => Just(Step::Slow),
        3 => Just(Step::Release),
        3 => (1_usize..4).prop_map(Step::Cancel),
        1 => prop_oneof![Just(Step::Send(Decision::Yes)), Just(Step::Send(Decision::No))],
    ];
    prop::collection::vec(step, 3..10)
}

/// A call that was made.
struct Made {
    step: Step,
    is_cancelled: bool,
    answers: usize,
}

/// A run of the program and all that was done in it.
struct Run {
    stage: Stage,
    client: Client,
    /// By request id, which is also the argument `n` of the call.
    made: BTreeMap<u64, Made>,
    /// Calls without an answer that are not cancelled.
    open: BTreeSet<u64>,
    approved: BTreeSet<u64>,
    refused_in_a_row: u32,
}

impl Run {
    fn start() -> Option<Self> {
        let text = json!({"type": "string"});
        let mut tools: Vec<Value> = (0..ROUNDS).map(|round| json!(format!("capped{round}"))).collect();
        tools.push(json!("never"));
        tools.push(json!("slow"));
        tools.push(
            json!({"name": "send_note", "description": "Sends a note.", "inputSchema": {"type": "object",
            "properties": {"to": text, "n": {"type": "integer"}}, "required": ["to"]}}),
        );
        let twice = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[]}}\n".repeat(2);
        let script = json!({"tools": tools, "calls": {"slow": [{"wait": "go"}, {"raw": twice}]}});
        let policy = format!("tools:\n  \"capped*\": {{max_calls: {MOST}}}\n  never: {{at_least: deny}}\n");
        let options = Options { policy: Some(policy), ..Options::default() };
        let stage = Stage::with(&[("a", script)], options)?;
        let mut client = stage.client();
        client.tools(&["a__never"]);
        let (made, open, approved) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Some(Self { stage, client, made, open, approved, refused_in_a_row: 0 })
    }

    /// Sends a round, then lets everything that is held go on, and waits until nothing is open.
    fn play(&mut self, number: usize, round: &[Step]) {
        let mut calls: Vec<u64> = Vec::new();
        for step in round {
            let id = 10_000 + self.made.len() as u64;
            let call = match step {
                Step::Capped => json!({"name": format!("a__capped{number}"), "arguments": {"n": id}}),
                Step::Never => json!({"name": "a__never", "arguments": {"n": id}}),
                Step::Slow => json!({"name": "a__slow", "arguments": {"n": id}}),
                Step::Send(_) => {
                    json!({"name": "a__send_note", "arguments": {"to": format!("p{id}@new{id}.example"), "n": id}})
                }
                Step::Cancel(back) => {
                    if let Some(id) = calls.len().checked_sub(*back).and_then(|at| calls.get(at)) {
                        self.client.notify("notifications/cancelled", &json!({"requestId": id}));
                        self.open.remove(id);
                        self.made.get_mut(id).expect("made before").is_cancelled = true;
                    }
                    continue;
                }
                Step::Release => {
                    self.stage.upstreams[0].release("go");
                    continue;
                }
            };
            self.client.send(&json!({"id": id, "method": "tools/call", "params": call}));
            self.made.insert(id, Made { step: *step, is_cancelled: false, answers: 0 });
            self.open.insert(id);
            calls.push(id);
        }
        for _ in round.iter().filter(|step| **step == Step::Slow) {
            self.stage.upstreams[0].release("go");
        }
        while !self.open.is_empty() {
            let message = self.client.wait("the end of a round", |reply| Some(reply.message.clone()));
            self.hear(&message);
        }
    }

    /// Takes a message of the program: an answer, or a question.
    fn hear(&mut self, message: &Value) {
        if message["method"] == "elicitation/create" {
            let text = message["params"]["message"].as_str().unwrap_or_default();
            let about = |(id, made): (&u64, &Made)| match made.step {
                Step::Send(decision) if text.contains(&format!("p{id}@new{id}.example")) => {
                    Some((*id, decision))
                }
                _ => None,
            };
            let (id, decision) = self.made.iter().find_map(about).expect("a question about a send");
            let says_yes = decision == Decision::Yes || self.refused_in_a_row >= PATIENCE;
            self.refused_in_a_row = if says_yes { 0 } else { self.refused_in_a_row + 1 };
            if says_yes {
                self.approved.insert(id);
            }
            let choice = if says_yes { "allow_once" } else { "deny" };
            let result = json!({"action": "accept", "content": {"decision": choice}});
            self.client.send(&json!({"id": message["id"], "result": result}));
        } else if message.get("method").is_none()
            && let Some(made) = message["id"].as_u64().and_then(|id| self.made.get_mut(&id))
        {
            made.answers += 1;
            self.open.remove(&message["id"].as_u64().expect("an integer"));
        }
    }

    /// Lets the last answers come, and checks what must always hold.
    fn check(&mut self) -> Result<(), TestCaseError> {
        // Whatever was answered too often stands before the answer to this ping.
        let ping = json!("the end");
        self.client.send(&json!({"id": ping, "method": "ping"}));
        loop {
            let message = self.client.wait("the end", |reply| Some(reply.message.clone()));
            if message["id"] == ping {
                break;
            }
            self.hear(&message);
        }
        for (id, made) in &self.made {
            prop_assert!(made.answers <= 1, "{id} was answered {} times", made.answers);
            prop_assert!(made.answers == 1 || made.is_cancelled, "{id} was never answered");
        }
        let mut capped: BTreeMap<String, usize> = BTreeMap::new();
        for message in self.stage.upstreams[0].messages() {
            if message["method"] != "tools/call" {
                continue;
            }
            let tool = message["params"]["name"].as_str().unwrap_or_default().to_owned();
            let n = message["params"]["arguments"]["n"].as_u64().unwrap_or_default();
            prop_assert_ne!(&tool, "never", "a denied call arrived: {}", n);
            prop_assert!(tool != "send_note" || self.approved.contains(&n), "{n} arrived without a yes");
            if tool.starts_with("capped") {
                *capped.entry(tool).or_default() += 1;
            }
        }
        for (tool, count) in capped {
            prop_assert!(count <= MOST, "{tool} was called {count} times");
        }
        Ok(())
    }
}

#[test]
fn random_interleavings_keep_every_promise() {
    let config = Config { cases: RUNS, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let rounds = prop::collection::vec(round(), ROUNDS);
    let result = TestRunner::new(config).run(&rounds, |rounds| {
        let Some(mut run) = Run::start() else { return Ok(()) };
        for (number, round) in rounds.iter().enumerate() {
            run.play(number, round);
        }
        run.check()
    });
    // Five hundred rounds tell a reader less than the promise that was broken.
    if let Err(TestError::Fail(why, _)) = result {
        panic!("{why}");
    }
}
