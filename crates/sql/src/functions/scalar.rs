//! Scalar functions of PostgreSQL that the library lacks, or has with other results.

use std::sync::Arc;

use datafusion_expr::ScalarUDF;

use crate::functions::scalar::overload::Functions;

pub(crate) mod array_parts;
pub(crate) mod arrays;
pub(crate) mod bytea;
pub(crate) mod date_fields;
pub(crate) mod date_parts;
pub(crate) mod dates;
pub(crate) mod degrees;
pub(crate) mod divisors;
pub(crate) mod elements;
mod encoding;
pub(crate) mod floats;
mod format;
pub(crate) mod greatest;
pub(crate) mod identifiers;
pub(crate) mod justify;
pub(crate) mod making;
pub(crate) mod nulls;
pub(crate) mod numbers;
pub(crate) mod overload;
pub(crate) mod padding;
pub(crate) mod patterns;
mod percentiles;
pub(crate) mod regexps;
pub(crate) mod returns;
pub(crate) mod scales;
pub(crate) mod sizes;
pub(crate) mod strings;
pub(crate) mod subqueries;
pub(crate) mod substrings;
pub(crate) mod to_char;
pub(crate) mod unicode;

/// All functions.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    let mut functions = Functions(Vec::new());
    numbers::register(&mut functions);
    floats::register(&mut functions);
    padding::register(&mut functions);
    strings::register(&mut functions);
    patterns::register(&mut functions);
    percentiles::register(&mut functions);
    regexps::register(&mut functions);
    dates::register(&mut functions);
    date_fields::register(&mut functions);
    to_char::register(&mut functions);
    arrays::register(&mut functions);
    elements::register(&mut functions);
    subqueries::register(&mut functions);
    array_parts::register(&mut functions);
    bytea::register(&mut functions);
    substrings::register(&mut functions);
    making::register(&mut functions);
    justify::register(&mut functions);
    greatest::register(&mut functions);
    nulls::register(&mut functions);
    sizes::register(&mut functions);
    scales::register(&mut functions);
    degrees::register(&mut functions);
    divisors::register(&mut functions);
    identifiers::register(&mut functions);
    unicode::register(&mut functions);
    functions.0.into_iter().map(|f| Arc::new(ScalarUDF::new_from_impl(f))).collect()
}
