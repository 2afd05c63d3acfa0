//! Parameters of each type in both formats, on each road: in a row that is inserted, in a look-up,
//! in a plan of its own and in one for all values.

use postgres::Client;
use postgres::types::private::BytesMut;
use postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use crate::served::{Served, options};

/// Bytes as they are sent.
#[derive(Debug)]
struct Sent {
    bytes: Option<Vec<u8>>,
    is_text: bool,
}

impl ToSql for Sent {
    fn to_sql(
        &self,
        _ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match &self.bytes {
            None => Ok(IsNull::Yes),
            Some(bytes) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_ty: &Type) -> bool {
        true
    }

    fn encode_format(&self, _ty: &Type) -> Format {
        if self.is_text { Format::Text } else { Format::Binary }
    }

    to_sql_checked!();
}

fn binary(bytes: &[u8]) -> Sent {
    Sent { bytes: Some(bytes.to_vec()), is_text: false }
}

fn text(text: &str) -> Sent {
    Sent { bytes: Some(text.as_bytes().to_vec()), is_text: true }
}

/// A type, the value of it that these bytes are, and the text that is shown of it.
struct Case(Type, Vec<u8>, &'static str);

/// Least and greatest values of each type, from PostgreSQL 15.
fn cases() -> Vec<Case> {
    let day = |days: i32| days.to_be_bytes().to_vec();
    let micros = |micros: i64| micros.to_be_bytes().to_vec();
    vec![
        Case(Type::BOOL, vec![0], "false"),
        Case(Type::BOOL, vec![1], "true"),
        Case(Type::INT2, i16::MIN.to_be_bytes().to_vec(), "-32768"),
        Case(Type::INT2, i16::MAX.to_be_bytes().to_vec(), "32767"),
        Case(Type::INT4, i32::MIN.to_be_bytes().to_vec(), "-2147483648"),
        Case(Type::INT4, i32::MAX.to_be_bytes().to_vec(), "2147483647"),
        Case(Type::INT8, i64::MIN.to_be_bytes().to_vec(), "-9223372036854775808"),
        Case(Type::INT8, i64::MAX.to_be_bytes().to_vec(), "9223372036854775807"),
        Case(Type::FLOAT4, f32::MAX.to_be_bytes().to_vec(), "3.4028235e+38"),
        Case(Type::FLOAT4, 0.1_f32.to_be_bytes().to_vec(), "0.1"),
        Case(Type::FLOAT4, f32::NEG_INFINITY.to_be_bytes().to_vec(), "-Infinity"),
        Case(Type::FLOAT8, f64::MIN.to_be_bytes().to_vec(), "-1.7976931348623157e+308"),
        Case(Type::FLOAT8, 0.1_f64.to_be_bytes().to_vec(), "0.1"),
        Case(Type::FLOAT8, f64::NAN.to_be_bytes().to_vec(), "NaN"),
        Case(Type::TEXT, vec![], ""),
        Case(Type::TEXT, b"it's \\ $1".to_vec(), "it's \\ $1"),
        Case(Type::VARCHAR, "\u{10ffff}".into(), "\u{10ffff}"),
        Case(Type::BYTEA, vec![], "\\x"),
        Case(Type::BYTEA, vec![0, 39, 255], "\\x0027ff"),
        Case(Type::UUID, vec![0; 16], "00000000-0000-0000-0000-000000000000"),
        Case(Type::UUID, vec![255; 16], "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        Case(Type::DATE, day(-2_451_507), "4713-01-01 BC"),
        Case(Type::DATE, day(i32::MAX), "infinity"),
        Case(Type::TIME, micros(0), "00:00:00"),
        Case(Type::TIME, micros(86_399_999_999), "23:59:59.999999"),
        Case(Type::TIMESTAMP, micros(-1), "1999-12-31 23:59:59.999999"),
        Case(Type::TIMESTAMP, micros(i64::MIN), "-infinity"),
        Case(Type::TIMESTAMPTZ, micros(1), "2000-01-01 05:45:00.000001+05:45"),
        Case(Type::TIMESTAMPTZ, micros(i64::MAX), "infinity"),
        Case(Type::INTERVAL, interval(-1, 2, -3), "-3 mons +2 days -00:00:00.000001"),
        // Count, weight, sign, digits behind the point, and digits to the base 10,000.
        Case(Type::NUMERIC, numeric(&[2, 0, 0x4000, 1, 1, 5000]), "-1.5"),
        Case(Type::NUMERIC, numeric(&[0, 0, 0, 0]), "0"),
        Case(
            Type::INT4_ARRAY,
            [1, 0, 23, 1, 1, 4, i32::MIN].map(i32::to_be_bytes).concat(),
            "{-2147483648}",
        ),
    ]
}

fn interval(micros: i64, days: i32, months: i32) -> Vec<u8> {
    [&micros.to_be_bytes()[..], &days.to_be_bytes(), &months.to_be_bytes()].concat()
}

fn numeric(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn shown(client: &mut Client, sql: &str, types: &[Type], values: &[&Sent]) -> Option<String> {
    let statement = client.prepare_typed(sql, types).expect(sql);
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|v| *v as _).collect();
    client.query_one(&statement, &values).expect(sql).get(0)
}

/// The value comes back from each road.
fn check(client: &mut Client, Case(ty, bytes, expected): &Case) {
    let name = ty.name();
    let column = name.strip_prefix('_').map_or(name.to_owned(), |element| format!("{element}[]"));
    client
        .batch_execute(&format!(
            "drop table if exists v; create table v (k int primary key, c {column})"
        ))
        .expect(name);
    for (key, sent) in [(1, binary(bytes)), (2, text(expected))] {
        let key = text(&format!("{key}"));
        let alone = shown(client, "select $1::text", std::slice::from_ref(ty), &[&sent]);
        assert_eq!(alone.as_deref(), Some(*expected), "{name}");
        let insert = "insert into v values ($1, $2) returning c::text";
        let inserted = shown(client, insert, &[Type::INT4, ty.clone()], &[&key, &sent]);
        assert_eq!(inserted.as_deref(), Some(*expected), "{name}");
        let changed = "update v set c = case when k > 0 then $2 end where k = $1 returning c::text";
        let changed = shown(client, changed, &[Type::INT4, ty.clone()], &[&key, &sent]);
        assert_eq!(changed.as_deref(), Some(*expected), "{name}");
        // For the second time it may have a plan for all values, for the third time it has one.
        let found = "select count(*)::text from v where c = $1 and k <= $2";
        let statement = client.prepare_typed(found, &[ty.clone(), Type::INT4]).expect(found);
        for _ in 0..3 {
            let row = client.query_one(&statement, &[&sent, &key]).expect(found);
            let count: String = row.get(0);
            assert_eq!(Some(count.as_bytes()), key.bytes.as_deref(), "{name} {expected}");
        }
    }
    let null = Sent { bytes: None, is_text: false };
    assert_eq!(
        shown(client, "select $1::text", std::slice::from_ref(ty), &[&null]),
        None,
        "{name}"
    );
    let insert = "insert into v values (3, $1) returning c::text";
    assert_eq!(shown(client, insert, std::slice::from_ref(ty), &[&null]), None, "{name}");
}

#[test]
fn each_type_in_both_formats() {
    let served = Served::start("parameters", options());
    let mut client = served.connect("user=dovetail").expect("a connection");
    client.batch_execute("set timezone = 'Asia/Kathmandu'").expect("a zone");
    for case in cases() {
        check(&mut client, &case);
    }
}

#[test]
fn what_is_no_value_is_refused_when_it_is_bound() {
    let served = Served::start("no_parameters", options());
    let mut client = served.connect("user=dovetail").expect("a connection");
    let lengths = [
        (Type::BOOL, 1),
        (Type::INT2, 2),
        (Type::INT4, 4),
        (Type::INT8, 8),
        (Type::FLOAT4, 4),
        (Type::FLOAT8, 8),
        (Type::DATE, 4),
        (Type::TIME, 8),
        (Type::TIMESTAMP, 8),
        (Type::TIMESTAMPTZ, 8),
        (Type::INTERVAL, 16),
        (Type::UUID, 16),
        (Type::NUMERIC, 8),
    ];
    let mut state = |ty: &Type, sent: &Sent| {
        let statement =
            client.prepare_typed("select $1::text", std::slice::from_ref(ty)).expect("prepared");
        let error = client.query(&statement, &[sent]).expect_err("no value");
        error.code().expect("a code").code().to_owned()
    };
    for (ty, length) in lengths {
        for wrong in [length - 1, length + 1] {
            assert_eq!(state(&ty, &binary(&vec![0; wrong])), "22P03", "{ty}");
        }
    }
    for (ty, no_value, expected) in [
        (Type::BOOL, "x", "22P02"),
        (Type::INT4, "1.5", "22P02"),
        (Type::INT2, "32768", "22003"),
        (Type::FLOAT4, "1e39", "22003"),
        (Type::DATE, "x", "22007"),
        (Type::DATE, "2023-02-29", "22008"),
        (Type::UUID, "x", "22P02"),
        (Type::NUMERIC, "x", "22P02"),
        (Type::INT4_ARRAY, "{x}", "22P02"),
        (Type::TEXT, "a\0b", "22021"),
    ] {
        assert_eq!(state(&ty, &text(no_value)), expected, "{ty} {no_value}");
    }
    assert_eq!(state(&Type::TEXT, &binary(&[0xff])), "22021");
}

#[test]
fn kinds_of_places() {
    let served = Served::start("places", options());
    let mut client = served.connect("user=dovetail").expect("a connection");
    client
        .batch_execute(
            "create table t (k int primary key, c text);
             insert into t select i, 'a_' || i from generate_series(1, 9) as g (i)",
        )
        .expect("a table");
    let mut column = |sql: &str, values: &[&str]| {
        let statement =
            client.prepare(sql).map_err(|e| e.code().expect("a code").code().to_owned())?;
        let sent: Vec<Sent> = values.iter().map(|value| text(value)).collect();
        let values: Vec<&(dyn ToSql + Sync)> = sent.iter().map(|v| v as _).collect();
        // Often enough for each way to run it again.
        let mut all = vec![];
        for _ in 0..4 {
            let rows = client.query(&statement, &values);
            let rows = rows.map_err(|e| e.code().expect("a code").code().to_owned())?;
            let shown: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            all.push(shown.join(" "));
        }
        assert!(all.iter().all(|one| *one == all[0]), "{sql}: {all:?}");
        Ok::<String, String>(all.swap_remove(0))
    };
    let mut check = |sql: &str, values: &[&str], expected: Result<&str, &str>| {
        let found = column(sql, values);
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{sql}");
    };
    check("select k::text from t order by k limit $1", &["2"], Ok("1 2"));
    check("select k::text from t order by k limit $1::int + 1 offset $2", &["1", "3"], Ok("4 5"));
    check("select k::text from t order by k limit 2 for update", &[], Ok("1 2"));
    check("select k::text from t order by k fetch first $1 rows only", &["2"], Ok("1 2"));
    check("select k::text from t order by $1, k desc limit 1", &["2"], Ok("9"));
    check("select k::text from t where k in ($1, $2, 7) order by k", &["5", "3"], Ok("3 5 7"));
    check("select k::text from t where k = any($1) order by k", &["{2,4}"], Ok("2 4"));
    check("select k::text from t where c like $1 escape $2 order by k", &["a!_%3", "!"], Ok("3"));
    check("select k::text from t where c like $1 escape $2 order by k", &["b_%", "\\"], Ok(""));
    check("select (now() + $1 > now())::text", &["1 day"], Ok("true"));
    check("select k::text from t where k between $1 and $1 + 1 order by k", &["4"], Ok("4 5"));
    check("select k::text from t where $1 and k < 3 order by k", &["yes"], Ok("1 2"));
    check("select k::text from t where k = $1 for update", &["3"], Ok("3"));
    check("select coalesce($1, 'none')", &["some"], Ok("some"));
    check("select ($1 || 'b')", &["a"], Ok("ab"));
    check("select (3 / $1)::text", &["2"], Ok("1"));
    check(
        "with w as (update t set c = $1 where k = $2 returning c) select c from w",
        &["x", "9"],
        Ok("x"),
    );
    // Only literals stand there.
    check("select (date $1)::text", &["2020-01-01"], Err("42601"));
    check("create view v as select k::text from t where k = $1", &["1"], Err("42P02"));
}
