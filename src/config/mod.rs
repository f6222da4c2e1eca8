//! What `bouncer run --config FILE` reads: a `bouncer.yaml` of our own, or any client file with
//! `mcpServers` or `servers`. Read, expand variables, check, collect every problem.
//!
//! Own files are strict: an unknown key is an error. Client files are other programs' files: what we
//! do not know in them is left alone, and an entry that we cannot start is skipped with its reason.

mod expand;
mod load;
pub mod raw;
mod state;
mod upstream;

pub use load::{Config, Limits, is_config, load, parse};
pub use state::{log_file, log_folder, state_folder, usual_state_folders};
pub use upstream::{InheritEnv, Skipped, ToolFilter, UpstreamConfig};
