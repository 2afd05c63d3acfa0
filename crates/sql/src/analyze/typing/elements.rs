//! Arrays: `x = ANY (array)` with a constant one is a list of values, which an index can search.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::{Cast, InList, ScalarFunction};
use datafusion_expr::{Expr, ExprSchemable};

use crate::cast::exact::exactly;

/// Longer arrays are compared element by element: the plan would have too many constants.
const ELEMENTS_MAX: usize = 100_000;

/// Whether some are arrays.
pub(crate) fn has_arrays(exprs: &[Expr], schema: &DFSchema) -> Result<bool> {
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    Ok(types.iter().any(|ty| matches!(ty, DataType::List(_))))
}

/// The list that a call of `any_eq` or `all_ne` is; `None` for other calls and varying arrays.
pub(crate) fn as_list(given: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let negated = match given.func.name() {
        "any_eq" => false,
        "all_ne" => true,
        _ => return Ok(None),
    };
    let [value, array] = given.args.as_slice() else { return Ok(None) };
    let ty = value.get_type(schema)?;
    let each = match cast_one_by_one(array, &ty) {
        None => of_type(array, &ty, schema)?,
        each => each,
    };
    if let Some(each) = each {
        return Ok(Some(Expr::InList(InList::new(Box::new(value.clone()), each, negated))));
    }
    let elements = elements(array, &ty)?;
    Ok(elements.map(|elements| list(value, elements, negated)))
}

/// The list that a call is whose array has become a constant. Numbers of another type than the
/// value become ones of that type; `None` where an element cannot without a loss: the call compares
/// it.
pub(crate) fn as_list_of_constant(
    given: &ScalarFunction,
    schema: &DFSchema,
) -> Result<Option<Expr>> {
    let negated = given.func.name() == "all_ne";
    if !negated && given.func.name() != "any_eq" {
        return Ok(None);
    }
    let [value, Expr::Literal(ScalarValue::List(array), _)] = given.args.as_slice() else {
        return Ok(None);
    };
    if array.is_null(0) || array.value(0).len() > ELEMENTS_MAX {
        return Ok(None);
    }
    let ty = value.get_type(schema)?;
    let elements = constants(&array.value(0))?.into_iter().map(|element| typed(element, &ty));
    Ok(elements.collect::<Option<_>>().map(|elements| list(value, elements, negated)))
}

/// The element as one of the type, if that changes nothing of it.
fn typed(element: ScalarValue, ty: &DataType) -> Option<ScalarValue> {
    match element.data_type() == *ty {
        true => Some(element),
        false if !is_number(&element.data_type()) || !is_number(ty) => None,
        false if element.is_null() => ScalarValue::try_new_null(ty).ok(),
        false => exactly(&element, ty),
    }
}

/// True if values are equal where casts make them so, whatever the session's settings.
pub(crate) fn is_number(ty: &DataType) -> bool {
    matches!(ty, DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Decimal128(..))
}

fn list(value: &Expr, elements: Vec<ScalarValue>, negated: bool) -> Expr {
    if elements.is_empty() {
        return Expr::Literal(ScalarValue::Boolean(Some(negated)), None);
    }
    let list = elements.into_iter().map(|e| Expr::Literal(e, None)).collect();
    Expr::InList(InList::new(Box::new(value.clone()), list, negated))
}

/// The elements of an array that is cast to one of the value's type, each cast: they may be
/// parameters. None of an empty one.
fn cast_one_by_one(array: &Expr, value: &DataType) -> Option<Vec<Expr>> {
    let Expr::Cast(cast) = array else { return None };
    let (Expr::ScalarFunction(call), DataType::List(element)) =
        (cast.expr.as_ref(), cast.field.data_type())
    else {
        return None;
    };
    let is_it = call.func.name() == "make_array" && element.data_type() == value;
    let is_listed = is_it && (1..=ELEMENTS_MAX).contains(&call.args.len());
    let cast = |e: &Expr| Expr::Cast(Cast::new(Box::new(e.clone()), value.clone()));
    is_listed.then(|| call.args.iter().map(cast).collect())
}

/// The elements of an array that is written one by one, if all are of the value's type.
fn of_type(array: &Expr, value: &DataType, schema: &DFSchema) -> Result<Option<Vec<Expr>>> {
    let Expr::ScalarFunction(call) = array else { return Ok(None) };
    if call.func.name() != "make_array" || !(1..=ELEMENTS_MAX).contains(&call.args.len()) {
        return Ok(None);
    }
    for element in &call.args {
        if element.get_type(schema)? != *value {
            return Ok(None);
        }
    }
    Ok(Some(call.args.clone()))
}

fn elements(array: &Expr, value: &DataType) -> Result<Option<Vec<ScalarValue>>> {
    match array {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => {
            let list = DataType::List(Arc::new(Field::new_list_field(value.clone(), true)));
            parsed(text, &list)
        }
        Expr::Cast(cast) => match &*cast.expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => parsed(text, cast.field.data_type()),
            _ => Ok(None),
        },
        Expr::ScalarFunction(call) if call.func.name() == "make_array" => {
            let literal = |e: &Expr| match e {
                Expr::Literal(value, _) => Some(value.clone()),
                _ => None,
            };
            Ok(call.args.iter().map(literal).collect())
        }
        _ => Ok(None),
    }
}

fn parsed(text: &str, list: &DataType) -> Result<Option<Vec<ScalarValue>>> {
    if !matches!(list, DataType::List(_)) {
        return Ok(None);
    }
    let text: ArrayRef = ScalarValue::Utf8View(Some(text.to_owned())).to_array()?;
    let lists = crate::cast::text::cast_text(&text, list)?;
    let values = lists.as_list::<i32>().values();
    if values.len() > ELEMENTS_MAX {
        return Ok(None);
    }
    constants(values).map(Some)
}

fn constants(values: &ArrayRef) -> Result<Vec<ScalarValue>> {
    (0..values.len()).map(|i| ScalarValue::try_from_array(values, i)).collect()
}
