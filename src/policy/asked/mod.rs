//! Whether the user asked for an effect: a verb of that effect in imperative position.
//!
//! `verbs` reads the verb list, which is data; `clause` finds the imperatives of a sentence; `ask`
//! decides in which sentences a verb counts for a destination. A missing verb costs a question and
//! never a refusal, so the list may be incomplete in any language.

mod ask;
mod clause;
mod verbs;

pub use ask::Asks;
