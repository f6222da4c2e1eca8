//! Views of a text with one layer of encoding undone, each with the step that undid it.
//!
//! A decoder looks at folded text and returns only the neighbourhoods it changed, so a long text with
//! one escape costs little. The engine applies decoders to their own results, to a bounded depth and a
//! bounded total. Other ciphers, Morse, number words and images are not undone.

mod codes;
mod hidden;
mod inplace;
mod layers;
mod markup;
mod runs;
mod spelled;
mod triggers;
mod turned;
mod views;

pub use layers::{Decoded, decoded};
pub(crate) use layers::{Walk, layers};
pub(crate) use views::{Derived, derive, reversed, rot13};
