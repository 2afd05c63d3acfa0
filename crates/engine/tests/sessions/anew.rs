//! Statements that write tables anew, beside those that change rows of other tables.

use super::writers::{WAITING, World, after_crash};

/// Tables that are there already are written anew, while others change rows of other tables.
const ANEW: &[(&str, &str)] = &[
    ("insert into wide select i, i from generate_series(1000, 90000) i", ""),
    ("update wide set w = w + 1", ""),
    ("delete from wide where id % 2 = 0", ""),
    ("insert into wide values (1, 7)", ""),
    ("truncate wide", ""),
    ("insert into wide select i, i from generate_series(1, 90000) i", ""),
    ("analyze wide", ""),
];

#[test]
fn tables_are_written_anew_beside_who_changes_rows_of_others() {
    for (end, expected) in [("commit", "90000"), ("rollback", "0")] {
        let mut world = World::new(&format!("anew-{end}"));
        world.play(&[
            (3, "create table wide (id int primary key, w int)", ""),
            (1, "begin", ""),
            (1, "update t set v = 11 where id = 1", ""),
            (0, "begin", ""),
        ]);
        for (statement, outcome) in ANEW {
            world.play(&[(0, statement, outcome), (2, "update t set v = v + 1 where id = 3", "")]);
        }
        world.play(&[
            (3, "select count(*) from wide", "0"),
            (1, "update t set v = 12 where id = 2", ""),
            (0, end, ""),
            (3, "select count(*) from wide", expected),
            (1, "commit", ""),
            // Statements by themselves.
            (1, "begin", ""),
            (1, "update t set v = v where id = 1", ""),
            (0, "insert into wide select i, i from generate_series(200000, 290000) i", ""),
            (0, "update wide set w = w + 1", ""),
            (0, "delete from wide where id >= 200000", ""),
            (0, "reorganize table wide", ""),
            (0, "analyze", ""),
            (0, "vacuum analyze wide", ""),
            (1, "commit", ""),
            (3, "select count(*) from wide", expected),
            (3, "select v from t where id < 4", &format!("11 12 {}", 30 + ANEW.len())),
        ]);
        world.check();
        assert_eq!(after_crash(&world, end), format!("1,11 2,12 3,{}", 30 + ANEW.len()));
    }
}

/// Each of two finds the table that the other one has written anew while it waited, by its new
/// trees.
#[test]
fn who_has_waited_to_write_a_table_anew_has_it_as_it_is_then() {
    let mut world = World::new("anew-twice");
    world.play(&[
        (3, "create table wide (id int primary key, w int)", ""),
        (3, "insert into wide select i, 0 from generate_series(1, 90000) i", ""),
    ]);
    for second in ["update wide set w = w + 1", "delete from wide where id > 5"] {
        world.play(&[
            (1, "begin", ""),
            (1, "update wide set w = w + 1", ""),
            (0, "begin", ""),
            (0, second, WAITING),
            (1, "commit", ""),
            (0, "", ""),
            (2, "update wide set w = w + 1000 where id = 5", WAITING),
            (3, "insert into wide values (95000, 7)", WAITING),
            (0, "commit", ""),
            (2, "", ""),
            (3, "", ""),
            (3, "delete from wide where id = 95000 and w = 7 returning id", "95000"),
        ]);
    }
    world.play(&[
        (3, "select w from wide where id = 5", "2003"),
        (3, "select count(*) from wide", "5"),
    ]);
    world.check();
}
