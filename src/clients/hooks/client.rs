//! The clients that have a hook for the user's prompt: a row each.

/// A client with a prompt hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookClient {
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Copilot CLI.
    Copilot,
    /// Windsurf.
    Windsurf,
    /// Any program that hands over `{"prompt": …}`.
    Any,
}

impl HookClient {
    /// All of them, the named ones first.
    pub const ALL: [Self; 7] =
        [Self::ClaudeCode, Self::Cursor, Self::Codex, Self::Gemini, Self::Copilot, Self::Windsurf, Self::Any];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Windsurf => "windsurf",
            Self::Any => "user-prompt",
        }
    }

    /// The client of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }

    /// The names of its raw prompt event: its own first, then those by which it is also known.
    pub fn prompt_events(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode | Self::Codex => &["UserPromptSubmit"],
            Self::Cursor => &["beforeSubmitPrompt"],
            Self::Gemini => &["BeforeAgent"],
            Self::Copilot => &["userPromptSubmitted", "UserPromptSubmitted", "UserPromptSubmit"],
            Self::Windsurf => &["pre_user_prompt"],
            Self::Any => &["UserPromptSubmit", "user-prompt"],
        }
    }

    /// What the hook prints: the shortest answer that lets the prompt go on. Where standard output
    /// would become part of the conversation, or is not read, that is nothing.
    pub fn answer(self) -> &'static str {
        match self {
            Self::Cursor => "{\"continue\":true}",
            Self::Gemini => "{}",
            Self::ClaudeCode | Self::Codex | Self::Copilot | Self::Windsurf | Self::Any => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_answers_are_nothing_or_one_object() {
        for client in HookClient::ALL {
            assert_eq!(HookClient::of_name(client.name()), Some(client));
            let answer = client.answer();
            assert!(answer.is_empty() || serde_json::from_str::<serde_json::Value>(answer).is_ok());
        }
        assert_eq!(HookClient::of_name("claude"), None);
    }
}
