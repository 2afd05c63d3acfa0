//! The library's messages in words of SQL. None of its own words may reach a user: names of vector types,
//! of nodes of plans, of its phases.

use types::{SqlError, SqlState};

/// Operands and the operator between them; the names of some types have blanks.
pub(super) fn types_in_sql(text: &str) -> String {
    let (mut words, mut open) = (Vec::<String>::new(), 0usize);
    for word in text.split(' ') {
        match words.pop() {
            Some(last) if open > 0 => words.push(format!("{last} {word}")),
            last => words.extend(last.into_iter().chain([word.to_owned()])),
        }
        open = (open + word.matches('(').count()).saturating_sub(word.matches(')').count());
    }
    words.iter().map(|word| type_in_sql(word)).collect::<Vec<_>>().join(" ")
}

/// A type as the library writes it, in SQL's words; other text as it is.
pub(super) fn type_in_sql(text: &str) -> String {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix("List(").and_then(|t| t.strip_suffix(')')) {
        let inner = inner.trim_start_matches("nullable ").trim_start_matches("non-null ");
        let element = inner.split(", field:").next().unwrap_or(inner);
        return format!("{}[]", type_in_sql(element));
    }
    const NAMES: [(&str, &str); 19] = [
        ("Utf8", "text"),
        ("LargeUtf8", "text"),
        ("Int8", "smallint"),
        ("Int16", "smallint"),
        ("Int32", "integer"),
        ("Int64", "bigint"),
        ("UInt32", "oid"),
        ("UInt64", "bigint"),
        ("Float32", "real"),
        ("Float64", "double precision"),
        ("Date32", "date"),
        ("Boolean", "boolean"),
        ("Decimal", "numeric"),
        ("Interval(", "interval"),
        ("Time64", "time without time zone"),
        ("FixedSizeBinary", "uuid"),
        ("Binary", "bytea"),
        ("LargeBinary", "bytea"),
        ("Null", "unknown"),
    ];
    if text.starts_with("Timestamp(") {
        let zoned = text.contains('+') || text.contains("Some(\"");
        let zone = if zoned { "with" } else { "without" };
        return format!("timestamp {zone} time zone");
    }
    let known = NAMES.iter().find(|(theirs, _)| text.starts_with(theirs));
    known.map_or_else(|| text.to_owned(), |(_, ours)| (*ours).to_owned())
}

/// Words of the library, in small letters.
const INSIDE: [&str; 34] = [
    "aggregate schema",
    "analyzer",
    "arrow",
    "binary(",
    "binaryview",
    "coerc",
    "coercion",
    "common_sub_expression",
    "datafusion",
    "date32",
    "decimal128",
    "decimal256",
    "execution error",
    "fixedsizebinary",
    "float32",
    "float64",
    "int32",
    "int64",
    "interval(",
    "iter_to_array",
    "list(",
    "logical plan",
    "logicalplan",
    "monthdaynano",
    "optimizer",
    "physical",
    "projection",
    "scalarvalue",
    "schema",
    "signature",
    "time64",
    "timestamp(",
    "typesignature",
    "utf8",
];

/// Whether a text has words of the library; what stands in quotes may be the user's.
pub(super) fn is_inside(text: &str) -> bool {
    let outside: String = text.split('"').step_by(2).collect();
    let outside = outside.to_lowercase();
    INSIDE.iter().any(|word| outside.contains(word))
}

/// The error, in other words where its own are the library's.
pub(super) fn from_inside(error: SqlError) -> SqlError {
    if !is_inside(&error.message) {
        return error;
    }
    match error.state {
        SqlState::UNDEFINED_FUNCTION => {
            SqlError::new(error.state, "no function or operator takes arguments of these types")
                .with_hint("You might need to add explicit type casts.")
        }
        SqlState::DATATYPE_MISMATCH => {
            SqlError::new(error.state, "the types of these expressions do not go together")
                .with_hint("You might need to add explicit type casts.")
        }
        SqlState::INTERNAL_ERROR => SqlError::internal("the statement could not be planned"),
        SqlState::GROUPING_ERROR => SqlError::new(
            error.state,
            "a column must appear in the GROUP BY clause or be used in an aggregate function",
        ),
        SqlState::FEATURE_NOT_SUPPORTED | SqlState::SYNTAX_ERROR => {
            SqlError::unsupported("an expression or a clause of this statement")
        }
        state => SqlError::new(state, "the statement could not be planned"),
    }
}
