//! Answers of handlers that need no task of their own.
//!
//! actix spawns a task for every handler that answers with a future. On the path of a call most answers
//! are there at once, or are given by a later message, and the task would cost more than the answer.

use std::cell::RefCell;
use std::rc::Rc;

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

/// An answer that somebody owes. Dropped unkept, it tells the asker that none will come.
pub struct Promise<T>(Rc<RefCell<Owed<T>>>);

enum Owed<T> {
    /// Not asked for yet; kept or not.
    Unasked(Option<T>),
    /// Asked for.
    Asked(OneshotSender<T>),
}

impl<T> Promise<T> {
    /// A promise twice: to keep, and to answer the asker with.
    pub fn new() -> (Self, Self) {
        let owed = Rc::new(RefCell::new(Owed::Unasked(None)));
        (Self(Rc::clone(&owed)), Self(owed))
    }

    /// Gives the answer.
    pub fn keep(self, answer: T) {
        match self.0.replace(Owed::Unasked(None)) {
            // An asker that is gone needs no answer, here and below.
            Owed::Asked(asker) => drop(asker.send(answer)),
            Owed::Unasked(_) => drop(self.0.replace(Owed::Unasked(Some(answer)))),
        }
    }
}

impl<A, M> MessageResponse<A, M> for Promise<M::Result>
where
    A: Actor,
    M: Message,
{
    fn handle(self, _: &mut A::Context, asker: Option<OneshotSender<M::Result>>) {
        let Some(asker) = asker else { return };
        match self.0.replace(Owed::Unasked(None)) {
            Owed::Unasked(Some(answer)) => drop(asker.send(answer)),
            _ => drop(self.0.replace(Owed::Asked(asker))),
        }
    }
}
