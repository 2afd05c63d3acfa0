//! Scalar functions of PostgreSQL that the library lacks, or has with other results.
//!
//! A function is a list of overloads: types of parameters, type of the result, and a body that works
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
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use types::{LogicalType, SqlError, SqlResult, SqlState};

pub(crate) mod array_parts;
pub(crate) mod arrays;
pub(crate) mod bytea;
pub(crate) mod date_fields;
pub(crate) mod date_parts;
pub(crate) mod dates;
pub(crate) mod degrees;
pub(crate) mod divisors;
pub(crate) mod elements;
pub(crate) mod floats;
pub(crate) mod identifiers;
pub(crate) mod justify;
pub(crate) mod making;
pub(crate) mod nulls;
pub(crate) mod numbers;
pub(crate) mod padding;
pub(crate) mod patterns;
pub(crate) mod regexps;
pub(crate) mod scales;
pub(crate) mod sizes;
pub(crate) mod strings;
pub(crate) mod subqueries;
pub(crate) mod substrings;
pub(crate) mod to_char;
pub(crate) mod unicode;

/// The timestamp, or the instant, an interval after another one.
pub(crate) fn after(at: i64, step: IntervalMonthDayNano, is_instant: bool) -> SqlResult<i64> {
    match is_instant {
        true => crate::functions::scalar::dates::shifted_instant(at, step, 1),
        false => crate::functions::scalar::dates::shifted(at, step, 1),
    }
}

/// A kind of parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ty {
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
struct Overload {
    params: &'static [Ty],
    /// The last parameter may be repeated, or left out.
    variadic: bool,
    /// The type of the result, given those of the arguments and their constant values.
    result: fn(&[DataType], &[Option<&ScalarValue>]) -> DataType,
    body: fn(&Args<'_>) -> SqlResult<ArrayRef>,
    /// Whether null arguments reach the body; else the result is null where one of them is.
    nulls: bool,
}

/// The arguments of a call.
struct Args<'a> {
    arrays: &'a [ArrayRef],
    rows: usize,
    ty: &'a DataType,
}

impl Args<'_> {
    fn text(&self, i: usize) -> &StringViewArray {
        self.arrays[i].as_string_view()
    }

    fn big(&self, i: usize, row: usize) -> i64 {
        self.arrays[i].as_primitive::<Int64Type>().value(row)
    }

    fn int(&self, i: usize, row: usize) -> i32 {
        self.arrays[i].as_primitive::<Int32Type>().value(row)
    }

    fn float(&self, i: usize, row: usize) -> f64 {
        self.arrays[i].as_primitive::<Float64Type>().value(row)
    }

    fn micros(&self, i: usize, row: usize) -> i64 {
        self.arrays[i].as_primitive::<TimestampMicrosecondType>().value(row)
    }

    fn date(&self, i: usize, row: usize) -> i32 {
        self.arrays[i].as_primitive::<Date32Type>().value(row)
    }

    fn time(&self, i: usize, row: usize) -> i64 {
        self.arrays[i].as_primitive::<Time64MicrosecondType>().value(row)
    }

    fn interval(&self, i: usize, row: usize) -> IntervalMonthDayNano {
        self.arrays[i].as_primitive::<IntervalMonthDayNanoType>().value(row)
    }

    fn is_null(&self, row: usize) -> bool {
        self.arrays.iter().any(|a| a.is_null(row))
    }

    /// The values of rows without null arguments, gathered.
    fn each<T, C: FromIterator<Option<T>>>(
        &self,
        f: impl Fn(usize) -> SqlResult<Option<T>>,
    ) -> SqlResult<C> {
        (0..self.rows).map(|row| if self.is_null(row) { Ok(None) } else { f(row) }).collect()
    }

    /// The same of texts.
    fn texts(&self, f: impl Fn(usize) -> SqlResult<Option<String>>) -> SqlResult<ArrayRef> {
        Ok(Arc::new(self.each::<_, StringViewArray>(f)?))
    }
}

/// A function with its overloads.
struct Function {
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

/// All functions.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    let mut functions = Functions(Vec::new());
    crate::functions::scalar::numbers::register(&mut functions);
    crate::functions::scalar::floats::register(&mut functions);
    crate::functions::scalar::padding::register(&mut functions);
    crate::functions::scalar::strings::register(&mut functions);
    crate::functions::scalar::patterns::register(&mut functions);
    crate::functions::scalar::regexps::register(&mut functions);
    crate::functions::scalar::dates::register(&mut functions);
    crate::functions::scalar::date_fields::register(&mut functions);
    crate::functions::scalar::to_char::register(&mut functions);
    crate::functions::scalar::arrays::register(&mut functions);
    crate::functions::scalar::elements::register(&mut functions);
    crate::functions::scalar::subqueries::register(&mut functions);
    crate::functions::scalar::array_parts::register(&mut functions);
    crate::functions::scalar::bytea::register(&mut functions);
    crate::functions::scalar::substrings::register(&mut functions);
    crate::functions::scalar::making::register(&mut functions);
    crate::functions::scalar::justify::register(&mut functions);
    crate::functions::scalar::nulls::register(&mut functions);
    crate::functions::scalar::sizes::register(&mut functions);
    crate::functions::scalar::scales::register(&mut functions);
    crate::functions::scalar::degrees::register(&mut functions);
    crate::functions::scalar::divisors::register(&mut functions);
    crate::functions::scalar::identifiers::register(&mut functions);
    crate::functions::scalar::unicode::register(&mut functions);
    functions.0.into_iter().map(|f| Arc::new(ScalarUDF::new_from_impl(f))).collect()
}

/// Functions while they are registered.
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, name: &'static str, overload: Overload) {
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
    fn strict(
        &mut self,
        name: &'static str,
        params: &'static [Ty],
        result: fn(&[DataType], &[Option<&ScalarValue>]) -> DataType,
        body: fn(&Args<'_>) -> SqlResult<ArrayRef>,
    ) {
        self.add(name, Overload { params, variadic: false, result, body, nulls: false });
    }

    /// The planner neither computes a call of this function nor makes one of two.
    fn volatile(&mut self, name: &str) {
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
        crate::patience::check()?;
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
        let rows = args.number_rows;
        let wanted = overload.coerced(&types);
        let mut arrays = Vec::with_capacity(args.args.len());
        for (value, ty) in args.args.into_iter().zip(&wanted) {
            let ty = if *ty == DataType::Utf8 { &DataType::Utf8View } else { ty };
            let array = value.into_array(rows)?;
            arrays.push(match array.data_type() == ty {
                true => array,
                false => {
                    arrow_cast::cast_with_options(&array, ty, &crate::cast::strict::STRICT_CAST)?
                }
            });
        }
        let call = Args { arrays: &arrays, rows, ty: args.return_field.data_type() };
        let result = match !overload.nulls && (0..rows).all(|row| call.is_null(row)) && rows > 0 {
            true => Ok(arrow_array::new_null_array(call.ty, rows)),
            false => (overload.body)(&call),
        };
        let array = result.map_err(|e| DataFusionError::External(Box::new(e)))?;
        Ok(ColumnarValue::Array(array))
    }
}

/// A result of one type, for [`Functions::strict`].
macro_rules! returns {
    ($name:ident, $ty:expr) => {
        fn $name(_: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
            $ty
        }
    };
}

returns!(text, DataType::Utf8View);
returns!(boolean, DataType::Boolean);
returns!(int, DataType::Int32);
returns!(big, DataType::Int64);
returns!(double, DataType::Float64);
returns!(date, DataType::Date32);
returns!(timestamp, DataType::Timestamp(TimeUnit::Microsecond, None));
returns!(timestamptz, LogicalType::TimestampTz.arrow());
returns!(time_of_day, DataType::Time64(TimeUnit::Microsecond));
returns!(interval, DataType::Interval(IntervalUnit::MonthDayNano));
returns!(text_array, LogicalType::Text.array_of().arrow());
returns!(bytes, DataType::BinaryView);

fn invalid_parameter(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
