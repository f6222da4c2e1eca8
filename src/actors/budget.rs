//! The budget actor: how many calls of each tool were attempted.
//!
//! Check and take are one synchronous message, so that parallel calls cannot overspend. Attempts
//! count, not successes, and a second look at a call after an approval takes no second slot.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix::prelude::*;

use crate::policy::BudgetState;

/// Take a slot of a tool's budget.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// The upstream's state key: its name and a digest of its launch.
    pub upstream: Arc<str>,
    /// The tool's own name.
    pub tool: Arc<str>,
    /// The limit that the policy sets.
    pub max: u64,
}

impl Message for Reserve {
    type Result = BudgetState;
}

/// Owns the ledger of attempts.
#[derive(Debug, Default)]
pub struct BudgetActor {
    used: BTreeMap<(Arc<str>, Arc<str>), u64>,
}

impl Actor for BudgetActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1_024);
    }
}

impl Handler<Reserve> for BudgetActor {
    type Result = MessageResult<Reserve>;

    fn handle(&mut self, msg: Reserve, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.reserve(msg))
    }
}

impl BudgetActor {
    fn reserve(&mut self, Reserve { upstream, tool, max }: Reserve) -> BudgetState {
        let used = self.used.entry((upstream, tool)).or_default();
        if *used >= max {
            return BudgetState::Exhausted { max };
        }
        *used += 1;
        BudgetState::Taken { used: *used, max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_never_exceed_the_limit() {
        let mut actor = BudgetActor::default();
        let mut take =
            |tool: &str| actor.reserve(Reserve { upstream: "a".into(), tool: tool.into(), max: 2 });
        assert_eq!(take("x"), BudgetState::Taken { used: 1, max: 2 });
        assert_eq!(take("x"), BudgetState::Taken { used: 2, max: 2 });
        assert_eq!(take("y"), BudgetState::Taken { used: 1, max: 2 });
        assert_eq!(take("x"), BudgetState::Exhausted { max: 2 });
    }
}
