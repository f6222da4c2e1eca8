//! Runs policy cases: the same gathering and deciding as the proxy, over a history that the case
//! spells out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::builtin::builtin_packs;
use super::cases::{Case, CasePacks, CasePolicy};
use crate::policy::{Contract, Guard, Outcome, Pack, Policy, RuleSet, Trial};

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// `allow`, `ask`, `deny` or `policy error`.
    pub verdict: &'static str,
    /// The contract that decided; `None` for a policy that does not load.
    pub contract: Option<Contract>,
    /// The reason, for people: hostile text may stand in it, escape before showing.
    pub reason: String,
    /// Whether verdict and contract are accepted.
    pub passed: Passed,
}

/// Whether a case came out as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// It did.
    Yes,
    /// Another verdict came out.
    WrongVerdict,
    /// The verdict is right, but another contract gave it.
    WrongContract,
}

/// Runs a case. `base` are the user's rules that every case stands on: none for the cases of packs.
pub fn run_case(case: &Case, base: &[RuleSet]) -> CaseResult {
    let mut user = base.to_vec();
    match &case.policy {
        CasePolicy::None => {}
        CasePolicy::Rules(rules) => user.push(rules.clone()),
        CasePolicy::Broken(problems) => {
            let reason = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            return judged(case, "policy error", None, reason);
        }
    }
    let policy = match packs(case.packs) {
        Ok(packs) => Policy::new(user, packs),
        Err(reason) => Policy::refuse_all(reason),
    };
    let mut trial = Trial::new(policy, Guard::default());
    let upstream = case.upstream.name.as_str();
    trial.list(&case.upstream, &case.tools);
    for destination in &case.approvals {
        trial.approve(upstream, destination);
    }
    for text in &case.said {
        trial.prompt(text);
    }
    replay(case, &mut trial);
    let verdict = trial.call(upstream, &case.call.tool, &case.call.args).verdict;
    let name = match verdict.outcome {
        Outcome::Allow => "allow",
        Outcome::Ask => "ask",
        Outcome::Deny => "deny",
    };
    judged(case, name, Some(verdict.contract), verdict.reason().into_owned())
}

fn packs(which: CasePacks) -> Result<Vec<Arc<Pack>>, String> {
    match which {
        CasePacks::None => Ok(Vec::new()),
        CasePacks::Builtin => builtin_packs().map_err(|problems| {
            problems.first().map_or_else(|| "a pack does not load".to_owned(), ToString::to_string)
        }),
    }
}

/// Decides the prior calls, each with its result, then shows the results that belong to none.
fn replay(case: &Case, trial: &mut Trial) {
    let upstream = case.upstream.name.as_str();
    let shown = |text: &str| -> Value { json!({"content": [{"type": "text", "text": text}]}) };
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    for call in &case.prior_calls {
        let tried = trial.call(upstream, &call.tool, &call.args);
        let nth = taken.entry(&call.tool).or_default();
        let output = case.prior_outputs.iter().filter(|output| output.tool == call.tool).nth(*nth);
        *nth += 1;
        if let Some(output) = output {
            // A call that has a result was forwarded, so a human had said yes.
            if tried.verdict.outcome == Outcome::Ask {
                trial.forwarded(upstream, &call.tool, tried.call, &call.args);
            }
            trial.shown(upstream, &call.tool, tried.call, Some(&call.args), &shown(&output.text));
        }
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut number = u64::try_from(case.prior_calls.len()).unwrap_or(u64::MAX / 2);
    for output in &case.prior_outputs {
        let nth = seen.entry(&output.tool).or_default();
        *nth += 1;
        if *nth > taken.get(output.tool.as_str()).copied().unwrap_or(0) {
            number += 1;
            trial.shown(upstream, &output.tool, number, None, &shown(&output.text));
        }
    }
}

fn judged(case: &Case, verdict: &'static str, contract: Option<Contract>, reason: String) -> CaseResult {
    let passed = if !case.accept.iter().any(|accepted| accepted == verdict) {
        Passed::WrongVerdict
    } else if matches!((case.contract, contract), (Some(wanted), Some(got)) if wanted != got) {
        Passed::WrongContract
    } else {
        Passed::Yes
    };
    CaseResult { verdict, contract, reason, passed }
}

#[cfg(test)]
mod tests {
    use super::super::SHIPPED;
    use super::super::cases::read_cases;
    use super::*;

    #[test]
    fn every_case_of_every_pack_passes() {
        let mut wrong = Vec::new();
        for shipped in SHIPPED {
            for case in read_cases(shipped.cases, shipped.file).unwrap() {
                let result = run_case(&case, &[]);
                if result.passed != Passed::Yes {
                    wrong.push(format!(
                        "{}: {}: {} by {:?} ({}), accepted {:?} {:?}",
                        shipped.file,
                        case.id,
                        result.verdict,
                        result.contract,
                        result.reason,
                        case.accept,
                        case.contract
                    ));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
