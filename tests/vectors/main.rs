//! The vector files, each row a test.
//!
//! They are read from the folder named by `BOUNCER_VECTORS` when it is set, else from beside this file. A file
//! that is missing there is skipped with a note: such a folder may hold only some of them.

#![expect(
    clippy::panic,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it skipped"
)]

mod attacker;
mod cases;
mod contracts;
mod evasions;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The rows of one file; `None` when the folder given from outside does not have it.
pub(crate) fn rows(file: &str) -> Option<Vec<Value>> {
    let outside = std::env::var_os("BOUNCER_VECTORS").map(PathBuf::from);
    let folder =
        outside.clone().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"));
    let path = folder.join(file);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if outside.is_some() && e.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: no {}", path.display());
            return None;
        }
        Err(e) => panic!("{}: {e}", path.display()),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Array(rows)) => Some(rows),
        Ok(_) => panic!("{}: not a list of rows", path.display()),
        Err(e) => panic!("{}: {e}", path.display()),
    }
}
