//! What a policy can demand of an argument, and what a call that does not meet it gets.

use crate::policy::{ArgPath, Layer, Outcome};

use super::host::HostPattern;
use super::path::Bound;
use super::value::{AllowedValue, Pattern, Range};

/// A demand on one argument of one tool.
#[derive(Debug, Clone)]
pub struct Constraint {
    /// The argument.
    pub argument: ArgPath,
    /// What it must be.
    pub test: Test,
    /// Who demands it.
    pub layer: Layer,
    /// What the tool's schema says of the argument.
    pub presence: Presence,
}

/// What the schema says of the argument a constraint names. Decides what its absence means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Required: its absence fails.
    Required,
    /// Declared and optional: its absence passes.
    Optional,
    /// Not declared: the rule may have been meant for another name, so its absence is no pass by itself.
    Undeclared,
    /// Not declared, under a rule for many tools: absence passes unless a path stands elsewhere.
    Swept,
}

/// What an argument must be.
#[derive(Debug, Clone)]
pub enum Test {
    /// A path inside the given folders.
    Path(PathLimit),
    /// Text that the pattern matches from its first to its last character.
    Pattern(Pattern),
    /// One of the given values.
    OneOf(Vec<AllowedValue>),
    /// A url or host of one of the given hosts.
    Host(Vec<HostPattern>),
    /// A number in the range, both ends included.
    Range(Range),
    /// A plain name for a command line: no leading `-`, no control characters, no `..`.
    Ref,
    /// Nothing: every call has at least this outcome.
    AtLeast(Outcome),
}

impl Test {
    /// Tells the kinds of test apart: a higher layer's test replaces a lower one's of the same kind
    /// on the same argument.
    pub(in crate::policy) fn kind(&self) -> u8 {
        match self {
            Self::Path(_) => 0,
            Self::Pattern(_) => 1,
            Self::OneOf(_) => 2,
            Self::Host(_) => 3,
            Self::Range(_) => 4,
            Self::Ref => 5,
            Self::AtLeast(_) => 6,
        }
    }
}

/// Where a path may lead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathLimit {
    /// The folders and files it must be, or be inside of. Empty: only `base` limits it.
    pub within: Vec<Bound>,
    /// The argument that holds the folder relative paths start from, and which the path must not
    /// leave; `None`: the upstream's own folder.
    pub base: Option<ArgPath>,
}

/// A demand that a call does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstraintFailure {
    /// The argument.
    pub argument: ArgPath,
    /// Where the value stands in the arguments; empty where the argument is absent.
    pub pointer: String,
    /// Ask or deny.
    pub outcome: Outcome,
    /// What was not met, in our own words and without any value.
    pub rule: String,
    /// Whether it holds no more once the user typed the value at `pointer`.
    pub lifted: Lifted,
}

/// What lifts a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifted {
    /// Nothing.
    Never,
    /// The user typed this very value.
    ByTyping,
}

impl ConstraintFailure {
    /// A failure that nothing lifts.
    pub fn new(argument: &ArgPath, pointer: &str, outcome: Outcome, rule: impl Into<String>) -> Self {
        Self {
            argument: argument.clone(),
            pointer: pointer.to_owned(),
            outcome,
            rule: rule.into(),
            lifted: Lifted::Never,
        }
    }

    /// The same, lifted where the user typed the value.
    #[must_use]
    pub fn unless_typed(mut self) -> Self {
        self.lifted = Lifted::ByTyping;
        self
    }
}
