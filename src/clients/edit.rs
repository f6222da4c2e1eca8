//! What an edit of a client's file is, whatever the file is written in.
//!
//! A file is edited in place: members of the maps of servers are taken out and put in, and every
//! other byte stays as it is. What comes out is read again and compared with what was meant before
//! anyone writes it.

use serde_json::{Map, Value};

use super::known::Form;
use super::{json_file, toml_file};

/// The servers of one map in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Servers {
    /// The keys from the root to the map.
    pub map: Vec<String>,
    /// Name and entry of each, in the order of the file.
    pub entries: Vec<(String, Value)>,
}

/// A change of one map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MapEdit {
    /// The keys from the root to the map; made where it is missing.
    pub map: Vec<String>,
    /// Names that go.
    pub remove: Vec<String>,
    /// Entries that come: in the place of the first that goes, else at the end. One whose name is
    /// there already gets the new value.
    pub put: Vec<(String, Value)>,
}

/// Reads a file as one value, by its form.
///
/// # Errors
/// It does not parse: where and why.
pub fn read(text: &str, form: Form) -> Result<Value, String> {
    match form {
        Form::Json | Form::Jsonc => json_file::read(text),
        Form::Toml => toml_file::read(text),
        Form::Yaml => Err("YAML files of clients are not edited yet".to_owned()),
    }
}

/// The maps of servers at these places: keys from the root, `*` for every member.
pub fn servers(root: &Value, places: &[&[&str]]) -> Vec<Servers> {
    let mut found = Vec::new();
    for place in places {
        walk(root, place, &mut Vec::new(), &mut found);
    }
    found
}

fn walk(value: &Value, place: &[&str], at: &mut Vec<String>, found: &mut Vec<Servers>) {
    let Some(members) = value.as_object() else { return };
    match place.split_first() {
        None => {
            let entries = members.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect();
            found.push(Servers { map: at.clone(), entries });
        }
        Some((key, rest)) => {
            for (name, member) in members.iter().filter(|(name, _)| *key == "*" || name == key) {
                at.push(name.clone());
                walk(member, rest, at, found);
                at.pop();
            }
        }
    }
}

/// Edits a text, and proves by reading it again that nothing else has changed.
///
/// # Errors
/// The text does not parse, or the result is not what was meant.
pub fn edit(text: &str, form: Form, edits: &[MapEdit]) -> Result<String, String> {
    let before = read(text, form)?;
    let bom = text.strip_prefix('\u{feff}');
    let body = bom.unwrap_or(text);
    let edited = match form {
        Form::Json | Form::Jsonc => json_file::edit(body, edits)?,
        Form::Toml => toml_file::edit(body, edits)?,
        Form::Yaml => return Err("YAML files of clients are not edited yet".to_owned()),
    };
    let edited = line_ends(body, edited);
    let edited = if bom.is_some() { format!("\u{feff}{edited}") } else { edited };
    // FAIL CLOSED: an editor that surprises us must not reach the user's file.
    if sorted(&read(&edited, form)?) == sorted(&meant(before, edits)) {
        Ok(edited)
    } else {
        Err("the edit would have changed more than the servers".to_owned())
    }
}

/// Gives what was put in the line ends of the rest.
fn line_ends(before: &str, after: String) -> String {
    let ends = before.matches('\n').count();
    if ends == 0 || ends != before.matches("\r\n").count() {
        return after;
    }
    after.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The value that the edits make of a value.
fn meant(mut root: Value, edits: &[MapEdit]) -> Value {
    for edit in edits {
        change(&mut root, &edit.map, edit);
    }
    root
}

fn change(at: &mut Value, path: &[String], edit: &MapEdit) {
    let Some(members) = at.as_object_mut() else { return };
    if let Some((key, rest)) = path.split_first() {
        change(members.entry(key.clone()).or_insert_with(|| Value::Object(Map::new())), rest, edit);
        return;
    }
    for name in &edit.remove {
        members.shift_remove(name);
    }
    for (name, value) in &edit.put {
        members.insert(name.clone(), value.clone());
    }
}

/// The value with the members of each object in the order of their names.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut sorted_members: Vec<(&String, Value)> =
                members.iter().map(|(name, member)| (name, sorted(member))).collect();
            sorted_members.sort_by(|one, other| one.0.cmp(other.0));
            Value::Object(sorted_members.into_iter().map(|(name, member)| (name.clone(), member)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn maps_are_found_at_every_place() {
        let root = json!({"mcpServers": {"a": {}}, "projects": {"/p": {"mcpServers": {"b": {}}}, "/q": {}}});
        let found = servers(&root, &[&["mcpServers"], &["projects", "*", "mcpServers"]]);
        let maps: Vec<Vec<String>> = found.iter().map(|servers| servers.map.clone()).collect();
        assert_eq!(maps, [vec!["mcpServers"], vec!["projects", "/p", "mcpServers"]]);
        assert_eq!(servers(&json!({"a": {}}), &[&[]]).len(), 1);
    }

    #[test]
    fn line_ends_and_marks_stay() {
        let text = "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"x\"}\r\n  }\r\n}\r\n";
        let edit_of = MapEdit {
            map: vec!["mcpServers".to_owned()],
            remove: vec!["a".to_owned()],
            put: vec![("bouncer".to_owned(), json!({"command": "b"}))],
        };
        let edited = edit(text, Form::Jsonc, &[edit_of]).expect("an edit");
        assert!(edited.starts_with('\u{feff}'));
        assert_eq!(edited.matches('\n').count(), edited.matches("\r\n").count());
    }
}
