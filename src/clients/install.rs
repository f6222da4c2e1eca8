//! Carries a plan out, and undoes it: the only part of `clients` that writes.
//!
//! ORDER: the config that the new entry runs, the backup and the record are on disk before the
//! client's file changes, so that whatever ends in between leaves a client that works and a change
//! that can be undone. Files are replaced in one step, with their permissions, through links.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::HookEdit;
use super::carried;
use super::plan::{Plan, digest_of};
use super::record::{FileRecord, HookRecord, MapRecord, Record, digest};

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// Files that were written, the client's last.
    pub written: Vec<PathBuf>,
}

/// How a file was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// Byte for byte.
    Whole(PathBuf),
    /// It had been changed since: our entry is out, the servers are back, the changes are kept.
    Edited(PathBuf),
    /// It did not exist before, and is gone again.
    Removed(PathBuf),
    /// Bouncer's own config of the servers was changed by hand, so it is kept here.
    Kept(PathBuf),
}

/// A file that is about to be changed.
struct Change<'a> {
    path: &'a Path,
    before: Option<&'a str>,
    after: String,
}

/// Carries out a plan for a file whose text is `before`. `hook` is the plan's, where it was agreed to.
///
/// # Errors
/// Something could not be written, or a file has changed since the plan was made. The client's file
/// is then as it was.
pub fn install(
    plan: &Plan,
    file: &Path,
    before: &str,
    hook: Option<&HookEdit>,
    state: &Path,
) -> Result<Done, String> {
    let folder = state.join("clients");
    private_folder(&folder).map_err(|error| format!("folder `{}`: {error}", folder.display()))?;
    let stem = format!("{}-{}", plan.known.client, digest_of(file, &[]));
    let record_path = folder.join(format!("{stem}.json"));
    let old = read_record(&record_path)?;
    let mut record = old.clone().unwrap_or_else(|| Record {
        version: 1,
        client: plan.known.client.to_owned(),
        file: file.to_owned(),
        maps: Vec::new(),
        hook: None,
        files: Vec::new(),
    });
    let mut done = Done::default();
    for map in &plan.maps {
        let known = read_text(&map.config)?;
        if map.originals.is_empty() && known.is_some() {
            continue;
        }
        let text = carried::config(map, file, known.as_deref())
            .map_err(|error| format!("config `{}`: {error}", map.config.display()))?;
        write(&map.config, text.as_bytes(), Mode::Private)?;
        done.written.push(map.config.clone());
    }
    let hook_before = hook.filter(|hook| hook.file != file).map(|hook| read_text(&hook.file)).transpose()?;
    let mut changes = vec![Change { path: file, before: Some(before), after: plan.text.clone() }];
    if let Some(hook) = hook {
        if hook.file == file {
            if let Some(first) = changes.first_mut() {
                first.after = hook.put_in(&first.after)?;
            }
        } else {
            let text = hook_before.as_ref().and_then(Option::as_deref);
            changes.insert(
                0,
                Change { path: &hook.file, before: text, after: hook.put_in(text.unwrap_or_default())? },
            );
        }
    }
    changes.retain(|change| change.before != Some(change.after.as_str()));
    for change in &changes {
        let backup = back_up(change, old.as_ref(), &folder, &stem, file)?;
        record.files.retain(|known| known.path != change.path);
        let after = digest(change.after.as_bytes());
        record.files.push(FileRecord { path: change.path.to_owned(), backup, after });
    }
    remember(&mut record, plan, hook);
    let text = serde_json::to_string_pretty(&record).map_err(|error| error.to_string())?;
    write(&record_path, text.as_bytes(), Mode::Private)?;
    for change in changes {
        let now = read_text(change.path)?;
        if now.as_deref() != change.before {
            return Err(format!(
                "`{}` has just been changed by another program; run this again",
                change.path.display()
            ));
        }
        write(change.path, change.after.as_bytes(), Mode::Kept)?;
        done.written.push(change.path.to_owned());
    }
    Ok(done)
}

/// Backs a file up. Where it was changed by hand since the last time, what is backed up is the file
/// without us, so that `restore` keeps that change.
fn back_up(
    change: &Change<'_>,
    old: Option<&Record>,
    folder: &Path,
    stem: &str,
    file: &Path,
) -> Result<Option<String>, String> {
    let name = if change.path == file { format!("{stem}.backup") } else { format!("{stem}.hook.backup") };
    let known = old.and_then(|old| old.file_of(change.path).map(|known| (old, known)));
    let Some(before) = change.before else { return Ok(None) };
    let original = match known {
        Some((_, known)) if known.after == digest(before.as_bytes()) => return Ok(known.backup.clone()),
        Some((old, _)) => old.without_us(change.path, before)?,
        None => before.to_owned(),
    };
    write(&folder.join(&name), original.as_bytes(), Mode::Private)?;
    Ok(Some(name))
}

fn remember(record: &mut Record, plan: &Plan, hook: Option<&HookEdit>) {
    for map in &plan.maps {
        match record.maps.iter_mut().find(|known| known.map == map.map) {
            Some(known) => {
                known.servers.retain(|(name, _)| !map.originals.iter().any(|(new, _)| new == name));
                known.servers.extend(map.originals.iter().cloned());
            }
            None => record.maps.push(MapRecord {
                map: map.map.clone(),
                entry: map.entry.clone(),
                config: map.config.clone(),
                servers: map.originals.clone(),
            }),
        }
    }
    if let Some(hook) = hook {
        let event = hook.event.to_owned();
        record.hook = Some(HookRecord { file: hook.file.clone(), event, command: hook.command.clone() });
    }
}

/// The record of a client's file.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn find_record(state: &Path, file: &Path) -> Result<(PathBuf, Record), String> {
    let end = format!("-{}.json", digest_of(file, &[]));
    let folder = state.join("clients");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(&end)).collect();
    paths.sort();
    let path = paths.into_iter().next().ok_or("`bouncer init` has not changed this file")?;
    let record = read_record(&path)?.ok_or("the record has gone")?;
    Ok((path, record))
}

/// The clients' files that stand changed, in the order of their names.
pub fn changed_files(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(state.join("clients")).into_iter().flatten().flatten();
    let records =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    let mut files: Vec<PathBuf> = records.filter_map(|path| Some(read_record(&path).ok()??.file)).collect();
    files.sort();
    files
}

/// The text of each file of a record as it will be; `None` for one that goes.
type Backwards = (PathBuf, Option<String>, Restored);

/// Undoes what a record says.
///
/// # Errors
/// A file could not be read, parsed or written. Files already brought back stay so.
pub fn restore(record_path: &Path, record: &Record) -> Result<Vec<Restored>, String> {
    let folder = record_path.parent().unwrap_or(Path::new("/"));
    // All are worked out before one is written.
    let back: Vec<Backwards> =
        record.files.iter().map(|file| backwards(record, file, folder)).collect::<Result<_, _>>()?;
    let mut done = Vec::new();
    for (path, text, how) in back {
        match text {
            Some(text) => write(&path, text.as_bytes(), Mode::Kept)?,
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(format!("`{}`: {error}", path.display()));
                }
                _ => remove_if_empty(path.parent()),
            },
        }
        done.push(how);
    }
    for map in &record.maps {
        let text = read_text(&map.config)?;
        let untouched = text
            .as_deref()
            .is_some_and(|text| text.starts_with("# Servers that `bouncer init`") && !edited(text));
        if untouched {
            let _ = fs::remove_file(&map.config);
        } else if text.is_some() {
            done.push(Restored::Kept(map.config.clone()));
        }
    }
    for file in &record.files {
        if let Some(backup) = &file.backup {
            let _ = fs::remove_file(folder.join(backup));
        }
    }
    let _ = fs::remove_file(record_path);
    Ok(done)
}

/// Whether a config of ours holds keys that only a person writes.
fn edited(text: &str) -> bool {
    text.lines().any(|line| {
        ["    prefix:", "    pack:", "    local:", "limits:", "pins:", "list_wait:", "question_wait:"]
            .iter()
            .any(|key| line.starts_with(key))
    })
}

fn backwards(record: &Record, file: &FileRecord, folder: &Path) -> Result<Backwards, String> {
    let path = file.path.clone();
    let now = read_text(&path)?;
    let backup = match &file.backup {
        Some(name) => Some(
            read_text(&folder.join(name))?
                .ok_or_else(|| format!("the backup of `{}` has gone", path.display()))?,
        ),
        None => None,
    };
    let unchanged = now.as_ref().is_none_or(|now| digest(now.as_bytes()) == file.after);
    if unchanged {
        let how =
            if backup.is_some() { Restored::Whole(path.clone()) } else { Restored::Removed(path.clone()) };
        return Ok((path, backup, how));
    }
    let text = record.without_us(&path, now.as_deref().unwrap_or_default())?;
    Ok((path.clone(), Some(text), Restored::Edited(path)))
}

/// Folders that were made for a hook file go with it.
fn remove_if_empty(folder: Option<&Path>) {
    if let Some(folder) = folder.filter(|folder| folder.ends_with("hooks") || folder.ends_with(".claude")) {
        // It fails when something else is in there, which is what is wanted.
        let _ = fs::remove_dir(folder);
    }
}

fn read_record(path: &Path) -> Result<Option<Record>, String> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| format!("record `{}`: {error}", path.display()))
}

/// A file's text; `None` when there is no such file.
///
/// # Errors
/// It cannot be read or is not UTF-8.
pub fn read_text(path: &Path) -> Result<Option<String>, String> {
    match fs::read(path) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| format!("`{}` is not UTF-8", path.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("`{}`: {error}", path.display())),
    }
}

/// Who may read what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The user only: it may hold tokens.
    Private,
    /// Who could before; the user only where there was no file.
    Kept,
}

/// Replaces a file in one step.
fn write(path: &Path, bytes: &[u8], mode: Mode) -> Result<(), String> {
    replace(path, bytes, mode).map_err(|error| format!("`{}` could not be written: {error}", path.display()))
}

fn replace(path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    // Through links: the file behind one is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let mut fresh = tempfile::Builder::new().prefix(".bouncer-").tempfile_in(folder)?;
    fresh.write_all(bytes)?;
    if mode == Mode::Kept
        && let Ok(data) = fs::metadata(&path)
    {
        fresh.as_file().set_permissions(data.permissions())?;
    }
    fresh.as_file().sync_all()?;
    fresh.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::approved::Approvals;
    use crate::clients::lists::Lists;
    use crate::clients::locate::Homes;
    use crate::clients::plan::{Request, StateOption, plan};

    /// A home folder with one client file in it, and a state folder.
    struct Stage {
        _root: tempfile::TempDir,
        base: PathBuf,
        file: PathBuf,
        state: PathBuf,
    }

    impl Stage {
        fn new(name: &str, text: &str) -> Self {
            let root = tempfile::tempdir().expect("a folder");
            let base = fs::canonicalize(root.path()).expect("its real path");
            let file = base.join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
            fs::write(&file, text).expect("a file");
            Self { _root: root, file, state: base.join("state"), base }
        }

        fn init(&self, hook: bool) -> Plan {
            let text = self.text();
            let request = Request {
                file: &self.file,
                place: &self.file,
                text: &text,
                only: &[],
                program: "/usr/bin/bouncer",
                state: &self.state,
                state_option: StateOption::Named,
                homes: &Homes::default(),
                overridden: &[],
                approvals: &Approvals::default(),
                lists: &Lists::read(&self.file, &Homes::default(), &read_text),
            };
            let plan = plan(&request).expect("a plan");
            let hook = plan.hook.as_ref().filter(|_| hook);
            if plan.changes(&text) || hook.is_some() {
                install(&plan, &self.file, &text, hook, &self.state).expect("an installation");
            }
            plan
        }

        fn text(&self) -> String {
            fs::read_to_string(&self.file).expect("the file")
        }

        fn restore(&self) -> Vec<Restored> {
            let (path, record) = find_record(&self.state, &self.file).expect("a record");
            restore(&path, &record).expect("a restoration")
        }

        fn files(&self) -> Vec<PathBuf> {
            let mut found = Vec::new();
            let mut folders = vec![self.base.clone()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).expect("a folder").flatten() {
                    if entry.path().is_dir() { folders.push(entry.path()) } else { found.push(entry.path()) }
                }
            }
            found
        }
    }

    const TEXT: &str = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n  },\n}\n";

    #[test]
    fn twice_is_once_and_restore_is_byte_for_byte() {
        let stage = Stage::new(".cursor/mcp.json", TEXT);
        stage.init(true);
        let once = stage.text();
        assert!(once.contains("bouncer") && stage.files().len() > 3);
        stage.init(true);
        assert_eq!(stage.text(), once);
        let done = stage.restore();
        assert!(done.contains(&Restored::Whole(stage.file.clone())), "{done:?}");
        assert_eq!(stage.text(), TEXT);
        assert_eq!(stage.files(), std::slice::from_ref(&stage.file), "nothing is left behind");
        assert!(find_record(&stage.state, &stage.file).is_err());
    }

    #[test]
    fn changes_by_hand_are_kept() {
        let stage = Stage::new(".cursor/mcp.json", TEXT);
        stage.init(false);
        let changed = stage.text().replace("// mine", "// mine, changed");
        fs::write(&stage.file, changed).expect("a change");
        assert_eq!(stage.restore(), [Restored::Edited(stage.file.clone())]);
        assert!(
            stage.text().contains("changed")
                && stage.text().contains("\"a\"")
                && !stage.text().contains("bouncer")
        );
    }

    #[test]
    fn servers_that_come_later_move_too_and_come_back() {
        let stage = Stage::new(".cursor/mcp.json", TEXT);
        stage.init(false);
        let changed = stage
            .text()
            .replace("  },\n}", "    \"b\": {\"command\": \"y\"}\n  },\n}")
            .replace("]\n    }\n", "]\n    },\n");
        fs::write(&stage.file, &changed).expect("a change");
        let plan = stage.init(false);
        assert_eq!(plan.moves(), ["b"]);
        assert!(!stage.text().contains("\"b\""));
        assert_eq!(stage.restore(), [Restored::Whole(stage.file.clone())]);
        let text = stage.text();
        assert!(text.contains("\"a\"") && text.contains("\"b\"") && !text.contains("bouncer"), "{text}");
    }

    /// The one file of each case, by its path in the case.
    fn corpus() -> Vec<(String, PathBuf, String)> {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/configs");
        let mut cases = Vec::new();
        for case in fs::read_dir(&base).expect("the corpus").flatten() {
            let mut folder = case.path();
            while folder.is_dir() {
                let mut entries = fs::read_dir(&folder).expect("a folder").flatten();
                folder = entries.next().expect("a file").path();
            }
            let text = fs::read_to_string(&folder).expect("a text");
            let inside = folder.strip_prefix(case.path()).expect("a path").to_owned();
            cases.push((case.file_name().to_string_lossy().into_owned(), inside, text));
        }
        cases.sort();
        cases
    }

    #[test]
    fn every_config_of_the_corpus_comes_back_byte_for_byte() {
        let cases = corpus();
        assert!(cases.len() >= 30, "{} cases", cases.len());
        for (name, inside, text) in cases {
            let stage = Stage::new(&inside.to_string_lossy(), &text);
            let plan = stage.init(true);
            let once = stage.text();
            let remote_only = name.contains("remote-only") || name.contains("empty-servers");
            assert_eq!(once == text, remote_only, "{name}");
            for map in &plan.maps {
                let config = fs::read_to_string(&map.config).expect("a config");
                let read = crate::config::parse(&config, &map.config, &|_| Some("x".to_owned()));
                let read = read.unwrap_or_else(|problems| panic!("{name}: {problems:?}\n{config}"));
                for (server, _) in &map.originals {
                    let known = read.upstreams.iter().any(|upstream| upstream.name == *server)
                        || read.skipped.iter().any(|skipped| skipped.name == *server);
                    assert!(known, "{name}: {server} is lost");
                }
            }
            let again = stage.init(true);
            assert!(again.moves().is_empty() && stage.text() == once, "{name}: twice is once");
            if !remote_only {
                stage.restore();
            }
            assert_eq!(stage.text(), text, "{name}");
            let files = stage.files();
            assert_eq!(files, std::slice::from_ref(&stage.file), "{name}: something is left behind");
        }
    }

    #[test]
    fn every_config_of_the_corpus_comes_back_in_meaning_after_a_change() {
        for (name, inside, text) in corpus() {
            let stage = Stage::new(&inside.to_string_lossy(), &text);
            let plan = stage.init(false);
            if plan.maps.is_empty() {
                continue;
            }
            let changed = stage.text() + "\n";
            fs::write(&stage.file, changed).expect("a change");
            assert_eq!(stage.restore(), [Restored::Edited(stage.file.clone())], "{name}");
            let read =
                |text: &str| crate::clients::edit::read(text, plan.known.form).expect("a file that parses");
            let before = serde_json::to_string(&read(&text)).expect("JSON");
            let after = serde_json::to_string(&read(&stage.text())).expect("JSON");
            let letters = |text: &str| {
                let mut letters: Vec<char> = text.chars().collect();
                letters.sort_unstable();
                letters
            };
            // The order of the servers may differ where one of them stayed.
            let added = usize::from(name.contains("wrong-key"));
            assert!(added == 1 || letters(&before) == letters(&after), "{name}\n{before}\n{after}");
        }
    }

    #[test]
    fn files_are_replaced_whole_and_only_as_they_were_seen() {
        use std::io::Read;
        let stage = Stage::new(".cursor/mcp.json", TEXT);
        let mut reader = fs::File::open(&stage.file).expect("the file");
        let plan = stage.init(false);
        let mut seen = String::new();
        reader.read_to_string(&mut seen).expect("text");
        assert_eq!(seen, TEXT, "who reads meanwhile reads the old file to its end");
        stage.restore();
        // Another program writes between the plan and its installation.
        let other = TEXT.replace("mine", "theirs");
        fs::write(&stage.file, &other).expect("a change");
        let refused = install(&plan, &stage.file, TEXT, None, &stage.state);
        assert!(refused.is_err_and(|why| why.contains("just been changed")));
        assert_eq!(stage.text(), other);
    }

    #[cfg(unix)]
    #[test]
    fn what_may_hold_tokens_is_private_and_the_clients_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let stage = Stage::new(".cursor/mcp.json", TEXT);
        fs::set_permissions(&stage.file, fs::Permissions::from_mode(0o640)).expect("a mode");
        stage.init(false);
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&stage.file), 0o640);
        for entry in fs::read_dir(stage.state.join("clients")).expect("a folder").flatten() {
            assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        }
        assert_eq!(mode(&stage.state.join("clients")), 0o700);
    }
}
