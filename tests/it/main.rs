//! End-to-end tests: real processes over real transports.
