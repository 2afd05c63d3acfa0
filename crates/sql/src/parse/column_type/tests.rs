//! The syntax of types, against what the parser reads of their names.

use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;

use super::*;

/// A type as its name is read.
fn check(ty: LogicalType) {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&ty.to_string()).unwrap();
    assert_eq!(syntax(ty), parser.parse_data_type().unwrap(), "{ty}");
    assert_eq!(column_type(&syntax(ty)).unwrap(), ty, "{ty}");
}

#[test]
fn the_syntax_of_a_type_is_that_of_its_name() {
    use LogicalType as T;
    let plain = [
        T::Bool,
        T::Int16,
        T::Int32,
        T::Int64,
        T::Float32,
        T::Float64,
        T::Decimal { precision: 38, scale: 0 },
        T::Decimal { precision: 7, scale: 7 },
        T::Numeric,
        T::Text,
        T::Varchar(ANY_LENGTH),
        T::Varchar(3),
        T::Char(3),
        T::Date,
        T::Timestamp,
        T::Time,
        T::TimestampTz,
        T::Interval,
        T::Bytea,
        T::Uuid,
        T::Oid,
    ];
    plain.into_iter().for_each(check);
    plain.into_iter().for_each(|element| check(element.array_of()));
    let moments = [Moment::Timestamp, Moment::TimestampTz, Moment::Time, Moment::Interval];
    moments.into_iter().for_each(|moment| check(moment.with_digits(3)));
}
