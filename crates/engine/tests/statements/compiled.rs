//! Statements that change single rows, compiled for all values of their parameters, against the same
//! statements planned with their values: the same answers, the same errors, the same rows afterwards.

use std::path::PathBuf;

use engine::{
    Database, Executed, ExecutionMode, Options, Parameter, Prepared, Session, SqlError, Statement,
    StatementResult, Template,
};
use types::text::format_value;
use types::{Datum, oid};

/// Tables with all that a row may be asked for.
const SETUP: &str = "
    create table item (id int primary key, small smallint, big bigint, price numeric(10,2),
        rate double precision, note varchar(5), flag bool default true,
        day date default '2024-02-29', at timestamptz default '2024-01-01 00:00+00',
        twice int generated always as (small * 2) stored, label text not null default 'none',
        check (small < 1000), constraint label_is_short check (length(label) < 10));
    create index item_label on item (label);
    create unique index item_big on item (big);
    create table pair (a int, b text, v int, primary key (b, a));
    create table part (n serial primary key, item int references item on delete cascade
        on update cascade, what text default 'nothing', weight real);
    create table entry (item int, what text, at timestamptz default now());
    create sequence ids;
    create table numbered (id int default nextval('ids') primary key, v int check (v > 0));
    insert into item (id, small, big, price, rate, note, label)
        select g, g, g * 1000, g / 4.0, g / 8.0, 'n' || g, 'l' || g from generate_series(1, 20) g;
    insert into pair select g % 3, 'b' || g, g from generate_series(1, 20) g;
    insert into part (item, weight) select g, g from generate_series(1, 10) g";

/// What every table holds; moments differ from run to run.
const CONTENTS: &[&str] = &[
    "select id, small, big, price, rate, note, flag, day, at is null, twice, label from item \
     order by id",
    "select * from pair order by b, a",
    "select * from part order by n",
    "select item, what, at > '2020-01-01' from entry order by item, what",
    "select * from numbered order by id",
];

/// Statements with values in their text. These are compiled.
const TEXTS: &[&str] = &[
    "update item set note = lower('ABC') where id = 8",
    "update item set small = small + 1 where id = 3 returning *",
    "update item set small = small + -7, big = big * 2 where id = 4 returning small, twice, big",
    "update item set note = 'it''s' where id = 5 returning id, note",
    "update item set note = 'too long a text' where id = 5",
    "update item set note = null, flag = false, rate = 7 where id = 6 returning *",
    "update item set label = null where id = 6",
    "update item set label = 'far too long a label' where id = 6",
    "update item set small = 1000 where id = 6",
    "update item set small = 40000 where id = 6",
    "update item set small = small * 2000 where id = 20",
    "update item set small = 'abc' where id = 6",
    "update item set small = '12' where id = 6 returning small",
    "update item set price = 12.345 where id = 7 returning price",
    "update item set price = price * 1.1 where id = 7 returning price",
    "update item set price = 5 where id = 7 returning price",
    "update item set price = 99999999999 where id = 7",
    "update item set rate = rate / 0 where id = 7",
    "update item set rate = small / (small - 8) where id = 8",
    "update item set label = 7 where id = 8 returning label",
    "update item set label = upper(label), note = 'ABC' where id = 8",
    "update item set small = 'abc' where id = 12345",
    "update item set small = 6 where id = 12 and id = small",
    "update item set label = upper(label) || 'x' where id = 8 returning label",
    "update item as i set small = i.small - 1 where i.id = 9 and i.flag returning i.small",
    "update item set small = 1 where id = 9 and small > 500 returning *",
    "update item set small = 1 where id = 9 and note is not null and big in (1, 9000) returning *",
    "update item set small = case when big > 5000 then 1 else 2 end where id = 10 returning small",
    "update item set small = coalesce(null, small, 3) where id = 10 returning small",
    "update item set id = 300 where id = 10 returning id",
    "update item set id = 3 where id = 4",
    "update item set big = 1000 where id = 2",
    "update item set small = 5 where id = 12345",
    "update item set small = 5 where id = 99999999999",
    "update item set small = 1 / 0 where id = 54321",
    "update item set small = 1 / 0 where id = 8",
    "update item set small = 32767 + 1 where id = 54321",
    "update item set big = case when big > 1000000 then 2147483647 + 1 else big end where id = 16",
    "update item set small = case when small > 900 then 1 / 0 else 1 end where id = 16",
    "update item set small = small + 1 where id = 16 and (small < 1000 or big > 2147483647 + 1)",
    "update item set small = case when small >= 5 + 10 then small - 5 else small - 5 + 91 end where id = 16 \
     returning small",
    "update item set small = small + 1 where id = 16 and big > 2147483647 + 1",
    "update item set small = small + 1 where id = 16 and small > 900 and big / 0 > 1",
    "update item set label = substr('ab' || label, 1, 2 + 3) where id = 16 returning label",
    "update item set label = right(label, 3), note = rtrim(left(note, 2)) where id = 16 returning *",
    "update item set price = small::numeric * 1.5, rate = price::numeric where id = 16 returning price, rate",
    "update item set day = now()::date where id = 16 and day < now()::date",
    "update item set at = now()::timestamp where id = 16",
    "update pair set v = v + 1 where a = 1 and b = 'b1' returning *",
    "update pair set v = v + 1 where b = 'b2' and a = 2 and v = 2 returning v",
    "update pair set a = 77, v = null where b = 'b3' and a = 0 returning *",
    "update part set item = 999 where n = 1",
    "update part set item = 2, weight = 2.5 where n = 1 returning *",
    "update part set item = null where n = 2 returning *",
    "update item set at = now() where id = 14",
    "update item set at = current_timestamp where at > now() and id = 14",
    "update pair set v = v + 8 where b = 'b5' returning *",
    "update pair set v = v + 8 where b = 'no'",
    "update item set small = small - 1 where big = 14000 returning id, small",
    "update item set big = big + 1 where big = 14000 and small > 500",
    "update item set label = 'l14' where label = 'l13' returning id",
    "update item set small = small + 1, label = 'l15' where label = 'l14' returning id, small",
    "update item set small = 2000 - small where label = 'l15'",
    "delete from item where label = 'l15' and small > 14 returning id",
    "delete from pair where b = 'b6' returning *",
    "delete from item where id = 300 returning id",
    "delete from item where id = 11 and small = 12",
    "delete from item where id = 11 and small = 11 returning *",
    "delete from pair where b = 'b4' and a = 1",
    "delete from pair where b = 'b4' and a = 1",
    "insert into item (id, small) values (100, 5) returning id, small, flag, day, twice, label",
    "insert into item (id, small) values (100, 5)",
    "insert into item (id, small, label) values (101, 5, 'x'), (102, -6, default), (103, null, 'z')",
    "insert into item (id, small) values (104, 5000)",
    "insert into item (id, small) values (104, 'x')",
    "insert into item (id, label) values (104, null)",
    "insert into item (id, note) values (104, 'too long')",
    "insert into item (id, price, rate) values (105, 1.005, 3) returning price, rate",
    "insert into item (id, price) values (106, '2.5'), (107, 1000000000)",
    "insert into item (id, small) values (2147483648, 1)",
    "insert into item (id, day) values (108, '2024-12-31') returning day",
    "insert into item (id, day) values (109, '2024-13-31')",
    "insert into item (id, at) values (110, now())",
    "insert into item (id, label) values (113, 007) returning label",
    "insert into item (id, label) values (114, 7) returning label",
    "insert into item (id, small) values (115, 3 + 4) returning small",
    "insert into item (id, small) values (1, 2) on conflict do nothing",
    "insert into item (id, small) values (1, 2) on conflict (id) do update set small = excluded.small \
     where item.small < 100 returning id, small",
    "insert into item (id, small) values (116, 2) on conflict (id) do update set small = 0",
    "insert into pair values (1, 'new', 3) returning *",
    "insert into pair values (1, 'new')",
    "insert into pair (a, v) values (1, 1)",
    "insert into part (item, what) values (1, 'wheel') returning *",
    "insert into part (item, what) values (1, default), (2, 'x') returning *",
    "insert into part (item) values (12345)",
    "insert into entry values (1, 'a'), (2, null)",
    "insert into entry values (5, 'a', now()::timestamp)",
    "insert into entry values (3, 'b', null), (4, 'c', '2024-05-06 07:08+09')",
    "insert into numbered (v) values (1) returning *",
    "insert into numbered (v) values (-1)",
    "insert into numbered (v) values (2) returning *",
];

/// Statements that are planned each time.
const PLANNED: &[&str] = &[
    "update item set label = 'same' where label = 'l13' or label = 'l14' and id = 13",
    "update item set small = 5 where id = 12 or id = 13",
    "update item set small = 6 where id > 17",
    "insert into item (id, day) values (112, current_date)",
    "update item set small = (select max(small) from item i) where id = 14",
    "update item set small = p.n from part p where p.item = item.id and item.id = 1",
    "update pair set v = 8 where v = 5",
    "update item set day = 'today' where id = 14",
    "delete from item where id = 15 and exists (select 1 from part where item = 15)",
    "insert into entry select id, label from item where id = 1",
    "insert into entry values ((select max(id) from item), 'max')",
    "insert into missing values (1)",
    "insert into entry (item, missing) values (1, 2)",
    "insert into item (id, twice) values (1000, 3)",
];

/// Statements with parameters, the types of these, values for several executions.
const TEMPLATES: &[(&str, &[u32], &[&[&str]])] = &[
    (
        "update item set small = case when small >= $1 + 10 then small - $1 else small - $1 + 91 end, \
         big = big + $1 * 2 where id = $2 and small < $1 + 1000 returning small, big",
        &[oid::INT4, oid::INT4],
        &[
            &["1", "1"],
            &["5", "20"],
            &["2147483647", "2"],
            &["2147483647", "54321"],
            &["1", "54321"],
            &["null", "3"],
            &["-2147483647", "3"],
            &["2147483647", "16"],
        ],
    ),
    (
        "insert into item (id, price, rate, label) values ($1, $2::int * $3::numeric, $2::numeric, substr($4 || 'x', 2)) \
         returning price, rate, label",
        &[oid::INT4, oid::INT4, oid::NUMERIC, oid::TEXT],
        &[
            &["700", "3", "1.25", "abc"],
            &["701", "-3", "1.255", ""],
            &["702", "3", "null", "z"],
            &["703", "2147483647", "99999999", "z"],
            &["704", "3", "1e3", "abcdefghijklmn"],
        ],
    ),
    (
        "update item set small = small + $1 where id = $2 returning small, twice",
        &[oid::INT4, oid::INT4],
        &[&["1", "1"], &["-1", "2"], &["null", "3"], &["1", "null"], &["32767", "3"], &["1", "-5"]],
    ),
    (
        "update item set note = $1, price = $2, rate = $3, flag = $4 where id = $5 returning *",
        &[oid::TEXT, oid::NUMERIC, oid::FLOAT8, oid::BOOL, oid::INT8],
        &[
            &["abc", "1.25", "0.5", "t", "1"],
            &["abcdef", "1.25", "0.5", "t", "1"],
            &["now", "1.2555", "1e300", "false", "2"],
            &["", "99999999999", "0.5", "t", "1"],
            &["null", "null", "null", "null", "3"],
        ],
    ),
    (
        "update item set big = $1 * small, label = label || $2 where id = $3 and small > $4",
        &[oid::INT8, oid::VARCHAR, oid::INT2, oid::INT4],
        &[&["7", "!", "1", "0"], &["9223372036854775807", "!", "2", "0"], &["1", "?", "3", "999"]],
    ),
    (
        "update item set day = $1, at = $2 where id = $3 returning id, day, at",
        &[oid::DATE, oid::TIMESTAMPTZ, oid::INT4],
        &[
            &["2025-01-31", "2025-01-31 10:00:00+02", "1"],
            &["31 jan 2025", "2025-01-31 10:00", "2"],
            &["2025-02-31", "2025-01-31", "3"],
        ],
    ),
    (
        "update item set small = $1::int2 where id = $2 returning small",
        &[oid::INT2, oid::INT4],
        &[&["4", "1"], &["-4", "2"]],
    ),
    (
        "delete from pair where a = $1 and b = $2 and v <> $3 returning *",
        &[oid::INT4, oid::TEXT, oid::INT4],
        &[&["1", "b7", "7"], &["1", "b7", "8"], &["1", "b7", "8"], &["2", "b8", "null"]],
    ),
    (
        "insert into item (id, small, big, price, rate, note, flag, label) \
         values ($1, $2, $3, $4, $5, $6, $7, $8) returning id, small, big, price, rate, note, twice",
        &[
            oid::INT4,
            oid::INT4,
            oid::INT4,
            oid::NUMERIC,
            oid::INT4,
            oid::TEXT,
            oid::BOOL,
            oid::TEXT,
        ],
        &[
            &["500", "1", "500", "1.999", "3", "x", "t", "y"],
            &["501", "40000", "501", "1.9", "3", "x", "t", "y"],
            &["501", "1", "501", "1.9", "3", "xxxxxxx", "t", "y"],
            &["501", "1", "501", "1.9", "3", "x", "null", "null"],
            &["500", "1", "501", "1.9", "3", "x", "t", "y"],
            &["501", "null", "null", "null", "null", "null", "null", "z"],
        ],
    ),
    (
        "insert into part (item, weight) values ($1, $2), ($3, $2 * 2) returning *",
        &[oid::INT4, oid::FLOAT4, oid::INT4],
        &[&["1", "0.1", "2"], &["1", "0.1", "12345"], &["null", "3e38", "1"]],
    ),
    (
        "insert into item (id, label, small) values ($1, $2, 1) \
         on conflict (id) do update set label = excluded.label || item.label returning id, label",
        &[oid::INT4, oid::TEXT],
        &[&["1", "x"], &["600", "x"], &["600", "far too long"], &["600", "z"]],
    ),
];

/// Two databases with the same rows: one for each road.
struct Roads {
    compiled: Session,
    planned: Session,
}

/// A file of its own, removed at the end.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str) -> TestFile {
        let file = format!("dovetail-compiled-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        TestFile(path)
    }

    fn session(&self, mode: ExecutionMode) -> Session {
        let options = Options { memory_bytes: 16 << 20, workers: 1, ..pg::options() };
        let database = Database::create(&self.0, options).expect("a database");
        let mut session = database.session();
        session.execute(SETUP).expect("the tables");
        session.settings().execution_mode = mode;
        session
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// What a client sees of a result.
fn shown(result: Result<Vec<StatementResult>, SqlError>) -> String {
    let result = match result {
        Ok(mut results) => results.pop().expect("a result"),
        Err(SqlError { state, message, detail, hint, .. }) => {
            return format!("{state:?} {message} {detail:?} {hint:?}");
        }
    };
    let StatementResult::Rows(rows) = result else { return format!("{result:?}") };
    let names: Vec<String> =
        rows.schema.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    let mut shown = format!("{} {}", rows.tag, names.join(", "));
    for batch in &rows.batches {
        for row in 0..batch.num_rows() {
            let value = |c| format_value(c, row).unwrap_or_else(|| "null".into());
            let values: Vec<String> = batch.columns().iter().map(|c| value(c.as_ref())).collect();
            shown.push_str(&format!("\n  {}", values.join(" | ")));
        }
    }
    shown
}

impl Roads {
    fn check(&mut self, compiled: &str, planned: &str) {
        let got = shown(self.compiled.execute(compiled));
        let expected = shown(self.planned.execute(planned));
        assert_eq!(got, expected, "{compiled}");
        for contents in CONTENTS {
            let got = shown(self.compiled.execute(contents));
            assert_eq!(got, shown(self.planned.execute(contents)), "{contents} after {compiled}");
        }
    }
}

fn with_roads(name: &str, check: impl Fn(&mut Roads)) {
    let modes = [ExecutionMode::Serial, ExecutionMode::Static, ExecutionMode::OutOfOrder];
    for mode in modes {
        let files =
            ["compiled", "planned"].map(|road| TestFile::new(&format!("{name}-{road}-{mode:?}")));
        let [compiled, mut planned] = files.each_ref().map(|file| file.session(mode));
        planned.execute("set plan_cache_mode = force_custom_plan").expect("a setting");
        check(&mut Roads { compiled, planned });
    }
}

fn is_compiled(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => insert.execution().is_some(),
        Statement::Update(update) => update.execution().is_some(),
        Statement::Delete(delete) => delete.execution().is_some(),
        _ => false,
    }
}

/// The statement that a text is whose like has come before.
fn known(session: &mut Session, text: &str) -> Option<Statement> {
    let handle = session.database().runtime_handle();
    let recalled = || {
        let recalled = handle.block_on_scoped(|| Box::pin(session.recalled(text)), || {});
        recalled.expect("nobody cancels").map(|(executed, _)| executed)
    };
    // Its form is known from the second time on, and it is itself from the third.
    match (0..3).find_map(|_| recalled())? {
        Executed::Statement(statement) => Some(*statement),
        Executed::Point(_) => panic!("{text} is a look-up"),
    }
}

#[test]
fn texts_do_the_same_on_both_roads() {
    with_roads("texts", |roads| {
        for text in TEXTS {
            let known = known(&mut roads.compiled, text);
            assert!(known.is_some_and(|statement| is_compiled(&statement)), "{text}");
            roads.check(text, text);
        }
    });
}

#[test]
fn what_is_not_compiled_is_planned() {
    with_roads("planned", |roads| {
        for text in PLANNED {
            let known = known(&mut roads.compiled, text);
            assert!(!known.is_some_and(|statement| is_compiled(&statement)), "{text}");
            roads.check(text, text);
        }
    });
}

fn parameters(oids: &[u32], values: &[&str]) -> Vec<Parameter> {
    let parameter = |(oid, value): (&u32, &&str)| match *value {
        "null" => Parameter::of_type(*oid, Datum::Null),
        text => Parameter::read(*oid, text)
            .unwrap_or_else(|_| Parameter::of_type(*oid, Datum::Text(text.to_owned()))),
    };
    oids.iter().zip(values).map(parameter).collect()
}

/// The statement with its values as the binder writes them.
fn substituted(text: &str, parameters: &[Parameter]) -> String {
    let mut text = text.to_owned();
    for (number, parameter) in parameters.iter().enumerate().rev() {
        let ty = parameter.ty.map_or("text".to_owned(), |ty| ty.to_string());
        let value = parameter.text().map_or("null".to_owned(), |v| format!("'{v}'"));
        text = text.replace(&format!("${}", number + 1), &format!("({value}::{ty})"));
    }
    text
}

#[test]
fn prepared_statements_do_the_same_on_both_roads() {
    with_roads("prepared", |roads| {
        for (number, (text, oids, executions)) in TEMPLATES.iter().enumerate() {
            let template = Template::all(text).expect("a statement").pop().expect("a statement");
            let prepared = Prepared::new(template);
            let types = oids.iter().map(|oid| parameters(&[*oid], &["1"])[0].ty);
            let types: Vec<String> = types.map(|ty| ty.expect("a type").to_string()).collect();
            // The number of digits is that of each value.
            let types: Vec<&str> =
                types.iter().map(|ty| ty.split('(').next().expect("a name")).collect();
            let types = types.join(", ");
            let prepare = format!("prepare s{number} ({types}) as {text}");
            roads.compiled.execute(&prepare).expect("a statement");
            for values in *executions {
                let parameters = parameters(oids, values);
                let bound = roads.compiled.bound(&prepared, &parameters).expect("a statement");
                let Executed::Statement(statement) = bound else { panic!("{text} is a look-up") };
                assert!(is_compiled(&statement), "{text}");
                let given: Vec<String> = values
                    .iter()
                    .map(|v| if *v == "null" { (*v).to_owned() } else { format!("'{v}'") })
                    .collect();
                let execute = format!("execute s{number} ({})", given.join(", "));
                roads.check(&execute, &substituted(text, &parameters));
            }
        }
    });
}

#[test]
fn a_table_that_changes_is_compiled_for_anew() {
    with_roads("changed", |roads| {
        let prepare = "prepare s (int, int) as update pair set v = $1 where a = $2 and b = 'b1'";
        roads.compiled.execute(prepare).expect("a statement");
        let update = "update pair set v = 3 where a = 1 and b = 'b1'";
        for (change, is_known) in [
            ("alter table pair add column w int default 5", true),
            ("alter table pair add check (v < 100)", true),
            ("alter table pair drop column v", false),
        ] {
            roads.check("execute s (2, 1)", "update pair set v = 2 where a = 1 and b = 'b1'");
            roads.check(change, change);
            assert_eq!(known(&mut roads.compiled, update).is_some(), is_known, "{change}");
            roads.check(update, update);
        }
        roads.check("drop table pair", "drop table pair");
        roads.check(update, update);
    });
}

#[test]
fn a_session_that_may_not_is_refused() {
    with_roads("refused", |roads| {
        let update = "update pair set v = 3 where a = 1 and b = 'b1'";
        assert!(known(&mut roads.compiled, update).is_some());
        for before in ["create role reader", "grant select on pair to reader", "set role reader"] {
            roads.check(before, before);
        }
        roads.check(update, update);
        roads.check("reset role", "reset role");
        roads.check("begin transaction read only", "begin transaction read only");
        roads.check(update, update);
        roads.compiled.execute("rollback").expect("the end");
        roads.planned.execute("rollback").expect("the end");
        roads.check(update, update);
    });
}

#[test]
fn changes_belong_to_their_block() {
    with_roads("blocks", |roads| {
        let update = "update item set small = small + 1 where id = 3 returning small";
        for text in ["begin", "savepoint a"] {
            roads.check(text, text);
        }
        roads.check(update, update);
        roads.check(update, update);
        roads.check("rollback to savepoint a", "rollback to savepoint a");
        roads.check(update, update);
        let delete = "delete from item where id = 3";
        roads.check(delete, delete);
        roads.check(update, update);
        roads.check("rollback", "rollback");
        roads.check(update, update);
    });
}
