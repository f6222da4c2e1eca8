//! TOML files of clients (Codex), edited on a document that keeps comments, order and white space.

use serde_json::{Map, Number, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::edit::MapEdit;

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| error.to_string().trim_end().replace('\n', "\n  "))
}

/// Reads a whole file. Dates are their text.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let document = parse(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    Ok(table_value(document.as_table()))
}

fn table_value(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(name, item)| (name.to_owned(), item_value(item))).collect::<Map<_, _>>())
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => value_value(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => Value::Array(tables.iter().map(|table| table_value(table)).collect()),
    }
}

fn value_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number((*number.value()).into()),
        toml_edit::Value::Float(number) => Number::from_f64(*number.value())
            .map_or_else(|| Value::String(number.value().to_string()), Value::Number),
        toml_edit::Value::Boolean(value) => Value::Bool(*value.value()),
        toml_edit::Value::Datetime(date) => Value::String(date.value().to_string()),
        toml_edit::Value::Array(items) => Value::Array(items.iter().map(value_value).collect()),
        toml_edit::Value::InlineTable(table) => table_value(table),
    }
}

/// Edits a text without byte order mark.
pub(super) fn edit(text: &str, edits: &[MapEdit]) -> Result<String, String> {
    let mut document = parse(text)?;
    for edit in edits {
        let mut item = document.as_item_mut();
        for key in &edit.map {
            let table =
                item.as_table_like_mut().ok_or_else(|| format!("`{key}` does not stand in a table"))?;
            if !table.contains_key(key) {
                let mut fresh = Table::new();
                fresh.set_implicit(true);
                table.insert(key, Item::Table(fresh));
            }
            item = table.get_mut(key).ok_or_else(|| format!("`{key}` is missing"))?;
        }
        let table = item.as_table_like_mut().ok_or("the servers do not stand in a table")?;
        apply(table, edit);
    }
    Ok(document.to_string())
}

fn apply(servers: &mut dyn TableLike, edit: &MapEdit) {
    let names: Vec<String> = servers.iter().map(|(name, _)| name.to_owned()).collect();
    let first = names.iter().find(|name| edit.remove.contains(name)).cloned();
    // The place and the comments above the first table that goes are those of what comes.
    let (mut position, mut decor) = (None, None);
    let mut inline = servers.iter().any(|(_, item)| item.is_inline_table());
    if let Some(Item::Table(table)) = first.as_deref().and_then(|name| servers.get(name)) {
        position = table.position().or_else(|| first_position(table));
        decor = (!table.is_implicit()).then(|| table.decor().clone());
        inline = false;
    }
    for name in &edit.remove {
        servers.remove(name);
    }
    for (name, value) in &edit.put {
        let mut item = item_of(value, inline);
        if let Item::Table(table) = &mut item {
            match decor.take() {
                Some(decor) => *table.decor_mut() = decor,
                None => table.decor_mut().set_prefix("\n"),
            }
            if let Some(position) = position {
                table.set_position(Some(position));
            }
        }
        servers.insert(name, item);
    }
}

/// Where the first table below one that is written by its parts only stands.
fn first_position(table: &Table) -> Option<isize> {
    table
        .iter()
        .filter_map(|(_, item)| item.as_table())
        .filter_map(|table| table.position().or_else(|| first_position(table)))
        .min()
}

fn item_of(value: &Value, inline: bool) -> Item {
    match value {
        Value::Object(members) if !inline => {
            let mut table = Table::new();
            for (name, member) in members {
                // Tables in tables are written inline, as the clients' own documents do with `env`.
                table.insert(name, item_of(member, true));
            }
            Item::Table(table)
        }
        value => Item::Value(toml_value(value)),
    }
}

fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Null => toml_edit::Value::from(""),
        Value::Bool(value) => toml_edit::Value::from(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => toml_edit::Value::from(whole),
            None => toml_edit::Value::from(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => toml_edit::Value::from(text.as_str()),
        Value::Array(items) => toml_edit::Value::Array(items.iter().map(toml_value).collect::<Array>()),
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (name, member) in members {
                table.insert(name, toml_value(member));
            }
            toml_edit::Value::InlineTable(table)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn swap(text: &str, remove: &[&str]) -> String {
        let edit_of = MapEdit {
            map: vec!["mcp_servers".to_owned()],
            remove: remove.iter().map(|name| (*name).to_owned()).collect(),
            put: vec![("bouncer".to_owned(), json!({"command": "bouncer", "args": ["run"]}))],
        };
        edit(text, &[edit_of]).expect("an edit")
    }

    #[test]
    fn comments_and_other_tables_stay() {
        let text = r#"# mine
model = "m" # why

# the browser
[mcp_servers.pw]
command = "npx"
args = ["-y", "pw"]

[mcp_servers.pw.tools.browser_click]
approval_mode = "prompt"

[profiles.x]
model = "y"
"#;
        let expected = r#"# mine
model = "m" # why

# the browser
[mcp_servers.bouncer]
command = "bouncer"
args = ["run"]

[profiles.x]
model = "y"
"#;
        assert_eq!(swap(text, &["pw"]), expected);
    }

    #[test]
    fn dotted_and_inline_servers() {
        let dotted = "mcp_servers.a.command = \"x\"\nmodel = \"m\"\n";
        let value = read(&swap(dotted, &["a"])).expect("TOML");
        assert_eq!(
            value,
            json!({"mcp_servers": {"bouncer": {"command": "bouncer", "args": ["run"]}}, "model": "m"})
        );
        let inline = "[mcp_servers]\na = { command = \"x\" }\n\n[other]\nk = 1\n";
        let edited = swap(inline, &["a"]);
        assert!(edited.contains("bouncer = { command = \"bouncer\", args = [\"run\"] }"), "{edited}");
        let none = "model = \"m\"\n";
        assert!(swap(none, &[]).contains("[mcp_servers.bouncer]"));
    }
}
