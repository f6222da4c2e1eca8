//! The keys of policy files and packs: every name a person can write, with what it means. The
//! checker, `docs/policy-reference.md` and the JSON Schema are made from these tables.

/// A key with its type and meaning, as the reference shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// One sentence.
    pub meaning: &'static str,
}

/// The shape of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `true` or `false`.
    Boolean,
    /// A whole number from 0.
    Count,
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// One of the words.
    Word(&'static [&'static str]),
    /// A list of such words.
    Words(&'static [&'static str]),
    /// A mapping from argument to the shape.
    PerArgument(&'static Shape),
    /// A mapping with the keys.
    Record(&'static [Key]),
    /// A mapping from a name (a tool, an upstream) to the shape.
    PerName(&'static Shape),
    /// A number.
    Number,
    /// A span of time: seconds, or a number with `ms`, `s` or `m`.
    Duration,
    /// A size: bytes, or a number with `K`, `M` or `G`.
    Size,
    /// A mapping from name to string.
    TextMap,
    /// The word, or a list of strings.
    WordOrTexts(&'static str),
    /// A policy file, a policy written out, or a list of both.
    Policies,
    /// A whole number or the word `unlimited`.
    Allowance,
    /// A list of strings, numbers and booleans.
    Scalars,
    /// A mapping from provenance to an outcome.
    Cells,
    /// A list of JSON paths, each a string or a mapping with `path` and `kinds`.
    Directories,
    /// An argument's role, or a mapping with `role` and `kind`.
    RoleOrRecord,
}

/// The effects a policy can name.
pub const EFFECTS: &[&str] = &["read", "fetch", "write", "send", "spend", "destroy", "execute", "account"];

/// The roles a policy can give an argument.
pub const ROLES: &[&str] =
    &["destination", "target", "path", "command", "amount", "content", "credential", "selector"];

/// The kinds of destination.
pub const KINDS: &[&str] =
    &["email", "url", "host", "phone", "account", "channel", "path", "repo", "id", "name", "text"];

/// What a cell may be changed to, and a tool be held to.
pub const OUTCOMES: &[&str] = &["ask", "deny"];

/// A row of a table.
pub const fn key(name: &'static str, shape: Shape, meaning: &'static str) -> Key {
    Key { name, shape, meaning }
}

/// The keys of `paths` for one argument.
pub const PATH_KEYS: &[Key] = &[
    key("within", Shape::Texts, "Folders and files the path must be, or be inside of."),
    key("base", Shape::Text, "The argument that holds the folder this path starts from and must not leave."),
];

/// The keys of `ranges` for one argument.
pub const RANGE_KEYS: &[Key] = &[
    key("min", Shape::Number, "The least number allowed."),
    key("max", Shape::Number, "The greatest number allowed."),
];

/// The keys of an argument's role when written as a mapping.
pub const ARG_KEYS: &[Key] = &[
    key("role", Shape::Word(ROLES), "What the argument is to its tool."),
    key("kind", Shape::Word(KINDS), "What its values are; adds a shape, removes none."),
];

/// The keys of one entry, that is, of one tool.
pub const ENTRY: &[Key] = &[
    key("exfiltrating", Shape::Boolean, "`true`: the tool is a sink. `false`: its sink gate is off."),
    key(
        "sink_params",
        Shape::Texts,
        "Arguments that say where a call goes; they add to the ones that are known.",
    ),
    key("trusted_destinations", Shape::Texts, "Destinations that this tool may use without a question."),
    key("write_params", Shape::Texts, "Arguments that hold paths."),
    key("allowed_path_prefixes", Shape::Texts, "Folders those paths must stay in."),
    key(
        "arg_patterns",
        Shape::PerArgument(&Shape::Text),
        "Regular expressions that must match the whole argument.",
    ),
    key(
        "max_calls",
        Shape::Allowance,
        "How many calls a session may make, attempts included; `unlimited` for no limit.",
    ),
    key("effect", Shape::Word(EFFECTS), "What the tool does."),
    key("also", Shape::Words(EFFECTS), "What it does besides, or at times."),
    key("args", Shape::PerArgument(&Shape::RoleOrRecord), "What its arguments are."),
    key("paths", Shape::PerArgument(&Shape::Record(PATH_KEYS)), "Where single path arguments may lead."),
    key(
        "allowed_values",
        Shape::PerArgument(&Shape::Scalars),
        "The only values an argument may have; they vouch for it.",
    ),
    key(
        "hosts",
        Shape::PerArgument(&Shape::Texts),
        "The only hosts an argument may lead to; they vouch for it.",
    ),
    key(
        "ranges",
        Shape::PerArgument(&Shape::Record(RANGE_KEYS)),
        "The range a number must be in, both ends included.",
    ),
    key(
        "refs",
        Shape::Texts,
        "Arguments that must be plain names: no leading `-`, no `..`, no control characters.",
    ),
    key("on", Shape::Cells, "What a provenance comes to for this tool: tighter, or ask instead of deny."),
    key("at_least", Shape::Word(OUTCOMES), "Every call of the tool has at least this verdict."),
    key("replace", Shape::Boolean, "`true`: nothing that packs and heuristics know of the tool stays."),
];

/// The keys of a policy file that is not flat.
pub const FILE: &[Key] = &[
    key(
        "tools",
        Shape::PerName(&Shape::Record(ENTRY)),
        "The entries, by `tool` or `upstream.tool`, with `*`.",
    ),
    key(
        "own_data",
        Shape::PerName(&Shape::Directories),
        "JSON paths of the user's own directories in results, by `upstream.tool`.",
    ),
    key("trusted_destinations", Shape::Texts, "Destinations that every tool may use without a question."),
    key("local", Shape::Texts, "Upstreams that keep what they are given on this machine."),
    key(
        "sampling",
        Shape::Texts,
        "Upstreams that may have the client's model write something for them, with `*`.",
    ),
    key("budgets", Shape::PerName(&Shape::Allowance), "How many calls a session may make, by tool."),
];

/// The keys of a pack.
pub const PACK: &[Key] = &[
    key("pack", Shape::Text, "The name of the pack."),
    key("packages", Shape::Texts, "npm and PyPI packages it is about."),
    key("images", Shape::Texts, "Container images it is about."),
    key("programs", Shape::Texts, "Programs it is about."),
    key("hosts", Shape::Texts, "Hosts of remote servers it is about."),
    key("local", Shape::Boolean, "`true`: the server keeps what it is given on this machine."),
    key("tools", Shape::PerName(&Shape::Record(ENTRY)), "The entries."),
    key("own_data", Shape::PerName(&Shape::Directories), "JSON paths of directories no outsider can write."),
];

/// The names in a table.
pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}
