//! What may happen: effects and argument roles of tools, the four contracts (pin, budget,
//! constraint, sink gate), their layering, and the one function that decides.
//!
//! Pure: no IO, no clock, no logging, no runtime. Facts in, verdict out.

mod effect;
mod glob;
mod verdict;

pub use effect::{ArgPath, Effect, Layer, Role};
pub use glob::Glob;
pub use verdict::{Contract, Outcome};
