//! The index over all that upstreams showed: a table of keyed fingerprints for atoms (`table.rs`), the
//! text itself in compressed blocks (`store.rs`), and signatures of words and pairs of words for phrases
//! (`phrases.rs`).
//!
//! Nothing here knows what a value means; it answers "where did these bytes stand?".

mod phrases;
mod prints;
mod store;
mod table;

pub(crate) use phrases::{Phrases, Signature};
pub(crate) use prints::Prints;
pub(crate) use store::{Chunk, Passage, Store};
pub(crate) use table::{LONGEST, Look, Occurrence, Table, order, spread};
