//! Pins that last: what each upstream was when it was first seen, in one file for all processes of a
//! state folder.
//!
//! The file is replaced whole, so that a reader never sees half of it, and is changed only under an
//! advisory lock on a file beside it. The lock is taken without waiting, because a process that is
//! stopped while it holds it must not stop us. What is pinned is `policy::pin`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::policy::{Change, PinMode, ServerPin, UpstreamIdentity};
use crate::provenance::escaped;

/// The version of the file's form.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const MOST: u64 = 256 * 1024 * 1024;
/// How often a held lock is tried again, and for how long.
const RETRY: Duration = Duration::from_millis(2);
const RETRIES: u32 = 1_000;

/// An upstream's state is kept under its name and a digest of its launch, so that another server put
/// under the same name starts anew.
pub fn state_key(identity: &UpstreamIdentity) -> String {
    let mut digest = Sha256::new();
    let host = identity.host.as_deref().unwrap_or_default();
    for part in [identity.command.as_str(), host].into_iter().chain(identity.args.iter().map(String::as_str))
    {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let digest = data_encoding::HEXLOWER.encode(&digest.finalize());
    format!("{}@{}", identity.name, digest.get(..16).unwrap_or_default())
}

/// All changes of a tool, for the operator.
pub fn in_words(changes: &[Change]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What is logged of a tool that drifted.
pub fn drift_notice(upstream: &str, tool: &str, changes: &[Change], mode: PinMode) -> String {
    let (upstream, tool) = (escaped(upstream, 80), escaped(tool, 80));
    let (is, help) = match mode {
        PinMode::Enforce => ("is withheld, since it", "`bouncer check --accept` shows and accepts it"),
        PinMode::Warn | PinMode::Off => ("", "`pins: enforce` would withhold it"),
    };
    let differs = "is not what was first seen";
    format!("tool `{tool}` of `{upstream}` {is} {differs}: {}; {help}", in_words(changes)).replace("  ", " ")
}

/// Why pins could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PinFault {
    /// The file or its lock cannot be used.
    #[error("`{path}` cannot be used: {cause}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        cause: io::Error,
    },
    /// It is no file of pins.
    #[error("`{0}` is no file of pins of this version")]
    Unreadable(PathBuf),
    /// Another process holds the lock for seconds.
    #[error("another process holds the lock of `{0}`")]
    Locked(PathBuf),
}

/// The contents of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PinBook {
    version: u32,
    /// The servers by state key.
    pub upstreams: BTreeMap<String, ServerPin>,
}

impl Default for PinBook {
    fn default() -> Self {
        Self { version: VERSION, upstreams: BTreeMap::new() }
    }
}

/// The file of a state folder.
#[derive(Debug, Clone)]
pub struct PinFile {
    path: PathBuf,
    lock: PathBuf,
}

impl PinFile {
    /// The file of this folder, which must exist when pins are written.
    pub fn new(state: &Path) -> Self {
        Self { path: state.join("pins.json"), lock: state.join("pins.lock") }
    }

    /// What is pinned; nothing when there is no file yet.
    ///
    /// # Errors
    /// The file cannot be read, or is none of ours: never an empty book, which would pin anew.
    pub fn read(&self) -> Result<PinBook, PinFault> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PinBook::default()),
            Err(cause) => return Err(self.io(cause)),
        };
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes).map_err(|cause| self.io(cause))?;
        serde_json::from_slice::<PinBook>(&bytes)
            .ok()
            .filter(|book| book.version == VERSION)
            .ok_or_else(|| PinFault::Unreadable(self.path.clone()))
    }

    /// Changes the book under the lock; `None` when another process holds it now.
    ///
    /// # Errors
    /// The book cannot be read or written; then nothing is changed.
    pub fn change(&self, change: impl FnOnce(&mut PinBook)) -> Result<Option<PinBook>, PinFault> {
        let lock_io = |cause| PinFault::Io { path: self.lock.clone(), cause };
        let lock = private(OpenOptions::new().write(true).create(true).truncate(false))
            .open(&self.lock)
            .map_err(lock_io)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(lock_io(cause)),
        }
        let mut book = self.read()?;
        change(&mut book);
        self.write(&book).map_err(|cause| self.io(cause))?;
        // The lock ends with its file.
        Ok(Some(book))
    }

    /// Replaces the file: the new one is whole on the disk before it takes the old one's name.
    fn write(&self, book: &PinBook) -> io::Result<()> {
        let text = serde_json::to_vec(book)?;
        let fresh = self.path.with_extension("json.new");
        let mut file = private(OpenOptions::new().write(true).create(true).truncate(true)).open(&fresh)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&fresh, &self.path)
    }

    /// The fault of a lock that stays held.
    pub fn locked(&self) -> PinFault {
        PinFault::Locked(self.path.clone())
    }

    fn io(&self, cause: io::Error) -> PinFault {
        PinFault::Io { path: self.path.clone(), cause }
    }
}

/// Files that only the user can read.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// What a listing was compared with, and in what it differs.
#[derive(Debug, Default)]
pub struct Compared {
    /// What is pinned; nothing where that could not be read.
    pub pinned: ServerPin,
    /// The tools that are not what was pinned, with all that differs.
    pub drift: BTreeMap<String, Vec<Change>>,
}

/// The pins as the gate asks them.
#[derive(Debug)]
pub struct Pins {
    file: PinFile,
    mode: PinMode,
    /// What this process saw pinned, so that a file that vanishes meanwhile loosens nothing.
    seen: RefCell<BTreeMap<String, ServerPin>>,
}

impl Pins {
    /// The pins of this state folder.
    pub fn new(state: &Path, mode: PinMode) -> Self {
        Self { file: PinFile::new(state), mode, seen: RefCell::default() }
    }

    /// What drift means.
    pub fn mode(&self) -> PinMode {
        self.mode
    }

    /// Whether drift withholds.
    pub fn withholds(&self) -> bool {
        self.mode == PinMode::Enforce
    }

    /// Whether drift is told.
    pub fn reports(&self) -> bool {
        self.mode != PinMode::Off
    }

    /// What a listing is compared with under this key. A server that was never seen is pinned as it is
    /// now.
    pub async fn compare(&self, key: &str, listed: &ServerPin) -> Compared {
        if self.mode == PinMode::Off {
            return Compared::default();
        }
        let pinned = match self.pinned(key, listed).await {
            Ok(pinned) => {
                self.seen.borrow_mut().insert(key.to_owned(), pinned.clone());
                pinned
            }
            // FAIL CLOSED: without its pins nobody can say that a tool is what it was.
            Err(fault) => {
                tracing::error!("the pins cannot be compared: {fault}");
                self.seen.borrow().get(key).cloned().unwrap_or_default()
            }
        };
        Compared { drift: pinned.drift(listed), pinned }
    }

    /// Tells one state of the file from another without reading it.
    pub fn stamp(&self) -> Option<(SystemTime, u64)> {
        let data = std::fs::metadata(&self.file.path).ok()?;
        Some((data.modified().ok()?, data.len()))
    }

    /// Pins one tool as it is listed here, because a person accepted it.
    ///
    /// # Errors
    /// Nothing was accepted.
    pub async fn accept(&self, key: &str, listed: &ServerPin, tool: &str) -> Result<(), PinFault> {
        let known = self.seen.borrow().get(key).cloned().unwrap_or_default();
        self.change(|book| {
            book.upstreams.entry(key.to_owned()).or_insert_with(|| known.clone()).accept(listed, Some(tool));
        })
        .await?;
        Ok(())
    }

    /// Changes the book, and waits a while for whoever holds its lock.
    async fn change(&self, mut change: impl FnMut(&mut PinBook)) -> Result<PinBook, PinFault> {
        for _ in 0..RETRIES {
            if let Some(book) = self.file.change(&mut change)? {
                return Ok(book);
            }
            tokio::time::sleep(RETRY).await;
        }
        Err(self.file.locked())
    }

    async fn pinned(&self, key: &str, listed: &ServerPin) -> Result<ServerPin, PinFault> {
        if let Some(pinned) = self.file.read()?.upstreams.remove(key) {
            return Ok(pinned);
        }
        let first = self.seen.borrow().get(key).unwrap_or(listed).clone();
        let put = |book: &mut PinBook| {
            book.upstreams.entry(key.to_owned()).or_insert_with(|| first.clone());
        };
        let mut book = self.change(put).await?;
        Ok(book.upstreams.remove(key).unwrap_or(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Pin;
    use serde_json::json;

    fn server(description: &str) -> ServerPin {
        let pin = Pin::of(&json!({"name": "t", "description": description}));
        ServerPin::new(None, [("t".to_owned(), pin)].into())
    }

    fn drift(pins: &Pins, description: &str) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let drift = runtime.block_on(pins.compare("k", &server(description))).drift;
        drift.get("t").map(|changes| in_words(changes)).unwrap_or_default()
    }

    #[test]
    fn a_second_process_compares_with_what_the_first_saw() {
        let folder = tempfile::tempdir().unwrap();
        let first = Pins::new(folder.path(), PinMode::Enforce);
        assert_eq!(drift(&first, "one"), "");
        let second = Pins::new(folder.path(), PinMode::Enforce);
        assert_eq!(drift(&second, "two"), "description");
        assert_eq!(drift(&second, "one"), "");
        PinFile::new(folder.path())
            .change(|book| book.upstreams.get_mut("k").unwrap().accept(&server("two"), None))
            .unwrap()
            .unwrap();
        assert_eq!(drift(&first, "two"), "", "what was accepted meanwhile counts at once");
        assert_eq!(drift(&Pins::new(folder.path(), PinMode::Off), "three"), "");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(folder.path().join("pins.json")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_that_vanishes_or_breaks_loosens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        let pins = Pins::new(folder.path(), PinMode::Enforce);
        assert_eq!(drift(&pins, "one"), "");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(drift(&pins, "two"), "description");
        std::fs::write(&path, "{\"version\":1").unwrap();
        assert_eq!(drift(&pins, "two"), "description");
        assert_eq!(drift(&Pins::new(folder.path(), PinMode::Enforce), "one"), "new tool");
        std::fs::write(&path, "{\"version\":2,\"upstreams\":{}}").unwrap();
        assert_eq!(drift(&Pins::new(folder.path(), PinMode::Enforce), "one"), "new tool");
    }

    #[test]
    fn a_lock_that_is_held_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = PinFile::new(folder.path());
        let held = File::create(folder.path().join("pins.lock")).unwrap();
        held.lock().unwrap();
        assert!(file.change(|_| ()).unwrap().is_none());
        held.unlock().unwrap();
        assert!(file.change(|_| ()).unwrap().is_some());
    }

    #[test]
    fn another_launch_is_another_server() {
        let key = |command: &str| {
            state_key(&UpstreamIdentity {
                name: "a".into(),
                command: command.into(),
                ..UpstreamIdentity::default()
            })
        };
        assert!(key("x").starts_with("a@"));
        assert_ne!(key("x"), key("y"));
    }
}
