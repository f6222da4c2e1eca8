//! `STATE/grants.jsonl`: the lasting grants of all Bouncers of a state folder.
//!
//! Only commands that take a person's answer on a terminal write it. A running Bouncer reads it, again
//! whenever it has changed, so that what was revoked counts for no further call. What its lines mean
//! is in `policy::Lasting`. FAIL CLOSED: a file that cannot be read, or that another user could have
//! written, grants nothing.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::policy::Lasting;

/// Longest file that is read, in bytes.
const LONGEST: u64 = 8 * 1024 * 1024;
/// How often a file that was replaced while we waited for its lock is opened again.
const TRIES: usize = 16;

/// The file, and what it granted when it was last read.
#[derive(Debug, Clone)]
pub struct GrantsFile {
    path: PathBuf,
    seen: Option<Seen>,
    lasting: Lasting,
}

/// What tells a changed file from an unchanged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    len: u64,
    modified: Option<std::time::SystemTime>,
    file: u64,
}

impl GrantsFile {
    /// The file of a state folder; it need not exist.
    pub fn of(state: &Path) -> Self {
        Self { path: state.join("grants.jsonl"), seen: None, lasting: Lasting::default() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it grants now.
    pub fn lasting(&mut self) -> &Lasting {
        let seen = std::fs::metadata(&self.path).ok().map(|data| Seen::of(&data));
        if seen != self.seen {
            self.seen = seen;
            self.lasting = match self.read() {
                Ok(lasting) => lasting,
                Err(error) => {
                    tracing::warn!("the lasting grants cannot be read, so none counts: {error}");
                    Lasting::default()
                }
            };
            if self.lasting.unread > 0 {
                tracing::warn!(
                    "{} lines of the lasting grants cannot be read and grant nothing",
                    self.lasting.unread
                );
            }
        }
        &self.lasting
    }

    /// Reads the file; one that is not there grants nothing.
    ///
    /// # Errors
    /// It cannot be read, or others may write it.
    pub fn read(&self) -> io::Result<Lasting> {
        match File::open(&self.path) {
            Ok(file) => read(&file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lasting::default()),
            Err(error) => Err(error),
        }
    }

    /// Adds a line and makes sure that it is on the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&self, line: &str) -> io::Result<()> {
        let mut file = self.locked()?;
        let end = file.seek(SeekFrom::End(0))?;
        // A line that was cut short must not swallow ours.
        let mut text = String::new();
        if end > 0 {
            let mut last = [0; 1];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                text.push('\n');
            }
        }
        text.push_str(line);
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Writes the file anew with what still counts at `now`, and returns how many grants went.
    ///
    /// # Errors
    /// The file cannot be read or written; it is then as it was.
    pub fn expire(&self, now: u64) -> io::Result<usize> {
        if !self.path.exists() {
            return Ok(0);
        }
        // Held until the new file has its name, so that no line is added to the old one meanwhile.
        let file = self.locked()?;
        let lasting = read(&file)?;
        let rest = lasting.rest(now);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        fresh.write_all(rest.as_bytes())?;
        fresh.as_file().sync_all()?;
        fresh.persist(&self.path).map_err(|error| error.error)?;
        drop(file);
        Ok(lasting.grants().len() - rest.lines().count())
    }

    /// Opens the file, made if it is missing, and takes its lock.
    fn locked(&self) -> io::Result<File> {
        for _ in 0..TRIES {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&self.path)?;
            file.lock()?;
            let same = std::fs::metadata(&self.path).is_ok_and(|named| {
                file.metadata().is_ok_and(|ours| Seen::of(&ours).file == Seen::of(&named).file)
            });
            if same {
                return Ok(file);
            }
        }
        Err(io::Error::other("it is replaced again and again"))
    }
}

fn read(file: &File) -> io::Result<Lasting> {
    let data = file.metadata()?;
    if !is_private(&data) {
        let why = "it belongs to another user or others may write it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    if data.len() > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    let mut bytes = Vec::new();
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(Lasting::read(&String::from_utf8_lossy(&bytes)))
}

impl Seen {
    fn of(data: &Metadata) -> Self {
        #[cfg(unix)]
        let file = std::os::unix::fs::MetadataExt::ino(data);
        #[cfg(not(unix))]
        let file = 0;
        Self { len: data.len(), modified: data.modified().ok(), file }
    }
}

#[cfg(unix)]
fn is_private(data: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    data.uid() == rustix::process::getuid().as_raw() && data.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn is_private(_data: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Effect, GrantKey, LastingGrant, revoke_line};

    fn grant(id: &str, ends: u64) -> LastingGrant {
        let key = GrantKey::Destination { upstream: None, strict: format!("{id}@b.example") };
        LastingGrant {
            id: id.to_owned(),
            effect: Effect::Send,
            keys: vec![key],
            launches: std::collections::BTreeMap::new(),
            about: String::new(),
            by: "ana".to_owned(),
            given: 0,
            ends,
        }
    }

    fn ids(file: &mut GrantsFile) -> Vec<String> {
        file.lasting().grants().iter().map(|grant| grant.id.clone()).collect()
    }

    #[test]
    fn what_changes_is_read_again_and_what_ended_goes() {
        let state = tempfile::tempdir().expect("a folder");
        let mut reader = GrantsFile::of(state.path());
        assert!(ids(&mut reader).is_empty());
        let writer = GrantsFile::of(state.path());
        writer.append(&grant("a", 10).to_line()).expect("room");
        // A line that a crash cut short.
        std::fs::write(writer.path(), grant("a", 10).to_line() + "{\"kind\"").expect("room");
        writer.append(&grant("b", 20).to_line()).expect("room");
        assert_eq!(ids(&mut reader), ["a", "b"]);
        writer.append(&grant("c", 20).to_line()).expect("room");
        writer.append(&revoke_line("b", "ana", 1)).expect("room");
        assert_eq!(ids(&mut reader), ["a", "c"]);
        assert_eq!(writer.expire(10).expect("room"), 1);
        assert_eq!(ids(&mut reader), ["c"]);
        assert_eq!(writer.expire(10).expect("room"), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_write_grants_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().expect("a folder");
        let mut file = GrantsFile::of(state.path());
        file.append(&grant("a", 10).to_line()).expect("room");
        let mode = |mode| {
            std::fs::set_permissions(state.path().join("grants.jsonl"), std::fs::Permissions::from_mode(mode))
        };
        assert_eq!(std::fs::metadata(file.path()).expect("there").permissions().mode() & 0o777, 0o600);
        mode(0o666).expect("ours");
        assert!(ids(&mut file).is_empty());
        assert!(file.read().is_err());
    }
}
