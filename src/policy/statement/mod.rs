//! What a statement or a command line does: reads, writes, destroys, executes or changes access, how
//! many statements there are, and which hosts, urls and paths stand inside.
//!
//! `sql` reads SQL, `shell` command lines; both give a [`StatementClass`]. Read just far enough to
//! know a read from a write and one statement from several, never to run anything: whatever is not
//! understood is the worst class, `execute`. Pure and linear in the text, of which at most 64 KiB
//! are read.

mod class;
mod git;
mod lines;
mod looks;
mod options;
mod programs;
mod remote;
mod scripts;
mod shell;
mod sql;
mod sql_tables;
mod sql_words;
#[cfg(test)]
mod tests;
mod tools;

pub use class::{NamedPlace, PlaceForm, StatementClass};
pub use shell::shell;
pub use sql::sql;
