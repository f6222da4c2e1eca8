//! `contracts.json`: one decision a row, through the same gathering and deciding as the proxy.

use std::collections::BTreeMap;

use bouncer::pack::{builtin_packs, compile_policy};
use bouncer::policy::heuristics::ToolDescription;
use bouncer::policy::{Guard, Outcome, Policy, Trial, UpstreamIdentity};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rows;

#[derive(Debug, Deserialize)]
struct Row {
    id: String,
    policy: Option<String>,
    packs: String,
    tools: Vec<Value>,
    prior_calls: Vec<Call>,
    prior_outputs: Vec<Output>,
    approvals: Vec<Approval>,
    call: Call,
    accept: Vec<String>,
    contract: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Call {
    tool: String,
    args: Value,
}

#[derive(Debug, Deserialize)]
struct Output {
    tool: String,
    text: String,
}

#[derive(Debug, Deserialize)]
struct Approval {
    destination: String,
}

/// Rows that are expected to fail, with the reason; a row here that passes fails the test.
const EXPECTED_FAILURES: &str = include_str!("contracts.expected-failures.json");

const UPSTREAM: &str = "server";

fn judge(row: &Row) -> (String, Option<String>, String) {
    let user = match &row.policy {
        None => Vec::new(),
        Some(text) => match compile_policy(text, "policy.yaml") {
            Ok((rules, _)) => vec![rules],
            Err(problems) => {
                let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
                assert!(problems.iter().all(|p| p.at.is_some()), "{}: a problem without its place", row.id);
                return ("policy error".to_owned(), None, shown.join("\n"));
            }
        },
    };
    let packs = if row.packs == "builtin" { builtin_packs().unwrap() } else { Vec::new() };
    let mut trial = Trial::new(Policy::new(user, packs), Guard::default());
    let identity = UpstreamIdentity { name: UPSTREAM.to_owned(), ..UpstreamIdentity::default() };
    let tools: Vec<ToolDescription> =
        row.tools.iter().filter_map(|tool| ToolDescription::from_entry(tool).ok()).collect();
    trial.list(&identity, &tools);
    for approval in &row.approvals {
        trial.approve(UPSTREAM, &approval.destination);
    }
    // The n-th result of a tool belongs to its n-th prior call, if there is one.
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let result = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    for call in &row.prior_calls {
        let tried = trial.call(UPSTREAM, &call.tool, &call.args);
        let nth = taken.entry(&call.tool).or_default();
        let output = row.prior_outputs.iter().filter(|o| o.tool == call.tool).nth(*nth);
        *nth += 1;
        if let Some(output) = output {
            // A call that has a result was forwarded, so a human had said yes.
            if tried.verdict.outcome == Outcome::Ask {
                trial.forwarded(UPSTREAM, &call.tool, tried.call, &call.args);
            }
            trial.shown(UPSTREAM, &call.tool, tried.call, Some(&call.args), &result(&output.text));
        }
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for output in &row.prior_outputs {
        let nth = seen.entry(&output.tool).or_default();
        *nth += 1;
        if *nth > taken.get(output.tool.as_str()).copied().unwrap_or(0) {
            trial.shown(UPSTREAM, &output.tool, 100, None, &result(&output.text));
        }
    }
    let verdict = trial.call(UPSTREAM, &row.call.tool, &row.call.args).verdict;
    let name = match verdict.outcome {
        Outcome::Allow => "allow",
        Outcome::Ask => "ask",
        Outcome::Deny => "deny",
    };
    (name.to_owned(), Some(verdict.contract.as_str().to_owned()), verdict.reason())
}

#[test]
fn every_row_gets_an_accepted_verdict() {
    let Some(rows) = rows("contracts.json") else { return };
    let rows: Vec<Row> = rows.into_iter().map(|row| serde_json::from_value(row).unwrap()).collect();
    assert!(!rows.is_empty());
    let expected: BTreeMap<String, String> = serde_json::from_str(EXPECTED_FAILURES).unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        let (verdict, contract, reason) = judge(row);
        let right_contract = match (&row.contract, &contract) {
            (Some(wanted), Some(got)) => wanted == got,
            _ => true,
        };
        let ok = row.accept.contains(&verdict) && right_contract;
        match (ok, expected.contains_key(&row.id)) {
            (false, false) => wrong.push(format!(
                "{}: {verdict} ({contract:?}: {reason}), accepted: {:?} {:?}",
                row.id, row.accept, row.contract
            )),
            (true, true) => wrong.push(format!("{}: is expected to fail, but passes: take it out", row.id)),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
