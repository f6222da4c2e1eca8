//! `bouncer audit`: reading the audit log. Nothing here writes to it.
//!
//! `command.rs` holds the options, `tail.rs` follows, `record.rs` shows one record as a person reads it,
//! `counts.rs` the summary, and `export.rs` makes tables for other programs. Everything in a log is
//! hostile text, and a line that is no record is told, never a failure.

mod command;
mod counts;
mod export;
mod record;
mod tail;

pub(super) use command::{AuditArgs, audit, summarize};
pub(super) use counts::as_json as summary_as_json;
pub(super) use record::evidence;
