//! Who changes definitions of tables beside those who change rows: they wait for each other where it is the
//! same table, or one around it, and see what has become of it.

use super::writers::{WAITING, World, after_crash, opened_after_crash};

/// What changes tables, or refers to them, while others have rows of another table open.
const ALTERED: &[(&str, &str)] = &[
    ("alter table u add column w int default 7", ""),
    ("create index u_w on u (w)", ""),
    ("create unique index u_wc on u (w, code)", ""),
    ("drop index u_w", ""),
    ("alter table u alter column code type bigint", ""),
    ("alter table u add constraint positive check (w > 0)", ""),
    ("alter table u drop column w", ""),
    ("create table grand (id int primary key, child int references child)", ""),
    ("alter table grand add constraint p foreign key (id) references parent", ""),
    ("insert into child values (1, 1)", ""),
    ("insert into grand values (1, 1)", ""),
    ("alter table grand drop constraint p", ""),
    ("analyze parent", ""),
    ("drop table grand", ""),
    ("truncate child", ""),
    ("alter table u rename to other", ""),
    ("insert into other values (1, 1)", ""),
    ("drop table other", ""),
];

#[test]
fn definitions_of_other_tables_do_not_wait_for_who_changes_rows() {
    for (begin, end) in [("select 1", "select 1"), ("begin", "commit"), ("begin", "rollback")] {
        let mut world = World::new(&format!("altered-{end}").replace(' ', "-"));
        world.play(&[(0, "begin", ""), (0, "update t set v = 11 where id = 1", "")]);
        world.play(&[(1, begin, if begin == "begin" { "" } else { "1" })]);
        for (statement, outcome) in ALTERED {
            world.play(&[(1, statement, outcome), (2, "update t set v = v + 1 where id = 3", "")]);
        }
        let kept = if end == "rollback" { "0" } else { "42P01" };
        world.play(&[
            (1, end, if begin == "begin" { "" } else { "1" }),
            (2, "select count(*) from u", kept),
            (2, "select count(*) from child", "0"),
            (0, "commit", ""),
        ]);
        world.check();
        let expected = format!("1,11 2,20 3,{}", 30 + ALTERED.len());
        assert_eq!(after_crash(&world, "altered"), expected);
    }
}

#[test]
fn a_table_whose_definition_changes_is_waited_for_and_seen_as_it_becomes() {
    World::new("waited").play(&[
        (3, "prepare added as insert into u values ($1, $1)", ""),
        (3, "prepare raised as update u set code = code + 100 where id = $1", ""),
        (3, "execute added(1)", ""),
        (3, "execute raised(1)", ""),
        (3, "execute raised(1)", ""),
        (0, "begin", ""),
        (0, "alter table u add column w int default 7", ""),
        (1, "select * from u", "1,201"),
        (1, "update t set v = 11 where id = 1", ""),
        (1, "insert into u values (2, 2)", WAITING),
        (3, "execute raised(1)", WAITING),
        (2, "begin", ""),
        (2, "lock table u", WAITING),
        (0, "commit", ""),
        (1, "", ""),
        (3, "", ""),
        (2, "", ""),
        (1, "insert into u values (4, 4, 4)", WAITING),
        (2, "commit", ""),
        (1, "", ""),
        (3, "execute added(3)", ""),
        (0, "select * from u order by id", "1,301,7 2,2,7 3,3,7 4,4,4"),
        // Undone, it was nothing.
        (0, "begin", ""),
        (0, "alter table u drop column w", ""),
        (1, "update u set w = 8 where id = 1", WAITING),
        (0, "rollback", ""),
        (1, "", ""),
        // Another name, and nothing of the name.
        (0, "begin", ""),
        (0, "alter table u rename to other", ""),
        (1, "insert into u values (5, '5', '5')", WAITING),
        (2, "delete from u where id = 4", WAITING),
        (0, "create table u (id int, code text, w text)", ""),
        (0, "commit", ""),
        (1, "", ""),
        (2, "", ""),
        (0, "select * from u", "5,5,5"),
        (0, "select count(*) from other", "4"),
    ]);
}

#[test]
fn an_index_has_what_was_committed_before_it_and_keeps_out_what_comes() {
    let mut world = World::new("index");
    world.play(&[
        (1, "begin", ""),
        (1, "update t set v = 1000 where id = 1", ""),
        (0, "create unique index t_v on t (v)", WAITING),
        // Who comes later comes behind it.
        (2, "update t set v = 1000 where id = 2", WAITING),
        (1, "update t set v = 1001 where id = 3", ""),
        (1, "commit", ""),
        (0, "", ""),
        (2, "", "23505"),
        (2, "select id from t where v = 1000", "1"),
        (0, "drop index t_v", ""),
        (0, "begin", ""),
        (0, "create index t_v on t (v)", ""),
        (3, "begin", ""),
        (3, "select * from t where id = 2 for update", WAITING),
        (0, "insert into t values (20, 200)", ""),
        (0, "commit", ""),
        (3, "", "2,20"),
        (1, "update t set v = 21 where id = 2", WAITING),
        (3, "commit", ""),
        (1, "", ""),
        (1, "select id from t where v = 21", "2"),
        (1, "select id from t where v = 200", "20"),
    ]);
    world.check();
}

#[test]
fn references_stay_whole_while_definitions_change() {
    let mut world = World::new("references");
    world.play(&[
        // Who has referred to a row keeps its table as it is.
        (1, "begin", ""),
        (1, "insert into child values (1, 1)", ""),
        (0, "alter table parent add column w int default 1", WAITING),
        (2, "delete from parent where id = 1", WAITING),
        (1, "commit", ""),
        (0, "", ""),
        (2, "", ""),
        (2, "select count(*) from child", "0"),
        // A new reference is known to who takes rows away.
        (0, "begin", ""),
        (0, "create table late (id int references parent)", ""),
        (0, "insert into late values (2)", ""),
        (1, "delete from parent where id = 2", WAITING),
        (2, "insert into parent values (3)", WAITING),
        (0, "commit", ""),
        (1, "", "23503"),
        (2, "", ""),
        // So is one that has gone.
        (0, "begin", ""),
        (0, "drop table late", ""),
        (1, "delete from parent where id = 2", WAITING),
        (0, "commit", ""),
        (1, "", ""),
        (0, "insert into parent values (4)", ""),
        (1, "begin", ""),
        (1, "delete from parent where id = 4", ""),
        (0, "create table late (id int references parent)", WAITING),
        (1, "rollback", ""),
        (0, "", ""),
        (0, "insert into late values (4)", ""),
        (0, "select id from parent order by id", "3 4"),
    ]);
    world.check();
}

#[test]
fn definitions_and_rows_of_two_transactions_make_no_circle_that_is_not_found() {
    World::new("circles").play(&[
        (1, "begin", ""),
        (1, "insert into u values (1, 1)", ""),
        (0, "begin", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (0, "alter table u add column w int", WAITING),
        (1, "update t set v = 12 where id = 1", "40P01"),
        (1, "rollback", ""),
        (0, "", ""),
        (0, "commit", ""),
        (0, "select v from t where id = 1", "11"),
        // What it has locked it may also write anew, beside those who wait for it with locks of theirs.
        (0, "begin", ""),
        (0, "alter table t add column w int", ""),
        (1, "begin", ""),
        (1, "insert into u (id) values (1)", ""),
        (1, "update t set v = 21 where id = 2", WAITING),
        (0, "insert into t select i, i, i from generate_series(100, 60000) i", ""),
        (0, "update t set w = 1", ""),
        (0, "commit", ""),
        (1, "", ""),
        (1, "commit", ""),
        (0, "select count(*), sum(w), min(v) from t", "59910,59910,11"),
        // One alone lets others go first.
        (1, "begin", ""),
        (1, "insert into child values (1, 1)", ""),
        (0, "truncate parent, child", WAITING),
        (1, "insert into parent values (7)", ""),
        (1, "commit", ""),
        (0, "", ""),
        (0, "select count(*) from child", "0"),
    ]);
}

/// What changes the tables to and fro.
const CHANGES: &[&str] = &[
    "create unique index p_v on p (v)",
    "begin; alter table c drop constraint c_p_fkey; alter table c add constraint c_p_fkey \
     foreign key (p) references p on delete cascade; commit",
    "alter table p add column w int default 3",
    "create index c_p on c (p)",
    "alter table p alter column v type bigint",
    "begin; create table l (id int references p); drop table l; create index c_v on c (v); commit",
    "drop index p_v",
    "alter table p drop column w",
    "begin; alter table c add column w int default 1; rollback",
    "drop index c_p",
    "drop index c_v",
    "alter table p alter column v type int",
];

/// Whether a statement beside others did what it had to, or was told that it stood in their way.
fn ran(session: &mut engine::Session, text: &str) {
    if let Err(error) = session.execute(text) {
        let is_known = ["23503", "23505", "40P01", "42704"].contains(&error.state.0);
        assert!(is_known, "{text}: {error:?}");
        session.execute("rollback").unwrap();
    }
}

#[test]
fn rows_indexes_and_references_stay_whole_while_definitions_change() {
    const ROUNDS: i64 = 150;
    let world = World::new("stress");
    let setup = "create table p (id int primary key, v int);
        insert into p select i, i from generate_series(0, 19) i;
        create table c (id int primary key, p int references p on delete cascade, v int)";
    world.database().session().execute(setup).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..2i64 {
            let mut session = world.database().session();
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let (id, parent) = (2 * round + writer, (7 * round + writer) % 20);
                    ran(&mut session, &format!("insert into c values ({id}, {parent}, {round})"));
                    ran(&mut session, &format!("update c set v = v + 1 where p = {parent}"));
                    ran(&mut session, &format!("delete from p where id = {}", (parent + 3) % 20));
                    ran(
                        &mut session,
                        &format!("insert into p values ({}, {})", (parent + 3) % 20, parent + 3),
                    );
                    ran(
                        &mut session,
                        &format!(
                            "begin; update p set v = v where id = {parent}; \
                        insert into c values ({}, {parent}, 0); commit",
                            1000 + id
                        ),
                    );
                }
            });
        }
        let mut session = world.database().session();
        scope.spawn(move || {
            for _ in 0..6 {
                CHANGES.iter().for_each(|change| ran(&mut session, change));
            }
        });
    });
    world.check();
    let orphans = "select count(*) from c left join p on p.id = c.p where p.id is null";
    assert_eq!(opened_after_crash(&world, "stress", orphans), "0");
}

#[test]
fn a_temporary_table_in_front_of_another_one_hides_no_change() {
    World::new("hidden").play(&[
        (1, "create temp table u (id int)", ""),
        (1, "insert into child values (1, 1)", ""),
        (0, "begin", ""),
        (0, "alter table child add column w int default 7", ""),
        (1, "insert into u values (1)", ""),
        (1, "insert into child values (2, 2)", WAITING),
        (0, "commit", ""),
        (1, "", ""),
        (1, "select w from child where id = 2", "7"),
        (1, "select * from u", "1"),
    ]);
}
