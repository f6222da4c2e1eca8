//! `contracts.json`: one decision a row, run by the runner behind `bouncer check --cases`.

use std::collections::BTreeMap;

use bouncer::pack::{CasePolicy, Passed, read_cases, run_case};

use crate::rows;

/// Rows that are expected to fail, with the reason; a row here that passes fails the test.
const EXPECTED_FAILURES: &str = include_str!("contracts.expected-failures.json");

#[test]
fn every_row_gets_an_accepted_verdict() {
    let Some(rows) = rows("contracts.json") else { return };
    let text = serde_json::to_string(&rows).unwrap();
    let cases = read_cases(&text, "contracts.json").unwrap_or_else(|problems| panic!("{problems:#?}"));
    assert_eq!(cases.len(), rows.len());
    let expected: BTreeMap<String, String> = serde_json::from_str(EXPECTED_FAILURES).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        if let CasePolicy::Broken(problems) = &case.policy {
            assert!(problems.iter().all(|p| p.at.is_some()), "{}: a problem without its place", case.id);
        }
        let result = run_case(case, &[]);
        match (result.passed == Passed::Yes, expected.contains_key(&case.id)) {
            (false, false) => wrong.push(format!(
                "{}: {} ({:?}: {}), accepted: {:?} {:?}",
                case.id, result.verdict, result.contract, result.reason, case.accept, case.contract
            )),
            (true, true) => wrong.push(format!("{}: is expected to fail, but passes: take it out", case.id)),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
