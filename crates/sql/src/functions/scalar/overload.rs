//! What a function is: a list of overloads, that is types of parameters, type of the result, and a body that works
//! on vectors. A call takes the overload that needs the fewest conversions.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float64Type, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use plan::expr::value_bytes;
use plan::limits;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::interrupt;

/// Bytes of constants that are copied for the rows of one call of a function.
const COPIED_BYTES_MAX: usize = 1 << 20;

/// A kind of parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ty {
    Int,
    Big,
    Float,
    /// A decimal of any precision and scale; integers become decimals.
    Num,
    Text,
    Date,
    Ts,
    Tz,
    Time,
    Interval,
    Bool,
    Bytes,
    /// An array of anything.
    List,
    /// A literal whose text is an array.
    ListText,
    /// Anything, as it is.
    Any,
}

/// One way to call a function.
pub(crate) struct Overload {
    pub(crate) params: &'static [Ty],
    /// The last parameter may be repeated, or left out.
    pub(crate) variadic: bool,
    /// The type of the result, given those of the arguments and their constant values.
    pub(crate) result: fn(&[DataType], &[Option<&ScalarValue>]) -> DataType,
    pub(crate) body: fn(&Args<'_>) -> SqlResult<ArrayRef>,
    /// Whether null arguments reach the body; else the result is null where one of them is.
    pub(crate) nulls: bool,
}

/// The arguments of a call.
pub(crate) struct Args<'a> {
    pub(crate) arrays: &'a [ArrayRef],
    pub(crate) rows: usize,
    pub(crate) ty: &'a DataType,
}

impl Args<'_> {
    pub(crate) fn text(&self, i: usize) -> &StringViewArray {
        self.arrays[i].as_string_view()
    }

    pub(crate) fn big(&self, i: usize, row: usize) -> i64 {
        self.arrays[i].as_primitive::<Int64Type>().value(row)
    }

    pub(crate) fn int(&self, i: usize, row: usize) -> i32 {
        self.arrays[i].as_primitive::<Int32Type>().value(row)
    }

    pub(crate) fn float(&self, i: usize, row: usize) -> f64 {
        self.arrays[i].as_primitive::<Float64Type>().value(row)
    }

    pub(crate) fn micros(&self, i: usize, row: usize) -> i64 {
        self.arrays[i].as_primitive::<TimestampMicrosecondType>().value(row)
    }

    pub(crate) fn date(&self, i: usize, row: usize) -> i32 {
        self.arrays[i].as_primitive::<Date32Type>().value(row)
    }

    pub(crate) fn time(&self, i: usize, row: usize) -> i64 {
        self.arrays[i].as_primitive::<Time64MicrosecondType>().value(row)
    }

    pub(crate) fn interval(&self, i: usize, row: usize) -> IntervalMonthDayNano {
        self.arrays[i].as_primitive::<IntervalMonthDayNanoType>().value(row)
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.arrays.iter().any(|a| a.is_null(row))
    }

    /// The values of rows without null arguments, gathered.
    pub(crate) fn each<T, C: FromIterator<Option<T>>>(
        &self,
        f: impl Fn(usize) -> SqlResult<Option<T>>,
    ) -> SqlResult<C> {
        let one = |row: usize| {
            limits::go_on()?;
            if self.is_null(row) { Ok(None) } else { f(row) }
        };
        (0..self.rows).map(one).collect()
    }

    /// The same of texts.
    pub(crate) fn texts(
        &self,
        f: impl Fn(usize) -> SqlResult<Option<String>>,
    ) -> SqlResult<ArrayRef> {
        self.texts_or_null(|row| if self.is_null(row) { Ok(None) } else { f(row) })
    }

    /// The same, with rows that have null arguments.
    pub(crate) fn texts_or_null(
        &self,
        f: impl Fn(usize) -> SqlResult<Option<String>>,
    ) -> SqlResult<ArrayRef> {
        let counted = limits::Counted::default();
        let one = |row: usize| {
            limits::go_on()?;
            let text = f(row)?;
            counted.add(text.as_ref().map_or(0, String::len))?;
            Ok(text)
        };
        Ok(Arc::new((0..self.rows).map(one).collect::<SqlResult<StringViewArray>>()?))
    }
}

/// A function with its overloads.
pub(crate) struct Function {
    name: &'static str,
    overloads: Vec<Overload>,
    signature: Signature,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Functions while they are registered.
pub(crate) struct Functions(pub(crate) Vec<Function>);

impl Functions {
    pub(crate) fn add(&mut self, name: &'static str, overload: Overload) {
        match self.0.iter_mut().find(|f| f.name == name) {
            Some(function) => function.overloads.push(overload),
            None => self.0.push(Function {
                name,
                overloads: vec![overload],
                signature: Signature::user_defined(Volatility::Immutable),
            }),
        }
    }

    /// An overload that is null where an argument is, with a result of one type.
    pub(crate) fn strict(
        &mut self,
        name: &'static str,
        params: &'static [Ty],
        result: fn(&[DataType], &[Option<&ScalarValue>]) -> DataType,
        body: fn(&Args<'_>) -> SqlResult<ArrayRef>,
    ) {
        self.add(name, Overload { params, variadic: false, result, body, nulls: false });
    }

    /// The planner neither computes a call of this function nor makes one of two.
    pub(crate) fn volatile(&mut self, name: &str) {
        for function in self.0.iter_mut().filter(|f| f.name == name) {
            function.signature = Signature::user_defined(Volatility::Volatile);
        }
    }
}

impl Function {
    /// The cheapest overload for these arguments.
    fn resolve(&self, args: &[DataType]) -> Result<&Overload> {
        let costs = self.overloads.iter().filter_map(|o| Some((o.cost(args)?, o)));
        costs.min_by_key(|(cost, _)| *cost).map(|(_, o)| o).ok_or_else(|| {
            let names: Vec<String> = args.iter().map(crate::render::type_name).collect();
            let message = format!("function {}({}) does not exist", self.name, names.join(", "));
            DataFusionError::External(Box::new(SqlError::new(
                SqlState::UNDEFINED_FUNCTION,
                message,
            )))
        })
    }
}

impl Overload {
    fn cost(&self, args: &[DataType]) -> Option<u32> {
        let fits = match self.variadic {
            true => args.len() + 1 >= self.params.len(),
            false => args.len() == self.params.len(),
        };
        if !fits {
            return None;
        }
        let last = *self.params.last().unwrap_or(&Ty::Any);
        let param = |i: usize| self.params.get(i).copied().unwrap_or(last);
        args.iter().enumerate().try_fold(0, |sum, (i, ty)| Some(sum + param(i).cost(ty)?))
    }

    fn coerced(&self, args: &[DataType]) -> Vec<DataType> {
        let last = *self.params.last().unwrap_or(&Ty::Any);
        let param = |i: usize| self.params.get(i).copied().unwrap_or(last);
        args.iter().enumerate().map(|(i, ty)| param(i).arrow(ty)).collect()
    }
}

impl Ty {
    /// What it costs to convert an argument; `None` where PostgreSQL does not.
    fn cost(self, from: &DataType) -> Option<u32> {
        let integer = from.is_integer();
        let decimal = matches!(from, DataType::Decimal128(..) | DataType::Decimal256(..));
        Some(match (self, from) {
            (_, DataType::Null) => 1,
            (Ty::Any, _) => 8,
            (Ty::Text, DataType::Utf8) => 0,
            (Ty::Text, DataType::Utf8View | DataType::LargeUtf8) => 0,
            // A literal whose type is not known yet.
            (Ty::List, DataType::Utf8) => return None,
            (_, DataType::Utf8) => 2,
            (Ty::ListText, _) => return None,
            (Ty::Int, DataType::Int32 | DataType::Int16) | (Ty::Big, DataType::Int64) => 0,
            (Ty::Int, DataType::UInt32) => return None,
            (Ty::Big, _) if integer => 1,
            // Constants of the library's own rewrites are of 64 bits.
            (Ty::Int, DataType::Int64) => 3,
            (Ty::Num, _) if decimal => 0,
            (Ty::Num, _) if integer => 3,
            (Ty::Float, DataType::Float64) => 0,
            (Ty::Float, DataType::Float32) => 1,
            // As PostgreSQL prefers double precision.
            (Ty::Float, _) if integer => 2,
            (Ty::Float, _) if decimal => 4,
            (Ty::Date, DataType::Date32) => 0,
            (Ty::Ts, DataType::Timestamp(_, None)) | (Ty::Tz, DataType::Timestamp(_, Some(_))) => 0,
            (Ty::Ts, DataType::Date32) => 1,
            (Ty::Tz, DataType::Date32) => 3,
            (Ty::Tz, DataType::Timestamp(_, None)) => 2,
            (Ty::Time, DataType::Time64(_)) | (Ty::Interval, DataType::Interval(_)) => 0,
            (Ty::Interval, DataType::Time64(_)) => 2,
            (Ty::Bool, DataType::Boolean) => 0,
            (Ty::Bytes, DataType::Binary | DataType::BinaryView) => 0,
            (Ty::List, DataType::List(_)) => 0,
            _ => return None,
        })
    }

    /// The vector type of the parameter for an argument.
    fn arrow(self, from: &DataType) -> DataType {
        match self {
            Ty::Int => DataType::Int32,
            Ty::Big => DataType::Int64,
            Ty::Float => DataType::Float64,
            Ty::Num => match from {
                DataType::Decimal128(..) | DataType::Decimal256(..) => from.clone(),
                DataType::Int16 => DataType::Decimal128(5, 0),
                DataType::Int32 => DataType::Decimal128(10, 0),
                DataType::Int64 => DataType::Decimal128(19, 0),
                DataType::UInt64 | DataType::Null => DataType::Decimal128(20, 0),
                _ => DataType::Decimal128(38, 10),
            },
            // A literal stays one, so that types may depend on its value.
            Ty::Text | Ty::ListText if *from == DataType::Utf8 => DataType::Utf8,
            Ty::Text | Ty::ListText => DataType::Utf8View,
            Ty::Date => DataType::Date32,
            Ty::Ts => DataType::Timestamp(TimeUnit::Microsecond, None),
            Ty::Tz => LogicalType::TimestampTz.arrow(),
            Ty::Time => DataType::Time64(TimeUnit::Microsecond),
            Ty::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            Ty::Bool => DataType::Boolean,
            Ty::Bytes => DataType::BinaryView,
            Ty::List | Ty::Any if *from == DataType::Utf8 => DataType::Utf8View,
            Ty::List if *from == DataType::Null => LogicalType::Text.array_of().arrow(),
            Ty::List | Ty::Any => from.clone(),
        }
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        crate::interrupt::check()?;
        Ok(self.resolve(args)?.coerced(args))
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        let overload = self.resolve(args)?;
        Ok((overload.result)(&overload.coerced(args), &vec![None; args.len()]))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<arrow_schema::FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        let overload = self.resolve(&types)?;
        let ty = (overload.result)(&overload.coerced(&types), args.scalar_arguments);
        Ok(Arc::new(arrow_schema::Field::new(self.name, ty, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        let overload = self.resolve(&types)?;
        let wanted = overload.coerced(&types);
        let (rows, ty) = (args.number_rows, args.return_field.data_type());
        let at_once = rows_at_once(&args.args);
        let mut parts = vec![];
        for first in (0..rows.max(1)).step_by(at_once) {
            let count = rows.saturating_sub(first).min(at_once);
            let part = args.args.iter().map(|value| part_of(value, first, count));
            parts.push(overload.called(part.collect::<Result<_>>()?, &wanted, count, ty)?);
        }
        match &parts[..] {
            [only] => Ok(ColumnarValue::Array(Arc::clone(only))),
            parts => {
                let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
                Ok(ColumnarValue::Array(arrow_select::concat::concat(&parts)?))
            }
        }
    }
}

impl Overload {
    /// The result for arguments of these rows.
    fn called(
        &self,
        args: Vec<ArrayRef>,
        wanted: &[DataType],
        rows: usize,
        ty: &DataType,
    ) -> Result<ArrayRef> {
        let mut arrays = Vec::with_capacity(args.len());
        for (array, ty) in args.into_iter().zip(wanted) {
            let ty = if *ty == DataType::Utf8 { &DataType::Utf8View } else { ty };
            arrays.push(match array.data_type() == ty {
                true => array,
                false => crate::cast::floats::cast_exactly(&array, ty)?,
            });
        }
        interrupt::check()?;
        let counted = limits::taken();
        let call = Args { arrays: &arrays, rows, ty };
        let result = match !self.nulls && (0..rows).all(|row| call.is_null(row)) && rows > 0 {
            true => Ok(arrow_array::new_null_array(call.ty, rows)),
            false => (self.body)(&call),
        };
        result
            .and_then(|array| limits::take_rest(value_bytes(&array), counted).map(|()| array))
            .map_err(|e| DataFusionError::External(Box::new(e)))
    }
}

/// Rows for which a function is called at once: each has a copy of the arguments that are
/// constants.
fn rows_at_once(args: &[ColumnarValue]) -> usize {
    let bytes: usize = args.iter().map(copied_bytes).sum();
    (COPIED_BYTES_MAX / bytes.max(1)).max(1)
}

/// Bytes of a constant of any size that each row has a copy of.
fn copied_bytes(arg: &ColumnarValue) -> usize {
    match arg {
        ColumnarValue::Scalar(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
        ) => text.len(),
        ColumnarValue::Scalar(
            ScalarValue::Binary(Some(bytes)) | ScalarValue::BinaryView(Some(bytes)),
        ) => bytes.len(),
        ColumnarValue::Scalar(ScalarValue::List(list)) => {
            value_bytes(&(Arc::clone(list) as ArrayRef))
        }
        _ => 0,
    }
}

/// So many rows of an argument from this one on.
fn part_of(arg: &ColumnarValue, first: usize, count: usize) -> Result<ArrayRef> {
    match arg {
        ColumnarValue::Array(array) => Ok(array.slice(first, count)),
        ColumnarValue::Scalar(value) => value.to_array_of_size(count),
    }
}

pub(crate) fn invalid_parameter(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cfg(test)]
mod tests {
    use arrow_array::StringViewArray;

    use super::*;

    #[test]
    fn a_call_has_so_many_rows_as_copies_of_its_constants_fit() {
        let text = |len: usize| ColumnarValue::Scalar(ScalarValue::Utf8View(Some("x".repeat(len))));
        let rows: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b", "c"]));
        let array = ColumnarValue::Array(rows);
        assert_eq!(rows_at_once(&[array.clone(), text(COPIED_BYTES_MAX / 4)]), 4);
        assert_eq!(rows_at_once(&[array.clone(), text(2 * COPIED_BYTES_MAX)]), 1);
        assert!(rows_at_once(std::slice::from_ref(&array)) >= 1 << 16);
        assert_eq!(part_of(&array, 1, 2).expect("rows").len(), 2);
        assert_eq!(part_of(&text(1), 1, 2).expect("copies").len(), 2);
    }
}
