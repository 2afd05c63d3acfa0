//! Functions of the clock: constants of the statement, for a plan has no clock.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use datafusion_sql::sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArguments, Query, TimezoneInfo, Value,
    visit_expressions_mut,
};

use crate::catalog::Catalog;
use crate::parse::identifier;

/// Puts the time at which the statement began in the place of `now()` and its kin.
pub(crate) fn rewrite(query: &mut Query, catalog: &dyn Catalog) {
    let Some(now) = catalog.now_us().and_then(DateTime::<Utc>::from_timestamp_micros) else {
        return;
    };
    // The visit itself never stops.
    let _ = visit_expressions_mut(query, |expr| {
        if let Expr::Function(function) = expr
            && let Some(constant) = constant(function, now)
        {
            *expr = constant;
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Local time in the zone of the session.
fn local(now: DateTime<Utc>) -> DateTime<Utc> {
    let zone = types::zone::current().zone;
    DateTime::from_timestamp_micros(zone.local_of(now.timestamp_micros())).unwrap_or(now)
}

fn constant(function: &Function, now: DateTime<Utc>) -> Option<Expr> {
    let plain = match &function.args {
        FunctionArguments::None => true,
        FunctionArguments::List(list) => list.args.is_empty(),
        FunctionArguments::Subquery(_) => false,
    };
    if !plain || function.over.is_some() {
        return None;
    }
    let stamp = |zone| DataType::Timestamp(None, zone);
    let name = identifier(function.name.0.last()?.as_ident()?);
    let (format, data_type) = match name.as_str() {
        "now"
        | "current_timestamp"
        | "transaction_timestamp"
        | "statement_timestamp"
        | "clock_timestamp" => ("%Y-%m-%d %H:%M:%S%.6f+00", stamp(TimezoneInfo::Tz)),
        "localtimestamp" => ("%Y-%m-%d %H:%M:%S%.6f", stamp(TimezoneInfo::None)),
        "current_date" => ("%Y-%m-%d", DataType::Date),
        "current_time" | "localtime" => ("%H:%M:%S%.6f", DataType::Time(None, TimezoneInfo::None)),
        _ => return None,
    };
    let shown = if format.ends_with("+00") { now } else { local(now) };
    let text = Value::SingleQuotedString(shown.format(format).to_string());
    let expr = Box::new(Expr::Value(text.into()));
    Some(Expr::Cast { kind: CastKind::DoubleColon, expr, data_type, array: false, format: None })
}
