//! Typed sums that were paid: each vouches once for each payee that its prompt names, and once in all for
//! payees that it does not name.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::provenance::{Destination, TypedSum};

/// Payments that are remembered. FAIL CLOSED: beyond them every sum counts as spent.
const MOST: usize = 4_096;

/// A typed sum with those it is paid to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpentSum {
    /// The prompt, and where the sum begins in it.
    sum: (usize, usize),
    /// The payees; `None` for one whom the prompt does not name.
    payees: Vec<Option<String>>,
}

impl SpentSum {
    /// A typed sum and its payees.
    pub(super) fn of(sum: &TypedSum, payees: &[&Destination]) -> Self {
        let payees = payees.iter().zip(&sum.named).map(|(payee, named)| {
            let form = || payee.strict.as_ref().map_or(payee.text.as_str(), |strict| strict.as_str());
            named.then(|| form().to_owned())
        });
        let mut payees: Vec<_> = payees.collect();
        if payees.is_empty() {
            payees.push(None);
        }
        Self { sum: (sum.prompt, sum.at), payees }
    }
}

/// What was paid.
#[derive(Debug, Default)]
pub(super) struct Spent(BTreeSet<((usize, usize), Option<String>)>);

impl Spent {
    /// Whether a sum was paid to none of its payees yet.
    pub(super) fn is_free(&self, sum: &SpentSum) -> bool {
        let unnamed = (sum.sum, None);
        let mut paid = self.0.range(unnamed.clone()..).take_while(|(paid, _)| *paid == sum.sum);
        // Who is not named takes what nobody else has taken.
        let taken = if sum.payees.contains(&None) {
            paid.next().is_some()
        } else {
            self.0.contains(&unnamed) || paid.any(|(_, payee)| sum.payees.contains(payee))
        };
        self.0.len() < MOST && !taken
    }

    /// Notes payments.
    pub(super) fn note(&mut self, sums: &[SpentSum]) {
        for SpentSum { sum, payees } in sums {
            if self.0.len() < MOST {
                self.0.extend(payees.iter().map(|payee| (*sum, payee.clone())));
            }
        }
    }
}
