//! Statements through kept plans and with their values in their text, in an order that a seed decides, while
//! other statements change what plans depend on: the answers are the same, errors among them.

use engine::{Database, Session};

use super::statements::{CHANGES, CONTENTS, MOVES, QUERIES, SETUP, TURNS, values_of};
use super::{TestFile, outcome, run};

/// Statements that run by turns: few, so that each finds its plan before something changes.
const BATCH: usize = 8;

/// Executions of a batch; a debug build does some hundred in a second.
const EXECUTIONS_PER_BATCH: usize = 60;

/// Executions between two changes of what plans depend on.
const EXECUTIONS_PER_TURN: usize = 40;

/// Executions between two moves of columns: one before a batch, and one in its middle.
const EXECUTIONS_PER_MOVE: usize = 30;

/// Numbers from a seed (Knuth's generator, whose upper bits are good).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    fn of<'a, T>(&mut self, some: &'a [T]) -> &'a T {
        &some[self.below(some.len())]
    }
}

/// Values for parameters of these types. Of the first four of its type more often than others, so that plans
/// are made for ordinary values, and executed with odd ones.
fn values(types: &[&str], chance: &mut Chance) -> Vec<&'static str> {
    let value = |ty: &&str| {
        let all = values_of(ty);
        let some = if chance.below(5) == 0 { all } else { &all[..4] };
        *chance.of(some)
    };
    types.iter().map(value).collect()
}

fn prepare(name: &str, types: &str, text: &str) -> String {
    let types = if types.is_empty() { String::new() } else { format!(" ({types})") };
    format!("prepare {name}{types} as {text}")
}

fn execute(name: &str, values: &[&str]) -> String {
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    format!("execute {name}{values}")
}

/// What a statement gives, and what it leaves if it changes something.
fn answer(session: &mut Session, text: &str, changes: bool) -> (Vec<String>, Vec<String>) {
    if changes {
        return outcome(session, text, CONTENTS);
    }
    let mut rows = run(session, text);
    rows.sort();
    (rows, vec![])
}

/// Two sessions that share plans.
fn sessions(database: &Database) -> [Session; 2] {
    [(), ()].map(|()| {
        let mut session = database.session();
        for (at, (types, text)) in QUERIES.iter().chain(CHANGES).enumerate() {
            let prepare = prepare(&format!("q{at}"), types, text);
            session.execute(&prepare).unwrap_or_else(|error| panic!("{prepare}: {error:?}"));
        }
        session
    })
}

/// How often statements that were executed had been planned, and how often they ran.
fn planned(session: &mut Session) -> (u64, u64) {
    let text = "select coalesce(sum(plans), 0)::bigint || ' ' || coalesce(sum(calls), 0)::bigint \
                from pg_stat_statements where query like 'execute q%'";
    let line = run(session, text).remove(0);
    let (plans, calls) = line.split_once(' ').expect("two numbers");
    (plans.parse().expect("a number"), calls.parse().expect("a number"))
}

fn check(seed: u64) {
    let file = TestFile::new(&format!("any-{seed}"));
    let database = file.database_of(SETUP);
    let (mut sessions, mut chance) = (sessions(&database), Chance(seed));
    let mut order: Vec<usize> = (0..QUERIES.len() + CHANGES.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, chance.below(at + 1));
    }
    let mut executions = 0;
    for batch in order.chunks(BATCH) {
        for _ in 0..EXECUTIONS_PER_BATCH {
            let session = &mut sessions[chance.below(2)];
            if executions % EXECUTIONS_PER_MOVE == 0 {
                turn(session, MOVES[executions / EXECUTIONS_PER_MOVE % 2]);
            }
            executions += 1;
            if executions % EXECUTIONS_PER_TURN == 0 {
                turn(session, chance.of::<&str>(TURNS));
            }
            compare(session, *chance.of(batch), executions, &mut chance);
        }
    }
    // A test of kept plans in which there are none would be of no use.
    let (plans, calls) = planned(&mut sessions[0]);
    assert!(plans + calls / 5 < calls, "seed {seed}: {plans} plans of {calls} executions");
}

/// Changes what plans depend on.
fn turn(session: &mut Session, text: &str) {
    let done = run(session, text);
    let failed = done[0].starts_with(|c: char| c.is_ascii_digit());
    assert!(!failed, "{text}: {done:?}");
}

/// Executes a statement, and the same one that nobody knows a plan for, since its text is another one.
fn compare(session: &mut Session, at: usize, number: usize, chance: &mut Chance) {
    let (given, text) = QUERIES.iter().chain(CHANGES).nth(at).expect("a statement");
    let types: Vec<&str> = given.split(", ").filter(|ty| !ty.is_empty()).collect();
    let (values, changes) = (values(&types, chance), at >= QUERIES.len());
    let found = answer(session, &execute(&format!("q{at}"), &values), changes);
    let name = format!("anew{number}");
    run(session, &prepare(&name, given, text));
    let expected = answer(session, &execute(&name, &values), changes);
    run(session, &format!("deallocate {name}"));
    assert_eq!(found, expected, "execution {number}, {values:?}: {text}");
}

#[test]
fn kept_plans_answer_as_statements_with_their_values_do() {
    check(1);
}
