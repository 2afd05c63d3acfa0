//! `EXPLAIN`.

use datafusion_sql::sqlparser::ast;
use types::{SqlError, SqlResult};

use crate::parse::refuse::keywords;
use crate::parse::statement::explain::{Explain, Explaining};
use crate::parse::statement::{ExplainWrite, Statement};
use crate::parse::text::dispatch;

/// `EXPLAIN` of a statement.
///
/// # Errors
/// 0A000 for options, formats and statements that it does not take.
pub(super) fn explain(
    mut analyze: bool,
    mut verbose: bool,
    statement: ast::Statement,
    format: Option<ast::AnalyzeFormatKind>,
    options: Option<Vec<ast::UtilityOption>>,
) -> SqlResult<Statement> {
    let mut json = false;
    if let Some(format) = format {
        let name = format.to_string().to_lowercase();
        json = name.ends_with("json");
        if !json && !name.ends_with("text") {
            return Err(SqlError::unsupported("this EXPLAIN format"));
        }
    }
    let mut costs = true;
    for option in options.unwrap_or_default() {
        let argument = option.arg.map(|a| a.to_string().to_lowercase());
        let on = !matches!(argument.as_deref(), Some("false" | "off" | "0"));
        match (option.name.value.to_lowercase().as_str(), argument.as_deref()) {
            ("analyze", _) => analyze = on,
            ("verbose", _) => verbose = on,
            ("costs", _) => costs = on,
            ("buffers" | "timing" | "summary", _) | ("format", Some("text")) => {}
            ("format", Some("json")) => json = true,
            (other, _) => return Err(SqlError::unsupported(format!("EXPLAIN option {other}"))),
        }
    }
    match statement {
        ast::Statement::Execute {
            name: Some(name), parameters, using, immediate: false, ..
        } if using.is_empty() => {
            let execute =
                Explaining { analyze, verbose, json, costs }.execute(&name, parameters)?;
            Ok(Statement::Execute(execute))
        }
        other => {
            let name = keywords(&other);
            let options = Explaining { analyze, verbose, json, costs };
            explained(dispatch(other)?, options)
                .ok_or_else(|| SqlError::unsupported(format!("EXPLAIN {name}")))
        }
    }
}

/// `EXPLAIN` of a statement, if it has a plan.
fn explained(statement: Statement, options: Explaining) -> Option<Statement> {
    let Explaining { analyze, verbose, json, costs } = options;
    match statement {
        Statement::Query(query) => {
            Some(Statement::Explain(Explain { analyze, verbose, json, costs, query }))
        }
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
            Some(Statement::ExplainWrite(ExplainWrite { options, statement: Box::new(statement) }))
        }
        _ => None,
    }
}

impl Explaining {
    /// `EXPLAIN` of a statement.
    ///
    /// # Errors
    /// 0A000 for one that has no plan.
    pub fn of(self, statement: Statement) -> SqlResult<Statement> {
        let refused = || SqlError::unsupported("EXPLAIN of a statement that has no plan");
        explained(statement, self).ok_or_else(refused)
    }
}
