//! End-to-end tests: the real program, real processes, real transports.
//!
//! A test whose name begins with a letter and a number is the case of that name in the collection of
//! public bug reports and attacks that `docs/protocol.md` and `docs/threat-model.md` list. Tests are
//! grouped by what they are about; `stage` holds what they stand on.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops at what it did not expect, and measures time"
)]

mod approve;
mod attacks;
mod audit;
mod carried;
mod check;
mod configs;
mod demo;
mod documents;
mod faults;
mod fidelity;
mod framing;
mod handles;
mod hook;
mod ids;
mod init;
mod installed;
mod interleavings;
mod lists;
mod names;
mod passing;
mod pins;
mod policy;
mod processes;
mod questions;
mod real;
mod reload;
mod resources;
mod reverse;
mod schemas;
mod serve;
mod stage;
mod tasks;
mod workflows;
