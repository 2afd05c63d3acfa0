//! Look-ups that several sessions share.
#![allow(clippy::disallowed_methods, reason = "a test stands outside of the seam")]

use std::sync::Arc;

use sql::{Parameter, Template};
use types::{Datum, oid};

use crate::database::Database;
use crate::options::Options;
use crate::prepared::{Cached, Planned, Prepared};
use crate::session::state::Session;

#[test]
fn sessions_of_other_zones_do_not_take_each_others_plans() {
    let file = format!("dovetail-shared-point-{}.dovetail", std::process::id());
    let path = std::env::temp_dir().join(file);
    std::fs::remove_file(&path).ok();
    let options = Options { memory_bytes: 32 << 20, workers: 1, ..Options::few() };
    let database = Database::create(&path, options).expect("a database");
    let session = |zone: i32| {
        let mut session = database.session();
        session.execute(&format!("set time zone {zone}")).expect("a zone");
        session
    };
    let definition = "create table t (k int primary key)";
    let rows = "insert into t select * from generate_series(1, 2000)";
    for text in [definition, rows] {
        database.session().execute(text).expect("a table");
    }
    let template = Template::all("select k from t where k = $1").expect("read").remove(0);
    let prepared = Prepared::new(template);
    let plan = |session: &Session| -> Arc<Cached> {
        let values = [Parameter::of_type(oid::INT4, Datum::Int(1))];
        session.point(&prepared, &values).expect("planned").expect("a look-up").cached
    };
    let sessions: Vec<Session> = (0..3).map(session).collect();
    let plans: Vec<Arc<Cached>> = sessions.iter().map(plan).collect();
    for _ in 0..2 {
        let again = sessions.iter().map(plan);
        assert!(again.zip(&plans).all(|(again, plan)| Arc::ptr_eq(&again, plan)));
    }
    database.session().execute("alter table t add column v int").expect("altered");
    sessions.iter().for_each(|session| drop(plan(session)));
    let Planned::Points(kept) = prepared.planned() else { panic!("a look-up has plans") };
    assert_eq!(kept.len(), 3, "a plan takes the place of that of the older table");
    std::fs::remove_file(&path).ok();
}
