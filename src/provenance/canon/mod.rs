//! The canonical forms of destinations, one file a kind.
//!
//! STRICT forms (`strict.rs`) decide trust and fold only what the protocol folds. LOOSE forms are made
//! by the same parsers from text that was folded first (`fold.rs`), and decide taint. A parser here
//! never folds by itself.

pub(crate) mod account;
pub(crate) mod email;
pub(crate) mod host;
pub(crate) mod path;
pub(crate) mod phone;
pub(crate) mod plain;
mod shape;
mod strict;
pub(crate) mod url;

pub(crate) use shape::{shape_of, weak_kind};
pub use strict::strict_form;
