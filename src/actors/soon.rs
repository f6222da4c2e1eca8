//! An answer that is there, or one that comes later.
//!
//! actix spawns a task for every handler that answers with a future. On the path of a call most answers
//! are there at once, and the task would cost more than the answer.

use actix::dev::{MessageResponse, OneshotSender};
use actix::prelude::*;

/// What a handler answers.
pub enum Soon<A: Actor, T: 'static> {
    /// The answer.
    Now(T),
    /// Where it will come from.
    Later(ResponseActFuture<A, T>),
}

impl<A: Actor, T: 'static> Soon<A, T> {
    /// The answer as a future, for what goes on from it.
    pub fn later(self) -> ResponseActFuture<A, T> {
        match self {
            Self::Now(answer) => Box::pin(fut::ready(answer)),
            Self::Later(answer) => answer,
        }
    }

    /// Looks at the answer when it is there.
    #[must_use]
    pub fn inspect(self, look: impl FnOnce(&T) + 'static) -> Self {
        match self {
            Self::Now(answer) => {
                look(&answer);
                Self::Now(answer)
            }
            Self::Later(answer) => Self::Later(Box::pin(answer.map(|answer, _, _| {
                look(&answer);
                answer
            }))),
        }
    }
}

impl<A, M> MessageResponse<A, M> for Soon<A, M::Result>
where
    A: Actor,
    A::Context: AsyncContext<A>,
    M: Message,
    M::Result: 'static,
{
    fn handle(self, ctx: &mut A::Context, asker: Option<OneshotSender<M::Result>>) {
        match self {
            Self::Now(answer) => {
                if let Some(asker) = asker {
                    // An asker that is gone needs no answer.
                    drop(asker.send(answer));
                }
            }
            Self::Later(answer) => MessageResponse::<A, M>::handle(answer, ctx, asker),
        }
    }
}
