//! Functions of the session and the catalog, as functions of the library.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use plan::limits;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::catalog::value::{SystemValue, system_column};

type Body = dyn Fn(&[SystemValue]) -> SqlResult<SystemValue> + Send + Sync;

/// A function whose value depends on the session or the catalog.
#[derive(Clone)]
pub struct SystemFunction {
    /// The name.
    pub name: &'static str,
    /// The type of its result.
    pub returns: LogicalType,
    /// How many arguments it takes.
    pub arguments: RangeInclusive<usize>,
    /// Whether it is null where an argument is.
    pub strict: bool,
    /// Whether it gives something else each time: it is evaluated for each row, and never while
    /// planning.
    pub volatile: bool,
    /// The function for one row.
    pub body: Arc<Body>,
}

impl fmt::Debug for SystemFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?}) -> {}", self.name, self.arguments, self.returns)
    }
}

impl SystemFunction {
    fn value(&self, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
        if self.strict && arguments.contains(&SystemValue::Null) {
            return Ok(SystemValue::Null);
        }
        (self.body)(arguments)
    }
}

/// The functions of a session that a kept plan calls.
pub(crate) struct Calls(pub(crate) Vec<SystemFunction>);

/// A volatile function for a plan that is kept for all sessions: it is found by its name when it
/// is called.
pub(crate) fn called_later(function: &SystemFunction) -> SystemFunction {
    let name = function.name;
    let body = move |arguments: &[SystemValue]| {
        let calls = limits::calls().and_then(|calls| calls.downcast::<Calls>().ok());
        let own = calls.as_ref().and_then(|calls| calls.0.iter().find(|own| own.name == name));
        match own {
            Some(own) => own.value(arguments),
            None => Err(SqlError::internal(format!("{name} is called outside of its session"))),
        }
    };
    SystemFunction { strict: false, body: Arc::new(body), ..function.clone() }
}

/// True if it is a function of the session or the catalog.
pub(crate) fn is_of_session(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<Wrapped>().is_some()
}

/// The function in the library's form.
pub(crate) fn library_function(function: SystemFunction) -> Arc<ScalarUDF> {
    // Checked by count only: text stands for names and oids alike.
    let any = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
    let volatility = if function.volatile { Volatility::Volatile } else { Volatility::Stable };
    let signature = Signature::one_of(any, volatility);
    Arc::new(ScalarUDF::from(Wrapped { function, signature }))
}

#[derive(Debug)]
struct Wrapped {
    function: SystemFunction,
    signature: Signature,
}

impl PartialEq for Wrapped {
    fn eq(&self, other: &Wrapped) -> bool {
        self.function.name == other.function.name
    }
}

impl Eq for Wrapped {}

impl Hash for Wrapped {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name.hash(state);
    }
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl ScalarUDFImpl for Wrapped {
    fn name(&self) -> &str {
        self.function.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        if self.function.arguments.contains(&arguments.len()) {
            return Ok(self.function.returns.arrow());
        }
        let message = format!(
            "function {} with {} arguments does not exist",
            self.function.name,
            arguments.len()
        );
        Err(external(SqlError::new(SqlState::UNDEFINED_FUNCTION, message)))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = !self.function.volatile
            && call.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { call.number_rows };
        let arrays = call.args.iter().map(|a| a.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let arguments = arrays.iter().map(|a| SystemValue::at(a.as_ref(), row));
            let arguments = arguments.collect::<SqlResult<Vec<_>>>().map_err(external)?;
            values.push(self.function.value(&arguments).map_err(external)?);
        }
        let array = system_column(&values, self.function.returns).map_err(external)?;
        match constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(array)),
        }
    }
}
