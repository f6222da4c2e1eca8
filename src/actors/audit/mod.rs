//! The audit log: one JSON object a line, each line chained to the one before by its hash.
//!
//! A `verdict` record is written before a call is forwarded and an `outcome` record after it; if the
//! first cannot be written the call is refused. Audit is not logging: it may not be sampled or lost.
//! `record.rs` says what stands in a line, `chain.rs` how lines are chained, `file.rs` how several
//! processes share one file.

mod actor;
mod chain;
mod file;
mod record;

pub use actor::{AppendOutcome, AppendVerdict, AuditActor, AuditError, Flush};
pub use chain::{GENESIS, Link, seal, verify_line};
pub use file::AuditFile;
pub use record::{OutcomeRecord, Sealing, VerdictRecord};
