//! From a client's own file with real servers in it, through `init`, to those servers behind the entry
//! that it wrote, started as that client starts it by two real clients, and back byte for byte.

use std::path::Path;

use serde_json::{Value, json};

use crate::init::Home;
use crate::real::{all_here, calls, folders, npm_client, page, pypi_client, report, servers};

/// The files of four clients in the shape that they really have, around real servers.
fn files(folder: &Path) -> Vec<(&'static str, String)> {
    let all = servers(folder);
    let args = |name: &str| all["mcpServers"][name]["args"].to_string();
    let command = |name: &str| all["mcpServers"][name]["command"].to_string();
    let (memory, node) = (folder.join("memory.json").display().to_string(), command("files"));
    let code = format!(
        "{{\n  \"numStartups\": 184,\n  \"installMethod\": \"global\",\n  \"tipsHistory\": {{\n    \"new-user-warmup\": 3\n  }},\n  \
         \"mcpServers\": {{\n    \"git\": {{\n      \"type\": \"stdio\",\n      \"command\": {},\n      \"args\": {},\n      \"env\": {{}}\n    }}\n  }},\n  \
         \"projects\": {{\n    {}: {{\n      \"allowedTools\": [],\n      \"history\": [{{\"display\": \"h\u{e9}llo\", \"pastedContents\": {{}}}}],\n      \
         \"mcpServers\": {{\n        \"files\": {{\n          \"type\": \"stdio\",\n          \"command\": {node},\n          \"args\": {},\n          \"env\": {{}}\n        }}\n      }},\n      \
         \"hasTrustDialogAccepted\": true\n    }}\n  }},\n  \"userID\": \"0f\"\n}}\n",
        command("git"),
        args("git"),
        json!(folder.join("repo")),
        args("files"),
    );
    let cursor = format!(
        "{{\r\n\t\"mcpServers\": {{\r\n\t\t\"memory\": {{\r\n\t\t\t\"command\": {node},\r\n\t\t\t\"args\": {},\r\n\t\t\t\"env\": {{\"MEMORY_FILE_PATH\": {}}}\r\n\t\t}},\r\n\t\t\
         \"fetch\": {{\"command\": {}, \"args\": {}}},\r\n\t\t\"far\": {{\"url\": \"https://mcp.example/sse\"}}\r\n\t}}\r\n}}",
        args("memory"),
        json!(memory),
        command("fetch"),
        args("fetch"),
    );
    let vscode = format!(
        "// what the team uses\n{{\n  \"inputs\": [],\n  \"servers\": {{\n    /* notes */\n    \"files\": {{\"type\": \"stdio\", \"command\": {node}, \
         \"args\": {}}},\n    \"thinking\": {{\n      \"command\": {node},\n      \"args\": {}, // no key needed\n    }},\n  }},\n}}\n",
        args("files").replace(&*folder.join("files").to_string_lossy(), "${env:NOTES}"),
        args("thinking"),
    );
    let codex = format!(
        "model = \"m\" # mine\napproval_policy = \"on-request\"\n\n[mcp_servers.everything]\ncommand = {node}\nargs = {}\nstartup_timeout_sec = 60\n\n\
         [mcp_servers.time]\ncommand = {}\nargs = {}\n\n[mcp_servers.time.env]\nTZ = \"UTC\"\n\n[tui]\nnotifications = true\n",
        args("everything"),
        command("time"),
        args("time"),
    );
    vec![
        (".claude.json", code),
        (".cursor/mcp.json", cursor),
        ("p/.vscode/mcp.json", vscode),
        (".codex/config.toml", codex),
    ]
}

/// The entries of ours in a file, read as its client reads it.
fn our_entries(file: &str, text: &str) -> Vec<Value> {
    let root: Value = match file {
        ".codex/config.toml" => toml_entries(text),
        "p/.vscode/mcp.json" => {
            jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default()).expect("JSONC")
        }
        _ => serde_json::from_str(text).expect("strict JSON"),
    };
    let mut maps: Vec<&Value> = vec![&root["mcpServers"], &root["servers"], &root["mcp_servers"]];
    maps.extend(
        root["projects"].as_object().into_iter().flatten().map(|(_, project)| &project["mcpServers"]),
    );
    let entries = maps.into_iter().filter_map(Value::as_object).flatten();
    entries.filter(|(name, _)| name.starts_with("bounce")).map(|(_, entry)| entry.clone()).collect()
}

/// The servers of a TOML file, as JSON.
fn toml_entries(text: &str) -> Value {
    let root: toml_edit::DocumentMut = text.parse().expect("TOML");
    let mut servers = serde_json::Map::new();
    for (name, entry) in root["mcp_servers"].as_table_like().expect("a table").iter() {
        let args = entry["args"].as_array().expect("a list").iter().map(|arg| json!(arg.as_str()));
        let entry = json!({"command": entry["command"].as_str(), "args": args.collect::<Vec<_>>()});
        servers.insert(name.to_owned(), entry);
    }
    json!({"mcp_servers": servers})
}

#[test]
fn real_servers_behind_what_init_wrote_are_driven_by_two_clients_and_restored() {
    if !all_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().canonicalize().expect("it is there");
    folders(&folder);
    let url = page("the page says hello");
    let mut called = std::collections::BTreeSet::new();
    for (file, original) in files(&folder) {
        let home = Home::new(file, &original);
        home.init();
        let entries = our_entries(file, &home.text());
        assert_eq!(entries.len(), if file == ".claude.json" { 2 } else { 1 }, "{}", home.text());
        for entry in entries {
            let args = entry["args"].as_array().expect("a list").iter();
            let command: Vec<&Value> = std::iter::once(&entry["command"]).chain(args).collect();
            let carried = command
                .iter()
                .filter_map(|word| word.as_str())
                .find(|word| Path::new(word).extension().is_some_and(|extension| extension == "yaml"));
            let carried = std::fs::read_to_string(carried.expect("our entry names a config")).expect("there");
            let behind = |tool: &str| {
                let (server, _) = tool.split_once("__").expect("an exported name");
                carried.contains(&format!("\n  {server}:")) || carried.contains(&format!("\n  \"{server}\":"))
            };
            let calls: Vec<_> = calls(&folder, &url).into_iter().filter(|(tool, ..)| behind(tool)).collect();
            assert!(!calls.is_empty(), "{carried}");
            called.extend(calls.iter().map(|(tool, ..)| *tool));
            let mut server =
                json!({"command": command, "env": entry.get("env").cloned().unwrap_or(json!({}))});
            server["env"]["HOME"] = json!(home.path());
            server["env"]["NOTES"] = json!(folder.join("files"));
            for client in [pypi_client, npm_client] {
                // What the first client had noted is no news to the second.
                let _ = std::fs::remove_file(folder.join("memory.json"));
                report(&folder, &client, &server, &calls);
            }
        }
        home.restored(&original);
    }
    assert_eq!(called.len(), 7, "every server was called: {called:?}");
}
