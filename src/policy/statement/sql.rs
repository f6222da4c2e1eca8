//! SQL: each statement's class, by the worst of the dialects that understand it.
//!
//! Which server will read the text is not known, and dialects disagree about where strings and
//! comments end. So the text is parsed by several and the worst reading counts; forms on which they
//! disagree and that no parser settles (`/*!`, nested comments, a backslash before a quote) count as
//! not understood. Parsing gives the statement, the tokens give what hides in expressions: writing
//! parts of a `WITH`, `INTO`, and functions, which stand in `sql_words`.

use sqlparser::ast::{AlterTableOperation, CopyTarget, ObjectType, Set, Statement, UtilityOption};
use sqlparser::dialect::{
    Dialect, DuckDbDialect, GenericDialect, MsSqlDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::class::{PlaceForm, StatementClass, urls};
use super::sql_tables::tables;
use super::sql_words;
use crate::policy::Effect;

/// The most bytes that are parsed.
const BYTES: usize = 64 * 1024;

/// What an SQL text does.
pub fn sql(text: &str) -> StatementClass {
    if text.len() > BYTES || dialects_disagree(text) {
        return StatementClass::unknown();
    }
    let dialects: [&dyn Dialect; 6] = [
        &GenericDialect {},
        &PostgreSqlDialect {},
        &MySqlDialect {},
        &SQLiteDialect {},
        &MsSqlDialect {},
        &DuckDbDialect {},
    ];
    let mut worst: Option<StatementClass> = None;
    for dialect in dialects {
        let Some(class) = read(text, dialect) else { continue };
        worst = Some(match worst {
            None => class,
            Some(mut known) => {
                let statements = known.statements.max(class.statements);
                known.join(&class);
                known.statements = statements;
                known
            }
        });
    }
    worst.unwrap_or_else(StatementClass::unknown)
}

/// Whether the text holds a form that servers read differently and parsers do not settle.
fn dialects_disagree(text: &str) -> bool {
    let mut quote: Option<char> = None;
    let mut in_comment = false;
    let mut chars = text.chars().peekable();
    let mut disagree = text.contains("/*!") || text.contains("/*+") || text.contains('\0');
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (c, next) {
            ('/', Some('*')) if quote.is_none() => {
                disagree |= in_comment;
                in_comment = true;
                chars.next();
            }
            ('*', Some('/')) if quote.is_none() => {
                in_comment = false;
                chars.next();
            }
            ('\\', Some('\'' | '"' | '`')) => disagree = true,
            ('\'' | '"' | '`', _) if !in_comment => {
                quote = match quote {
                    None => Some(c),
                    Some(open) if open == c => None,
                    other => other,
                };
            }
            _ => {}
        }
    }
    disagree
}

/// The class by one dialect; `None` when it does not understand the text.
fn read(text: &str, dialect: &dyn Dialect) -> Option<StatementClass> {
    let tokens = Tokenizer::new(dialect, text).tokenize().ok()?;
    let statements = Parser::new(dialect).with_tokens(tokens.clone()).parse_statements().ok()?;
    let mut class = StatementClass::empty();
    let mut reads_only_plans = !statements.is_empty();
    for statement in &statements {
        statement_class(statement, &mut class);
        reads_only_plans &= explains(statement);
    }
    class.statements = statements.len();
    in_tokens(&tokens, reads_only_plans, &mut class);
    Some(class)
}

/// Whether the statement only shows a plan.
fn explains(statement: &Statement) -> bool {
    match statement {
        Statement::Explain { analyze, options, .. } => !analyze && !options.iter().flatten().any(is_analyze),
        _ => false,
    }
}

fn is_analyze(option: &UtilityOption) -> bool {
    option.name.value.eq_ignore_ascii_case("analyze")
}

/// Adds what one statement does by its kind.
fn statement_class(statement: &Statement, class: &mut StatementClass) {
    match statement {
        Statement::Query(_)
        | Statement::ExplainTable { .. }
        | Statement::ShowFunctions { .. }
        | Statement::ShowVariable { .. }
        | Statement::ShowStatus { .. }
        | Statement::ShowVariables { .. }
        | Statement::ShowCreate { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowCatalogs { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ShowProcessList { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowCharset(_)
        | Statement::ShowObjects(_)
        | Statement::ShowTables { .. }
        | Statement::ShowViews { .. }
        | Statement::ShowCollation { .. }
        | Statement::Use(_)
        | Statement::StartTransaction { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint { .. }
        | Statement::ReleaseSavepoint { .. }
        | Statement::Fetch { .. }
        | Statement::Close { .. }
        | Statement::Print(_)
        | Statement::Assert { .. } => class.add(Effect::Read),
        // Without ANALYZE the statement is planned and not run.
        Statement::Explain { statement: inner, .. } => {
            if !explains(statement) {
                statement_class(inner, class);
            }
        }
        Statement::Prepare { statement: inner, .. } => statement_class(inner, class),
        Statement::Pragma { value, is_eq, .. } => {
            class.add(if *is_eq || value.is_some() { pragma(statement) } else { Effect::Read });
        }
        Statement::Set(set) => class.add(match set {
            Set::SetRole { .. } | Set::SetSessionAuthorization(_) => Effect::Account,
            _ => Effect::Write,
        }),
        Statement::Update(update) => {
            class.add(if update.selection.is_none() { Effect::Destroy } else { Effect::Write });
        }
        Statement::Drop { object_type, .. } => {
            class.add(Effect::Destroy);
            if matches!(object_type, ObjectType::Role | ObjectType::User) {
                class.add(Effect::Account);
            }
        }
        Statement::Delete(_)
        | Statement::Truncate(_)
        | Statement::Kill { .. }
        | Statement::DropFunction(_)
        | Statement::DropProcedure { .. }
        | Statement::DropTrigger(_)
        | Statement::DropDomain(_)
        | Statement::DropExtension(_)
        | Statement::DropRule(_)
        | Statement::Discard { .. }
        | Statement::Flush { .. } => class.add(Effect::Destroy),
        Statement::AlterTable(alter) => {
            let loses = alter.operations.iter().any(|it| {
                matches!(
                    it,
                    AlterTableOperation::DropColumn { .. }
                        | AlterTableOperation::DropPartitions { .. }
                        | AlterTableOperation::DropConstraint { .. }
                        | AlterTableOperation::DropPrimaryKey { .. }
                )
            });
            class.add(if loses { Effect::Destroy } else { Effect::Write });
        }
        Statement::CreateTable(table) => {
            class.add(if table.or_replace { Effect::Destroy } else { Effect::Write });
        }
        other => class.add(other_class(other)),
    }
    if let Statement::Copy { target, to, .. } = statement {
        copy(target, Direction::of(*to), class);
    }
}

/// The statements of one effect each. What stands in no row runs.
fn other_class(statement: &Statement) -> Effect {
    match statement {
        Statement::Insert(_)
        | Statement::Merge(_)
        | Statement::Copy { .. }
        | Statement::LoadData { .. }
        | Statement::CreateView(_)
        | Statement::CreateIndex(_)
        | Statement::CreateSchema { .. }
        | Statement::CreateDatabase { .. }
        | Statement::CreateSequence { .. }
        | Statement::CreateType { .. }
        | Statement::CreateDomain(_)
        | Statement::CreateVirtualTable { .. }
        | Statement::AlterView { .. }
        | Statement::AlterIndex { .. }
        | Statement::AlterSchema(_)
        | Statement::AlterType(_)
        | Statement::RenameTable(_)
        | Statement::RefreshMaterializedView(_)
        | Statement::Comment { .. }
        | Statement::Analyze(_)
        | Statement::Vacuum(_)
        | Statement::OptimizeTable { .. }
        | Statement::Reset(_)
        | Statement::Lock(_)
        | Statement::LockTables { .. }
        | Statement::UnlockTables
        | Statement::AttachDatabase { .. }
        | Statement::AttachDuckDBDatabase { .. }
        | Statement::DetachDuckDBDatabase { .. }
        | Statement::Deallocate { .. }
        | Statement::Declare { .. }
        | Statement::Cache { .. }
        | Statement::UNCache { .. }
        | Statement::LISTEN { .. }
        | Statement::UNLISTEN { .. }
        | Statement::NOTIFY { .. } => Effect::Write,
        Statement::Unload { .. } | Statement::ExportData(_) | Statement::Put { .. } => Effect::Send,
        Statement::Grant(_)
        | Statement::GrantRole { .. }
        | Statement::Deny(_)
        | Statement::Revoke(_)
        | Statement::RevokeRole { .. }
        | Statement::CreateRole(_)
        | Statement::CreateUser(_)
        | Statement::CreatePolicy(_)
        | Statement::CreateSecret { .. }
        | Statement::CreateUserMapping(_)
        | Statement::AlterRole { .. }
        | Statement::AlterUser(_)
        | Statement::AlterPolicy(_)
        | Statement::AlterDefaultPrivileges(_)
        | Statement::DropPolicy(_)
        | Statement::DropSecret { .. } => Effect::Account,
        _ => Effect::Execute,
    }
}

/// Which way a `COPY` goes.
#[derive(Clone, Copy)]
enum Direction {
    Out,
    In,
}

impl Direction {
    fn of(to: bool) -> Self {
        if to { Self::Out } else { Self::In }
    }
}

fn copy(target: &CopyTarget, direction: Direction, class: &mut StatementClass) {
    match (target, direction) {
        (CopyTarget::Program { .. }, _) => class.add(Effect::Execute),
        // A file written by the server may be one that it loads.
        (CopyTarget::File { filename }, Direction::Out) => {
            class.add(Effect::Execute);
            class.place(PlaceForm::Path, filename);
        }
        (CopyTarget::File { filename }, Direction::In) => class.place(PlaceForm::Path, filename),
        (CopyTarget::Stdin | CopyTarget::Stdout, _) => {}
    }
}

/// A pragma with a value reads only when it is one of those that take the name of a table.
fn pragma(statement: &Statement) -> Effect {
    let Statement::Pragma { name, is_eq, .. } = statement else { return Effect::Execute };
    let name = name.to_string().to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    if !is_eq && sql_words::reads_pragma(last) { Effect::Read } else { Effect::Write }
}

/// Adds what stands in expressions, and the places in texts.
fn in_tokens(tokens: &[Token], plans: bool, class: &mut StatementClass) {
    let solid: Vec<&Token> = tokens.iter().filter(|it| !matches!(it, Token::Whitespace(_))).collect();
    tables(&solid, class);
    for (at, token) in solid.iter().enumerate() {
        let near = |by: isize| at.checked_add_signed(by).and_then(|it| solid.get(it)).copied();
        match token {
            Token::Word(word) => {
                let is_call = matches!(near(1), Some(Token::LParen));
                if word.quote_style.is_none() && !plans {
                    keyword(&word.value, near(-1), near(1), class);
                }
                // `INSERT INTO t (a)` and `CREATE TABLE t (a)` call nothing.
                if is_call && !names_a_table(&solid, at) {
                    class.add(sql_words::function(&word.value));
                }
            }
            other => {
                let compared = near(-1).is_some_and(compares);
                literal(other, if compared { Literal::Compared } else { Literal::Free }, class);
            }
        }
    }
}

/// Whether the word at `at`, with a bracket behind it, is a table or a type rather than a function.
fn names_a_table(solid: &[&Token], at: usize) -> bool {
    let mut back = at;
    // Step over the qualification: `schema . table (`.
    while back >= 2 && matches!(solid.get(back - 1), Some(Token::Period)) {
        back -= 2;
    }
    let Some(Token::Word(before)) = back.checked_sub(1).and_then(|it| solid.get(it)) else { return false };
    sql_words::introduces_a_table(&before.value)
}

/// Writing words inside a statement of any kind.
fn keyword(word: &str, before: Option<&Token>, after: Option<&Token>, class: &mut StatementClass) {
    let is = |token: Option<&Token>, text: &str| matches!(token, Some(Token::Word(it)) if it.value.eq_ignore_ascii_case(text));
    let locks =
        is(before, "for") || is(before, "key") || is(before, "on") || is(before, "do") || is(before, "then");
    match word.to_ascii_lowercase().as_str() {
        "insert" | "merge" if !matches!(after, Some(Token::LParen)) => class.add(Effect::Write),
        "update" if !locks => class.add(Effect::Write),
        "delete" if !is(before, "on") => class.add(Effect::Destroy),
        "truncate" if !matches!(after, Some(Token::LParen)) => class.add(Effect::Destroy),
        "into" => class.add(Effect::Write),
        "outfile" | "dumpfile" | "program" => class.add(Effect::Execute),
        _ => {}
    }
}

/// Whether what follows is only compared with a column.
fn compares(token: &Token) -> bool {
    match token {
        Token::Eq | Token::Neq => true,
        Token::Word(word) => {
            word.value.eq_ignore_ascii_case("like") || word.value.eq_ignore_ascii_case("ilike")
        }
        _ => false,
    }
}

/// Where a text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Literal {
    /// Behind a comparison: data and nothing else.
    Compared,
    /// Anywhere else, where some server may follow it.
    Free,
}

/// The places in a text. Reading from another machine is at least a fetch.
fn literal(token: &Token, stands: Literal, class: &mut StatementClass) {
    let before = class.places.len();
    literal_places(token, class);
    let remote = class.places.iter().skip(before).any(|it| it.form != PlaceForm::Path);
    if remote && stands == Literal::Free && class.effect == Effect::Read {
        class.add(Effect::Fetch);
    }
}

fn literal_places(token: &Token, class: &mut StatementClass) {
    let text = match token {
        Token::SingleQuotedString(it)
        | Token::DoubleQuotedString(it)
        | Token::NationalStringLiteral(it)
        | Token::EscapedStringLiteral(it)
        | Token::UnicodeStringLiteral(it)
        | Token::SingleQuotedRawStringLiteral(it) => it.as_str(),
        Token::DollarQuotedString(it) => it.value.as_str(),
        _ => return,
    };
    urls(text, class);
    for part in text.split_whitespace() {
        if let Some(host) = part.strip_prefix("host=").or_else(|| part.strip_prefix("hostaddr=")) {
            class.place(PlaceForm::Host, host);
        }
    }
    if let Some(share) = text.strip_prefix("\\\\") {
        class.place(PlaceForm::Host, share.split('\\').next().unwrap_or_default());
    } else if text.starts_with('/') && !text.contains(char::is_whitespace) || text.starts_with("~/") {
        class.place(PlaceForm::Path, text);
    }
}
