//! Who changes definitions beside those who change rows: nobody waits for what nobody else has.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::{Session, SqlResult};

use super::writers::{WAITING, World, after_crash, opened_after_crash, shown};

/// What a transaction may do with what it makes, while others have rows open.
const MADE: &[(&str, &str)] = &[
    ("create table made (id int primary key, v int)", ""),
    ("insert into made select i, i from generate_series(1, 20) i", ""),
    ("create index made_v on made (v)", ""),
    ("alter table made add column w int default 7", ""),
    ("alter table made alter column v type bigint", ""),
    ("update made set v = v + 1 where id > 10", ""),
    ("create table referring (id serial, made int references made on delete cascade)", ""),
    ("insert into referring (made) values (1), (2), (2)", ""),
    ("delete from made where id = 2", ""),
    ("insert into made select i, i from generate_series(100, 60000) i", ""),
    ("select count(*), sum(w) from made", "59920,419440"),
    ("select count(*) from referring", "1"),
    ("create view seen as select made.id from made join referring on referring.made = made.id", ""),
    ("comment on table made is 'made'", ""),
    ("create sequence numbers", ""),
    ("alter sequence numbers increment by 5", ""),
    ("select nextval('numbers'), nextval('numbers')", "1,6"),
    ("create table copied as select v, count(*) from t group by v", ""),
    ("create temp table apart (id int)", ""),
    ("insert into apart select generate_series(1, 50000)", ""),
    ("create index on apart (id)", ""),
    ("drop table apart", ""),
    ("truncate referring", ""),
    ("drop table if exists nothing", ""),
    ("drop view seen", ""),
    ("drop table referring", ""),
    ("analyze made", ""),
];

#[test]
fn what_a_transaction_makes_is_its_own_while_others_write() {
    for (end, expected) in [("commit", "59920"), ("rollback", "42P01")] {
        let mut world = World::new(&format!("made-{end}"));
        world.play(&[
            (1, "begin", ""),
            (1, "update t set v = 11 where id = 1", ""),
            (0, "begin", ""),
        ]);
        for (statement, outcome) in MADE {
            world.play(&[(0, statement, outcome), (2, "update t set v = v + 1 where id = 3", "")]);
        }
        world.play(&[
            (3, "select count(*) from made", "42P01"),
            (1, "update t set v = 12 where id = 2", ""),
            (0, end, ""),
            (3, "select count(*) from made", expected),
            (1, "commit", ""),
            (3, "select v from t where id < 4", &format!("11 12 {}", 30 + MADE.len())),
        ]);
        world.check();
        assert_eq!(after_crash(&world, end), format!("1,11 2,12 3,{}", 30 + MADE.len()));
    }
}

#[test]
fn definitions_outside_of_blocks_do_not_wait_for_who_changes_rows() {
    World::new("alone").play(&[
        (0, "begin", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (1, "create table made (id int primary key)", ""),
        (1, "insert into made values (1)", ""),
        (2, "create table copied as select * from t", ""),
        (2, "select count(*), sum(v) from copied", "9,450"),
        (1, "create view seen as select * from t", ""),
        (1, "create or replace view seen as select id, v from t", ""),
        (1, "drop view seen", ""),
        (1, "create sequence numbers", ""),
        (1, "comment on table t is 'ours'", ""),
        (1, "create role reader", ""),
        (1, "grant select on t to reader", ""),
        (1, "create temp table apart as select * from t", ""),
        (1, "alter table apart add column w int", ""),
        (1, "truncate apart", ""),
        (1, "discard temp", ""),
        (1, "drop table if exists nothing", ""),
        (0, "select count(*) from copied", "9"),
        (0, "insert into made values (2)", ""),
        (0, "commit", ""),
        (1, "select count(*) from made", "2"),
    ]);
}

#[test]
fn who_changes_rows_does_not_wait_for_an_open_change_of_definitions() {
    World::new("open").play(&[
        (2, "prepare raise as update t set v = v + 1 where id = $1", ""),
        (2, "prepare found as select v from t where id = $1", ""),
        (2, "execute raise(4)", ""),
        (2, "execute raise(4)", ""),
        (0, "begin", ""),
        (0, "create table made (id int primary key, v int)", ""),
        (0, "insert into made values (1, 1)", ""),
        (0, "insert into t values (20, 200)", ""),
        (0, "update t set v = 21 where id = 2", ""),
        // Others, by whatever road, and with what they have made before.
        (1, "update t set v = 11 where id = 1", ""),
        (1, "insert into child values (1, 1)", ""),
        (2, "execute raise(4)", ""),
        (2, "execute found(4)", "43"),
        (2, "begin", ""),
        (2, "update t set v = 31 where id = 3", ""),
        (3, "insert into u values (1, 1)", ""),
        // It sees what they have committed, and they nothing of it.
        (0, "select v from t where id < 5", "11 21 30 43"),
        (1, "select v from t where id < 4", "11 20 30"),
        (1, "select count(*) from t", "9"),
        // Rows are locked as others are.
        (3, "update t set v = v + 1 where id = 2", WAITING),
        (0, "update t set v = v + 1 where id = 3", WAITING),
        (2, "commit", ""),
        (0, "", ""),
        (0, "commit", ""),
        (3, "", ""),
        (1, "select v from t where id < 4", "11 22 32"),
        (2, "execute raise(4)", ""),
        (2, "execute found(4)", "44"),
        (1, "select count(*) from made", "1"),
    ]);
}

#[test]
fn a_savepoint_gives_back_definitions_beside_what_others_commit() {
    let mut world = World::new("savepoints");
    world.play(&[
        (0, "begin", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (0, "savepoint before", ""),
        (0, "create table first (id int)", ""),
        (0, "insert into first values (1)", ""),
        (0, "savepoint a", ""),
        (0, "create table second (id int)", ""),
        (0, "insert into first values (2)", ""),
        (0, "insert into second values (1)", ""),
        (0, "update t set v = 21 where id = 2", ""),
        (1, "update t set v = 31 where id = 3", ""),
        (1, "checkpoint", ""),
        // One fails, and takes with it what it has done.
        (0, "create table second (id int)", "42P07"),
        (0, "rollback to a", ""),
        (0, "select count(*) from first", "1"),
        (0, "select v from t where id < 4", "11 20 31"),
        (0, "create table third as select id from first", ""),
        (1, "checkpoint", ""),
    ]);
    assert_eq!(after_crash(&world, "open"), "1,10 2,20 3,31");
    world.play(&[
        (0, "commit", ""),
        (1, "select count(*) from third", "1"),
        (1, "select count(*) from second", "42P01"),
        (0, "begin", ""),
        (0, "savepoint before", ""),
        (0, "create table second (id int)", ""),
        (0, "rollback to before", ""),
        (1, "update t set v = 32 where id = 3", ""),
        (0, "update t set v = 22 where id = 2", ""),
        (0, "commit", ""),
        (1, "select v from t where id < 4", "11 22 32"),
        (1, "create table second (id int)", ""),
    ]);
    world.check();
    assert_eq!(after_crash(&world, "committed"), "1,11 2,22 3,32");
}

#[test]
fn definitions_are_changed_by_one_transaction_at_a_time() {
    World::new("definers").play(&[
        (0, "begin", ""),
        (0, "create table first (id int)", ""),
        (1, "begin", ""),
        (1, "create table second (id int)", WAITING),
        (2, "create view seen as select 1", WAITING),
        // Those who wait and have locked nothing are in nobody's way.
        (0, "alter table t add column w int default 5", ""),
        (3, "select v from t where id = 1", "10"),
        (0, "commit", ""),
        (1, "", ""),
        (1, "commit", ""),
        (2, "", ""),
        (3, "select v, w from t where id = 1", "10,5"),
        // Who has locked something waits as well, but in no circle.
        (1, "begin", ""),
        (1, "update t set v = 21 where id = 2", ""),
        (0, "begin", ""),
        (0, "create table third (id int)", ""),
        (1, "create table fourth (id int)", WAITING),
        (0, "update t set v = 22 where id = 2", "40P01"),
        (0, "rollback", ""),
        (1, "", ""),
        (0, "begin", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (1, "update t set v = 12 where id = 1", WAITING),
        (0, "create table fifth (id int)", "40P01"),
        (0, "rollback", ""),
        (1, "", ""),
        (1, "commit", ""),
        (0, "select v from t where id < 4", "12 21 30"),
    ]);
}

#[test]
fn who_has_made_something_waits_for_who_has_the_table_that_it_changes() {
    World::new("upgrade").play(&[
        (1, "begin", ""),
        (1, "update t set v = 21 where id = 2", ""),
        (0, "begin", ""),
        (0, "create table made (id int)", ""),
        (0, "insert into made values (1)", ""),
        (0, "insert into t values (20, 200)", ""),
        (0, "alter table t add column w int default 5", WAITING),
        (2, "update t set v = 31 where id = 3", WAITING),
        (1, "update t set v = 22 where id = 2", ""),
        (1, "commit", ""),
        (0, "", ""),
        (0, "update t set w = 6 where id < 3", ""),
        (0, "select v, w from t where id < 4 or id = 20 order by id", "10,6 22,6 30,5 200,5"),
        (0, "commit", ""),
        (2, "", ""),
        (1, "select v, w from t where id < 4 or id = 20 order by id", "10,6 22,6 31,5 200,5"),
        // So does one that writes a table of others anew; other tables are none of its business.
        (1, "begin", ""),
        (1, "insert into u values (1, 1)", ""),
        (1, "update t set v = 23 where id = 2", ""),
        (0, "begin", ""),
        (0, "drop table made", ""),
        (0, "insert into t select i, i, i from generate_series(100, 60000) i", WAITING),
        (2, "insert into u values (2, 2)", ""),
        (2, "update t set v = 32 where id = 3", WAITING),
        (1, "commit", ""),
        (0, "", ""),
        (0, "commit", ""),
        (2, "", ""),
        (1, "select count(*) from t", "59911"),
        (1, "select v from t where id in (2, 3) order by id", "23 32"),
        (1, "select count(*) from u", "2"),
    ]);
}

#[test]
fn a_kept_snapshot_is_not_minded_by_what_is_only_added() {
    for level in ["repeatable read", "serializable"] {
        World::new(&format!("kept-{}", &level[..6])).play(&[
            (1, &format!("begin isolation level {level}"), ""),
            (1, "select v from t where id = 1", "10"),
            (0, "create table made (id int primary key)", ""),
            (1, "update t set v = 11 where id = 1", ""),
            (0, "create sequence numbers", ""),
            (0, "create role reader", ""),
            (1, "update t set v = 12 where id = 1", "40001"),
            (1, "rollback", ""),
            (1, &format!("begin isolation level {level}"), ""),
            (1, "select v from t where id = 1", "10"),
            (0, "create table other (id int primary key)", ""),
            (1, "update t set v = 11 where id = 1", ""),
            // It has not seen what it would change.
            (1, "create table mine (id int)", "40001"),
            (1, "rollback", ""),
            (1, &format!("begin isolation level {level}"), ""),
            (1, "select count(*) from parent", "2"),
            (0, "create table late (id int references parent)", ""),
            (1, "delete from parent where id = 1", "40001"),
            (1, "rollback", ""),
        ]);
    }
}

#[test]
fn a_change_of_definitions_keeps_its_snapshot_and_is_serializable() {
    World::new("definer-level").play(&[
        (0, "begin isolation level repeatable read", ""),
        (0, "create table made as select sum(v) as s from t", ""),
        (1, "update t set v = 110 where id = 1", ""),
        (0, "select sum(v) from t", "450"),
        (0, "update t set v = 0 where id = 1", "40001"),
        (0, "rollback", ""),
        (0, "begin isolation level serializable", ""),
        (0, "create table made as select sum(v) as s from t", ""),
        (1, "update t set v = 120 where id = 1", ""),
        (0, "commit", "40001"),
        (0, "select count(*) from made", "42P01"),
        (0, "begin isolation level serializable", ""),
        (0, "create table made as select sum(v) as s from t where id > 1", ""),
        (1, "insert into u values (1, 1)", ""),
        (0, "commit", ""),
        (0, "select * from made", "440"),
    ]);
}

#[test]
fn a_crash_beside_an_open_change_of_definitions_leaves_nothing_of_it() {
    let mut world = World::new("crash");
    world.play(&[
        (0, "begin", ""),
        (0, "create table made (id int primary key)", ""),
        (0, "insert into made select generate_series(1, 5000)", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (1, "update t set v = 31 where id = 3", ""),
        (1, "checkpoint", ""),
        (0, "insert into made values (0)", ""),
        (1, "update t set v = 32 where id = 3", ""),
    ]);
    assert_eq!(after_crash(&world, "open"), "1,10 2,20 3,32");
    world.play(&[(0, "commit", ""), (1, "update t set v = 33 where id = 3", "")]);
    let found = opened_after_crash(&world, "committed", "select count(*) from made");
    assert_eq!(found, "5001");
    assert_eq!(after_crash(&world, "again"), "1,11 2,20 3,33");
}

#[test]
fn numbers_of_a_sequence_that_nobody_else_knows_are_not_given_twice() {
    let mut world = World::new("numbers");
    world.play(&[
        (0, "begin", ""),
        (0, "create sequence numbers", ""),
        (0, "create table made (id serial, v int)", ""),
        (0, "select nextval('numbers'), nextval('numbers')", "1,2"),
        (0, "insert into made (v) values (1), (2), (3)", ""),
        // What becomes durable meanwhile is not theirs.
        (1, "update t set v = 31 where id = 3", ""),
        (1, "checkpoint", ""),
        (1, "update t set v = 32 where id = 3", ""),
        (0, "commit", ""),
    ]);
    let next = "select case when nextval('numbers') > 2 and nextval('made_id_seq') > 3 then 1 end";
    assert_eq!(opened_after_crash(&world, "numbers", next), "1");
    world.play(&[(0, next, "1")]);
}

#[test]
fn temporary_tables_of_a_session_that_has_gone_go_when_its_transaction_is_undone() {
    let mut world = World::new("gone");
    world.play(&[
        (0, "create temp table apart (id int primary key, v int)", ""),
        (0, "insert into apart select i, i from generate_series(1, 500) i", ""),
        (0, "begin", ""),
        (0, "update apart set v = v + 1", ""),
        (0, "update t set v = 11 where id = 1", ""),
    ]);
    world.leave(0);
    world.play(&[
        (1, "create table first (id int)", ""),
        (1, "create table second (id int)", ""),
        (1, "update t set v = v + 1 where id = 1", ""),
        (1, "create table third (id int)", ""),
        (1, "select v from t where id < 3", "11 20"),
    ]);
    world.check();
    assert_eq!(after_crash(&world, "gone"), "1,11 2,20 3,30");
}

/// The others in the circle wait for the right to change definitions, which letting keys go does not end.
#[test]
fn who_may_change_definitions_ends_a_circle_of_those_that_wait_for_that() {
    for change in ["alter table t add column w int", "create index on t (v)"] {
        World::new("circle-of-definers").play(&[
            (0, "begin", ""),
            (0, "create table one (id int)", ""),
            (1, "begin", ""),
            (1, "update t set v = 21 where id = 2", ""),
            (1, "create table two (id int)", WAITING),
            (0, change, "40P01"),
            (0, "rollback", ""),
            (1, "", ""),
            (1, "commit", ""),
            (0, change, ""),
            (3, "select v from t where id = 2", "21"),
        ]);
    }
}

/// A statement by itself gives its right back instead.
#[test]
fn a_statement_by_itself_lets_others_change_definitions_first() {
    World::new("statement-of-definer").play(&[
        (2, "begin", ""),
        (2, "create table none (id int)", ""),
        (1, "begin", ""),
        (1, "update t set v = 21 where id = 2", ""),
        (0, "alter table t add column w int default 5", WAITING),
        (1, "create table two (id int)", WAITING),
        (2, "commit", ""),
        (1, "", ""),
        (1, "commit", ""),
        (0, "", ""),
        (3, "select v, w from t where id = 2", "21,5"),
    ]);
}

/// The parts of a statement have found definitions that others have changed before it had its
/// table.
#[test]
fn a_with_that_waited_to_have_a_table_goes_by_definitions_as_they_are() {
    let many = "with a as (insert into noted values (1) returning id) \
                insert into t (id, v) select i, i from generate_series(1000, 90000) i";
    for change in ["create unique index t_v on t (v)", "alter table t add column w int default 5"] {
        let world = &mut World::new("with-waited");
        world.play(&[
            (3, "create table noted (id int)", ""),
            (0, "begin", ""),
            (0, change, ""),
            (1, many, WAITING),
            (0, "commit", ""),
            (1, "", ""),
            (3, "select count(*) from t where id >= 1000", "89001"),
            (3, "select count(*) from noted", "1"),
        ]);
        if change.contains("index") {
            world.play(&[(3, "insert into t (id, v) values (-1, 5000)", "23505")]);
        } else {
            world.play(&[(3, "select distinct w from t", "5")]);
        }
        world.check();
    }
}

/// Runs `COPY` of so many numbers in a thread.
fn copy(world: &World, text: &'static str, count: u32) -> JoinHandle<SqlResult<()>> {
    let mut session = world.database().session();
    let lines: String = (0..count).map(|id| format!("{id}\n")).collect();
    std::thread::spawn(move || session.copy_in(text, &mut lines.as_bytes()).map(drop))
}

/// Waits until so many wait for locks.
fn until_waiting(world: &World, count: usize) {
    let waits = "select count(*) from pg_locks where not granted";
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let results = world.database().session().execute(waits).unwrap();
        let waiting = results.last().map(shown).unwrap_or_default();
        if waiting == count.to_string() {
            return;
        }
        assert!(Instant::now() < deadline, "{waiting} wait");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Both have locked the definition of their table when they find that they write it anew.
#[test]
fn two_large_copies_go_one_after_the_other() {
    for (second, expected) in
        [("copy two from stdin", "100001,100001"), ("copy one from stdin", "200001,1")]
    {
        let mut world = World::new("copies");
        world.play(&[
            (3, "create table one (id int); create table two (id int)", ""),
            (1, "begin", ""),
            (1, "insert into one values (-1)", ""),
            (1, "insert into two values (-1)", ""),
        ]);
        let copies = ["copy one from stdin", second].map(|text| copy(&world, text, 100_000));
        until_waiting(&world, 2);
        world.play(&[(1, "commit", "")]);
        for copy in copies {
            copy.join().expect("no panic").expect("copied");
        }
        let counts = "select (select count(*) from one), (select count(*) from two)";
        world.play(&[(3, counts, expected)]);
    }
}

/// It has one of two tables, and the other one waits for that and has the second.
#[test]
fn a_copy_that_waits_for_who_writes_its_table_anew_lets_it_go_first() {
    let mut world = World::new("copy-circle");
    let foreign = "alter table kid add foreign key (id) references late";
    world.play(&[
        (3, "create table kid (id int); create table late (id int primary key)", ""),
        (3, "insert into late select generate_series(0, 99)", ""),
        (3, foreign, ""),
        (1, "begin", ""),
        (1, "lock table kid", ""),
        (2, "begin", ""),
        (2, "lock table late", ""),
    ]);
    let copy = copy(&world, "copy kid from stdin", 100);
    until_waiting(&world, 1);
    world.play(&[
        (2, "insert into kid select i % 100 from generate_series(1000, 90000) i", WAITING),
        (1, "commit", ""),
        (2, "", ""),
        (2, "commit", ""),
    ]);
    copy.join().expect("no panic").expect("copied");
    world.play(&[(3, "select count(*) from kid", "89101")]);
}

/// Rows of a copy, between which another session changes a definition.
struct Interrupted<'a> {
    rows: std::vec::IntoIter<&'static [u8]>,
    session: &'a mut Session,
    change: &'a str,
}

impl std::io::Read for Interrupted<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let Some(row) = self.rows.next() else { return Ok(0) };
        if self.rows.len() == 0 {
            // The copy has found its table by then.
            std::thread::sleep(Duration::from_millis(200));
            self.session.execute(self.change).expect("it does not wait for the copy");
        }
        room[..row.len()].copy_from_slice(row);
        Ok(row.len())
    }
}

#[test]
fn a_copy_goes_on_when_a_table_is_altered_to_which_a_child_refers_as_well() {
    for change in [
        "alter table far add column w int",
        "alter table far drop column gone",
        "alter table far alter id set default 7",
    ] {
        let mut world = World::new("copy-beside");
        world.play(&[
            (3, "create table far (gone int, id int primary key)", ""),
            (3, "create table mid (id int primary key)", ""),
            (3, "create table kid (a int references mid, b int references far)", ""),
            (3, "insert into far (id) values (1)", ""),
        ]);
        let mut other = world.database().session();
        other.execute("set lock_timeout = '5s'").unwrap();
        let rows = vec![&b"1\n"[..], &b"2\n"[..]].into_iter();
        let mut input = Interrupted { rows, session: &mut other, change };
        let copied = world.database().session().copy_in("copy mid from stdin", &mut input);
        copied.unwrap_or_else(|error| panic!("{change}: {error}"));
        world.play(&[
            (3, "select count(*) from mid", "2"),
            (3, "insert into kid values (1, 1), (2, 1)", ""),
            (3, "insert into kid values (1, 2)", "23503"),
            (3, "delete from mid where id = 2", "23503"),
        ]);
        world.check();
    }
}

#[test]
fn a_large_temporary_table_is_emptied_when_another_one_has_defined() {
    let mut world = World::new("emptied-beside");
    let mut session = world.database().session();
    session.execute("create temp table x (a text) on commit delete rows; begin").unwrap();
    for _ in 0..40 {
        let insert = "insert into x select repeat('x', 900) from generate_series(1, 100)";
        session.execute(insert).unwrap();
    }
    world.play(&[(1, "begin", ""), (1, "create table made (a int)", "")]);
    let commits = std::thread::spawn(move || session.execute("commit").map(|_| session));
    std::thread::sleep(Duration::from_millis(200));
    world.play(&[(1, "commit", "")]);
    let mut session = commits.join().expect("no panic").expect("committed");
    let left = session.execute("select count(*) from x").unwrap();
    assert_eq!(left.last().map(shown).unwrap(), "0");
    drop(session);
    world.check();
}

#[test]
fn rows_are_locked_by_the_key_that_they_have_when_they_are_locked() {
    let mut world = World::new("locked-by");
    world.play(&[
        (3, "create table k (id int primary key, v int not null)", ""),
        (3, "insert into k values (1, 20), (2, 10)", ""),
        (0, "begin", ""),
        (0, "alter table k drop constraint k_pkey", ""),
        (0, "alter table k add primary key (v)", ""),
        // It writes alone from now on.
        (0, "insert into t select i, i from generate_series(1000, 90000) i", ""),
        (1, "begin", ""),
        (1, "select id, v from k where id = 1 for update", WAITING),
        (0, "commit", ""),
        (1, "", "1,20"),
        (2, "update k set id = 3 where v = 20", WAITING),
        (3, "update k set id = 4 where v = 10", ""),
        (1, "commit", ""),
        (2, "", ""),
        (3, "select id, v from k order by v", "4,10 3,20"),
    ]);
    world.check();
}
