//! The packs that ship with Bouncer, compiled once.

use std::sync::{Arc, OnceLock};

use crate::policy::Pack;

use super::compile::compile_pack;
use super::diagnostic::Diagnostic;

/// A pack as it ships: its file's name, its text, and the text of its cases.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// The name of its file.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Its cases.
    pub cases: &'static str,
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        [$(Shipped {
            file: concat!("packs/", $name, ".yaml"),
            text: include_str!(concat!("../../packs/", $name, ".yaml")),
            cases: include_str!(concat!("../../packs/", $name, ".cases.yaml")),
        }),+]
    };
}

/// All packs, in the order in which they are applied.
pub const SHIPPED: [Shipped; 19] = shipped![
    "filesystem",
    "memory",
    "git",
    "time",
    "fetch",
    "everything",
    "sequential-thinking",
    "gmail",
    "slack",
    "github",
    "gdrive",
    "google-calendar",
    "notion",
    "linear",
    "jira",
    "postgres",
    "playwright",
    "puppeteer",
    "stripe",
];

/// The compiled packs.
///
/// # Errors
/// The problems of a pack that does not compile. A test keeps this from shipping; a caller that meets
/// it refuses every call, since a missing pack loosens.
pub fn builtin_packs() -> Result<Vec<Arc<Pack>>, Vec<Diagnostic>> {
    static PACKS: OnceLock<Result<Vec<Arc<Pack>>, Vec<Diagnostic>>> = OnceLock::new();
    PACKS
        .get_or_init(|| {
            let mut packs = Vec::new();
            let mut problems = Vec::new();
            for shipped in SHIPPED {
                match compile_pack(shipped.text, shipped.file) {
                    Ok(pack) => packs.push(Arc::new(pack)),
                    Err(found) => problems.extend(found),
                }
            }
            if problems.is_empty() { Ok(packs) } else { Err(problems) }
        })
        .clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pack_compiles_and_has_its_files_name() {
        let packs = match builtin_packs() {
            Ok(packs) => packs,
            Err(problems) => panic!("{problems:#?}"),
        };
        for (pack, shipped) in packs.iter().zip(SHIPPED) {
            assert_eq!(format!("packs/{}.yaml", pack.name), shipped.file);
            assert!(!pack.rules.rules.is_empty(), "{}", pack.name);
        }
    }
}
