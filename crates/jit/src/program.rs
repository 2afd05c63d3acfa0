//! A compiled program: a function over vectors.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use ir::{Floats, Value, Words};

use crate::batch::{Bitmaps, ColumnKind, View};
use crate::lower::{self, Kind, Typed};
use crate::memory::Code;

/// Why a function gave no vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// As the interpreter would: a word needs more than 64 bits, or is outside of its range.
    Refused,
    /// The columns are not of the kinds that the function was made for; the interpreter may take
    /// them.
    Columns,
    /// The caller is interrupted.
    Interrupted,
    /// A function of ours that the code calls has panicked.
    Panicked,
}

/// A program in machine code.
#[derive(Debug)]
pub struct Compiled {
    typed: Typed,
    code: Arc<Code>,
    /// Where the function begins for columns without nulls, and for others.
    begins: [usize; 2],
    bytes: usize,
}

/// Columns, rows, values out, validity out, whether to stop.
type Entry = unsafe extern "C" fn(*const View, usize, *mut u64, *mut u64, *const AtomicBool) -> i64;

impl Compiled {
    pub(crate) fn new(typed: Typed, code: Arc<Code>, begins: [usize; 2], bytes: usize) -> Compiled {
        Compiled { typed, code, begins, bytes }
    }

    /// Bytes of its machine code.
    pub fn code_bytes(&self) -> usize {
        self.bytes
    }

    /// The value of the expression for each of `rows` rows of some columns. Every 64 rows it looks
    /// whether it is to stop.
    ///
    /// # Errors
    /// [`NotRun`] says why there is no value.
    pub fn run(
        &self,
        columns: &[&ArrayRef],
        rows: usize,
        stop: &AtomicBool,
    ) -> Result<Value, NotRun> {
        let used = || self.typed.used().map(|(at, kind)| (at, kind, columns.get(at)));
        let fits = |(_, kind, column): (usize, ColumnKind, Option<&&ArrayRef>)| {
            column.is_some_and(|column| {
                ColumnKind::of(column.data_type()) == Some(kind) && column.len() == rows
            })
        };
        if !used().all(fits) {
            return Err(NotRun::Columns);
        }
        let is_nullable = used().any(|(_, _, c)| c.is_some_and(|c| c.null_count() > 0));
        let mut bitmaps = Bitmaps::default();
        let mut views: Vec<View> = columns.iter().map(|_| View::UNUSED).collect();
        for (at, _, column) in used() {
            if let Some(column) = column {
                views[at] = bitmaps.view(column, is_nullable);
            }
        }
        let mut values = vec![0u64; self.value_words(rows)];
        let mut validity = vec![0u64; rows.div_ceil(64)];
        self.call(is_nullable, &views, rows, &mut values, &mut validity, stop)?;
        Ok(self.value(columns, rows, values, validity))
    }

    fn value_words(&self, rows: usize) -> usize {
        match self.typed.result() {
            Kind::Words | Kind::Floats => rows,
            Kind::Truths => rows.div_ceil(64),
            Kind::Texts(_) => 0,
        }
    }

    fn call(
        &self,
        is_nullable: bool,
        views: &[View],
        rows: usize,
        values: &mut [u64],
        validity: &mut [u64],
        stop: &AtomicBool,
    ) -> Result<(), NotRun> {
        let begin = self.code.at(self.begins[usize::from(is_nullable)]);
        // SAFETY: a function of this signature begins there (`lower::build`), and its pages stay.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(begin) };
        // SAFETY: the views are of the kinds that it was made for, each of `rows` rows, with
        // bitmaps of whole words; the vectors of results have a place for each row.
        let status = unsafe {
            entry(views.as_ptr(), rows, values.as_mut_ptr(), validity.as_mut_ptr(), stop)
        };
        match status {
            0 => Ok(()),
            lower::INTERRUPTED => Err(NotRun::Interrupted),
            flags if flags & lower::PANICKED != 0 => Err(NotRun::Panicked),
            _ => Err(NotRun::Refused),
        }
    }

    fn value(
        &self,
        columns: &[&ArrayRef],
        rows: usize,
        values: Vec<u64>,
        validity: Vec<u64>,
    ) -> Value {
        let nulls = NullBuffer::new(BooleanBuffer::new(validity.into(), 0, rows));
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        match self.typed.result() {
            Kind::Words => {
                let values: Vec<i64> = values.into_iter().map(u64::cast_signed).collect();
                Value::Words(Words { values: values.into(), nulls })
            }
            Kind::Floats => {
                let values: Vec<f64> = values.into_iter().map(f64::from_bits).collect();
                Value::Floats(Floats { values: values.into(), nulls })
            }
            Kind::Truths => {
                Value::Truths(BooleanArray::new(BooleanBuffer::new(values.into(), 0, rows), nulls))
            }
            Kind::Texts(at) => Value::Texts(columns[at].as_string_view().clone()),
        }
    }
}
