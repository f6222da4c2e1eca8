//! `bouncer check`: what Bouncer would do, without doing it.
//!
//! `command.rs` holds the options and the order of things, `world.rs` what is looked at, `rows.rs` the
//! findings of each tool, `table.rs` prints them; `call.rs` judges one call, `cases.rs` runs policy cases,
//! and `accept.rs` lets a person accept what changed.

mod accept;
mod call;
mod cases;
mod command;
mod rows;
mod table;
mod world;

pub(super) use command::{CheckArgs, check};
pub(super) use rows::{Found, Row, Server, general, servers};
pub(super) use world::{Files, World};
