//! Checks on the sources themselves.
