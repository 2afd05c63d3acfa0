//! The profile of the device: shown, set, probed when there is something to read, stored, and what plans make
//! of it.
#![allow(clippy::disallowed_methods)] // tests prepare files of their own

use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::{
    Configuration, Database, DeviceChoice, DeviceProfile, Options, Origin, RingKind, Session,
    SqlResult, StatementResult,
};
use types::text::format_value;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("dovetail-device-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("db.dovetail")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn options() -> Options {
    Options { memory_bytes: 32 << 20, workers: 2, ..pg::options() }
}

/// The rows of the last statement, a column a field; or the error and its hint.
fn run(session: &mut Session, text: &str) -> String {
    let rows = |result: Option<StatementResult>| {
        let Some(StatementResult::Rows(found)) = result else { return String::new() };
        let lines = found.batches.iter().flat_map(|batch| {
            (0..batch.num_rows()).map(|row| format_value(batch.column(0), row).unwrap_or_default())
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    match session.execute(text) {
        Ok(mut results) => rows(results.pop()),
        Err(error) => {
            let more = [error.detail, error.hint].into_iter().flatten();
            [format!("{} {}", error.state.0, error.message)]
                .into_iter()
                .chain(more)
                .collect::<Vec<_>>()
                .join(" | ")
        }
    }
}

const DEFAULT: &str = "latency=85us, reads=110000/s, bandwidth=1600MB/s \
                       (11765 reads/s at depth 1, 110000 at depth 128; ";

#[test]
fn a_profile_is_shown_set_and_reset() {
    let folder = Folder::new("set");
    let db = Database::create(&folder.file(), options()).unwrap();
    let mut session = db.session();
    let own = "latency=20us, reads=500000/s, bandwidth=5000MB/s";
    let set = format!("{own} (50000 reads/s at depth 1, 500000 at depth 128; set)");
    let shown = run(&mut session, "show device_profile");
    assert!(shown.starts_with(&format!("{DEFAULT}the default: ")), "{shown}");
    assert_eq!(run(&mut session, &format!("set device_profile = '{own}'")), "");
    assert_eq!(run(&mut session, "show device_profile"), set);
    assert_eq!(run(&mut session, "select current_setting('device_profile')"), set);
    let kept =
        "select setting || ' from ' || source from pg_settings where name = 'device_profile'";
    assert_eq!(run(&mut session, kept), format!("{set} from session"));
    // What it shows can be set again.
    run(
        &mut session,
        "select set_config('device_profile', current_setting('device_profile'), false)",
    );
    assert_eq!(run(&mut session, "show device_profile"), set);
    assert_eq!(run(&mut db.session(), "show device_profile"), shown, "other sessions have theirs");
    run(&mut session, "begin; set local device_profile = auto");
    assert_eq!(run(&mut session, "show device_profile"), shown);
    run(&mut session, "rollback");
    assert_eq!(run(&mut session, "show device_profile"), set);
    run(&mut session, "reset device_profile; begin");
    run(&mut session, &format!("set local device_profile = '{own}'"));
    assert_eq!(run(&mut session, "show device_profile"), set);
    run(&mut session, "commit");
    assert_eq!(run(&mut session, "show device_profile"), shown);
}

#[test]
fn what_is_no_profile_and_what_cannot_be_probed_is_refused() {
    let folder = Folder::new("refused");
    let db = Database::create(&folder.file(), options()).unwrap();
    let mut session = db.session();
    assert_eq!(
        run(&mut session, "set device_profile = 'fast'"),
        "22023 invalid value for parameter \"device_profile\": \"fast\" | It is auto, probe, or figures \
         of the device: 'latency=85us, reads=110000/s, bandwidth=1600MB/s'."
    );
    assert_eq!(
        run(&mut session, "select set_config('device_profile', 'probe', false)"),
        "22023 invalid value for parameter \"device_profile\": \"probe\" | The statement SET \
         device_profile = 'probe' probes the device."
    );
    let refused = run(&mut session, "set device_profile = 'probe'");
    assert!(refused.starts_with("55000 the device cannot be probed | "), "{refused}");
    assert!(refused.ends_with(" | SET device_profile to figures of the device."), "{refused}");
    run(&mut session, "create role worker; set role worker");
    let refused = run(&mut session, "set device_profile = 'probe'");
    assert!(refused.starts_with("42501 permission denied to probe the device"), "{refused}");
}

#[test]
fn whoever_opens_a_database_may_say_what_its_device_gives() {
    let folder = Folder::new("fixed");
    let device = DeviceProfile { read_ns: 9_000, reads_per_s: 900_000, bytes_per_s: 7_000_000_000 };
    let options = Options { device: DeviceChoice::Fixed(device), ..options() };
    let db = Database::create(&folder.file(), options.clone()).unwrap();
    let shown = run(&mut db.session(), "show device_profile");
    assert!(shown.starts_with("latency=9us, reads=900000/s, bandwidth=7000MB/s ("), "{shown}");
    assert!(shown.ends_with("fixed when the database was opened)"), "{shown}");
    db.close().unwrap();
    // What a server is started with is before that, and comes back with RESET.
    let mut configuration = Configuration::default();
    let given = "latency=1000us, reads=1000/s, bandwidth=90MB/s";
    configuration.give("device_profile", given, Origin::Flag).unwrap();
    let options = Options { configuration: configuration.into(), ..options };
    let db = Database::open(&folder.file(), options).unwrap();
    let mut session = db.session();
    assert!(run(&mut session, "show device_profile").starts_with(given));
    run(&mut session, "set device_profile = auto");
    assert_eq!(run(&mut session, "show device_profile"), shown);
    run(&mut session, "reset device_profile");
    assert!(run(&mut session, "show device_profile").starts_with(given));
}

/// A table of some MB with an index in another order than its rows, in a file that is opened anew: nothing
/// of it is in memory.
fn shuffled(folder: &Folder) -> SqlResult<Database> {
    let db = Database::create(&folder.file(), options())?;
    db.session().execute(
        "create table t (k int primary key, r int not null, pad text not null);
         insert into t select i, i * 7919 % 20000, repeat('x', 400) from generate_series(1, 20000) i;
         create index t_r on t (r); analyze t",
    )?;
    db.close()?;
    Database::open(&folder.file(), options())
}

#[test]
fn modes_and_devices_choose_other_plans_for_the_same_query() {
    let folder = Folder::new("plans");
    let db = shuffled(&folder).unwrap();
    let mut session = db.session();
    let mut plan = |mode: &str, device: &str, rows: u32| {
        run(&mut session, &format!("set execution_mode = {mode}; set device_profile = '{device}'"));
        let text = format!("explain (costs off) select sum(length(pad)) from t where r < {rows}");
        match run(&mut session, &text) {
            plan if plan.contains("Index Scan") => "index",
            plan if plan.contains("Full Scan") => "full",
            plan => panic!("{plan}"),
        }
    };
    // Few rows by the index and most without it, in any mode.
    for mode in ["serial", "static", "ooo"] {
        assert_eq!(plan(mode, "auto", 2), "index", "{mode}");
        assert_eq!(plan(mode, "auto", 15_000), "full", "{mode}");
    }
    // Between them: with many in flight a page costs a ninth of what it costs alone.
    assert_eq!((plan("serial", "auto", 150), plan("ooo", "auto", 150)), ("full", "index"));
    // A disk with a head has no more to give when it is asked for more.
    let disk = "latency=8ms, reads=150/s, bandwidth=200MB/s";
    assert_eq!((plan("serial", disk, 150), plan("ooo", disk, 150)), ("full", "full"));
    assert_eq!(plan("ooo", disk, 2), "index");
    // Memory, nearly.
    let fast = "latency=1us, reads=5000000/s, bandwidth=8GB/s";
    assert_eq!((plan("serial", fast, 150), plan("ooo", fast, 150)), ("index", "index"));
}

/// Waits for a probe that has begun beside a query.
fn probed(session: &mut Session) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let shown = run(session, "show device_profile");
        if !shown.contains("the default: the device is probed") || Instant::now() > deadline {
            return shown;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_file_with_data_is_probed_once_for_each_ring_and_says_so_when_it_is_opened_again() {
    let folder = Folder::new("probed");
    let db = Database::create(&folder.file(), options()).unwrap();
    let mut session = db.session();
    let fill = "create table t (k int primary key, v text);
                insert into t select i, repeat(md5(i::text), 25000) from generate_series(1, 90) i";
    session.execute(fill).unwrap();
    if db.device_profile().contains("page cache") {
        eprintln!("skipped: {} is not read past the page cache", folder.0.display());
        return;
    }
    let small = run(&mut session, "show device_profile");
    assert!(small.contains("the device is probed when the file has 64 MB of data"), "{small}");
    run(&mut session, "select count(*) from t");
    let shown = probed(&mut session);
    assert!(shown.contains("; probed 2") && shown.contains(" through "), "{shown}");
    drop(session);
    db.close().unwrap();

    // Known at once, from the file.
    let db = Database::open(&folder.file(), options()).unwrap();
    assert_eq!(db.device_profile(), shown);
    db.know_device().unwrap();
    assert_eq!(db.device_profile(), shown, "it is known");
    let mut session = db.session();
    run(&mut session, "set device_profile = 'latency=1us, reads=1/s, bandwidth=1MB/s'");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(run(&mut session, "set device_profile = 'probe'"), "");
    let again = run(&mut session, "show device_profile");
    assert!(again.contains("; probed 2") && again != shown, "{again}");
    drop(session);
    db.close().unwrap();

    // Through another ring it is another one, and the first is kept beside it.
    let threads = Options { ring: RingKind::Threads, ..options() };
    let db = Database::open(&folder.file(), threads.clone()).unwrap();
    if again.contains("through uring") {
        assert!(db.device_profile().contains("the default: "), "{}", db.device_profile());
    }
    // A query has wanted a probe, which waits until the file has settled; who asks does not.
    db.session().execute("select count(*) from t where k = 1").unwrap();
    db.know_device().unwrap();
    let by_threads = db.device_profile();
    assert!(by_threads.contains("through threads"), "{by_threads}");
    db.close().unwrap();
    for (options, wanted) in [(threads, &by_threads), (options(), &again)] {
        let db = Database::open(&folder.file(), options).unwrap();
        if again.contains("through uring") {
            assert_eq!(&db.device_profile(), wanted);
        }
        db.close().unwrap();
    }
}
