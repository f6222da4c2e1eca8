//! The Model Context Protocol without IO: envelope, ids, names, catalogue, session and link state machines.

mod capability;
mod catalog;
mod entry;
mod envelope;
mod export;
mod framing;
mod link;
mod listing;
mod method;
mod names;
mod page;
mod requests;
mod routes;
mod scan;
mod session;

pub use capability::{Capabilities, Capability, Level};
pub use catalog::{Catalog, Listing, Resolved, Shows, Standing, Tool};
pub use entry::Entry;
pub use envelope::{Body, Id, Incoming, Junk, Sender};
pub use framing::{Frame, LINE_LIMIT, Lines, Skim};
pub use link::{
    Command as LinkCommand, Event as LinkEvent, Forward, LATEST, Link, Listed, Outcome, REVISIONS, Terms,
    Timer as LinkTimer,
};
pub use listing::List;
pub use method::{Address, Method, RefusalForm};
pub use names::{NAME_LIMIT, exported as exported_name};
pub use requests::Advertised;
pub use routes::Found;
pub use scan::Span;
pub use session::{
    Command as SessionCommand, Event as SessionEvent, Offer, Reply, Said, Session, Timer as SessionTimer,
};
