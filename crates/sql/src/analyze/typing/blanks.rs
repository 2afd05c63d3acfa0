//! Blanks at the end of values of `char(n)`: where such values are compared they do not count. Columns hold
//! none, so constants beside them lose theirs, and so do texts that become such values.

use datafusion_common::{DFSchema, ExprSchema, Result, ScalarValue};
use datafusion_expr::{Expr, ExprSchemable};
use types::oid;

use crate::analyze::told::told_oid;
use crate::functions::library::call;

/// Takes the blanks from the end of constants that are compared with such a value.
pub(crate) fn taken_from(exprs: &mut [Expr], schema: &DFSchema) {
    if !exprs.iter().any(|e| is_padded(e, schema)) {
        return;
    }
    exprs.iter_mut().filter_map(constant).for_each(|text| {
        text.truncate(text.trim_end_matches(' ').len());
    });
}

/// Values that get one type: that of the first one which has any, and the texts beside a `char(n)`
/// are such values.
pub(crate) fn unify<'a>(
    exprs: impl Iterator<Item = &'a mut Expr>,
    schema: &DFSchema,
) -> Result<()> {
    let mut typed = exprs.filter(|e| !is_unknown(e));
    let is_char = |e: &Expr| is_padded(e, schema);
    if !typed.next().is_some_and(|first| is_char(first)) {
        return Ok(());
    }
    for other in typed.filter(|other| !is_char(other)) {
        if other.get_type(schema)?.is_string() {
            *other = without(std::mem::take(other))?;
        }
    }
    Ok(())
}

/// True if it is a literal in quotes, which has no type of its own.
fn is_unknown(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Utf8(Some(_)), _))
}

/// The text without blanks at its end.
pub(crate) fn without(text: Expr) -> Result<Expr> {
    call("rtrim", vec![text])
}

fn is_padded(expr: &Expr, schema: &DFSchema) -> bool {
    let field = match expr {
        Expr::Column(column) => schema.field_from_column(column).ok(),
        Expr::OuterReferenceColumn(field, _) => Some(field),
        Expr::Cast(cast) => Some(&cast.field),
        _ => None,
    };
    field.is_some_and(|field| told_oid(field) == oid::BPCHAR)
}

/// The text of a literal that has no type of its own or that of such values.
fn constant(expr: &mut Expr) -> Option<&mut String> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(text), _) => text.as_mut(),
        Expr::Cast(cast) if told_oid(&cast.field) == oid::BPCHAR => match cast.expr.as_mut() {
            Expr::Literal(ScalarValue::Utf8(text) | ScalarValue::Utf8View(text), _) => {
                text.as_mut()
            }
            _ => None,
        },
        _ => None,
    }
}
