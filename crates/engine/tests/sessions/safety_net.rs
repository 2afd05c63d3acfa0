//! Serializable transactions beside loads, tables that are emptied, and queries outside of blocks.

use super::isolation::{ALL, SERIALIZABLE, World, shown};

/// Two that are serializable, of which the first one has read what the other one changes, which has read nothing of
/// what the first one changes.
const READ_BEFORE: [(usize, &str, &str); 6] = [
    (1, SERIALIZABLE, ""),
    (1, "select v from t where id = 1", "10"),
    (1, "update t set v = 21 where id = 2", ""),
    (2, SERIALIZABLE, ""),
    (2, "update t set v = 11 where id = 1", ""),
    (2, "commit", ""),
];

#[test]
fn a_table_of_a_query_counts_as_a_transaction() {
    // It has seen the second one, and not the first one, which comes before that.
    for (level, last) in [("read committed", ""), ("serializable", "40001")] {
        let mut world = World::new("created_from");
        world.play(&READ_BEFORE);
        world.sessions[0]
            .execute(&format!("set default_transaction_isolation = '{level}'"))
            .unwrap();
        world.play(&[
            (0, "create table copied as select id, v from t", ""),
            (1, "commit", last),
            (0, "select id, v from copied order by id", "1,11 2,20"),
        ]);
    }
}

#[test]
fn a_query_changes_settings_when_it_has_its_place() {
    let mut world = World::new("effects");
    world.sessions[0].execute("create sequence taken").unwrap();
    world.play(&READ_BEFORE);
    let mut asking = world.database().session();
    asking.execute("set default_transaction_isolation = 'serializable'").unwrap();
    let [_, first, other] = &mut world.sessions[..] else { panic!("three sessions") };
    let query = "select v, nextval('taken'), pg_sleep(0.3) is null,
        set_config('application_name', 'changed', false) from t";
    let taken = "select last_value from taken where is_called";
    let refused = std::thread::scope(|scope| {
        let query = scope.spawn(|| asking.execute(query).map(|_| ()));
        while shown(&other.execute(taken).unwrap()[0]).is_empty() {
            assert!(!query.is_finished(), "it sleeps");
        }
        first.execute("commit").unwrap();
        query.join().unwrap().unwrap_err()
    });
    assert_eq!(refused.state.0, "40001");
    assert_eq!(shown(&asking.execute("show application_name").unwrap()[0]), "");
}

#[test]
fn a_table_of_a_query_has_its_place_behind_all_others() {
    for (level, expected) in [("read committed", "1,10 2,20"), ("serializable", "40001")] {
        let mut world = World::new("created_behind");
        let mut session = world.sessions.remove(0);
        session.execute(&format!("set default_transaction_isolation = '{level}'")).unwrap();
        let mut other = world.sessions.remove(0);
        other.execute("create sequence taken").unwrap();
        // Others change what it has read before it ends.
        let create =
            "create table copied as select id, v, nextval('taken'), pg_sleep(0.5) is null from t";
        let taken = "select last_value from taken where last_value = 2";
        let created = std::thread::scope(|scope| {
            let created = scope.spawn(|| session.execute(create).map(|_| ()));
            while shown(&other.execute(taken).unwrap()[0]).is_empty() {
                assert!(!created.is_finished(), "it sleeps");
            }
            other.execute("begin isolation level serializable; update t set v = 12").unwrap();
            other.execute("commit").unwrap();
            created.join().unwrap()
        });
        let found = match created {
            Ok(()) => shown(&other.execute("select id, v from copied order by id").unwrap()[0]),
            Err(error) => error.state.0.to_owned(),
        };
        assert_eq!(found, expected);
        let db = world.database();
        assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
    }
}

#[test]
fn who_has_read_a_column_table_comes_before_a_load_that_adds_a_part() {
    let loaded = |begin: &str, reads: (&str, &str), last| {
        World::new("part_added").play(&[
            (0, "create table c (n int) with (storage = column)", ""),
            (0, "insert into c select n from generate_series(1, 9) as g (n)", ""),
            (0, "create table d (n int) with (storage = column)", ""),
            (1, SERIALIZABLE, ""),
            (1, reads.0, reads.1),
            (1, "update t set v = 21 where id = 2", ""),
            (2, begin, ""),
            (2, "select v from t where id = 2", "20"),
            // It has the table for itself, so the load goes on beside the other one.
            (2, "alter table c alter n set default 1", ""),
            (2, "insert into c select n from generate_series(1, 100000) as g (n)", ""),
            (2, "commit", ""),
            (0, "select count(*) from c", "100009"),
            (1, "commit", last),
        ]);
    };
    for begin in [SERIALIZABLE, "begin"] {
        loaded(begin, ("select count(n) from c where n > 3", "6"), "40001");
        loaded(begin, ("select count(n) from d", "0"), "");
    }
}

#[test]
fn who_has_read_a_table_that_was_emptied_comes_before_that() {
    let emptied = |begin: &str, statement, last| {
        let mut world = World::new("emptied");
        world.play(&[
            (
                0,
                "create table a as select n, n as m from generate_series(1, 9) as g (n); create index a_n on a (n)",
                "",
            ),
            (0, "create table b as select n from a", ""),
            (1, SERIALIZABLE, ""),
            (1, "select count(m) from a where n > 3", "6"),
            (1, "update t set v = 21 where id = 2", ""),
            (2, begin, ""),
            (2, "select v from t where id = 2", "20"),
            (2, statement, ""),
            (2, "commit", ""),
            (1, "commit", last),
        ]);
    };
    for statement in ["truncate a", "drop table a", "drop index a_n"] {
        emptied(SERIALIZABLE, statement, "40001");
        emptied("begin", statement, "40001");
    }
    emptied(SERIALIZABLE, "truncate b", "");
    // Who has locked a row and changed none only reads.
    World::new("emptied_locked").play(&[
        (0, "create table a as select n from generate_series(1, 9) as g (n)", ""),
        (1, SERIALIZABLE, ""),
        (1, "select count(n) from a where n > 3", "6"),
        (1, "select v from t where id = 1 for update", "10"),
        (2, "truncate a", ""),
        (1, "select count(n) from a", "9"),
        (1, "commit", ""),
    ]);
    // One that only reads comes before it.
    World::new("emptied_reads").play(&[
        (1, SERIALIZABLE, ""),
        (1, ALL, "1,10 2,20"),
        (2, "truncate t", ""),
        (1, ALL, "1,10 2,20"),
        (1, "commit", ""),
        (1, ALL, ""),
    ]);
}
