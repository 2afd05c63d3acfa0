//! The writer of a table in an object store dies, in the simulation: before and after each request that
//! changes the store, by a power cut or killed, and at single writes of its disk. What is left is opened
//! beside the objects of that moment: the table is that of the last statement that was acknowledged, or
//! that of the one under way, and can be written. `DOVETAIL_SEEDS` sets how many seeds run.

use std::sync::{Arc, Mutex};

use crate::support::{Kept, rows, serve_at, with_server};
use engine::{Database, Options, Session, Simulation};
use runtime::sim::{Disk, FaultPlan};

const PATH: &str = "/t.dovetail";
const ADDRESS: &str = "127.0.0.1:9000";
/// Statements of a seed.
const TURNS: i64 = 9;
/// Of so many moments one is opened: not all, so that the test is short.
const MOMENTS_EACH: u64 = 3;
/// Power cuts at writes of the disk, for each seed.
const DISK_CUTS: u64 = 4;

/// What the table holds, as [`LOOK`] shows it: when the last statement was acknowledged, and when the one
/// that is under way is done.
#[derive(Clone, Debug, Default)]
struct Story {
    acknowledged: String,
    under_way: String,
}

/// What the death of the machine has left.
struct Moment {
    what: String,
    disk: Disk,
    objects: Kept,
    story: Story,
}

const LOOK: &str = "select count(*), sum(a), sum(length(c)) from";

/// The rows after some more turns, and the statement of this one. The first ones are loads.
fn turn(seed: u64, number: i64, rows: &mut Vec<i64>) -> String {
    match (seed as i64 + number) % 5 {
        _ if number < 2 => load(number, rows),
        0 | 1 => load(number, rows),
        2 => {
            rows.retain(|a| a % 7 != number % 7);
            format!("delete from t where a % 7 = {}", number % 7)
        }
        3 => "reorganize table t".to_owned(),
        _ if number > 6 => {
            rows.clear();
            "truncate t".to_owned()
        }
        _ => "vacuum t".to_owned(),
    }
}

fn load(number: i64, rows: &mut Vec<i64>) -> String {
    let (first, last) = (number * 10_000, number * 10_000 + 2999);
    rows.extend(first..=last);
    format!("insert into t select i, md5(i::text) from generate_series({first}, {last}) g(i)")
}

/// What [`LOOK`] shows of these rows.
fn shown(rows: &[i64]) -> String {
    match rows.len() {
        0 => "0||".to_owned(),
        count => format!("{count}|{}|{}", rows.iter().sum::<i64>(), 32 * count),
    }
}

fn options(disk: &Disk, seed: u64) -> Options {
    let simulation = Some(Simulation { disk: disk.clone(), seed });
    let (memory_bytes, pool_bytes, workers) = (64 << 20, Some(16 << 20), 2);
    Options { memory_bytes, pool_bytes, workers, simulation, ..pg::options() }
}

fn create(disk: &Disk, seed: u64) -> (Database, Session) {
    let db = Database::create(PATH.as_ref(), options(disk, seed)).expect("a database");
    let url = serve_at(&db.runtime_handle(), ADDRESS);
    let mut session = db.session();
    let secret = format!("create secret s (type s3, key_id 'a', secret 'b', endpoint '{url}')");
    let table = "create table t (a bigint, c text) with (location = 's3://bucket/t')";
    for text in [secret.as_str(), table] {
        session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    (db, session)
}

/// Runs the statements until one fails.
fn write(session: &mut Session, seed: u64, story: &Mutex<Story>) {
    let mut held = vec![];
    story.lock().expect("sound").acknowledged = shown(&held);
    for number in 0..TURNS {
        let text = turn(seed, number, &mut held);
        story.lock().expect("sound").under_way = shown(&held);
        if session.execute(&text).is_err() {
            return;
        }
        story.lock().expect("sound").acknowledged = shown(&held);
    }
}

/// What there was before and after each request that changes the store.
fn moments(seed: u64) -> Vec<Moment> {
    let disk = Disk::new(seed);
    let (db, mut session) = create(&disk, seed);
    let (story, found) = (Arc::new(Mutex::default()), Arc::new(Mutex::new(vec![])));
    let (told, kept) = (story.clone(), found.clone());
    with_server(&db.runtime_handle(), move |server| {
        let mut count = 0;
        let note = move |what: &str, objects| {
            count += 1;
            if count % MOMENTS_EACH != seed % MOMENTS_EACH {
                return;
            }
            let (how, disk) = match count % 2 {
                0 => ("power cut", disk.crash(seed ^ count)),
                _ => ("killed", disk.kill(seed ^ count)),
            };
            let what = format!("seed {seed}, moment {count}: {how} at {what}");
            let story: Story = Story::clone(&told.lock().expect("sound"));
            kept.lock().expect("sound").push(Moment { what, disk, objects, story });
        };
        *server.watch.borrow_mut() = Some(Box::new(note));
    });
    write(&mut session, seed, &story);
    with_server(&db.runtime_handle(), |server| *server.watch.borrow_mut() = None);
    assert_eq!(rows(&mut session, &format!("{LOOK} t")), story.lock().expect("sound").acknowledged);
    drop((session, db));
    std::mem::take(&mut *found.lock().expect("sound"))
}

/// What a power cut at one write of the disk has left; how many writes there were.
fn cut(seed: u64, at: Option<u64>) -> (Moment, u64) {
    let disk = Disk::new(seed);
    let (db, mut session) = create(&disk, seed);
    let first = disk.write_count();
    let crash_at_write = at.map(|at| first + at);
    disk.faults(FaultPlan { crash_at_write, ..FaultPlan::default() });
    let story = Mutex::default();
    write(&mut session, seed, &story);
    let objects = with_server(&db.runtime_handle(), |server| server.keep());
    drop((session, db));
    let what = format!("seed {seed}: power cut at write {at:?}");
    let story = story.into_inner().expect("sound");
    let count = disk.write_count() - first;
    (Moment { what, disk: disk.crash(seed), objects, story }, count)
}

/// Opens what is left. Whether the statement that was under way is done.
fn check(moment: Moment, seed: u64) -> bool {
    let Moment { what, disk, objects, story } = moment;
    // Of another seed: what was drawn for names is not drawn once more.
    let db = Database::open(PATH.as_ref(), options(&disk, !seed));
    let db = db.unwrap_or_else(|error| panic!("{what}: {error}"));
    serve_at(&db.runtime_handle(), ADDRESS);
    with_server(&db.runtime_handle(), move |server| server.restore(objects));
    let sound = || {
        let problems = db.check().expect("a report").problems;
        assert!(problems.is_empty(), "{what}: {problems:?}");
    };
    sound();
    let mut session = db.session();
    let found = rows(&mut session, &format!("{LOOK} t"));
    let Story { acknowledged, under_way } = story;
    assert!(found == acknowledged || found == under_way, "{what}: {found} {acknowledged}");
    // The list that is there names objects that are there, too, and the next statement replaces it.
    let attach = "create table u with (location = 's3://bucket/t')";
    for text in [attach, "select sum(length(c)) from u", "reorganize table t", "vacuum t"] {
        session.execute(text).unwrap_or_else(|error| panic!("{what}: {text}: {error}"));
    }
    for table in ["t", "u"] {
        assert_eq!(rows(&mut session, &format!("{LOOK} {table}")), found, "{what}: {table}");
    }
    let more = "insert into t select -i, md5(i::text) from generate_series(1, 3000) g(i)";
    session.execute(more).unwrap_or_else(|error| panic!("{what}: {more}: {error}"));
    let new = rows(&mut session, "select count(*) from u where a < 0");
    assert_eq!(new, "3000", "{what}");
    drop(session);
    sound();
    found != acknowledged
}

#[test]
fn a_writer_that_dies_leaves_the_old_table_or_the_new_one() {
    let seeds =
        std::env::var("DOVETAIL_SEEDS").ok().map_or(2, |text| text.parse().expect("a number"));
    let (mut opened, mut done) = (0, 0);
    for seed in 0..seeds {
        let found = moments(seed);
        assert!(found.len() > 3, "seed {seed}: {} moments", found.len());
        let (_, writes) = cut(seed, None);
        let cuts = (1..=DISK_CUTS).map(|n| cut(seed, Some(writes * n / (DISK_CUTS + 1))).0);
        for moment in found.into_iter().chain(cuts) {
            opened += 1;
            done += u64::from(check(moment, seed));
        }
    }
    println!("{seeds} seeds, {opened} moments opened, {done} times the statement was done");
}
