//! Named windows, written out where they are named; and what the distances of frames may be.

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Interval, NamedWindowExpr, Query, Select, SetExpr, UnaryOperator, Value,
    WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::object_name::identifier;

const WINDOWING_ERROR: SqlState = SqlState("42P20");

/// The windows that a `SELECT` names.
#[derive(Default)]
struct Windows(Vec<(String, WindowSpec)>);

impl Windows {
    /// The windows of a query, of which each may copy those before it.
    ///
    /// # Errors
    /// 42P20 for a name given twice, and those of [`Windows::write_out`].
    pub(crate) fn of(select: &mut Select) -> SqlResult<Windows> {
        let mut windows = Windows::default();
        for definition in std::mem::take(&mut select.named_window) {
            let name = identifier(&definition.0);
            if windows.0.iter().any(|(known, _)| *known == name) {
                let message = format!("window \"{name}\" is already defined");
                return Err(SqlError::new(WINDOWING_ERROR, message));
            }
            let spec = match definition.1 {
                NamedWindowExpr::WindowSpec(spec) => windows.copied(spec)?,
                NamedWindowExpr::NamedWindow(name) => windows.find(&name)?.clone(),
            };
            windows.0.push((name, spec));
        }
        Ok(windows)
    }

    /// Puts the window in the place of its name.
    ///
    /// # Errors
    /// 42704 for a name that no window has, 42P20 where the copy of a window contradicts it.
    pub(crate) fn write_out(&self, over: &mut WindowType) -> SqlResult<()> {
        let spec = match over {
            WindowType::NamedWindow(name) => self.find(name)?.clone(),
            WindowType::WindowSpec(spec) => self.copied(spec.clone())?,
        };
        *over = WindowType::WindowSpec(spec);
        Ok(())
    }

    fn find(&self, name: &Ident) -> SqlResult<&WindowSpec> {
        let wanted = identifier(name);
        let found = self.0.iter().find(|(known, _)| *known == wanted).map(|(_, spec)| spec);
        found.ok_or_else(|| {
            let message = format!("window \"{wanted}\" does not exist");
            SqlError::new(SqlState("42704"), message)
        })
    }

    /// A window with what it has of the one that it names.
    fn copied(&self, mut spec: WindowSpec) -> SqlResult<WindowSpec> {
        let Some(name) = spec.window_name.take() else { return Ok(spec) };
        let original = self.find(&name)?;
        let name = identifier(&name);
        let refused = |message: String| Err(SqlError::new(WINDOWING_ERROR, message));
        if !spec.partition_by.is_empty() {
            return refused(format!("cannot override PARTITION BY clause of window \"{name}\""));
        }
        if !spec.order_by.is_empty() && !original.order_by.is_empty() {
            return refused(format!("cannot override ORDER BY clause of window \"{name}\""));
        }
        if original.window_frame.is_some() {
            let message = format!("cannot copy window \"{name}\" because it has a frame clause");
            let error = SqlError::new(WINDOWING_ERROR, message);
            let is_bare = spec.order_by.is_empty() && spec.window_frame.is_none();
            return Err(match is_bare {
                true => error.with_hint("Omit the parentheses in this OVER clause."),
                false => error,
            });
        }
        spec.partition_by.clone_from(&original.partition_by);
        if spec.order_by.is_empty() {
            spec.order_by.clone_from(&original.order_by);
        }
        Ok(spec)
    }
}

/// The windows of each query around the expression at hand, the innermost last.
#[derive(Default)]
pub(crate) struct OpenWindows(Vec<Windows>);

impl OpenWindows {
    /// Whether the expression at hand stands within a query.
    pub(crate) fn is_inside(&self) -> bool {
        !self.0.is_empty()
    }

    /// The `ORDER BY` of a query of one `SELECT` names the windows of that one.
    pub(crate) fn enter_query(&mut self, query: &mut Query) -> SqlResult<()> {
        let windows = match query.body.as_mut() {
            SetExpr::Select(select) => Windows::of(select)?,
            _ => Windows::default(),
        };
        self.0.push(windows);
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.0.pop();
    }

    /// Enters a `SELECT`. The windows of one that is all of its query are known already.
    pub(crate) fn enter_select(&mut self, select: &mut Select) -> SqlResult<()> {
        let own = Windows::of(select)?;
        let of_query = self.0.last().map(|windows| Windows(windows.0.clone()));
        self.0.push(if own.0.is_empty() { of_query.unwrap_or_default() } else { own });
        Ok(())
    }

    pub(crate) fn write_out(&self, over: &mut WindowType) -> SqlResult<()> {
        match self.0.last() {
            Some(windows) => windows.write_out(over),
            None => Windows::default().write_out(over),
        }
    }
}

/// Checks a window that has been written out, makes literals of the distances of its frame, and writes
/// out the frame that it has by default.
///
/// The library's own default counts rows where the first key is one of the table's. It is not unique
/// any more in grouping sets, and a unique column has nulls, which are peers of each other.
///
/// # Errors
/// 42P20 for bounds in the wrong order, 42P10, 22004, 22013 and 0A000 for distances that are no constants.
pub(crate) fn check(over: &mut WindowType) -> SqlResult<()> {
    match over {
        WindowType::WindowSpec(WindowSpec { window_frame: Some(frame), order_by, .. }) => {
            check_frame(frame, order_by.len())
        }
        WindowType::WindowSpec(spec) if !spec.order_by.is_empty() => {
            spec.window_frame = Some(WindowFrame {
                units: WindowFrameUnits::Range,
                start_bound: WindowFrameBound::Preceding(None),
                end_bound: Some(WindowFrameBound::CurrentRow),
            });
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_frame(frame: &mut WindowFrame, key_count: usize) -> SqlResult<()> {
    use WindowFrameBound::{CurrentRow, Following, Preceding};
    let refused = |message: &str| Err(SqlError::new(WINDOWING_ERROR, message));
    if frame.units == WindowFrameUnits::Groups && key_count == 0 {
        return refused("GROUPS mode requires an ORDER BY clause");
    }
    let end = frame.end_bound.as_ref().unwrap_or(&CurrentRow);
    match (&frame.start_bound, end) {
        (Following(None), _) => return refused("frame start cannot be UNBOUNDED FOLLOWING"),
        (_, Preceding(None)) => return refused("frame end cannot be UNBOUNDED PRECEDING"),
        (CurrentRow, Preceding(_)) => {
            return refused("frame starting from current row cannot have preceding rows");
        }
        (Following(_), Preceding(_) | CurrentRow) => {
            return refused("frame starting from following row cannot have preceding rows");
        }
        _ => {}
    }
    let units = frame.units;
    let mut has_distance = false;
    let bounds = [("starting", Some(&mut frame.start_bound)), ("ending", frame.end_bound.as_mut())];
    for (which, bound) in bounds {
        if let Some(Preceding(Some(distance)) | Following(Some(distance))) = bound {
            has_distance = true;
            **distance = constant(distance, units, which)?;
        }
    }
    if units == WindowFrameUnits::Range && has_distance && key_count != 1 {
        let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
        return refused(message);
    }
    Ok(())
}

/// The distance as the literal that it is; a cast of it says only what the column says as well.
fn constant(distance: &Expr, units: WindowFrameUnits, which: &str) -> SqlResult<Expr> {
    let refused =
        |state: &'static str, message: String| Err(SqlError::new(SqlState(state), message));
    match distance {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => constant(inner, units, which),
        Expr::Interval(_) => Ok(distance.clone()),
        Expr::Value(value) => match &value.value {
            Value::Number(..) => Ok(distance.clone()),
            Value::SingleQuotedString(_) => Ok(interval(distance)),
            Value::Null => refused("22004", format!("frame {which} offset must not be null")),
            _ => Err(no_constant(units)),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } if is_number(expr) => {
            refused("22013", format!("frame {which} offset must not be negative"))
        }
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
            refused("42P10", format!("argument of {units} must not contain variables"))
        }
        _ => Err(no_constant(units)),
    }
}

/// The only form in which the library takes a text for a distance.
fn interval(text: &Expr) -> Expr {
    Expr::Interval(Interval {
        value: Box::new(text.clone()),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Number(..)))
}

fn no_constant(units: WindowFrameUnits) -> SqlError {
    SqlError::unsupported(format!("{units} with an offset that is no constant"))
        .with_hint("Write the offset as a literal.")
}
