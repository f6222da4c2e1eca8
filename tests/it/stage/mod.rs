//! What the end-to-end tests stand on: a scripted upstream, a client that speaks raw lines to the
//! real program, and a stage that sets both up in a folder of their own.
//!
//! Nothing sleeps: a test waits for an event on a channel, with a deadline, and a test that wants to
//! show that nothing came sends something afterwards and waits for that.

mod client;
mod runtime;
mod scene;
mod selftest;
mod terminal;
mod upstream;

pub(crate) use client::Client;
pub(crate) use runtime::{Runtime, deps};
pub(crate) use scene::{Launch, Options, Stage};
pub(crate) use terminal::Terminal;
pub(crate) use upstream::Event;
