//! The decision: facts in, verdict out. Pure and total: equal facts give an equal verdict, and
//! every path through it ends in one.
//!
//! Order of the contracts, first refusal wins: pin, budget, constraint, sink gate. Within one, the
//! worst finding counts and is named first.

use super::facts::{AmountState, BudgetState, ContentSeen, Facts, Gate, Locality, PinState};
use super::origin::{Provenance, judge};
use super::verdict::{Finding, Reason};
use super::{Contract, Effect, Outcome, Verdict};

/// Decides one call.
pub fn decide(facts: &Facts) -> Verdict {
    // FAIL CLOSED: a fact that could not be gathered is no reason to go on.
    if let Some(actor) = facts.unavailable {
        return Verdict::new(
            Outcome::Deny,
            Contract::SinkGate,
            vec![Finding::deny(Reason::Unavailable(actor))],
        );
    }
    for (contract, findings) in [
        (Contract::Pin, pin(&facts.pin)),
        (Contract::Budget, budget(facts.budget)),
        (Contract::Constraint, constraint(facts)),
    ] {
        if findings.iter().any(|finding| finding.outcome == Outcome::Deny) {
            return Verdict::new(Outcome::Deny, contract, findings);
        }
    }
    // What only asks is asked together with the gate's own questions, so that one call is one question.
    let asks = constraint(facts);
    let mut findings = sink_gate(facts);
    let contract = if findings.iter().all(|finding| finding.outcome == Outcome::Allow) && !asks.is_empty() {
        Contract::Constraint
    } else {
        Contract::SinkGate
    };
    findings.extend(asks);
    let granted = facts.call_granted.is_some();
    let mut outcome = findings.iter().map(|finding| finding.outcome).max().unwrap_or(Outcome::Allow);
    if outcome == Outcome::Ask && granted {
        outcome = Outcome::Allow;
    }
    // A refusal is remembered: asking again what was answered is no question.
    let refused = facts.call_refused || facts.destinations.iter().any(|d| d.refused && d.granted.is_none());
    if outcome == Outcome::Ask && refused {
        outcome = Outcome::Deny;
        findings.insert(0, Finding::deny(Reason::RefusedBefore));
    }
    Verdict::new(outcome, contract, findings)
}

fn pin(state: &PinState) -> Vec<Finding> {
    match state {
        PinState::Known => Vec::new(),
        PinState::Unlisted => vec![Finding::deny(Reason::NotListed)],
        PinState::Drifted(fields) => vec![Finding::deny(Reason::Drifted(fields.clone()))],
        PinState::NoPolicy(why) => vec![Finding::deny(Reason::NoPolicy(why.clone()))],
    }
}

fn budget(state: BudgetState) -> Vec<Finding> {
    match state {
        BudgetState::Unlimited | BudgetState::Taken { .. } => Vec::new(),
        BudgetState::Exhausted { max } => vec![Finding::deny(Reason::BudgetExhausted { max })],
        BudgetState::Unavailable => vec![Finding::deny(Reason::Unavailable("budget"))],
    }
}

fn constraint(facts: &Facts) -> Vec<Finding> {
    facts
        .constraints
        .iter()
        .map(|finding| Finding {
            outcome: finding.outcome,
            reason: Reason::Constraint { argument: finding.argument.clone(), rule: finding.rule.clone() },
        })
        .collect()
}

fn sink_gate(facts: &Facts) -> Vec<Finding> {
    let mut findings = flows(facts);
    if facts.gate == Gate::On && (facts.effect.is_sink() || facts.effect == Effect::Fetch) {
        findings.extend(destinations(facts));
    }
    findings
}

fn destinations(facts: &Facts) -> Vec<Finding> {
    let mut in_doubt = false;
    let mut findings: Vec<Finding> = facts
        .destinations
        .iter()
        .map(|destination| {
            let judged = judge(destination, facts.effect, &facts.cells);
            // What the user declared is theirs, whoever stands behind it.
            let declared = matches!(judged.provenance, Provenance::Allowlisted | Provenance::OwnData);
            in_doubt |= destination.hidden && !declared;
            Finding {
                outcome: judged.outcome,
                reason: Reason::Destination {
                    facts: Box::new(destination.clone()),
                    provenance: judged.provenance,
                    place: judged.place.map(Box::new),
                },
            }
        })
        .collect();
    let any_declared = facts
        .destinations
        .iter()
        .any(|d| d.destination.reason != crate::provenance::DestinationReason::Embedded);
    if facts.truncated || in_doubt {
        findings.push(Finding { outcome: Outcome::Ask, reason: Reason::TooManyDestinations });
    }
    if !any_declared && facts.effect.is_sink() {
        findings.push(Finding { outcome: facts.cells.unproven_at_least(), reason: Reason::NoDestination });
    }
    let spends = facts.effect == Effect::Spend && facts.amount != AmountState::Vouched;
    // An amount is told only of calls that spend, if only besides.
    if spends || facts.amount == AmountState::Unvouched {
        findings.push(Finding {
            outcome: Outcome::Ask,
            reason: Reason::Amount { known: facts.amount == AmountState::Unvouched },
        });
    }
    findings
}

/// Content that leaves. A local upstream keeps what it is given, and is no destination, unless the
/// call is a sink all the same.
fn flows(facts: &Facts) -> Vec<Finding> {
    if facts.locality == Locality::Local && !facts.effect.is_sink() {
        return Vec::new();
    }
    let known = facts.flows.iter().map(|flow| {
        let outcome = if flow.granted { Outcome::Allow } else { Outcome::Ask };
        Finding { outcome, reason: Reason::Flow(Box::new(flow.clone())) }
    });
    // FAIL CLOSED: what was not looked at may hold anything.
    let rest = (facts.content == ContentSeen::Part)
        .then_some(Finding { outcome: Outcome::Ask, reason: Reason::TooMuchContent });
    known.chain(rest).collect()
}

impl super::Cells {
    fn unproven_at_least(&self) -> Outcome {
        self.0.get(&Provenance::Unproven).copied().unwrap_or(Outcome::Ask).max(Outcome::Ask)
    }
}
