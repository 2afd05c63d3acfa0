//! Few groups are remembered exactly, many are left alone.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Decimal128Array, Int32Array, StringViewArray};
use arrow_cast::display::array_value_to_string;
use stdx::{HashMap, Prng};

use super::Codes;

fn columns(random: &mut Prng, values: u64) -> Vec<ArrayRef> {
    let rows = 1 + random.below(300) as usize;
    let mut numbers = || {
        let mut number = || Some(random.below(values)).filter(|v| *v != 3);
        (0..rows).map(|_| number()).collect::<Vec<Option<u64>>>()
    };
    let text = |v: u64| match v % 3 {
        0 => format!("{v}"),
        1 => format!("a text of more than twelve {v}"),
        _ => format!("another text as long, w {v}"),
    };
    vec![
        Arc::new(numbers().into_iter().map(|v| v.map(|v| v as i32)).collect::<Int32Array>()),
        Arc::new(StringViewArray::from_iter(numbers().into_iter().map(|v| v.map(text)))),
        Arc::new(Decimal128Array::from_iter(numbers().into_iter().map(|v| v.map(i128::from)))),
    ]
}

/// Groups by their texts, as the table of groups would number them.
#[derive(Default)]
struct Table(HashMap<String, usize>);

impl Table {
    fn group(&mut self, columns: &[ArrayRef], row: usize) -> usize {
        let cell = |c: &ArrayRef| match c.is_null(row) {
            true => "null".to_owned(),
            false => format!("<{}>", array_value_to_string(c, row).unwrap()),
        };
        let key = columns.iter().map(cell).collect::<String>();
        let next = self.0.len();
        *self.0.entry(key).or_insert(next)
    }
}

#[test]
fn few_groups_are_remembered() {
    for seed in 0..300 {
        let mut random = Prng::new(seed);
        let (width, values) = (1 + random.below(3) as usize, 1 + random.below(40));
        let mut table = Table::default();
        let first = columns(&mut random, values);
        let types: Vec<_> = first[..width].iter().map(|c| c.data_type().clone()).collect();
        let mut codes = Codes::of(&types).unwrap();
        for batch in 0..4 {
            let columns = columns(&mut random, values);
            let columns = &columns[..width];
            if !codes.number(columns) {
                assert!(values > 20, "seed {seed}: {values} values are few");
                break;
            }
            for row in codes.unknown() {
                codes.learn(row, table.group(columns, row as usize));
            }
            let mut found = vec![];
            codes.append_to(&mut found);
            let rows = 0..columns[0].len();
            let expected: Vec<usize> = rows.map(|row| table.group(columns, row)).collect();
            assert_eq!(found, expected, "seed {seed}, batch {batch}");
        }
    }
}

#[test]
fn many_values_are_given_up() {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1000));
    let mut codes = Codes::of(&[numbers.data_type().clone()]).unwrap();
    assert!(!codes.number(&[numbers]));
    assert!(Codes::of(&[arrow_schema::DataType::Float64]).is_none());
    assert!(Codes::of(&vec![arrow_schema::DataType::Int32; 5]).is_none());
    assert!(Codes::of(&[]).is_none());
}
