//! Client programs: where each keeps its MCP servers, how to import, rewrite and restore that file, and its hooks.

pub mod hooks;
