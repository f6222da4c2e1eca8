//! Where a value came from: destinations and their two canonical forms, what upstreams showed, what
//! the user typed, and the trace from the one to the other.
//!
//! Pure: no IO, no clock, no logging, no runtime. The rules are argued in `docs/architecture.md`.
//! STRICT forms decide trust, LOOSE forms decide taint, and the two never mix: "not traced" is
//! never a reason to allow.

mod canon;
mod destination;
mod embedded;
mod escape;
mod extract;
mod kind;
mod links;
mod secret;
mod split;
mod text;
mod trace;
mod trusted;
mod words;

pub use canon::strict_form;
pub use destination::{Destination, Reason as DestinationReason, Standing, Strict};
pub use escape::{escaped, escaped_around, is_hidden};
pub use extract::{Extraction, extract};
pub use kind::Kind;
pub use secret::{Secret, mask_secrets, secret_key, secrets};
pub use trace::{Alteration, AlterationSize, Decoding, Floor, Place, PlaceKind, Trace};
pub use trusted::TrustRule;
pub use words::{Origin, ReadCall, Said, Sentence, Words};
