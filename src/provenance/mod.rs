//! Where a value came from: destinations and their two canonical forms, what upstreams showed, what
//! the user typed, and the trace from the one to the other.
//!
//! Pure: no IO, no clock, no logging, no runtime. The rules are argued in `docs/architecture.md`.
//! STRICT forms decide trust, LOOSE forms decide taint, and the two never mix: "not traced" is
//! never a reason to allow.

mod atoms;
mod canon;
mod copied;
mod decode;
mod destination;
mod embedded;
mod engine;
mod escape;
mod extract;
mod fields;
mod flows;
mod fold;
mod grams;
#[cfg(test)]
mod hostile_tests;
mod index;
mod joined;
mod kind;
mod labelled;
mod links;
mod lookup;
mod numbers;
mod own;
mod prints;
mod query;
#[cfg(test)]
mod respelled_tests;
mod secret;
mod sent;
#[cfg(test)]
mod session_tests;
mod split;
mod structure;
mod take;
mod text;
mod tokens;
mod trace;
mod trusted;
mod urls;
mod walk;
mod words;

pub use canon::strict_form;
pub use copied::Leaves;
pub use decode::{Decoded, decoded};
pub use destination::{Destination, Reason as DestinationReason, Standing, Strict};
pub use engine::{Engine, Limits, OwnField, Record, Sent, Source, Vouched};
pub use escape::{escaped, escaped_around, is_hidden};
pub use extract::{Extraction, extract};
pub(crate) use fields::names_people;
pub use flows::{Flow, Flows, SecretIn};
pub(crate) use fold::folded;
pub use fold::loose_text;
pub use kind::Kind;
pub use lookup::Work;
pub use own::{is_structure, structures};
pub use secret::{Secret, mask_secrets, secret_key, secrets};
pub use trace::{Alteration, AlterationSize, Decoding, Floor, Place, PlaceKind, Trace};
pub use trusted::TrustRule;
pub use words::{
    Named, Naming, Origin, Own, ReadCall, Reading, Said, Sentence, Thing, TypedPlace, TypedSum, Words,
    is_thing_noun,
};
