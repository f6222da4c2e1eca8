//! Wiring: settings in, running system out, and the order in which it stops.
//!
//! Nothing is decided here. Read `actors` next.
