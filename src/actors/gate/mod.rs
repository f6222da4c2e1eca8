//! The gate: gathers the facts of a call, decides, and carries out the verdict.
//!
//! `tools.rs` keeps the policy of each listed tool, `requests.rs` that of what is no tool call, `gather.rs` asks
//! the shared actors for facts, `judge.rs` decides and holds, `reverse.rs` does both for what upstreams ask of
//! clients, `reload.rs` takes a policy that
//! was read again, `actor.rs` is the face to the relay. All of it runs on the data
//! path's arbiter; between a check and the change that it justifies there is no await.

mod actor;
mod call;
mod gather;
mod judge;
mod paths;
mod reload;
mod requests;
mod reverse;
mod tools;
mod words;

pub use actor::{GateActor, Settings, Shared};
pub use reload::{ListWaiting, TakePolicy, Waiting};
pub use tools::UpstreamFacts;
