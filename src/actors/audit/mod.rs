//! The audit log: one JSON object a line, each line chained to the one before by its hash.
//!
//! A `verdict` record is written before a call is forwarded and an `outcome` record after it; if the
//! first cannot be written the call is refused. Audit is not logging: it may not be sampled or lost.
//! `record.rs` says what stands in a line, `chain.rs` how lines are chained, `file.rs` how several
//! processes share one file, `head.rs` keeps its end, `verify.rs` and `summary.rs` read it again.

mod actor;
mod chain;
mod file;
mod head;
mod record;
mod summary;
mod verify;

pub use actor::{AppendOutcome, AppendVerdict, AuditActor, AuditError, Flush};
pub use chain::{GENESIS, Link, seal, verify_line};
pub use file::AuditFile;
pub use head::{Head, HeadFile};
pub use record::{AnswerRecord, Masked, OutcomeRecord, RequestRecord, Sealing, VerdictRecord};
pub use summary::{Count, Entry, Summary};
pub use verify::{Broken, Checked, Line, Records, verify};
