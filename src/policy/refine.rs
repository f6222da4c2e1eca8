//! What this very call does, as far as its arguments tell: an addressee makes a sink, its absence a
//! write, and a statement or command line does what it says.
//!
//! Refining goes down only to `read`, and only for a statement that was understood whole; it goes up
//! as far as the statement does. What the user's policy says of the effect is not refined by
//! statements.

use serde_json::Value;

use super::argument::{each_leaf, same_name};
use super::statement::{StatementClass, shell, sql};
use super::{Audience, Effect, Layer, Role, ToolPolicy};

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

    /// The grave effects that a call has besides its main one, the gravest first, where nothing in its
    /// arguments says otherwise.
    pub(super) fn besides(&self, main: Effect, arguments: &Value) -> Vec<Effect> {
        let sends = self.also.iter().any(|(also, _)| *also == Effect::Send);
        let names_someone = self.with_role(Role::Destination).next().is_some();
        let lets_nobody_in = sends && names_someone && !self.is_addressed(arguments);
        let does = |effect: Effect| {
            let layer = self.also.iter().find(|(also, _)| *also == effect).map(|(_, layer)| *layer);
            let Some(layer) = layer.filter(|_| effect != main) else { return false };
            match effect {
                // Of one grave act with two names the main one is judged; money is told besides.
                Effect::Spend => true,
                _ if main.is_answered_by_call() => false,
                // A statement that was read whole says all that it does.
                Effect::Execute | Effect::Destroy if self.statement(arguments).is_some() => false,
                Effect::Execute if self.with_role(Role::Command).next().is_some() => {
                    self.runs_something(arguments)
                }
                // Who reads a password changes nothing; who widens a circle says so in an argument.
                Effect::Account => main != Effect::Read && !self.says_audience() && !lets_nobody_in,
                // A pack knows tools that destroy at times, and which argument says so.
                Effect::Destroy => layer != Layer::Pack || says_destroy(arguments),
                Effect::Execute => true,
                _ => false,
            }
        };
        // A statement that does not make the main effect is run all the same.
        let makes_main = matches!(main, Effect::Read | Effect::Write | Effect::Fetch | Effect::Execute);
        let said = if makes_main || self.effect_layer == Layer::User { None } else { self.told(arguments) };
        let graver = [Effect::Spend, Effect::Execute, Effect::Destroy, Effect::Account, Effect::Send];
        let judged = graver.into_iter().filter(|effect| does(*effect) || said == Some(*effect));
        judged.filter(|effect| *effect != main).collect()
    }

    fn says_audience(&self) -> bool {
        self.args.iter().any(|rule| rule.audience == Audience::Decides)
    }

    fn by_statement(&self, effect: Effect, arguments: &Value) -> Effect {
        let Some(told) = self.told(arguments) else { return effect };
        match effect {
            Effect::Execute => told,
            // A tool that says it reads is held to it.
            Effect::Read | Effect::Write | Effect::Fetch if told != Effect::Read => told,
            effect => effect,
        }
    }

    /// What the call's one statement does.
    fn told(&self, arguments: &Value) -> Option<Effect> {
        Some(match self.statement(arguments)?.effect {
            // A url in a command is judged as what the command runs, not as a page to read.
            Effect::Fetch | Effect::Write => Effect::Execute,
            told => told,
        })
    }

    /// The class of the call's one statement; `None` when it has none, or none in a language that is
    /// read.
    fn statement(&self, arguments: &Value) -> Option<StatementClass> {
        self.with_role(Role::Command).next()?;
        let mut commands = Vec::new();
        each_leaf(arguments, |leaf| {
            if self.role_of(leaf.argument) == Some(Role::Command) {
                commands.push((leaf.argument.to_owned(), leaf.text));
            }
        });
        // Several texts may be one command in an order we do not know.
        let [(argument, command)] = commands.as_slice() else { return None };
        match language(argument)? {
            Language::Sql => Some(sql(command)),
            Language::Shell => Some(shell(command)),
        }
    }
}

/// Whether an argument says that this call destroys: an action word, or a flag that is set.
fn says_destroy(arguments: &Value) -> bool {
    const FLAGS: [&str; 8] =
        ["archived", "archive", "in_trash", "trashed", "trash", "deleted", "delete", "erase"];
    const ACTIONS: [&str; 8] =
        ["method", "action", "operation", "op", "mode", "command", "verb", "update_type"];
    const WORDS: [&str; 9] =
        ["delete", "remove", "destroy", "archive", "trash", "clear", "erase", "purge", "drop"];
    let Some(members) = arguments.as_object() else { return true };
    members.iter().any(|(name, value)| {
        let is = |names: &[&str]| names.iter().any(|other| same_name(other, name));
        match value {
            Value::Bool(set) => *set && is(&FLAGS),
            Value::String(text) if is(&ACTIONS) => {
                let text = text.to_lowercase();
                WORDS.iter().any(|word| text.contains(word))
            }
            Value::String(text) => is(&FLAGS) && !matches!(text.trim(), "" | "false" | "0"),
            _ => is(&FLAGS) && !value.is_null(),
        }
    })
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
    use super::super::{Inquiry, Policy, UpstreamIdentity};
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

    #[test]
    fn a_statement_in_what_is_sent_is_judged_besides() {
        let text = json!({"type": "string"});
        let entry = json!({"name": "execute_sql", "inputSchema": {
            "type": "object", "properties": {"query": text, "to": text}}});
        let described = ToolDescription::from_entry(&entry).unwrap();
        let derived = Policy::default().tool_policy(&UpstreamIdentity::default(), &described);
        for (main, layer, query, expected) in [
            (Effect::Send, Layer::Heuristic, "select * from t", vec![Effect::Send]),
            (Effect::Send, Layer::Heuristic, "drop table t", vec![Effect::Destroy]),
            (Effect::Send, Layer::Pack, "insert into t values (1)", vec![Effect::Execute]),
            (Effect::Send, Layer::Heuristic, "this is no statement", vec![Effect::Execute]),
            (Effect::Account, Layer::Heuristic, "drop table t", vec![Effect::Account, Effect::Destroy]),
            (Effect::Send, Layer::User, "drop table t", vec![Effect::Send]),
        ] {
            let policy =
                ToolPolicy { effect: main, effect_layer: layer, also: Vec::new(), ..derived.clone() };
            let inquiry = Inquiry::of(&policy, "db", &json!({"query": query, "to": "bo@x.test"}));
            let besides = inquiry.query.map(|query| query.besides.clone()).unwrap_or_default();
            let judged: Vec<Effect> = std::iter::once(inquiry.effect).chain(besides).collect();
            assert_eq!(judged, expected, "{main} {query}");
        }
    }
}
