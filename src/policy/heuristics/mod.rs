//! What a tool does and which of its arguments carry authority, read from what the server says of
//! it: name, title, description, annotations and input schema. Used where neither the user nor a
//! pack said anything.
//!
//! `words` takes names apart, `lexicon` says what each word means, `schema` lists the arguments,
//! `verbs` finds the verb of the name and `judge` its effect, `roles` the role of each argument, and
//! `derive` puts them together. No rule names a server or a product, and nothing here is better than a guess:
//! unknown verbs count as writes, annotations only restrict, and each derived fact names its rule.

mod audience;
mod derive;
mod judge;
mod judge_sinks;
mod lexicon;
mod roles;
mod schema;
mod signals;
mod tool;
mod verbs;
mod words;

#[cfg(test)]
mod tests;

pub use audience::widens_audience;
pub use derive::{ArgFact, Derived, derive, effect_of_words};
pub use tool::{Annotations, NotATool, ToolDescription};
pub(super) use words::thing;
