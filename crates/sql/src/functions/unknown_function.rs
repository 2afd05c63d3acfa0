//! A function that is not here: PostgreSQL's is refused by its name, for one that nobody has the error names
//! the types of its arguments, as PostgreSQL's does.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};
use types::{SqlError, SqlState};

/// A function of this name that refuses whatever it is called with.
pub(crate) fn unknown_function(name: &str) -> Arc<ScalarUDF> {
    let any = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
    let signature = Signature::one_of(any, Volatility::Volatile);
    Arc::new(ScalarUDF::from(Unknown { name: name.to_owned(), signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Unknown {
    name: String,
    signature: Signature,
}

/// The names of PostgreSQL's functions, in order: what its `pg_proc` has, but for those that types and
/// operators are made of.
const POSTGRES: &str = include_str!("postgres_functions.txt");

impl Unknown {
    fn refused(&self, arguments: &[String]) -> DataFusionError {
        // Syntax of PostgreSQL that looks like a call.
        let syntax = match self.name.as_str() {
            "row" => Some("a row as a value"),
            "array" => Some("ARRAY of such a query"),
            _ => None,
        };
        if let Some(what) = syntax {
            return DataFusionError::External(Box::new(SqlError::unsupported(what)));
        }
        if POSTGRES.lines().any(|name| name == self.name) {
            let error = SqlError::unsupported(format!("the function {}", self.name));
            return DataFusionError::External(Box::new(error));
        }
        let message = format!("function {}({}) does not exist", self.name, arguments.join(", "));
        let error = SqlError::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(
            "No function matches the given name and argument types. You might need to add explicit \
             type casts.",
        );
        DataFusionError::External(Box::new(error))
    }
}

/// The type of an argument: literals have not been given theirs yet.
fn type_of(field: &FieldRef, literal: Option<&ScalarValue>) -> String {
    match literal {
        Some(ScalarValue::Utf8(_)) => "unknown".to_owned(),
        Some(ScalarValue::Int64(Some(v))) if i32::try_from(*v).is_ok() => "integer".to_owned(),
        _ => crate::render::type_name(field.data_type()).to_string(),
    }
}

impl ScalarUDFImpl for Unknown {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let names: Vec<String> =
            arguments.iter().map(|ty| crate::render::type_name(ty).to_string()).collect();
        Err(self.refused(&names))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let given = args.arg_fields.iter().zip(args.scalar_arguments);
        let names: Vec<String> = given.map(|(field, literal)| type_of(field, *literal)).collect();
        Err(self.refused(&names))
    }

    fn invoke_with_args(&self, _call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(self.refused(&[]))
    }
}
