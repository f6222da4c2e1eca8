//! What the upstreams offered when they last ran, kept in the state folder, because `initialize` is
//! answered before any of them is up.
//!
//! A hint for clients and nothing more: no verdict depends on it. A file that cannot be read counts as none,
//! one that cannot be written costs the next run its hints.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::pins::{PinFile, private};
use crate::mcp::{Advertised, Capabilities};
use crate::policy::PinMode;

/// The largest file that is read, and the longest instructions of one upstream, in bytes.
const MOST: u64 = 16 << 20;
const INSTRUCTIONS: usize = 32 << 10;

/// What one upstream offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Offered {
    capabilities: Capabilities,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

/// The file of a state folder, and what it held.
#[derive(Debug)]
pub struct LastRun {
    path: PathBuf,
    offered: RefCell<BTreeMap<String, Offered>>,
}

impl LastRun {
    /// Reads what this state folder keeps.
    pub fn read(state: &Path) -> Self {
        let path = state.join("offered.json");
        let offered = read(&path).unwrap_or_default();
        Self { path, offered: RefCell::new(offered) }
    }

    /// Keeps what an upstream offers now, under its state key.
    pub fn note(&self, key: &str, capabilities: &Capabilities, instructions: Option<&str>) {
        let instructions = instructions.filter(|text| text.len() <= INSTRUCTIONS).map(str::to_owned);
        let now = Offered { capabilities: capabilities.clone(), instructions };
        let before = self.offered.borrow_mut().insert(key.to_owned(), now.clone());
        if before.as_ref() != Some(&now)
            && let Err(cause) = self.write()
        {
            tracing::warn!("`{}` cannot be written: {cause}", self.path.display());
        }
    }

    /// What `initialize` is answered with for these upstreams, given by name and state key in the order in
    /// which they are listed. Of the instructions those that are pinned, where pins are enforced; so text
    /// that changed is not shown before it was accepted.
    pub fn advertised(&self, state: &Path, mode: PinMode, upstreams: &[(&str, String)]) -> Advertised {
        let offered = self.offered.borrow();
        let known: Vec<_> =
            upstreams.iter().filter_map(|(name, key)| Some((*name, key, offered.get(key)?))).collect();
        let mut capabilities = Capabilities::all();
        if known.len() == upstreams.len() && !known.is_empty() {
            capabilities = Capabilities::default();
            for (_, _, offered) in &known {
                capabilities.join(&offered.capabilities);
            }
        }
        let pinned = PinFile::new(state).read().unwrap_or_default().upstreams;
        let instructions = known.into_iter().filter_map(|(name, key, offered)| {
            let pinned = pinned.get(key).and_then(|pin| pin.instructions());
            let text = if mode == PinMode::Enforce { pinned } else { offered.instructions.as_deref() };
            let text = text.filter(|text| !text.trim().is_empty())?;
            Some((name.into(), text.to_owned()))
        });
        Advertised { capabilities, instructions: instructions.collect() }
    }

    /// Replaces the file. Another process may do the same: the later one stays, and either is right.
    fn write(&self) -> io::Result<()> {
        let mut all = read(&self.path).unwrap_or_default();
        all.extend(self.offered.borrow().clone());
        let fresh = self.path.with_extension(format!("json.{}", std::process::id()));
        let mut file = private(OpenOptions::new().write(true).create(true).truncate(true)).open(&fresh)?;
        file.write_all(&serde_json::to_vec(&all)?)?;
        std::fs::rename(&fresh, &self.path)
    }
}

fn read(path: &Path) -> Option<BTreeMap<String, Offered>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::Capability;
    use crate::policy::ServerPin;

    #[test]
    fn a_first_run_offers_everything_and_a_later_one_what_there_was() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        let tools: Capabilities = [Capability::Tools].into_iter().collect();
        let both = [("a", "a@1".to_owned()), ("b", "b@1".to_owned())];
        let offers = |run: &LastRun, upstreams: &[(&str, String)]| {
            run.advertised(state, PinMode::Off, upstreams).capabilities
        };
        let first = LastRun::read(state);
        assert_eq!(offers(&first, &both), Capabilities::all());
        first.note("a@1", &tools, Some("use a with care\n"));
        let later = LastRun::read(state);
        assert_eq!(offers(&later, &both), Capabilities::all());
        later.note("b@1", &[Capability::Prompts].into_iter().collect(), Some("and b"));
        let last = LastRun::read(state);
        assert_eq!(offers(&last, &both), [Capability::Tools, Capability::Prompts].into_iter().collect());
        assert_eq!(offers(&last, &both[..1]), tools);
        let text = last.advertised(state, PinMode::Off, &both).instructions;
        assert_eq!(text, [("a".into(), "use a with care\n".to_owned()), ("b".into(), "and b".to_owned())]);
        assert_eq!(offers(&last, &[]), Capabilities::all());
    }

    #[test]
    fn instructions_are_those_that_are_pinned() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path();
        let pin = |text: &str| ServerPin::new(Some(text), BTreeMap::new());
        PinFile::new(state).change(|book| drop(book.upstreams.insert("a@1".to_owned(), pin("old")))).unwrap();
        let run = LastRun::read(state);
        run.note("a@1", &Capabilities::default(), Some("new"));
        let of = |mode| run.advertised(state, mode, &[("a", "a@1".to_owned())]).instructions;
        assert_eq!(of(PinMode::Enforce), [("a".into(), "old".to_owned())]);
        assert_eq!(of(PinMode::Warn), [("a".into(), "new".to_owned())]);
    }

    #[test]
    fn a_file_that_is_broken_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("offered.json"), "{\"a@1\":7}").unwrap();
        let advertised =
            LastRun::read(folder.path()).advertised(folder.path(), PinMode::Off, &[("a", "a@1".to_owned())]);
        assert_eq!(advertised, Advertised { capabilities: Capabilities::all(), instructions: Vec::new() });
    }
}
