//! Bytes in and out: stdio framing and child processes.
