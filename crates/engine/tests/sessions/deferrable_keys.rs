//! Deferrable unique keys that several transactions give: who shared a key later waits for who shared it before,
//! and none of them commits a second row.

use engine::Session;

use super::writers::{WAITING, World, opened_after_crash, shown};

const LATE: &str = "create table late (k int unique deferrable initially deferred, v int)";
const NOW: &str = "create table now (k int primary key deferrable, v int)";

fn world(name: &str) -> World {
    let mut world = World::new(&format!("keys-{name}"));
    world.play(&[
        (0, LATE, ""),
        (0, NOW, ""),
        (0, "insert into late values (1, 1)", ""),
        (0, "insert into now values (1, 1)", ""),
    ]);
    world
}

/// A row is in the way that another one removes: it decides whether that is one key twice.
#[test]
fn who_gives_a_key_waits_for_who_removes_it() {
    for (end, outcome, left) in [("commit", "", "1,10"), ("rollback", "23505", "1,1")] {
        let mut world = world(&format!("removed-{end}"));
        world.play(&[
            (1, "begin", ""),
            (1, "delete from late where v = 1", ""),
            (0, "begin", ""),
            (0, "insert into late values (1, 10)", WAITING),
            (1, end, ""),
            (0, "", ""),
            (0, "commit", outcome),
            (2, "select * from late", left),
        ]);
        world.check();
        assert_eq!(opened_after_crash(&world, end, "select * from late"), left);
    }
}

#[test]
fn a_row_that_another_one_keeps_is_a_second_one_at_once() {
    let mut world = world("kept");
    world.play(&[
        (0, "begin", ""),
        (0, "insert into late values (1, 10)", ""),
        (1, "begin", ""),
        (1, "insert into late values (1, 20)", WAITING),
        (0, "commit", "23505"),
        (1, "", ""),
        (1, "commit", "23505"),
        (2, "select * from late", "1,1"),
    ]);
}

/// What the second one waits to write is nobody's second row.
#[test]
fn who_has_a_key_waits_for_nobody() {
    let mut world = world("first");
    world.play(&[
        (0, "begin", ""),
        (0, "insert into now values (2, 10)", ""),
        (1, "begin", ""),
        (1, "set constraints all deferred", ""),
        (1, "insert into now values (2, 20)", WAITING),
        (0, "delete from now where k = 2", ""),
        (0, "insert into now values (2, 11)", ""),
        (0, "commit", ""),
        (1, "", ""),
        (1, "commit", "23505"),
        (2, "select * from now order by k", "1,1 2,11"),
    ]);
}

#[test]
fn two_that_wait_for_each_others_rows_do_not_wait_for_ever() {
    let mut world = world("circle");
    world.play(&[
        (0, "begin", ""),
        (0, "insert into now values (2, 10)", ""),
        (1, "begin", ""),
        (1, "insert into now values (3, 20)", ""),
        (1, "insert into now values (2, 21)", WAITING),
        (0, "insert into now values (3, 11)", "40P01"),
        (0, "rollback", ""),
        (1, "", ""),
        (1, "commit", ""),
        (2, "select * from now order by k", "1,1 2,21 3,20"),
    ]);
}

#[test]
fn keys_are_deferrable_in_a_file_that_is_opened_again() {
    let mut world = world("opened");
    world.play(&[(0, "alter table now alter column v type bigint", "")]);
    let query = "select string_agg(conname || ' ' || condeferrable || ' ' || condeferred, ',' order by conname) \
                 from pg_constraint where conname in ('late_k_key', 'now_pkey')";
    let expected = "late_k_key true true,now_pkey true false";
    assert_eq!(opened_after_crash(&world, "shown", query), expected);
    let broken = "begin; set constraints all deferred; insert into now values (1, 2), (5, 5); \
                  insert into late values (1, 2); update now set k = 2 where v = 2; \
                  delete from late where v = 1; commit; select k, v from now order by k";
    let mut session = world.database().session();
    let results = session.execute(broken).unwrap();
    assert_eq!(shown(results.last().unwrap()), "1,1 2,2 5,5");
    assert_eq!(opened_after_crash(&world, "kept", "select * from late"), "1,2");
}

/// Larger than what is changed in place: the trees are written anew, and the whole index is looked through.
#[test]
fn loads_are_looked_through_when_they_are_checked() {
    for table in ["late", "now"] {
        let insert = format!("insert into {table} select i, i from generate_series(1, 40000) i");
        let count = format!("select count(*) from {table}");
        let mut world = world(&format!("loaded-{table}"));
        world.play(&[
            (0, &insert, "23505"),
            (0, "begin", ""),
            (0, "set constraints all deferred", ""),
            (0, &insert, ""),
            (0, &count, "40001"),
            (0, "commit", "23505"),
            (0, &count, "1"),
            (0, "begin", ""),
            (0, "set constraints all deferred", ""),
            (0, &insert, ""),
            (0, &format!("delete from {table} where k = 1 and v = 1"), ""),
            (0, &format!("insert into {table} values (1, 0)"), ""),
            (0, "set constraints all immediate", ""),
            (0, &format!("insert into {table} values (7, 0)"), "23505"),
            (0, "rollback", ""),
            (0, &count, "1"),
        ]);
        world.check();
    }
}

/// Sessions give, take and move few keys at once: whatever is committed is unique after each commit.
#[test]
fn nobody_commits_a_key_twice() {
    let mut world = world("random");
    world.play(&[(0, "delete from late; delete from now", "")]);
    let database = world.database().clone();
    let threads: Vec<_> = (0..4u64)
        .map(|seed| {
            let mut session = database.session();
            std::thread::spawn(move || work(&mut session, seed))
        })
        .collect();
    let committed: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(committed > 50, "{committed} transactions have committed");
    for table in ["late", "now"] {
        let twice = format!(
            "select count(*) from (select k from {table} group by k having count(*) > 1) s"
        );
        world.play(&[(0, &twice, "0")]);
    }
    world.check();
}

/// The transactions that have committed.
fn work(session: &mut Session, seed: u64) -> u32 {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut committed = 0;
    for _ in 0..100 {
        let table = ["late", "now"][next(2) as usize];
        let mut text = String::from("begin;");
        for _ in 0..=next(3) {
            let (k, other) = (next(8), next(8));
            text += &match next(4) {
                0 => format!("delete from {table} where k = {k};"),
                1 => format!("update {table} set k = {k} where k = {other};"),
                2 => "set constraints all deferred;".to_owned(),
                _ => format!("insert into {table} values ({k}, {other});"),
            };
        }
        let done = session.execute(&text).and_then(|_| session.execute("commit"));
        match done {
            Ok(_) => committed += 1,
            Err(error) => {
                let expected = ["23505", "40P01", "40001"];
                assert!(expected.contains(&error.state.0), "{text} {error}");
                session.execute("rollback").unwrap();
            }
        }
        let twice = format!(
            "select count(*) from (select k from {table} group by k having count(*) > 1) s"
        );
        let found = session.execute(&twice).unwrap();
        assert_eq!(shown(&found[0]), "0", "after {text}");
    }
    committed
}

#[test]
fn a_wait_for_a_key_ends_with_its_time() {
    let mut world = world("time");
    world.play(&[
        (0, "begin", ""),
        (0, "insert into late values (2, 10)", ""),
        (1, "set lock_timeout = '50ms'", ""),
        (1, "begin", ""),
        (1, "insert into late values (2, 20)", "55P03"),
        (1, "rollback", ""),
        (0, "commit", ""),
        (2, "select * from late order by k", "1,1 2,10"),
    ]);
}

/// What is noted of a constraint names it, and has its columns' types.
#[test]
fn definitions_of_what_breaks_a_deferred_constraint_stay() {
    let mut world = world("pending");
    for definition in [
        "alter table late rename constraint late_k_key to other",
        "alter table late alter column k type text",
        "create index late_v on late (v)",
        "truncate late",
        "drop table late",
    ] {
        world.play(&[
            (0, "begin", ""),
            (0, "insert into late values (1, 10)", ""),
            (0, definition, "55006"),
            (0, "rollback", ""),
        ]);
    }
    world.play(&[
        (0, "begin", ""),
        (0, "insert into late values (1, 10)", ""),
        (0, "delete from late where v = 10", ""),
        (0, "alter table late rename constraint late_k_key to other", ""),
        (0, "insert into late values (1, 11)", ""),
        (0, "commit", "23505"),
        (1, "select * from late", "1,1"),
    ]);
}
