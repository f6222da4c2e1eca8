//! Following symbolic links on the local disk, off the data path.

use std::collections::{BTreeMap, BTreeSet};

use crate::actors::follow_links;

/// The most paths of one call that are followed; what is not resolved is judged by its words.
const PATHS: usize = 256;

/// Where each path leads once symbolic links are followed. One that cannot be resolved is left out.
pub(super) async fn resolve(paths: BTreeSet<String>) -> BTreeMap<String, String> {
    if paths.is_empty() {
        return BTreeMap::new();
    }
    let work = move || {
        let followed = paths.into_iter().take(PATHS);
        followed.filter_map(|path| follow_links(&path).map(|real| (path, real))).collect()
    };
    // FAIL CLOSED: a task that died resolved nothing, so only the words of a path count, and a path
    // outside by its words stays outside.
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}
