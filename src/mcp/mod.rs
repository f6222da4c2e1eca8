//! The Model Context Protocol without IO: envelope, ids, names, catalogue, session and link state machines.
