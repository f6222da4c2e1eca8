//! What this very call does, as far as its arguments tell: an addressee makes a sink, its absence a
//! write, and a statement or command line does what it says.
//!
//! Refining goes down only to `read`, and only for a statement that was understood whole; it goes up
//! as far as the statement does. What the user's policy says of the effect is not refined by
//! statements.

use serde_json::Value;

use super::argument::{leaves, same_name};
use super::statement::{StatementClass, shell, sql};
use super::{Effect, Layer, Role, ToolPolicy};

/// The languages that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Sql,
    Shell,
}

impl ToolPolicy {
    /// What this very call does.
    pub fn effect_of(&self, arguments: &Value) -> Effect {
        let does = |effect: Effect| self.also.iter().any(|(also, _)| *also == effect);
        let addressed = self.is_addressed(arguments);
        let names_someone = self.with_role(Role::Destination).next().is_some();
        let effect = match self.effect {
            Effect::Send if does(Effect::Write) && names_someone && !addressed => Effect::Write,
            Effect::Write | Effect::Read if does(Effect::Send) && addressed => Effect::Send,
            // Opening a page is a write to a browser and a fetch of what its url says.
            Effect::Write | Effect::Read if does(Effect::Fetch) && addressed => Effect::Fetch,
            effect => effect,
        };
        if self.effect_layer == Layer::User { effect } else { self.by_statement(effect, arguments) }
    }

    fn by_statement(&self, effect: Effect, arguments: &Value) -> Effect {
        let Some(class) = self.statement(arguments) else { return effect };
        let told = match class.effect {
            // A url in a command is judged as what the command runs, not as a page to read.
            Effect::Fetch | Effect::Write => Effect::Execute,
            told => told,
        };
        match effect {
            Effect::Execute => told,
            // A tool that says it reads is held to it.
            Effect::Read | Effect::Write | Effect::Fetch if told != Effect::Read => told,
            effect => effect,
        }
    }

    /// The class of the call's one statement; `None` when it has none, or none in a language that is
    /// read.
    fn statement(&self, arguments: &Value) -> Option<StatementClass> {
        let mut commands =
            leaves(arguments).into_iter().filter(|leaf| self.role_of(&leaf.argument) == Some(Role::Command));
        let command = commands.next()?;
        // Several texts may be one command in an order we do not know.
        if commands.next().is_some() {
            return None;
        }
        match language(&command.argument)? {
            Language::Sql => Some(sql(command.text)),
            Language::Shell => Some(shell(command.text)),
        }
    }
}

/// The language that an argument's name promises.
fn language(argument: &str) -> Option<Language> {
    let name = argument.rsplit('.').next().unwrap_or_default().trim_end_matches("[]");
    let is = |words: &[&str]| words.iter().any(|word| same_name(word, name));
    if is(&["sql", "query", "statement", "sql_query", "sqlQuery", "sql_statement", "sqlStatement", "queries"])
    {
        return Some(Language::Sql);
    }
    is(&["command", "cmd", "shell", "command_line", "commandLine", "shell_command", "shellCommand", "bash"])
        .then_some(Language::Shell)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::heuristics::ToolDescription;
    use super::super::{Policy, UpstreamIdentity};
    use super::*;

    #[test]
    fn a_statement_does_what_it_says() {
        let check = |tool: &str, argument: &str, text: &str, expected: Effect| {
            let entry = json!({"name": tool, "inputSchema": {
                "type": "object", "properties": {argument: {"type": "string"}}}});
            let policy = Policy::default()
                .tool_policy(&UpstreamIdentity::default(), &ToolDescription::from_entry(&entry).unwrap());
            assert_eq!(policy.effect_of(&json!({argument: text})), expected, "{tool} {argument} {text}");
        };
        check("execute_sql", "query", "select * from t", Effect::Read);
        check("execute_sql", "query", "insert into t values (1)", Effect::Execute);
        check("execute_sql", "query", "drop table t", Effect::Destroy);
        check("execute_sql", "query", "select 1; drop table t", Effect::Destroy);
        check("execute_sql", "query", "this is no statement", Effect::Execute);
        check("execute_command", "command", "ls -la", Effect::Read);
        check("execute_command", "command", "ls > x", Effect::Execute);
        check("execute_command", "command", "rm -rf /srv", Effect::Destroy);
        check("execute_command", "command", "$(cat x)", Effect::Execute);
        check("run_code", "code", "print(1)", Effect::Execute);
    }
}
