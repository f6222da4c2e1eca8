//! The running parts, on actix. Each gathers facts, makes one synchronous call into a pure module, and acts.

pub mod approval;
#[cfg(test)]
mod approval_tests;
pub mod audit;
pub mod budget;
mod hook;
mod messages;

pub use hook::{UserPrompt, relay_prompts};
pub use messages::{
    Admission, Answer, CallNumber, CallOutcome, Elicit, Gate, JudgeCall, Judgement, LateAnswer, Patience,
    RecordListing, RecordOutput, RecordRefusal, SessionId, Ticket,
};
