//! The vector files, each row a test.
