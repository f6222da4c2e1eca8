//! The catalogue: which exported name stands for which tool of which upstream.
//!
//! An entry keeps the tool exactly as its upstream listed it, for pins and policies, beside the copy
//! that clients are shown. Names are resolved by table only, never by splitting.

use std::sync::Arc;

use bytes::Bytes;

/// One tool of one upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The configured name of the upstream.
    pub upstream: Arc<str>,
    /// The tool's own name at its upstream.
    pub name: Arc<str>,
    /// The name clients see.
    pub exported: Arc<str>,
    /// The entry of `tools/list` as the upstream sent it: a raw JSON object.
    pub listed: Bytes,
    /// The entry as clients see it: exported name, and a schema that no client rejects.
    pub shown: Bytes,
}
