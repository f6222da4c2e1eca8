//! The Model Context Protocol without IO: envelope, ids, names, catalogue, session and link state machines.

mod capability;
mod catalog;
mod elicitation;
mod entry;
mod envelope;
mod export;
mod framing;
mod link;
mod listing;
mod method;
mod names;
mod offered;
mod page;
mod requests;
mod routes;
mod sampling;
mod scan;
mod session;
mod tasks;
mod template;

pub use capability::{Capabilities, Capability, Level};
pub use catalog::{Catalog, Listing, Resolved, Shows, Standing, Tool};
pub use elicitation::{Elicitation, Way, pages_first};
pub use entry::Entry;
pub use envelope::{Body, Id, Incoming, Junk, Sender};
pub use framing::{Frame, LINE_LIMIT, Lines, Skim};
pub use link::{
    Answer as LinkAnswer, Command as LinkCommand, Event as LinkEvent, Forward, LATEST, Link, Listed, Outcome,
    REVISIONS, Request as ReverseRequest, Terms, Timer as LinkTimer,
};
pub use listing::List;
pub use method::{Address, Method, RefusalForm};
pub use names::{NAME_LIMIT, exported as exported_name};
pub use offered::{Modes, Offered, Reverse, Sampling};
pub use requests::Advertised;
pub use routes::Found;
pub use sampling::sampling_shown;
pub use scan::{Span, spliced};
pub use session::{
    Command as SessionCommand, Event as SessionEvent, Offer, Reply, Said, Session, Timer as SessionTimer,
};
pub use tasks::{Wanted, created};
