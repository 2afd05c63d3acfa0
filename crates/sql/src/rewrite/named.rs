//! Arguments by name: `make_interval(days => 10)`.

use datafusion_sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::object_name::{identifier, last_name};

/// Functions whose arguments are all 0 unless they are given, with their names.
const NAMED: [(&str, &[&str]); 1] =
    [("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"])];

/// Puts arguments that have names into their places.
pub(crate) fn in_order(function: &mut Function) -> SqlResult<()> {
    let name = last_name(&function.name);
    let Some((_, names)) = NAMED.iter().find(|(known, _)| *known == name) else { return Ok(()) };
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    if list.args.iter().all(|arg| matches!(arg, FunctionArg::Unnamed(_))) {
        return Ok(());
    }
    let zero = || FunctionArgExpr::Expr(Expr::value(Value::Number("0".into(), false)));
    let mut places = vec![zero(); names.len()];
    for (i, arg) in std::mem::take(&mut list.args).into_iter().enumerate() {
        let (place, value) = match arg {
            FunctionArg::Unnamed(value) => (Some(i), value),
            FunctionArg::Named { name, arg, .. } => {
                (names.iter().position(|known| *known == identifier(&name)), arg)
            }
            FunctionArg::ExprNamed { arg, .. } => (None, arg),
        };
        match place.and_then(|place| places.get_mut(place)) {
            Some(place) => *place = value,
            None => return Err(unknown(&name)),
        }
    }
    list.args = places.into_iter().map(FunctionArg::Unnamed).collect();
    Ok(())
}

fn unknown(name: &str) -> SqlError {
    let message = format!("function {name} does not have arguments of these names");
    SqlError::new(SqlState::UNDEFINED_FUNCTION, message)
}
