//! The Model Context Protocol without IO: envelope, ids, names, catalogue, session and link state machines.

mod catalog;

pub use catalog::Tool;
