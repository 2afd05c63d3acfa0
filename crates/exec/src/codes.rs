//! Few groups: the group of a row by small numbers that stand for the values of its key columns.
//!
//! It only remembers what the table of groups has answered. When a column turns out to have many values
//! it gives up for good, and every key is looked up in the table.

#[cfg(test)]
mod tests;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use crate::keys::{hash_bytes, mix};

/// Numbers of a column at most, by the number of key columns: all combinations have a place in a table of
/// 64 KiB.
const NUMBERS_MAX: [usize; 4] = [256, 128, 25, 11];

/// Places of a column's values: twice as many as numbers.
const PLACES: usize = 512;

/// Bytes of a text that lies wholly in its view.
const INLINE_BYTES_MAX: u32 = 12;

/// No group yet.
const UNKNOWN: u32 = u32::MAX;

/// No group yet, but it is about to be learned.
const ASKED: u32 = u32::MAX - 1;

/// What is remembered for a table of groups.
pub(crate) struct Codes {
    columns: Vec<Column>,
    /// The group of each combination of numbers.
    groups: Vec<u32>,
    /// The combination of each row of the batch at hand.
    combinations: Vec<u32>,
}

/// The values of one column, numbered from 1; 0 is null.
struct Column {
    numbers_max: usize,
    images: Vec<u128>,
    /// Texts that are longer than their image, with the number of each.
    texts: Vec<Box<str>>,
    /// The number at each place, found by hash; 0 is none.
    places: [u16; PLACES],
}

impl Codes {
    /// For keys of these types, if they are few and simple.
    pub(crate) fn of(types: &[DataType]) -> Option<Codes> {
        let numbers_max = *NUMBERS_MAX.get(types.len().checked_sub(1)?)?;
        if !types.iter().all(has_image) {
            return None;
        }
        let columns: Vec<Column> = types.iter().map(|_| Column::new(numbers_max)).collect();
        let count = numbers_max.pow(types.len() as u32);
        Some(Codes { columns, groups: vec![UNKNOWN; count], combinations: vec![] })
    }

    /// Bytes of a table that is always there.
    pub(crate) fn bytes(&self) -> usize {
        self.groups.len() * size_of::<u32>()
    }

    /// Numbers the rows of a batch; false when there are too many values.
    pub(crate) fn number(&mut self, columns: &[ArrayRef]) -> bool {
        let rows = columns.first().map_or(0, |column| column.len());
        self.combinations.clear();
        self.combinations.resize(rows, 0);
        let combinations = &mut self.combinations;
        self.columns
            .iter_mut()
            .zip(columns)
            .all(|(known, column)| known.number(column, combinations))
    }

    /// For each combination without a group a row that has it: its group is to be learned.
    pub(crate) fn unknown(&mut self) -> Vec<u32> {
        let mut rows: Vec<u32> = vec![];
        for (row, at) in self.combinations.iter().enumerate() {
            let group = &mut self.groups[*at as usize];
            if *group == UNKNOWN {
                *group = ASKED;
                rows.push(row as u32);
            }
        }
        rows
    }

    /// Remembers the group of a row.
    pub(crate) fn learn(&mut self, row: u32, group: usize) {
        self.groups[self.combinations[row as usize] as usize] = group as u32;
    }

    /// Appends the group of each row; there is one for each.
    pub(crate) fn append_to(&self, indices: &mut Vec<usize>) {
        let group = |at: &u32| self.groups[*at as usize] as usize;
        indices.extend(self.combinations.iter().map(group));
    }
}

impl Column {
    fn new(numbers_max: usize) -> Column {
        Column { numbers_max, images: vec![], texts: vec![], places: [0; PLACES] }
    }

    /// Adds the number of each row to its combination.
    fn number(&mut self, column: &ArrayRef, combinations: &mut [u32]) -> bool {
        match column.data_type() {
            DataType::Int16 => self.words::<Int16Type>(column, combinations),
            DataType::Int32 => self.words::<Int32Type>(column, combinations),
            DataType::Int64 => self.words::<Int64Type>(column, combinations),
            DataType::Date32 => self.words::<Date32Type>(column, combinations),
            DataType::Timestamp(..) => self.words::<TimestampMicrosecondType>(column, combinations),
            DataType::Decimal128(..) => self.words::<Decimal128Type>(column, combinations),
            DataType::Boolean => {
                let values = column.as_boolean();
                self.rows(column, combinations, |column, row| {
                    column.of_image(u128::from(values.value(row)))
                })
            }
            DataType::Utf8View => {
                let values = column.as_string_view();
                self.rows(column, combinations, |column, row| match values.views()[row] {
                    view if view as u32 <= INLINE_BYTES_MAX => column.of_image(view),
                    _ => column.of_text(values.value(row)),
                })
            }
            _ => false,
        }
    }

    fn words<T: ArrowPrimitiveType>(&mut self, column: &ArrayRef, combinations: &mut [u32]) -> bool
    where
        T::Native: Into<i128>,
    {
        let values = column.as_primitive::<T>().values();
        self.rows(column, combinations, |column, row| {
            let value: i128 = values[row].into();
            column.of_image(value.cast_unsigned())
        })
    }

    fn rows(
        &mut self,
        column: &ArrayRef,
        combinations: &mut [u32],
        number: impl Fn(&mut Column, usize) -> usize,
    ) -> bool {
        let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
        let base = self.numbers_max;
        for (row, combination) in combinations.iter_mut().enumerate() {
            let number = match nulls {
                Some(nulls) if nulls.is_null(row) => 0,
                _ => number(self, row),
            };
            if number >= base {
                return false;
            }
            *combination = *combination * base as u32 + number as u32;
        }
        true
    }

    /// The number of a value that is all in its image.
    fn of_image(&mut self, image: u128) -> usize {
        let mut place =
            mix(image as u64 ^ ((image >> 64) as u64).rotate_left(29)) as usize % PLACES;
        loop {
            match self.places[place] {
                0 => return self.add(place, image, ""),
                number if self.images[usize::from(number) - 1] == image => return number.into(),
                _ => place = (place + 1) % PLACES,
            }
        }
    }

    /// The number of a text that is longer than its image, which no inline view equals.
    fn of_text(&mut self, text: &str) -> usize {
        let hash = hash_bytes(text.as_bytes());
        let image = u128::from(hash) << 64 | text.len() as u128;
        let mut place = hash as usize % PLACES;
        loop {
            match usize::from(self.places[place]) {
                0 => return self.add(place, image, text),
                number if self.images[number - 1] == image && *self.texts[number - 1] == *text => {
                    return number;
                }
                _ => place = (place + 1) % PLACES,
            }
        }
    }

    fn add(&mut self, place: usize, image: u128, text: &str) -> usize {
        let number = self.images.len() + 1;
        if number < self.numbers_max {
            self.images.push(image);
            self.texts.push(text.into());
            self.places[place] = number as u16;
        }
        number
    }
}

fn has_image(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Timestamp(TimeUnit::Microsecond, _)
            | DataType::Decimal128(..)
            | DataType::Boolean
            | DataType::Utf8View
    )
}
