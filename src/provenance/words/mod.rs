//! What the user said: prompts told apart in typed and pasted text, and what stands in the typed part.
//!
//! Typed text vouches for destinations, pasted text never does; `blocks` draws the line between the
//! two. `store` keeps the prompts of a session in bounded memory and answers whether a destination
//! was typed, `same` says when a stretch of text *is* a destination (STRICT, whole tokens; a command
//! by `whole` only as all of what was typed),
//! `sentence` cuts the text into the sentences in which the policy looks for verbs, `amounts` finds
//! sums of money, `payees` whom they are for, and `pointed` says whether a read was of one thing that the user named.

mod amounts;
mod blocks;
mod nouns;
mod payees;
mod pointed;
mod same;
mod sentence;
mod store;
mod tokens;
mod whole;

pub use blocks::Origin;
pub use nouns::{Thing, is_noun as is_thing_noun};
pub use pointed::ReadCall;
pub use same::{Naming, Reading};
pub use sentence::{Own, Sentence};
pub use store::{Named, Said, TypedPlace, TypedSum, Words};
