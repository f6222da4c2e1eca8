//! What `init` would do to one file: a value, made from the text without touching anything.
//!
//! The plan names every server that moves, stays or is noted, the file as it would be, the configs
//! that `run` would read, and the hook that is offered. `install` carries it out.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::approved::Approvals;
use super::edit::{self, MapEdit};
use super::entry::{Fate, Moved, fate};
use super::hook_file::{self, HookEdit};
use super::known::{self, EntryForm, Form, Known, Scope};
use super::lists::Lists;
use super::locate::Homes;

/// What the plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The client's file: absolute, links resolved.
    pub file: &'a Path,
    /// Where its client looks for it, which says whose file it is (`locate::place_of`).
    pub place: &'a Path,
    /// Its text.
    pub text: &'a str,
    /// Only these servers; empty for all.
    pub only: &'a [String],
    /// The full path of this program.
    pub program: &'a str,
    /// The state folder: absolute.
    pub state: &'a Path,
    /// Whether entries must name the state folder, because it is not where this user's is by default.
    pub state_option: StateOption,
    /// The user's folders.
    pub homes: &'a Homes,
    /// Servers that another file of the client overrides, each with that file: they stay.
    pub overridden: &'a [(String, PathBuf)],
    /// Which of the servers the client has approved; the others stay unless `only` names them.
    pub approvals: &'a Approvals,
    /// What the client says of the servers outside of their entries.
    pub lists: &'a Lists,
}

/// Whether the command lines that are written name the state folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateOption {
    /// They leave it to the default.
    Default,
    /// They name it.
    Named,
}

/// What would be done to one file.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Whose file it is.
    pub known: &'static Known,
    /// The file as it would be; equal to what it is when nothing moves.
    pub text: String,
    /// The maps that change.
    pub maps: Vec<MapPlan>,
    /// Servers that stay, each with the reason.
    pub stays: Vec<(String, String)>,
    /// What a person should know, in whole phrases.
    pub notes: Vec<String>,
    /// The prompt hook that this client could have, unless it has it.
    pub hook: Option<HookEdit>,
    /// Whether the servers are a project's and nobody can tell which of them the client has approved.
    pub unvouched: bool,
}

/// What would be done to one map of servers.
#[derive(Debug, Clone)]
pub struct MapPlan {
    /// The keys from the root of the file to the map.
    pub map: Vec<String>,
    /// The name of our entry.
    pub entry: String,
    /// The config that our entry runs.
    pub config: PathBuf,
    /// The servers that move, by name, each as it stands in the client's file.
    pub originals: Vec<(String, Value)>,
    /// The upstreams that the config gets, in its own form; remote ones too, which stay.
    pub upstreams: Vec<(String, Value)>,
    /// Policies for the config: paths of files, and rules.
    pub policies: Vec<Value>,
    /// Whether our entry is in the file already.
    pub installed: bool,
}

impl Plan {
    /// Whether the file would change.
    pub fn changes(&self, before: &str) -> bool {
        self.text != before
    }

    /// The names of the servers that move.
    pub fn moves(&self) -> Vec<&str> {
        self.maps.iter().flat_map(|map| map.originals.iter().map(|(name, _)| name.as_str())).collect()
    }
}

/// Makes the plan.
///
/// # Errors
/// The file is not one that can be edited, or not one that its client reads servers from.
pub fn plan(request: &Request<'_>) -> Result<Plan, String> {
    if let Some(why) = known::not_read(request.place) {
        return Err(why.to_owned());
    }
    let (known, root) = recognise(request)?;
    let project = project_of(request.place, known, request.homes.home.as_deref());
    let folder = request.place.parent().unwrap_or(Path::new("/"));
    let mut plan = Plan {
        known,
        text: request.text.to_owned(),
        maps: Vec::new(),
        stays: Vec::new(),
        notes: Vec::new(),
        hook: None,
        unvouched: false,
    };
    let mut found: Vec<(edit::Servers, Reading)> =
        edit::servers(&root, known.maps).into_iter().map(|servers| (servers, Reading::Read)).collect();
    for key in known.unread {
        for servers in edit::servers(&root, &[&[key]]) {
            plan.notes.push(format!(
                "`{key}` is a key that {} does not read; its servers are taken over, ours goes under `{}`",
                known.label,
                known.maps.first().map(|map| map.join(".")).unwrap_or_default()
            ));
            found.push((servers, Reading::Unread));
        }
    }
    for (servers, reading) in found {
        let project = project_of_map(&servers.map).or(project.as_deref());
        sort_out(request, known, &servers, reading, folder, project, &mut plan);
    }
    warnings(&root, request, &mut plan);
    let edits = edits(request, known, &mut plan);
    if edits.iter().any(|edit| !edit.put.is_empty() || !edit.remove.is_empty()) {
        plan.text = edit::edit(request.text, known.form, &edits)?;
    }
    let fresh = plan.maps.iter().filter(|map| !map.installed && map.entry != "bouncer");
    let apart: Vec<String> = fresh.map(|map| format!("`{}`", map.entry)).collect();
    if !apart.is_empty() {
        plan.notes.push(format!(
            "{} stands for one project only: what servers behind another Bouncer have shown, it does not know",
            apart.join(", ")
        ));
    }
    if !plan.maps.is_empty() {
        plan.hook = hook_file::offer(known, request, project.as_deref());
    }
    if project.is_some() && !plan.moves().is_empty() {
        plan.unvouched = !request.approvals.are_known();
        plan.notes.push(format!(
            "these servers belong to a project, whoever can write it can change them: {}; clients ask again for a changed entry",
            plan.moves().join(", ")
        ));
    }
    Ok(plan)
}

/// Whether a client reads a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Read,
    Unread,
}

fn recognise(request: &Request<'_>) -> Result<(&'static Known, Value), String> {
    let toml = request.place.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let by_path = known::by_path(request.place).or_else(|| if toml { known::codex() } else { None });
    if let Some(known) = by_path {
        if known.form == Form::Yaml {
            return Err(format!("{} is not yet supported: it keeps its servers in YAML", known.label));
        }
        return Ok((known, edit::read(request.text, known.form)?));
    }
    let yaml = ["yaml", "yml"]
        .iter()
        .any(|yaml| request.place.extension().is_some_and(|e| e.eq_ignore_ascii_case(yaml)));
    if yaml {
        return Err("clients that keep their servers in YAML are not yet supported".to_owned());
    }
    let root = edit::read(request.text, Form::Jsonc)?;
    let known = known::by_keys(&root)
        .ok_or("no servers in it: none of `mcpServers`, `servers`, `context_servers`, `mcp` is an object")?;
    Ok((known, root))
}

/// The project that a file belongs to; `None` for the user's own files.
pub(super) fn project_of(file: &Path, known: &Known, home: Option<&Path>) -> Option<PathBuf> {
    let tail = known.tails.iter().find(|tail| known::ends_with(file, tail))?;
    let folder = file.ancestors().nth(tail.split('/').count())?;
    // FAIL CLOSED: a file that opencode reads in any folder is a project's, unless it is where the
    // user's own is.
    if known.client == "opencode" {
        let places = [".config/opencode", "Roaming/opencode", "Application Support/opencode"];
        let own = places.iter().any(|place| known::ends_with(folder, place));
        return (!own).then(|| folder.to_owned());
    }
    let hidden = tail.starts_with('.') && tail.contains('/');
    let outside_home = home.is_none_or(|home| folder != home);
    (known.scope == Scope::Project || hidden && outside_home).then(|| folder.to_owned())
}

/// The project that a map inside a user's file belongs to.
fn project_of_map(map: &[String]) -> Option<&Path> {
    match map {
        [projects, folder, _] if projects == "projects" => Some(Path::new(folder)),
        _ => None,
    }
}

fn sort_out(
    request: &Request<'_>,
    known: &'static Known,
    servers: &edit::Servers,
    reading: Reading,
    folder: &Path,
    project: Option<&Path>,
    plan: &mut Plan,
) {
    let mut entry = None;
    let mut installed_config = None;
    let (mut originals, mut upstreams, mut policies) = (Vec::new(), Vec::new(), Vec::new());
    for (name, value) in &servers.entries {
        let named = request.only.contains(name);
        let chosen = request.only.is_empty() || named;
        let unapproved = request.approvals.missing(name);
        // FAIL CLOSED: a denial of the client that is not known would match our tools no more, and hold nowhere.
        let unread = request.lists.fault(project).filter(|_| !named);
        match fate(name, value, known, folder, project) {
            Fate::Ours(config) => {
                entry = Some(name.clone());
                installed_config = Some(PathBuf::from(config));
            }
            _ if !chosen => {}
            _ if request.overridden.iter().any(|(overridden, _)| overridden == name) => {
                let by = request.overridden.iter().find(|(overridden, _)| overridden == name);
                let by = by.map(|(_, file)| file.display().to_string()).unwrap_or_default();
                plan.stays.push((
                    name.clone(),
                    format!("`{by}` has a server of this name, which is the one that counts"),
                ));
            }
            _ if unapproved.is_some() && !named => {
                let why = unapproved.unwrap_or_default();
                plan.stays.push((name.clone(), format!("{why}; `--server {name}` takes it all the same")));
            }
            Fate::Moves(_) if unread.is_some() => {
                let why = unread.unwrap_or_default();
                plan.stays.push((name.clone(), format!("{why}; `--server {name}` takes it all the same")));
            }
            Fate::Moves(mut moved) => {
                request.lists.carry(name, project, &mut moved);
                moved.notes.extend(unapproved.map(|why| format!("{why}; taken because you named it")));
                let Moved { upstream, policies: with, notes } = moved;
                plan.notes.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
                policies.extend(with);
                originals.push((name.clone(), value.clone()));
                upstreams.push((name.clone(), upstream));
            }
            Fate::Stays { upstream, why } => {
                plan.stays.push((name.clone(), why));
                upstreams.extend(upstream.map(|upstream| (name.clone(), upstream)));
            }
        }
    }
    // Servers that no client reads are taken over and stay where they are.
    let target = match reading {
        Reading::Read => servers.map.clone(),
        Reading::Unread => known
            .maps
            .first()
            .map(|map| map.iter().map(|key| (*key).to_owned()).collect())
            .unwrap_or_default(),
    };
    let installed = entry.is_some();
    if let Some(config) = installed_config.as_ref().filter(|config| !is_of(config, request, &target)) {
        // That entry was written by hand, or by whoever wrote the project: its config may be that of
        // other servers, and is not changed for these.
        plan.stays.extend(originals.iter().map(|(name, _)| {
            (
                name.clone(),
                format!(
                    "Bouncer runs `{}` here, which `init` did not write for this file; add it there",
                    config.display()
                ),
            )
        }));
        return;
    }
    if originals.is_empty() && !installed {
        return;
    }
    let Some(entry) = entry.or_else(|| our_name(known, servers, &originals, project)) else {
        let none = |(name, _): &(String, Value)| (name.clone(), "no free name for our entry".to_owned());
        plan.stays.extend(originals.iter().map(none));
        return;
    };
    if reading == Reading::Unread {
        originals.clear();
        if let Some(map) = plan.maps.iter_mut().find(|map| map.map == target) {
            upstreams.retain(|(name, _)| !map.upstreams.iter().any(|(known, _)| known == name));
            map.upstreams.extend(upstreams);
            return;
        }
    }
    let config = installed_config.unwrap_or_else(|| config_path(request.state, known, request.file, &target));
    plan.maps.push(MapPlan { map: target, entry, config, originals, upstreams, policies, installed });
}

/// The name of our entry; `None` if all are taken. Clients take the entry of a project for the one of the same name of all
/// projects, so each scope has its own; and none is the name of a server that stays in the map. All are
/// seven letters: exported names leave no room for more (`mcp::names`).
fn our_name(
    known: &Known,
    servers: &edit::Servers,
    moving: &[(String, Value)],
    project: Option<&Path>,
) -> Option<String> {
    let first = match project_of_map(&servers.map) {
        Some(_) => 3,
        None if project.is_some() || known.scope == Scope::Project => 2,
        None => 1,
    };
    let mut names = std::iter::once(first)
        .chain(4..=9)
        .map(|number| if number == 1 { "bouncer".to_owned() } else { format!("bounce{number}") });
    let stays = |name: &String| {
        let is_it = |(other, _): &(String, Value)| other == name;
        servers.entries.iter().any(is_it) && !moving.iter().any(is_it)
    };
    names.find(|name| !stays(name))
}

/// Where the config of a map is: named by the client and a digest of the file and the map in it.
pub(super) fn config_path(state: &Path, known: &Known, file: &Path, map: &[String]) -> PathBuf {
    let nested: &[String] = if map.len() > 1 { map } else { &[] };
    state.join("clients").join(format!("{}-{}.yaml", known.client, digest_of(file, nested)))
}

/// Eight hex digits that stand for a file, or for a map in it.
pub(super) fn digest_of(file: &Path, map: &[String]) -> String {
    let mut hash = Sha256::new();
    hash.update(file.as_os_str().as_encoded_bytes());
    for key in map {
        hash.update([0]);
        hash.update(key.as_bytes());
    }
    let digest = hash.finalize();
    data_encoding::HEXLOWER.encode(digest.get(..4).unwrap_or_default())
}

/// Whether a config is the one that `init` writes for a map of this file.
fn is_of(config: &Path, request: &Request<'_>, map: &[String]) -> bool {
    let end = config_path(request.state, &known::PLAIN, request.file, map);
    let end = end.file_name().and_then(|name| name.to_str()).and_then(|name| name.rsplit_once('-'));
    let name = config.file_name().and_then(|name| name.to_str()).and_then(|name| name.rsplit_once('-'));
    config.parent() == Some(&request.state.join("clients"))
        && name.zip(end).is_some_and(|((_, name), (_, end))| name == end)
}

fn edits(request: &Request<'_>, known: &Known, plan: &mut Plan) -> Vec<MapEdit> {
    plan.maps
        .iter()
        .map(|map| {
            let put = if map.installed {
                Vec::new()
            } else {
                vec![(map.entry.clone(), our_entry(request, known, &map.config))]
            };
            MapEdit {
                map: map.map.clone(),
                remove: map.originals.iter().map(|(name, _)| name.clone()).collect(),
                put,
            }
        })
        .collect()
}

/// Our entry in the client's own form.
fn our_entry(request: &Request<'_>, known: &Known, config: &Path) -> Value {
    let mut args = vec!["run".to_owned(), "--config".to_owned(), config.display().to_string()];
    if request.state_option == StateOption::Named {
        args.extend(["--state".to_owned(), request.state.display().to_string()]);
    }
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    match known.entry {
        EntryForm::Stdio => put("type", json!("stdio")),
        EntryForm::Local | EntryForm::Opencode => put("type", json!("local")),
        EntryForm::Zed => put("source", json!("custom")),
        EntryForm::Plain | EntryForm::Table => None,
    };
    if known.entry == EntryForm::Opencode {
        let command: Vec<String> = std::iter::once(request.program.to_owned()).chain(args).collect();
        put("command", json!(command));
        put("enabled", json!(true));
    } else {
        put("command", json!(request.program));
        put("args", json!(args));
    }
    if known.entry == EntryForm::Zed {
        put("env", json!({}));
    }
    if known.entry == EntryForm::Local {
        put("tools", json!(["*"]));
    }
    Value::Object(entry)
}

/// Settings outside the entries that a person has to change by hand, or should know of.
fn warnings(root: &Value, request: &Request<'_>, plan: &mut Plan) {
    let moved: Vec<String> = plan.moves().into_iter().map(str::to_owned).collect();
    let profiles = root.pointer("/agent/profiles").and_then(Value::as_object);
    for (profile, settings) in profiles.into_iter().flatten() {
        for server in
            settings.get("context_servers").and_then(Value::as_object).into_iter().flat_map(Map::keys)
        {
            if moved.contains(server) {
                plan.notes.push(format!(
                    "profile `{profile}` names the server `{server}`, whose tools now belong to ours: change it by hand"
                ));
            }
        }
    }
    if !moved.is_empty() {
        plan.notes.extend(request.lists.faults.iter().map(|fault| fault.why.clone()));
        let entries: Vec<String> = plan.maps.iter().map(|map| map.entry.clone()).collect();
        plan.notes.extend(entries.iter().filter_map(|entry| request.lists.keeps_out(entry)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(file: &str, text: &str, only: &[&str]) -> Result<Plan, String> {
        planned_with(file, text, only, &Lists::default())
    }

    fn planned_with(file: &str, text: &str, only: &[&str], lists: &Lists) -> Result<Plan, String> {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        plan(&Request {
            file: Path::new(file),
            place: Path::new(file),
            text,
            only: &only,
            program: "/usr/bin/bouncer",
            state: Path::new("/s"),
            state_option: StateOption::Default,
            homes: &Homes::in_home("/home/u"),
            overridden: &[],
            approvals: &Approvals::default(),
            lists,
        })
    }

    #[test]
    fn one_entry_replaces_all_that_can_move() {
        let text = r#"{"mcpServers": {"a": {"command": "x"}, "r": {"type": "http", "url": "https://e.example"}, "b": {"command": "y"}}}"#;
        let plan = planned("/home/u/.cursor/mcp.json", text, &[]).expect("a plan");
        assert_eq!(plan.moves(), ["a", "b"]);
        assert_eq!(plan.stays.len(), 1);
        let after = edit::read(&plan.text, Form::Jsonc).expect("JSON");
        let names: Vec<&String> = after["mcpServers"].as_object().expect("servers").keys().collect();
        assert_eq!(names, ["bouncer", "r"]);
        assert_eq!(after["mcpServers"]["bouncer"]["command"], "/usr/bin/bouncer");
        let noted: Vec<&str> = plan.maps[0].upstreams.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(noted, ["a", "r", "b"]);
        assert!(plan.hook.is_some());
        // Twice is once.
        let again = planned("/home/u/.cursor/mcp.json", &plan.text, &[]).expect("a plan");
        assert!(!again.changes(&plan.text) && again.moves().is_empty());
    }

    #[test]
    fn each_project_has_an_entry_of_its_own() {
        let text = r#"{"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"mcpServers": {"y": {"command": "b"}}}, "/q": {"mcpServers": {}}}}"#;
        let plan = planned("/home/u/.claude.json", text, &[]).expect("a plan");
        let entries: Vec<&str> = plan.maps.iter().map(|map| map.entry.as_str()).collect();
        assert_eq!(entries, ["bouncer", "bounce3"]);
        assert_ne!(plan.maps[0].config, plan.maps[1].config);
        assert!(
            plan.notes.iter().any(|note| note.contains("`bounce3` stands for one project")),
            "{:?}",
            plan.notes
        );
        assert!(plan.text.contains(r#""/q": {"mcpServers": {}}"#));
        let one = planned("/home/u/.claude.json", text, &["y"]).expect("a plan");
        assert_eq!(one.moves(), ["y"]);
    }

    #[test]
    fn our_entry_takes_nobodys_place() {
        let named = |file: &str, text: &str| {
            let plan = planned(file, text, &[]).expect("a plan");
            plan.maps.iter().map(|map| map.entry.clone()).collect::<Vec<_>>()
        };
        let one = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
        assert_eq!(named("/home/u/.cursor/mcp.json", one), ["bouncer"]);
        // The client would take it for the one of the user's own file.
        assert_eq!(named("/p/.cursor/mcp.json", one), ["bounce2"]);
        assert_eq!(named("/p/.mcp.json", one), ["bounce2"]);
        let far = r#"{"mcpServers": {"a": {"command": "x"}, "bouncer": {"url": "https://e.example"}, "bounce4": {"url": "https://e.example"}}}"#;
        assert_eq!(named("/home/u/.cursor/mcp.json", far), ["bounce5"]);
        let moves = r#"{"mcpServers": {"bouncer": {"command": "x"}}}"#;
        assert_eq!(named("/home/u/.cursor/mcp.json", moves), ["bouncer"]);
    }

    #[test]
    fn servers_stay_where_no_name_is_free_for_our_entry() {
        let kept = |numbers: &[u32]| {
            let mut servers = json!({"a": {"command": "x"}});
            let map = servers.as_object_mut().expect("an object");
            map.extend(numbers.iter().map(|n| (format!("bounce{n}"), json!({"url": "https://e.example"}))));
            let text = json!({"mcpServers": servers}).to_string();
            (planned("/p/.mcp.json", &text, &[]).expect("a plan"), text)
        };
        let (plan, _) = kept(&[2, 4, 5, 6, 7, 8]);
        assert_eq!(plan.maps[0].entry, "bounce9");
        // Not `bouncer`, which is the user's own, and not `bounce10`, which is longer than the names count on.
        let (plan, text) = kept(&[2, 4, 5, 6, 7, 8, 9]);
        assert!(plan.moves().is_empty() && plan.maps.is_empty() && !plan.changes(&text), "{plan:?}");
        assert!(
            plan.stays.contains(&("a".to_owned(), "no free name for our entry".to_owned())),
            "{:?}",
            plan.stays
        );
    }

    #[test]
    fn servers_stay_while_it_is_not_known_what_the_client_forbids_of_them() {
        const STATE: &str = "/home/u/.claude.json";
        let text = r#"{"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"mcpServers": {"b": {"command": "x"}}}, "/q": {"mcpServers": {"c": {"command": "x"}}}}}"#;
        let with = |broken: &str, only: &[&str]| {
            let text_of = |path: &Path| {
                let near = [(STATE, text), (broken, "{")];
                let found = near.iter().find(|(name, _)| Path::new(name) == path);
                Ok(found.map(|(_, text)| (*text).to_owned()))
            };
            let lists = Lists::read(Path::new(STATE), &Homes::in_home("/home/u"), &text_of);
            planned_with(STATE, text, only, &lists).expect("a plan")
        };
        for (broken, moves) in [
            ("/nothing", &["a", "b", "c"][..]),
            ("/home/u/.claude/settings.json", &[]),
            ("/p/.claude/settings.local.json", &["a", "c"]),
        ] {
            let plan = with(broken, &[]);
            assert_eq!(plan.moves(), moves, "{broken}");
            assert!(plan.stays.iter().all(|(_, why)| why.contains(broken)), "{:?}", plan.stays);
            assert_eq!(plan.moves().len() + plan.stays.len(), 3, "{broken}");
        }
        let plan = with("/home/u/.claude/settings.json", &["b"]);
        assert_eq!(plan.moves(), ["b"]);
        assert!(plan.notes.iter().any(|note| note.contains("cannot be carried over")), "{:?}", plan.notes);
    }

    #[test]
    fn servers_join_no_other_files_config() {
        let own = config_path(Path::new("/s"), &known::PLAIN, Path::new("/p/.cursor/mcp.json"), &[]);
        let others = config_path(Path::new("/s"), &known::PLAIN, Path::new("/home/u/.cursor/mcp.json"), &[]);
        let up = Path::new("/s/clients/../x").join(own.file_name().expect("a name"));
        for (config, joins) in
            [(&own, true), (&others, false), (&up, false), (&PathBuf::from("/x.yaml"), false)]
        {
            let entry = json!({"command": "bouncer", "args": ["run", "--config", config]});
            let text = json!({"mcpServers": {"bouncer": entry, "a": {"command": "x"}}}).to_string();
            let plan = planned("/p/.cursor/mcp.json", &text, &[]).expect("a plan");
            assert_eq!(plan.moves() == ["a"], joins, "{config:?}");
            assert_eq!(plan.stays.iter().any(|(_, why)| why.contains("did not write")), !joins, "{config:?}");
        }
    }

    #[test]
    fn whose_file_it_is_shows_in_its_place() {
        for (file, project) in [
            ("/home/u/.config/opencode/opencode.json", None),
            ("/p/opencode.jsonc", Some("/p")),
            ("/home/u/opencode/opencode.json", Some("/home/u/opencode")),
            ("/home/u/.cursor/mcp.json", None),
            ("/p/.cursor/mcp.json", Some("/p")),
            ("/p/.mcp.json", Some("/p")),
            ("/p/.vscode/mcp.json", Some("/p")),
            ("/home/u/.config/Code/User/mcp.json", None),
            ("/home/u/.agents/mcp.json", None),
            ("/p/.agents/mcp.json", Some("/p")),
        ] {
            let known = known::by_path(Path::new(file)).expect("a known place");
            let found = project_of(Path::new(file), known, Some(Path::new("/home/u")));
            assert_eq!(found.as_deref(), project.map(Path::new), "{file}");
        }
    }

    #[test]
    fn entries_have_the_clients_own_form() {
        for (file, text, needle) in [
            ("/p/.vscode/mcp.json", r#"{"servers": {"a": {"command": "x"}}}"#, r#""type": "stdio""#),
            (
                "/h/zed/settings.json",
                r#"{"context_servers": {"a": {"command": "x"}}}"#,
                r#""source": "custom""#,
            ),
            (
                "/h/opencode.json",
                r#"{"mcp": {"a": {"type": "local", "command": ["x"]}}}"#,
                r#""command": ["/usr/bin/bouncer", "run""#,
            ),
            (
                "/h/.copilot/mcp-config.json",
                r#"{"mcpServers": {"a": {"command": "x"}}}"#,
                r#""tools": ["*"]"#,
            ),
            ("/home/u/.codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\n", "[mcp_servers.bouncer]"),
        ] {
            let plan = planned(file, text, &[]).expect("a plan");
            assert!(plan.text.contains(needle), "{}", plan.text);
        }
    }

    #[test]
    fn keys_that_a_client_does_not_read_are_noted() {
        let text = r#"{"mcpServers":{"a":{"command":"x"}}}"#;
        let plan = planned("/h/Code/User/mcp.json", text, &[]).expect("a plan");
        let after = edit::read(&plan.text, Form::Jsonc).expect("JSON");
        assert!(after["servers"]["bouncer"].is_object());
        assert!(plan.notes.iter().any(|note| note.contains("does not read")));
        assert!(planned("/home/u/.claude/settings.json", text, &[]).is_err());
        let again = planned("/h/Code/User/mcp.json", &plan.text, &[]).expect("a plan");
        assert!(!again.changes(&plan.text));
    }

    #[test]
    fn what_cannot_be_edited_is_an_error() {
        for (file, text, why) in [
            ("/h/x.json", "{", "column 1"),
            ("/h/x.json", "{}", "no servers in it"),
            ("/h/.config/goose/config.yaml", "extensions: {}", "Goose is not yet supported"),
            ("/h/.continue/config.yaml", "mcpServers: []", "Continue is not yet supported"),
            ("/p/.continue/mcpServers/a.yaml", "mcpServers: []", "YAML are not yet supported"),
        ] {
            let said = planned(file, text, &[]).expect_err(file);
            assert!(said.contains(why), "{file}: {said}");
        }
    }
}
