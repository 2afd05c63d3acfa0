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

use crate::keys::hash_bytes;

/// Numbers of a column at most, by the number of key columns: all combinations have a place in a table of
/// 64 KiB, and a number is a byte.
const NUMBERS_MAX: [usize; 4] = [256, 128, 25, 11];

/// Numbers that a byte can be.
const BYTE_NUMBERS: usize = 256;

/// Rows that are numbered as if all were known, before it is asked whether they were.
const ROWS_AT_ONCE: usize = 64;

/// Places of a column's values: so many that a dozen rarely want the same one.
const PLACES: usize = 1 << PLACE_BITS;

const PLACE_BITS: u32 = 12;

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
    /// The image of each number.
    images: [u128; BYTE_NUMBERS],
    /// Texts that are longer than their image; those of the others are empty. The first is number 1.
    texts: Vec<Box<str>>,
    /// The number at each place, found by hash; 0 is none.
    places: [u8; PLACES],
    /// Whether an image or a text is not where it is looked for first.
    is_displaced: bool,
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
        self.groups.len() * size_of::<u32>() + self.columns.len() * size_of::<Column>()
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
        let (images, places) = ([0; BYTE_NUMBERS], [0; PLACES]);
        Column { numbers_max, images, texts: vec![], places, is_displaced: false }
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
                self.rows(column, combinations, |row| Some(u128::from(values.value(row))), |_| "")
            }
            DataType::Utf8View => {
                let values = column.as_string_view();
                let views = values.views();
                let image =
                    |row: usize| Some(views[row]).filter(|view| *view as u32 <= INLINE_BYTES_MAX);
                self.rows(column, combinations, image, |row| values.value(row))
            }
            _ => false,
        }
    }

    fn words<T: ArrowPrimitiveType>(&mut self, column: &ArrayRef, combinations: &mut [u32]) -> bool
    where
        T::Native: Into<i128>,
    {
        let values = column.as_primitive::<T>().values();
        let image = |row: usize| {
            let value: i128 = values[row].into();
            Some(value.cast_unsigned())
        };
        self.rows(column, combinations, image, |_| "")
    }

    /// Adds the number of each row, of which `image` gives the image, or `text` what is longer than one.
    fn rows<'t>(
        &mut self,
        column: &ArrayRef,
        combinations: &mut [u32],
        image: impl Fn(usize) -> Option<u128>,
        text: impl Fn(usize) -> &'t str,
    ) -> bool {
        let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
        for (at, part) in combinations.chunks_mut(ROWS_AT_ONCE).enumerate() {
            let first = at * ROWS_AT_ONCE;
            if nulls.is_none() && !self.is_displaced && self.known(part, |row| image(first + row)) {
                continue;
            }
            for (row, combination) in (first..).zip(part) {
                let number = match (nulls, image(row)) {
                    (Some(nulls), _) if nulls.is_null(row) => 0,
                    (_, Some(image)) => self.of_image(image),
                    (_, None) => self.of_text(text(row)),
                };
                if number >= self.numbers_max {
                    return false;
                }
                *combination = self.with_number(*combination, number);
            }
        }
        true
    }

    fn with_number(&self, combination: u32, number: usize) -> u32 {
        combination * self.numbers_max as u32 + number as u32
    }

    /// The same for rows whose images are all where they are looked for first; else nothing, and false. No
    /// row waits for what is known of the one before.
    fn known(&self, combinations: &mut [u32], image: impl Fn(usize) -> Option<u128>) -> bool {
        let mut numbers = [0u8; ROWS_AT_ONCE];
        let mut are_known = true;
        for (row, number) in numbers[..combinations.len()].iter_mut().enumerate() {
            let found = image(row);
            let image = found.unwrap_or_default();
            *number = self.places[place_of(image)];
            let is_same = self.images[usize::from(*number)] == image;
            are_known &= found.is_some() & is_same & (*number != 0);
        }
        if are_known {
            for (combination, number) in combinations.iter_mut().zip(numbers) {
                *combination = self.with_number(*combination, number.into());
            }
        }
        are_known
    }

    /// The number of a value that is all in its image.
    fn of_image(&mut self, image: u128) -> usize {
        let mut place = place_of(image);
        loop {
            match usize::from(self.places[place]) {
                0 => return self.add(place, image, ""),
                number if self.images[number] == image => return number,
                _ => place = self.next_to(place),
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
                number if self.images[number] == image && *self.texts[number - 1] == *text => {
                    return number;
                }
                _ => place = self.next_to(place),
            }
        }
    }

    fn next_to(&mut self, place: usize) -> usize {
        self.is_displaced = true;
        (place + 1) % PLACES
    }

    fn add(&mut self, place: usize, image: u128, text: &str) -> usize {
        let number = self.texts.len() + 1;
        if number < self.numbers_max {
            self.images[number] = image;
            self.texts.push(text.into());
            self.places[place] = number as u8;
        }
        number
    }
}

/// Where an image is looked for first.
fn place_of(image: u128) -> usize {
    // The upper bits of a product depend on all of its factors.
    let folded = image as u64 ^ ((image >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - PLACE_BITS)) as usize
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
