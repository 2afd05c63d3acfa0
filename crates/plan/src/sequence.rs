//! Sequences: numbers that are given out once, whatever becomes of the statement that took them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use types::{LogicalType, SqlError, SqlResult, SqlState};

/// So many numbers are on disk as given out before they are: as in PostgreSQL (`SEQ_LOG_VALS`), a
/// crash may leave such a gap.
const AHEAD: i64 = 32;

/// How numbers follow each other, and where they stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Where it stands; all versions of the catalog share it.
    #[serde(rename = "next")]
    pub counter: Counter,
    /// The first number.
    #[serde(default = "one")]
    pub start: i64,
    /// The distance of two numbers; negative where they fall.
    pub increment: i64,
    /// The least number; `None` is what follows from type and direction.
    #[serde(default)]
    pub least: Option<i64>,
    /// The greatest number.
    #[serde(default)]
    pub most: Option<i64>,
    /// True if it begins anew at its end.
    #[serde(default)]
    pub cycles: bool,
    /// How many numbers a session is to take at once; shown, and without effect.
    #[serde(default = "one")]
    pub cache: i64,
}

fn one() -> i64 {
    1
}

impl Sequence {
    /// 1, 2, 3 and so on.
    pub fn new() -> Sequence {
        let (counter, least, most) = (Counter::at(1, false), None, None);
        Sequence { counter, start: 1, increment: 1, least, most, cycles: false, cache: 1 }
    }

    /// The least and the greatest number of a sequence of this type.
    pub fn bounds(&self, ty: LogicalType) -> (i64, i64) {
        let (least, most) = limits(ty);
        let (least, most) = if self.increment > 0 { (1, most) } else { (least, -1) };
        (self.least.unwrap_or(least), self.most.unwrap_or(most))
    }

    /// The next number.
    ///
    /// # Errors
    /// 2200H when there is none.
    pub fn next(&self, name: &str, ty: LogicalType) -> SqlResult<i64> {
        let (least, most) = self.bounds(ty);
        let mut state = self.counter.state();
        let next = match state.is_called {
            true => state.value.checked_add(self.increment),
            false => Some(state.value),
        };
        let within = next.filter(|next| (least..=most).contains(next));
        let (first, end, bound) =
            if self.increment > 0 { (least, "maximum", most) } else { (most, "minimum", least) };
        let Some(value) = within.or(self.cycles.then_some(first)) else {
            let message = format!("nextval: reached {end} value of sequence \"{name}\" ({bound})");
            return Err(SqlError::new(SqlState::SEQUENCE_LIMIT_EXCEEDED, message));
        };
        let is_ahead = |ahead: &i64| within.is_some() && !self.is_behind(*ahead, value);
        let ahead = state.ahead.filter(is_ahead);
        let settings = state.settings + u64::from(within.is_none());
        *state = State { value, is_called: true, ahead, settings };
        Ok(value)
    }

    /// True if `first` comes before `second`.
    fn is_behind(&self, first: i64, second: i64) -> bool {
        if self.increment > 0 { first < second } else { first > second }
    }

    /// The state to be saved: some numbers more count as given out then.
    pub fn reserve(&self, ty: LogicalType) -> Reserved {
        let (least, most) = self.bounds(ty);
        let State { value, is_called, settings, .. } = *self.counter.state();
        let ahead =
            || value.saturating_add(self.increment.saturating_mul(AHEAD)).clamp(least, most);
        Reserved { value: if is_called { ahead() } else { value }, is_called, settings }
    }

    /// Notes that a saved state is on disk.
    pub fn reserved(&self, saved: &Reserved) {
        let mut state = self.counter.state();
        let counts = saved.is_called && saved.settings == state.settings;
        if counts && !self.is_behind(saved.value, state.value) {
            state.ahead = Some(saved.value);
        }
    }

    /// Gives back what was reserved, for the next catalog that is saved; whether there was
    /// something.
    pub fn release(&self) -> bool {
        let mut state = self.counter.state();
        let last = state.value;
        state.ahead.take().is_some_and(|ahead| ahead != last)
    }

    /// It goes on from `value`, which is the next number, or the last one if `is_called`.
    ///
    /// # Errors
    /// 22003 when the value is out of bounds.
    pub fn set(&self, name: &str, ty: LogicalType, value: i64, is_called: bool) -> SqlResult<()> {
        let (least, most) = self.bounds(ty);
        if !(least..=most).contains(&value) {
            let message = format!(
                "setval: value {value} is out of bounds for sequence \"{name}\" ({least}..{most})"
            );
            return Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let mut state = self.counter.state();
        *state = State { value, is_called, ahead: None, settings: state.settings + 1 };
        Ok(())
    }

    /// The same from its start, apart from this one.
    pub fn restarted(&self) -> Sequence {
        Sequence { counter: Counter::at(self.start, false), ..self.clone() }
    }

    /// The last number, and whether it was given out; if not, it is the next.
    pub fn last(&self) -> (i64, bool) {
        let state = self.counter.state();
        (state.value, state.is_called)
    }

    /// The state to be saved without counting more numbers as given out.
    pub fn stored(&self) -> Reserved {
        let State { value, is_called, ahead, settings } = *self.counter.state();
        Reserved { value: ahead.filter(|_| is_called).unwrap_or(value), is_called, settings }
    }

    /// It stands where a [`Reserved`] says; for a catalog that is being read.
    pub fn restore(&self, value: i64, is_called: bool) {
        *self.counter.state() = State { value, is_called, ahead: None, settings: 0 };
    }

    /// True if a crash would forget numbers that were given out.
    pub fn is_unsaved(&self) -> bool {
        self.counter.state().ahead.is_none()
    }
}

impl Default for Sequence {
    fn default() -> Sequence {
        Sequence::new()
    }
}

/// The least and greatest values of a type of whole numbers.
pub fn limits(ty: LogicalType) -> (i64, i64) {
    match ty {
        LogicalType::Int16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        LogicalType::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

/// The saved state of a sequence that has given numbers out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The last number that counts as given out, or the next one.
    pub value: i64,
    /// True if it is the last one.
    pub is_called: bool,
    settings: u64,
}

/// Where a sequence stands. Copies are the same counter.
#[derive(Clone, Debug)]
pub struct Counter(Arc<Mutex<State>>);

#[derive(Clone, Copy, Debug)]
struct State {
    value: i64,
    /// True if the value was given out; if not, it is the next one.
    is_called: bool,
    /// Numbers up to this one count as given out on disk; `None` when the last one does not.
    ahead: Option<i64>,
    /// How often it was set to another place, or began anew.
    settings: u64,
}

impl Counter {
    /// One of its own.
    pub fn at(value: i64, is_called: bool) -> Counter {
        let state = State { value, is_called, ahead: None, settings: 0 };
        Counter(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Counter {
    fn eq(&self, other: &Counter) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Counter {}

/// The stored form: the next number, or the last one that counts as given out.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Next(i64),
    Last { last: i64 },
}

impl Serialize for Counter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let State { value, is_called, ahead, .. } = *self.state();
        let stored = match is_called {
            false => Stored::Next(value),
            true => Stored::Last { last: ahead.unwrap_or(value) },
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Counter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Counter, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Next(value) => Counter::at(value, false),
            Stored::Last { last } => Counter::at(last, true),
        })
    }
}

/// A sequence that `CREATE SEQUENCE` made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceDef {
    /// From the catalog's ids.
    pub id: u32,
    /// The name.
    pub name: String,
    /// `smallint`, `integer` or `bigint`, by its name.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its numbers.
    pub sequence: Sequence,
    /// The column that it goes with.
    #[serde(default)]
    pub owner: Option<OwningColumn>,
}

/// A column that a sequence belongs to (`OWNED BY`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwningColumn {
    /// The table's id.
    pub table: u32,
    /// The column's name.
    pub column: String,
}

impl SequenceDef {
    /// The type of its numbers.
    pub fn ty(&self) -> LogicalType {
        match self.type_name.as_str() {
            "smallint" => LogicalType::Int16,
            "integer" => LogicalType::Int32,
            _ => LogicalType::Int64,
        }
    }
}

/// Options of a sequence as a statement gives them; `None` is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceOptions {
    /// `AS type`
    pub ty: Option<LogicalType>,
    /// `START [WITH]`
    pub start: Option<i64>,
    /// `INCREMENT [BY]`
    pub increment: Option<i64>,
    /// `MINVALUE`; the inner `None` is `NO MINVALUE`.
    pub least: Option<Option<i64>>,
    /// `MAXVALUE`
    pub most: Option<Option<i64>>,
    /// `CYCLE`
    pub cycles: Option<bool>,
    /// `CACHE`
    pub cache: Option<i64>,
    /// `RESTART`; the inner `None` is from the start.
    pub restart: Option<Option<i64>>,
    /// `OWNED BY`, a table and its column; the inner `None` is `NONE`.
    pub owner: Option<Option<(String, String)>>,
}

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl SequenceOptions {
    /// A new sequence of numbers of this type.
    ///
    /// # Errors
    /// 22023 for options that do not fit each other or the type.
    pub fn create(&self, ty: LogicalType) -> SqlResult<Sequence> {
        let fresh = Sequence::new();
        let first = |s: &Sequence| if s.increment > 0 { s.bounds(ty).0 } else { s.bounds(ty).1 };
        let mut made = self.over(&fresh)?;
        made.start = self.start.unwrap_or_else(|| first(&made));
        made.counter = Counter::at(made.start, false);
        made.check(ty)?;
        Ok(made)
    }

    /// A sequence with these changes. Where it stands stays one for both, so that statements on
    /// older versions of the catalog take no number a second time; `RESTART` sets it apart.
    ///
    /// # Errors
    /// 22023 as for a new one.
    pub fn alter(&self, old: &Sequence, ty: LogicalType) -> SqlResult<Sequence> {
        let mut made = self.over(old)?;
        made.start = self.start.unwrap_or(old.start);
        if let Some(value) = self.restart {
            made.counter = Counter::at(value.unwrap_or(made.start), false);
        }
        let (value, _) = made.last();
        made.check(ty)?;
        let (least, most) = made.bounds(ty);
        match () {
            () if value < least => Err(invalid(format!(
                "RESTART value ({value}) cannot be less than MINVALUE ({least})"
            ))),
            () if value > most => Err(invalid(format!(
                "RESTART value ({value}) cannot be greater than MAXVALUE ({most})"
            ))),
            () => Ok(made),
        }
    }

    fn over(&self, old: &Sequence) -> SqlResult<Sequence> {
        let made = Sequence {
            increment: self.increment.unwrap_or(old.increment),
            least: self.least.unwrap_or(old.least),
            most: self.most.unwrap_or(old.most),
            cycles: self.cycles.unwrap_or(old.cycles),
            cache: self.cache.unwrap_or(old.cache),
            ..old.clone()
        };
        match () {
            () if made.increment == 0 => Err(invalid("INCREMENT must not be zero".into())),
            () if made.cache < 1 => {
                Err(invalid(format!("CACHE ({}) must be greater than zero", made.cache)))
            }
            () => Ok(made),
        }
    }
}

impl Sequence {
    /// True if bounds and start fit the type and each other.
    ///
    /// # Errors
    /// 22023 with what does not.
    pub fn check(&self, ty: LogicalType) -> SqlResult<()> {
        let ((least, most), (type_least, type_most)) = (self.bounds(ty), limits(ty));
        let fits = |value: i64| (type_least..=type_most).contains(&value);
        let outside =
            |what, value| format!("{what} ({value}) is out of range for sequence data type {ty}");
        let start = self.start;
        match () {
            () if !fits(most) => Err(invalid(outside("MAXVALUE", most))),
            () if !fits(least) => Err(invalid(outside("MINVALUE", least))),
            () if least >= most => {
                Err(invalid(format!("MINVALUE ({least}) must be less than MAXVALUE ({most})")))
            }
            () if start < least => Err(invalid(format!(
                "START value ({start}) cannot be less than MINVALUE ({least})"
            ))),
            () if start > most => Err(invalid(format!(
                "START value ({start}) cannot be greater than MAXVALUE ({most})"
            ))),
            () => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
