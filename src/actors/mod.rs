//! The running parts, on actix. Each gathers facts, makes one synchronous call into a pure module, and acts.

pub mod approval;
#[cfg(test)]
mod approval_tests;
pub mod audit;
pub mod budget;
mod carry;
pub mod control;
pub mod gate;
mod grants_file;
mod holds;
mod hook;
#[cfg(test)]
mod interleaving_tests;
pub mod last_run;
pub mod late;
mod links;
mod messages;
pub mod pins;
mod pump;
mod reverse;
mod rows;
pub mod session;
mod soon;
pub mod status;
pub mod taint;
pub mod upstream;
mod work;

pub use grants_file::GrantsFile;
pub use holds::short_id;
pub use hook::{UserPrompt, relay_prompts};
pub use links::{TooFar, follow_links, follow_links_while};
pub use messages::{
    Admission, AdmitAgain, Answer, AnswerJudgement, AskJudgement, CallNumber, CallOutcome, Elicit, Gate,
    JudgeAnswer, JudgeAsk, JudgeCall, Judgement, LateAnswer, NotRecorded, Patience, RecordListing,
    RecordNotice, RecordOutput, RecordRefusal, SessionId, Ticket,
};
pub use reverse::{AskProgress, Face, Meet, Relay, RelayedAnswer, RootsChanged, Unrelay};
pub use soon::{Promise, Soon};
