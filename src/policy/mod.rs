//! What may happen: effects and argument roles of tools, the four contracts (pin, budget,
//! constraint, sink gate), their layering, and the one function that decides.
//!
//! Pure: no IO, no clock, no logging, no runtime. Facts in, verdict out.

mod argument;
mod asked;
mod audience;
mod binding;
mod checks;
pub mod constraint;
mod container;
mod decide;
#[cfg(test)]
mod decide_tests;
mod effect;
mod facts;
mod faded;
mod glob;
mod grant;
pub mod guard;
mod handle;
pub mod heuristics;
mod history;
mod inquiry;
mod lasting;
mod layer;
mod listing;
mod looser;
mod made;
mod members;
mod origin;
mod pin;
#[expect(clippy::module_inception, reason = "the file holds the type of this name")]
mod policy;
#[cfg(test)]
mod policy_tests;
mod preview;
mod prose;
mod query;
mod question;
mod refine;
mod refusal;
mod request;
mod review;
mod rule;
mod rules;
#[cfg(test)]
mod session_tests;
mod solicit;
mod spent;
pub mod statement;
mod tool;
mod trial;
mod verdict;
mod wording;

pub use argument::{Selected, select};
pub use asked::Asks;
pub use binding::{Binding, UpstreamIdentity};
pub use checks::{Surroundings, findings};
pub use decide::decide;
pub use effect::{ArgPath, Effect, Layer, Role};
pub use facts::{
    AmountState, Asked, BudgetState, ConstraintFinding, ContentSeen, DestinationFacts, Facts, FlowContent,
    FlowFacts, Gate, Locality, PinState, Typed, Via,
};
pub use glob::Glob;
pub use grant::{AskedAbout, GrantKey, Ledger, ListYes, Offer, asked_about, destination_key, fetch_key};
pub use handle::{Handle, Siblings};
pub use history::{History, Making, Shown};
pub use inquiry::{Answered, Answers, Around, Guard, Inquiry, links_read, vouched};
pub use lasting::{LASTING_DAYS, Lasting, LastingGrant, MOST_DAYS, revoke_line};
pub use layer::DESTROY_BUDGET;
pub use listing::{Listing, exact_digest, listing};
pub use origin::{Cells, Provenance};
pub use pin::{Change, Pin, PinMode, ServerPin};
pub use policy::{Pack, Policy};
pub use preview::{Preview, preview};
pub use query::{About, Content, Query, SecretSeen, Traced, TracedDestination};
pub use question::{Question, Subject, question};
pub use refusal::{BLOCKED, Unasked, refusal};
pub use request::is_outward;
pub use review::{Note, NoteKind, review};
pub use rule::{Allowance, Extent, OwnData, Rule, RuleSet, SinkNames, Specificity, ToolKey};
pub use rules::{MOST_POLICIES, Ruled, Rules, TooMany};
pub use solicit::{
    Entry, Form, FormField, asks_for_secrets, attributed, imitates, page_question, secret_question,
};
pub use spent::SpentSum;
pub use tool::{ArgRule, Audience, Bound, Budget, OwnPlace, ToolPolicy};
pub use trial::{Disk, Trial, Tried};
pub use verdict::{Contract, Finding, Outcome, Reason, Verdict};
pub use wording::{Rewording, word_diff};
