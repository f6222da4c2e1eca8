//! Bouncer: one local MCP server that stands in front of all of a user's MCP servers and answers
//! every tool call with allow, ask or deny, by where its destination came from.
//!
//! `docs/architecture.md` is the map. The short of it: [`policy`], [`provenance`] and [`mcp`] are
//! pure, facts in and values out; [`actors`] gather the facts and carry out the verdict;
//! [`app`] wires a configuration into a running system; [`cli`] is the only place that prints.

pub mod actors;
pub mod app;
pub mod cli;
pub mod clients;
pub mod clock;
pub mod config;
pub mod introspect;
pub mod mcp;
pub mod pack;
pub mod policy;
pub mod provenance;
pub mod transport;
