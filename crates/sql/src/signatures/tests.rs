//! Choices among the signatures of functions and operators, as PostgreSQL makes them.

use types::oid;

use super::{Choice, common_type, function, operator};

const UNKNOWN: u32 = oid::UNKNOWN;

fn check_operator(name: &str, given: [u32; 2], expected: &[u32]) {
    assert_eq!(operator(name, given), Choice::One(expected.to_vec()), "{name} {given:?}");
}

fn check_function(name: &str, given: &[u32], expected: &[u32]) {
    assert_eq!(function(name, given), Choice::One(expected.to_vec()), "{name} {given:?}");
}

#[test]
fn an_open_operand_is_like_the_other_where_there_is_such_an_operator() {
    check_operator("+", [oid::INT4, UNKNOWN], &[oid::INT4, oid::INT4]);
    check_operator("=", [UNKNOWN, oid::BPCHAR], &[oid::BPCHAR, oid::BPCHAR]);
    check_operator("=", [oid::VARCHAR, UNKNOWN], &[oid::TEXT, oid::TEXT]);
    check_operator("=", [UNKNOWN, UNKNOWN], &[oid::TEXT, oid::TEXT]);
}

#[test]
fn else_it_is_what_the_operators_leave() {
    check_operator("*", [UNKNOWN, oid::INTERVAL], &[oid::FLOAT8, oid::INTERVAL]);
    check_operator("+", [oid::TIMESTAMP, UNKNOWN], &[oid::TIMESTAMP, oid::INTERVAL]);
    check_operator("||", [oid::INT4, UNKNOWN], &[oid::INT4, oid::TEXT]);
    check_operator("||", [1007, UNKNOWN], &[1007, 1007]);
    assert_eq!(operator("+", [UNKNOWN, UNKNOWN]), Choice::Several);
    assert_eq!(operator("+", [oid::BOOL, oid::BOOL]), Choice::Nothing);
}

#[test]
fn functions_take_the_preferred_types_of_a_category() {
    check_function("left", &[oid::TEXT, UNKNOWN], &[oid::TEXT, oid::INT4]);
    check_function("abs", &[UNKNOWN], &[oid::FLOAT8]);
    check_function("mod", &[oid::INT8, UNKNOWN], &[oid::INT8, oid::INT8]);
    check_function("generate_series", &[oid::INT4, UNKNOWN], &[oid::INT4, oid::INT4]);
    check_function("make_interval", &[UNKNOWN], &[oid::INT4]);
    check_function("concat_ws", &[UNKNOWN, oid::TEXT], &[oid::TEXT, 0]);
    assert_eq!(function("make_date", &[oid::INT4]), Choice::Nothing);
}

#[test]
fn polymorphic_arguments_follow_the_others() {
    check_function("array_append", &[1007, UNKNOWN], &[1007, oid::INT4]);
    check_function("lag", &[oid::DATE, oid::INT4, UNKNOWN], &[oid::DATE, oid::INT4, oid::DATE]);
    assert_eq!(function("array_ndims", &[UNKNOWN]), Choice::Polymorphic);
}

#[test]
fn several_values_have_the_type_that_the_others_become() {
    assert_eq!(common_type(&[oid::INT4, UNKNOWN, oid::NUMERIC]), Some(oid::NUMERIC));
    assert_eq!(common_type(&[UNKNOWN, UNKNOWN]), Some(oid::TEXT));
    assert_eq!(common_type(&[oid::FLOAT8, oid::INT4]), Some(oid::FLOAT8));
    assert_eq!(common_type(&[oid::DATE, oid::INT4]), None);
}
