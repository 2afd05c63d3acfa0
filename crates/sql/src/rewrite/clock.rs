//! Functions of the clock: constants of the statement, for a plan has no clock; parameters of a plan that is
//! kept.

use std::ops::ControlFlow;

use chrono::{DateTime, Utc};
use datafusion_sql::sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArguments, Query, TimezoneInfo, Value,
};

use crate::catalog::Catalog;
use crate::parse::object_name::identifier;
use crate::walk::visit_expressions_mut;

/// What a function of the clock gives.
#[derive(Clone, Copy)]
enum Kind {
    Moment,
    Local,
    Date,
    Time,
}

/// How many kinds there are.
const KIND_COUNT: usize = 4;

/// Puts the time at which the statement began in the place of `now()` and its kin.
pub(crate) fn rewrite(query: &mut Query, catalog: &dyn Catalog) {
    let now = catalog.now_us().and_then(DateTime::<Utc>::from_timestamp_micros);
    if let Some(now) = now {
        replace(query, |kind| Value::SingleQuotedString(kind.text(now)));
    }
}

/// The number of the first parameter of the clock among so many: they are the last ones, if there are any.
pub(crate) fn first_of(parameter_count: usize) -> Option<usize> {
    (parameter_count + 1).checked_sub(KIND_COUNT).filter(|first| *first > 0)
}

/// Puts parameters there, the first of which has the number `first`: [`texts`] are their values.
pub(crate) fn as_parameters(query: &mut Query, first: usize) {
    replace(query, |kind| Value::Placeholder(format!("${}", first + kind as usize)));
}

/// What stands in the place of each kind at a moment.
pub(crate) fn texts(now_us: i64) -> Option<[String; KIND_COUNT]> {
    let now = DateTime::<Utc>::from_timestamp_micros(now_us)?;
    Some([Kind::Moment, Kind::Local, Kind::Date, Kind::Time].map(|kind| kind.text(now)))
}

fn replace(query: &mut Query, value: impl Fn(Kind) -> Value) {
    // The visit itself never stops.
    let _ = visit_expressions_mut(query, |expr| {
        if let Expr::Function(function) = expr
            && let Some(kind) = kind(function)
        {
            let (data_type, value) = (kind.data_type(), Box::new(Expr::Value(value(kind).into())));
            let (kind, array, format) = (CastKind::DoubleColon, false, None);
            *expr = Expr::Cast { kind, expr: value, data_type, array, format };
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Local time in the zone of the session.
fn local(now: DateTime<Utc>) -> DateTime<Utc> {
    let zone = types::zone::current().zone;
    DateTime::from_timestamp_micros(zone.local_of(now.timestamp_micros())).unwrap_or(now)
}

impl Kind {
    fn text(self, now: DateTime<Utc>) -> String {
        let shown = |now: DateTime<Utc>, format| now.format(format).to_string();
        match self {
            Kind::Moment => shown(now, "%Y-%m-%d %H:%M:%S%.6f+00"),
            Kind::Local => shown(local(now), "%Y-%m-%d %H:%M:%S%.6f"),
            Kind::Date => shown(local(now), "%Y-%m-%d"),
            Kind::Time => shown(local(now), "%H:%M:%S%.6f"),
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::Moment => DataType::Timestamp(None, TimezoneInfo::Tz),
            Kind::Local => DataType::Timestamp(None, TimezoneInfo::None),
            Kind::Date => DataType::Date,
            Kind::Time => DataType::Time(None, TimezoneInfo::None),
        }
    }
}

fn kind(function: &Function) -> Option<Kind> {
    let plain = match &function.args {
        FunctionArguments::None => true,
        FunctionArguments::List(list) => list.args.is_empty(),
        FunctionArguments::Subquery(_) => false,
    };
    if !plain || function.over.is_some() {
        return None;
    }
    kind_of_name(&identifier(function.name.0.last()?.as_ident()?))
}

/// Whether it is the name of a function of the clock.
pub(crate) fn has_function(name: &str) -> bool {
    kind_of_name(name).is_some()
}

fn kind_of_name(name: &str) -> Option<Kind> {
    match name {
        "now"
        | "current_timestamp"
        | "transaction_timestamp"
        | "statement_timestamp"
        | "clock_timestamp" => Some(Kind::Moment),
        "localtimestamp" => Some(Kind::Local),
        "current_date" => Some(Kind::Date),
        "current_time" | "localtime" => Some(Kind::Time),
        _ => None,
    }
}
