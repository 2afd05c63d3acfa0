//! Files as relations: Parquet and CSV, written by `COPY` and by other writers.

use std::sync::Arc;

use crate::files_support::{MODES, check, numbers, open, outcome, parquet_bytes, told};
use arrow_array::types::{Int8Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BinaryArray, Decimal128Array, FixedSizeBinaryArray, ListArray, NullArray,
    PrimitiveArray, StringArray, StructArray, Time32MillisecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field};

const ALL_TYPES: &str = "create table a (b boolean, i2 smallint, i4 integer, i8 bigint, f4 real, \
     f8 double precision, d numeric(12,3), d38 numeric(38,10), n numeric, t text, v varchar(10), \
     c char(5), da date, ti time, ts timestamp, tz timestamptz, by bytea, u uuid);
 insert into a values
   (true, -32768, -2147483648, -9223372036854775808, 1.5, 'infinity', -123456789.125,
    1234567890123456789012345678.0123456789, 0.1, 'text', 'ÄÖÜ', 'ab', '0001-01-01', '00:00:00',
    '1970-01-01 00:00:00.000001', '2024-02-29 12:00:00+00', '\\x00ff',
    '00112233-4455-6677-8899-aabbccddeeff'),
   (false, 32767, 2147483647, 9223372036854775807, 'nan', '-0', 0, 0, -12345.678, '', '', '',
    '9999-12-31', '23:59:59.999999', '9999-12-31 23:59:59.999999', '0001-01-01 00:00:00+00', '',
    'ffffffff-ffff-ffff-ffff-ffffffffffff'),
   (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    null, null);";

#[test]
fn all_types_come_back_as_they_went() {
    let opened = open("types");
    let mut session = opened.db.session();
    session.execute(ALL_TYPES).expect("made");
    session.execute("create table back as select * from a where false").expect("made");
    let all = "select * from a order by i4";
    let expected = outcome(&mut session, all);
    for compression in ["none", "snappy", "zstd"] {
        let path = opened.path(&format!("{compression}.parquet"));
        let copy = format!("copy a to '{path}' (format parquet, compression {compression})");
        assert_eq!(told(&mut session, &copy), "COPY 3");
        let query = format!("select * from '{path}' order by i4");
        assert_eq!(outcome(&mut session, &query), expected, "{compression}");
        session.execute("truncate back").expect("empty");
        let copy = format!("copy back from '{path}' (format parquet)");
        assert_eq!(told(&mut session, &copy), "COPY 3");
        assert_eq!(outcome(&mut session, "select * from back order by i4"), expected);
        let types = format!(
            "select pg_typeof(b), pg_typeof(i2), pg_typeof(i8), pg_typeof(f4), pg_typeof(d), \
             pg_typeof(n), pg_typeof(tz), pg_typeof(by), pg_typeof(u), pg_typeof(ti) from '{path}' \
             limit 1"
        );
        let types = outcome(&mut session, &types);
        assert_eq!(
            types,
            "boolean,smallint,bigint,real,numeric,numeric,timestamp with time zone,bytea,uuid,\
             time without time zone"
        );
    }
}

#[test]
fn tables_of_all_sizes_come_back() {
    let opened = open("sizes");
    let mut session = opened.db.session();
    for (count, row_group) in [(0, 10), (1, 1), (10, 10), (11, 10), (20_000, 1), (50_000, 12_345)] {
        session
            .execute(&format!(
                "drop table if exists s; drop table if exists r;
                 create table s (i int, t text, c bigint) with (storage = column);
                 create table r (i int primary key, t text, c bigint);
                 insert into s select i, case when i % 3 > 0 then 'v' || i end, i * 7
                 from generate_series(1, {count}) g(i)"
            ))
            .expect("made");
        let path = opened.path(&format!("{count}-{row_group}.parquet"));
        let copy = format!("copy s to '{path}' with (format parquet, row_group_size {row_group})");
        assert_eq!(told(&mut session, &copy), format!("COPY {count}"));
        let copy = format!("copy r from '{path}' with (format parquet)");
        assert_eq!(told(&mut session, &copy), format!("COPY {count}"));
        let facts = "select count(*), count(t), sum(c), min(t), max(i) from";
        let expected = outcome(&mut session, &format!("{facts} s"));
        for mode in MODES {
            session.execute(&format!("set execution_mode = {mode}")).expect("set");
            assert_eq!(outcome(&mut session, &format!("{facts} '{path}'")), expected, "{mode}");
        }
        assert_eq!(outcome(&mut session, &format!("{facts} r")), expected);
    }
}

const COPIES: &[(&str, &str)] = &[
    ("copy t (a, b) from '@/two.parquet' (format parquet)", "COPY 2"),
    (
        "copy t (a, b) from '@/two.parquet' (format parquet)",
        "! 23505: duplicate key value violates unique constraint \"t_pkey\"",
    ),
    (
        "copy t (a, b) from '@/long.parquet' (format parquet)",
        "! 22001: value too long for type character varying(3)",
    ),
    (
        "copy t (a, b) from '@/large.parquet' (format parquet)",
        "! 23514: new row for relation \"t\" violates check constraint \"t_a_check\"",
    ),
    (
        "copy t (a, b) from '@/swapped.parquet' (format parquet)",
        "! 42804: column \"a\" is of type integer but expression is of type text",
    ),
    (
        "copy t from '@/two.parquet' (format parquet)",
        "! 22P04: file \"@/two.parquet\" has 2 columns, expected 3",
    ),
    (
        "copy t (a, b) from '@/three.parquet' (format parquet)",
        "! 22P04: file \"@/three.parquet\" has 3 columns, expected 2",
    ),
    (
        "copy t from '@/none.parquet' (format parquet)",
        "! 58P01: could not open file \"@/none.parquet\" for reading: No such file or directory",
    ),
    ("copy i from '@/two.parquet' (format parquet)", "COPY 2"),
    (
        "copy t from '@/two.parquet' (format parquet, delimiter ',')",
        "! 42601: cannot specify DELIMITER in PARQUET mode",
    ),
    (
        "copy t from '@/two.parquet' (format parquet, compression zstd)",
        "! 0A000: COPY COMPRESSION only available using COPY TO",
    ),
    (
        "copy t to '@/x.csv' (format csv, row_group_size 5)",
        "! 0A000: COPY ROW_GROUP_SIZE available only in PARQUET mode",
    ),
    (
        "copy t to '@/x.parquet' (format parquet, compression lzo)",
        "! 22023: COPY compression \"lzo\" not recognized",
    ),
    (
        "copy t to '@/x.parquet' (format parquet, row_group_size 0)",
        "! 22023: ROW_GROUP_SIZE must be between 1 and 16777216",
    ),
    (
        "copy (select 1 as a, 2 as a) to '@/x.parquet' (format parquet)",
        "! 42701: column \"a\" specified more than once",
    ),
    (
        "copy (select array[1] as a) to '@/x.parquet' (format parquet)",
        "! 0A000: COPY of column \"a\" of type array to Parquet is not supported",
    ),
    (
        "copy t to stdout (format parquet)",
        "! 0A000: COPY of Parquet from or to a client is not supported",
    ),
];

#[test]
fn copy_from_takes_what_an_insert_takes() {
    let opened = open("copy");
    let mut session = opened.db.session();
    session
        .execute(
            "create table t (a int primary key, b varchar(3), c int not null default 7,
                 check (a < 100));
             create table i (id int generated always as identity, x text)",
        )
        .expect("made");
    let texts = |texts: &[&str]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let files = [
        ("two", vec![("x", numbers([1, 2])), ("y", texts(&["ab", "cd"]))]),
        ("long", vec![("x", numbers([3])), ("y", texts(&["abcd"]))]),
        ("large", vec![("x", numbers([300])), ("y", texts(&["a"]))]),
        ("swapped", vec![("y", texts(&["a"])), ("x", numbers([3]))]),
        ("three", vec![("x", numbers([3])), ("y", texts(&["a"])), ("z", numbers([3]))]),
    ];
    for (name, columns) in files {
        opened.write(&format!("{name}.parquet"), &parquet_bytes(columns, 10));
    }
    for (text, expected) in COPIES {
        let folder = opened.folder.to_str().expect("a path in UTF-8");
        let found = told(&mut session, &text.replace('@', folder));
        assert_eq!(found, expected.replace('@', folder), "{text}");
    }
    assert_eq!(outcome(&mut session, "select * from t order by a"), "1,ab,7;2,cd,7");
    assert_eq!(outcome(&mut session, "select * from i order by id"), "1,ab;2,cd");
}

#[test]
fn types_of_other_writers_are_read() {
    let opened = open("foreign");
    let list = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
    ]);
    let pair = StructArray::from(vec![(
        Arc::new(Field::new("x", DataType::Int32, false)),
        numbers([1, 2]),
    )]);
    let floats = arrow_array::Float32Array::from(vec![1.5, -2.0]);
    let decimals = Decimal128Array::from(vec![Some(-5), None]).with_precision_and_scale(5, 2);
    let fixed = FixedSizeBinaryArray::try_from_iter([[1_u8, 2], [3, 4]].into_iter());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i1", Arc::new(PrimitiveArray::<Int8Type>::from(vec![-128, 127]))),
        ("u1", Arc::new(PrimitiveArray::<UInt8Type>::from(vec![0, 255]))),
        ("u2", Arc::new(PrimitiveArray::<UInt16Type>::from(vec![0, 65535]))),
        ("u4", Arc::new(PrimitiveArray::<UInt32Type>::from(vec![0, u32::MAX]))),
        ("u8", Arc::new(PrimitiveArray::<UInt64Type>::from(vec![0, u64::MAX]))),
        ("f2", arrow_cast::cast(&floats, &DataType::Float16).expect("floats")),
        ("d", Arc::new(decimals.expect("digits"))),
        ("b", Arc::new(BinaryArray::from(vec![&b"ab"[..], b""]))),
        ("fb", Arc::new(fixed.expect("equal lengths"))),
        ("t3", Arc::new(Time32MillisecondArray::from(vec![1, 86_399_999]))),
        ("t9", Arc::new(Time64NanosecondArray::from(vec![1_000, 86_399_999_999_999]))),
        ("s3", Arc::new(TimestampMillisecondArray::from(vec![1, -1]))),
        ("s9", Arc::new(TimestampNanosecondArray::from(vec![1_999, -1_000]))),
        ("z6", Arc::new(TimestampMicrosecondArray::from(vec![0, 1]).with_timezone("Asia/Tokyo"))),
        ("none", Arc::new(NullArray::new(2))),
        ("l", Arc::new(list)),
        ("Mixed Case", Arc::new(pair)),
    ];
    opened.write("f.parquet", &parquet_bytes(columns, 10));
    check(
        &opened,
        &[
            (
                "select i1, u1, u2, u4, u8 from '@/f.parquet'",
                "-128,0,0,0,0;127,255,65535,4294967295,18446744073709551615",
            ),
            ("select d, b, fb, f2 from '@/f.parquet'", "-0.05,\\x6162,\\x0102,1.5;,\\x,\\x0304,-2"),
            (
                "select t3, t9, s3, s9 from '@/f.parquet'",
                "00:00:00.001,00:00:00.000001,1970-01-01 00:00:00.001,1970-01-01 00:00:00.000001;23:59:59.999,23:59:59.999999,1969-12-31 23:59:59.999,1969-12-31 23:59:59.999999",
            ),
            (
                "select z6 at time zone 'utc' from '@/f.parquet'",
                "1970-01-01 00:00:00;1970-01-01 00:00:00.000001",
            ),
            ("select l from '@/f.parquet'", "! 0A000: column \"l\" of type list is not supported"),
            ("select * from '@/f.parquet'", "! 0A000: column \"l\" of type list is not supported"),
            (
                "select \"Mixed Case\" from '@/f.parquet'",
                "! 0A000: column \"Mixed Case\" of type struct is not supported",
            ),
            (
                "select count(*), count(u8) from '@/f.parquet' where l is null",
                "! 0A000: column \"l\" of type list is not supported",
            ),
            ("select count(*) from '@/f.parquet'", "2"),
            ("select count(*), count(none) from '@/f.parquet' where none is null", "2,0"),
            ("select nothing from '@/f.parquet'", "! 42703: column \"nothing\" does not exist"),
        ],
    );
}

#[test]
fn conditions_and_row_groups_agree() {
    let opened = open("groups");
    let nan = f64::NAN;
    let floats: ArrayRef =
        Arc::new(arrow_array::Float64Array::from(vec![1.0, nan, 2.0, 3.0, 4.0, 5.0]));
    let texts: ArrayRef =
        Arc::new(StringArray::from(vec![Some("a"), None, None, None, Some("ä"), Some("z")]));
    let bytes = parquet_bytes(vec![("i", numbers(1..=6)), ("f", floats), ("t", texts)], 2);
    opened.write("g.parquet", &bytes);
    check(
        &opened,
        &[
            ("select i from '@/g.parquet' where i = 3", "3"),
            ("select i from '@/g.parquet' where i > 4 and i <= 6 order by i", "5;6"),
            ("select i from '@/g.parquet' where i in (1, 6) order by i", "1;6"),
            ("select i from '@/g.parquet' where i = 7", ""),
            ("select i from '@/g.parquet' where i <> 3 order by i", "1;2;4;5;6"),
            ("select i from '@/g.parquet' where f > '4.5' order by i", "2;6"),
            ("select i from '@/g.parquet' where f = 'nan'", "2"),
            ("select i from '@/g.parquet' where t is null order by i", "2;3;4"),
            ("select i from '@/g.parquet' where t is not null order by i", "1;5;6"),
            ("select i from '@/g.parquet' where t >= 'z' order by i", "5;6"),
            ("select t from '@/g.parquet' where i between 5 and 5", "ä"),
            ("select count(*) from '@/g.parquet' a join '@/g.parquet' b on a.i = b.i + 1", "5"),
            ("select g.i from '@/g.parquet' where g.i = 1", "1"),
            ("select max(i) from read_parquet('@/g.parquet')", "6"),
            ("select r.x from read_parquet('@/g.parquet') as r(x, y, z) where x = 2", "2"),
            ("with c as (select * from '@/g.parquet') select count(*) from c, c as d", "36"),
            ("select (select max(i) from '@/g.parquet')", "6"),
        ],
    );
}

const PATTERNS: &[(&str, &str)] = &[
    ("select * from '@/f/*.parquet' order by i", "1;2"),
    ("select * from '@/f/?.parquet' order by i", "1;2"),
    ("select * from read_parquet(array['@/f/2.parquet', '@/f/1.parquet']) order by i", "1;2"),
    ("select * from '@/h/**/*.parquet' order by i", "1,2023,01;2,2023,01;3,2023,02;4,2024,x"),
    ("select sum(y) from '@/h/*/*/*.parquet'", "8093"),
    ("select * from '@/h/y=2023/*/*.parquet' order by i", "1,2023,1;2,2023,1;3,2023,2"),
    ("select i from '@/h/**/*.parquet' where y = 2023 and m = '02'", "3"),
    ("select i from '@/h/**/*.parquet' where y > 2030", ""),
    ("select y, count(*) from '@/h/**/*.parquet' group by y order by y", "2023,3;2024,1"),
    (
        "select * from read_parquet('@/h/**/*.parquet', hive_partitioning => false) order by i",
        "1;2;3;4",
    ),
    ("select i from read_parquet(array['@/o/1.parquet', '@/o/2.parquet']) order by i", "6;7"),
    ("select * from '@/f/x*.parquet'", "! 58P01: no files match the pattern \"@/f/x*.parquet\""),
    (
        "select * from read_parquet(array['@/o/1.parquet', '@/o/3.parquet'])",
        "! 42804: file \"@/o/3.parquet\" has other columns than \"@/o/1.parquet\"",
    ),
    (
        "select * from read_parquet(array['@/o/1.parquet', '@/o/4.parquet'])",
        "! 42804: file \"@/o/4.parquet\" has other columns than \"@/o/1.parquet\"",
    ),
    ("select * from '@/f'", "! 42601: syntax error at or near \"'@/f'\""),
    ("select * from read_parquet('@/f')", "! 42809: could not read file \"@/f\": Is a directory"),
    (
        "select * from read_parquet()",
        "! 42883: function read_parquet does not exist with these arguments",
    ),
    (
        "select * from read_parquet(i)",
        "! 0A000: read_parquet of what is no constant is not supported",
    ),
    (
        "select * from read_parquet('@/f/1.parquet', colour => 'red')",
        "! 22023: option \"colour\" of read_parquet not recognized",
    ),
];

#[test]
fn patterns_and_directories() {
    let opened = open("globs");
    for (name, values) in [
        ("h/y=2023/m=01/a.parquet", vec![1, 2]),
        ("h/y=2023/m=02/b.parquet", vec![3]),
        ("h/y=2024/m=x/c.parquet", vec![4]),
        ("h/y=2024/m=x/.hidden.parquet", vec![99]),
        ("h/y=2024/m=x/other.txt", vec![99]),
        ("f/1.parquet", vec![1]),
        ("f/2.parquet", vec![2]),
    ] {
        opened.write(name, &parquet_bytes(vec![("i", numbers(values))], 10));
    }
    let reordered = vec![("z", numbers([5])), ("i", numbers([6]))];
    opened.write("o/2.parquet", &parquet_bytes(reordered, 10));
    opened.write("o/1.parquet", &parquet_bytes(vec![("i", numbers([7]))], 10));
    let other: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    opened.write("o/3.parquet", &parquet_bytes(vec![("i", other)], 10));
    opened.write("o/4.parquet", &parquet_bytes(vec![("j", numbers([1]))], 10));
    check(&opened, PATTERNS);
}

#[test]
fn csv_files_may_begin_with_a_byte_order_mark() {
    let opened = open("marked");
    opened.write("named.csv", b"\xef\xbb\xbfid,name\n1,x\n");
    opened.write("quoted.csv", b"\xef\xbb\xbf\"id\",name\n1,x\n");
    opened.write("bare.csv", b"\xef\xbb\xbf1,x\n2,y\n");
    opened.write("mark.csv", b"\xef\xbb\xbf");
    opened.write("short.csv", b"\xef\xbb");
    opened.write("tiny.csv", b"7");
    opened.write("p/1.csv", b"\xef\xbb\xbfid\n1\n");
    opened.write("p/2.csv", b"\xef\xbb\xbfid\n2\n");
    check(
        &opened,
        &[
            ("select id, name from '@/named.csv'", "1,x"),
            ("select id, name from '@/quoted.csv'", "1,x"),
            ("select column0 + 1, column1 from '@/bare.csv' order by 1", "2,x;3,y"),
            ("select * from read_csv('@/bare.csv', header => false) order by 1", "1,x;2,y"),
            ("select count(*) from '@/mark.csv'", "0"),
            (
                "select * from '@/short.csv'",
                "! 22021: invalid byte sequence for encoding \"UTF8\": 0xef",
            ),
            ("select column0 from '@/tiny.csv'", "7"),
            ("select sum(id) from '@/p/*.csv'", "3"),
        ],
    );
}

#[test]
fn csv_files_tell_their_types() {
    let opened = open("csv");
    opened.write(
        "a.csv",
        b"id,name,price,day,at,ok,code\n1,\"a, b\",1.5,2024-02-29,2024-02-29 12:00:00,true,007\n\
          2,,2,2024-03-01,2024-03-01 00:00:00,FALSE,1\n\n3,\"\",,,,,\n",
    );
    opened.write("b.csv", b"1,x\n2,y\n");
    opened.write("c.tsv", b"a\tb\n1\t2\n");
    opened.write("bad.csv", b"a,b\n1,2\n3\n");
    opened.write("long.csv", b"a,b\n1,2,3\n");
    opened.write("quote.csv", b"a,b\n1,\"2\n3,4\n");
    opened.write("late.csv", b"a\n1\n2\nx\n");
    opened.write("empty.csv", b"");
    opened.write("header.csv", b"a,b\n");
    opened.write("latin.csv", b"a\n\xe4\n");
    opened.write("p/k=1/a.csv", b"v\n1\n");
    opened.write("p/k=2/a.csv", b"v\n2\n");
    check(
        &opened,
        &[
            (
                "select * from '@/a.csv' order by id",
                "1,\"a, b\",1.5,2024-02-29,2024-02-29 12:00:00,t,007;2,,2,2024-03-01,2024-03-01 00:00:00,f,1;3,\"\",,,,,",
            ),
            (
                "select pg_typeof(id), pg_typeof(name), pg_typeof(price), pg_typeof(day), pg_typeof(at), pg_typeof(ok), pg_typeof(code) from '@/a.csv' limit 1",
                "bigint,text,double precision,date,timestamp without time zone,boolean,text",
            ),
            ("select column0 + 1, column1 from '@/b.csv' order by 1", "2,x;3,y"),
            ("select * from read_csv('@/b.csv', header => true)", "2,y"),
            ("select * from read_csv('@/b.csv', header => false) order by 1", "1,x;2,y"),
            ("select * from '@/c.tsv'", "1,2"),
            (
                "select a from read_csv('@/c.tsv', delim => ' ')",
                "! 42703: column \"a\" does not exist",
            ),
            ("select id from '@/a.csv' where id > 1 and ok is null", "3"),
            ("select * from '@/bad.csv'", "! 22P04: missing data for column \"b\""),
            ("select * from '@/long.csv'", "! 22P04: extra data after last expected column"),
            ("select * from '@/quote.csv'", "! 22P04: unterminated CSV quoted field"),
            ("select sum(length(a)) from '@/late.csv'", "3"),
            (
                "select * from read_csv('@/late.csv', sample_size => 2)",
                "! 22P02: invalid input syntax for type bigint: \"x\"",
            ),
            (
                "select a from read_csv('@/late.csv', sample_size => 2, all_varchar => true) order by 1",
                "1;2;x",
            ),
            ("select * from '@/header.csv'", ""),
            ("select count(*) from '@/empty.csv'", "0"),
            (
                "select * from '@/latin.csv'",
                "! 22021: invalid byte sequence for encoding \"UTF8\": 0xe4",
            ),
            ("select sum(v * k) from '@/p/*/*.csv'", "5"),
            ("select v from '@/p/*/*.csv' where k = 2", "2"),
            (
                "select * from read_csv('@/b.csv', delim => 'ab')",
                "! 22023: option \"delim\" must be a single one-byte character",
            ),
        ],
    );
}

#[test]
fn files_stand_where_tables_stand() {
    let opened = open("places");
    let path = opened.write("n.parquet", &parquet_bytes(vec![("i", numbers(1..=3))], 2));
    let mut session = opened.db.session();
    let cases = [
        ("create table t as select i from '@' where i > 1", "SELECT 2"),
        ("insert into t select * from '@'", "INSERT 0 3"),
        ("update t set i = t.i + 10 from '@' n where n.i = t.i and n.i = 1", "UPDATE 1"),
        ("delete from t using '@' n where n.i = t.i", "DELETE 4"),
        ("insert into t select * from '@' returning i", "INSERT 0 3"),
        ("with w as (insert into t select i from '@' returning i) select * from w", "SELECT 3"),
        ("prepare p as select count(*) from '@'", "PREPARE"),
        ("execute p", "SELECT 1"),
        ("prepare q(int) as select i from '@' where i = $1", "PREPARE"),
        ("execute q(2)", "SELECT 1"),
        ("explain select i from '@' where i = 2", "EXPLAIN"),
        ("explain analyze select i from '@' where i = 2", "EXPLAIN"),
        ("explain insert into t select * from '@'", "EXPLAIN"),
        ("create view v as select * from '@'", "! 0A000: a view of files is not supported"),
        ("select i into u from '@'", "SELECT 3"),
        ("insert into '@' values (1)", "! 42P01: relation \"@\" does not exist"),
    ];
    for (text, expected) in cases {
        let found = told(&mut session, &text.replace('@', &path));
        assert_eq!(found, expected.replace('@', &path), "{text}");
    }
    session.execute(&format!("begin; declare c cursor for select i from '{path}'")).ok();
    session.execute("rollback").expect("rolled back");
}

#[test]
fn only_who_may_read_files_reads_them() {
    let opened = open("roles");
    let path = opened.write("n.parquet", &parquet_bytes(vec![("i", numbers(1..=3))], 2));
    let mut session = opened.db.session();
    session.execute("create role r; create table t (i int); grant all on t to r").expect("made");
    session.execute("set role r").expect("set");
    let denied =
        "! 42501: must be superuser or have privileges of the pg_read_server_files role to";
    let query = format!("select * from '{path}'");
    assert_eq!(outcome(&mut session, &query), format!("{denied} read files"));
    assert_eq!(
        told(&mut session, &format!("prepare p as {query}")),
        format!("{denied} read files")
    );
    let copy = format!("copy t from '{path}' (format parquet)");
    assert_eq!(told(&mut session, &copy), format!("{denied} COPY from a file"));
    let copy = format!("copy t to '{path}' (format parquet)");
    assert!(told(&mut session, &copy).starts_with("! 42501"));
    session.execute("reset role; grant pg_read_server_files to r; set role r").expect("granted");
    assert_eq!(outcome(&mut session, &format!("{query} order by i")), "1;2;3");
    assert_eq!(told(&mut session, &format!("copy t from '{path}' (format parquet)")), "COPY 3");
}
