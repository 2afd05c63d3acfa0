//! Averages in 128 bits are those in 256.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, Int64Array};
use arrow_schema::DataType;
use stdx::Prng;

use super::{divide, divide_narrow};

fn sums(random: &mut Prng, digits: u32, scale: i8) -> ArrayRef {
    let mut one = || {
        let size = 10_i128.pow(1 + random.below(u64::from(digits)) as u32);
        let number = i128::from(random.next_u64()) * i128::from(random.next_u64() >> 1) % size;
        let sign = if random.chance(0.5) { -1 } else { 1 };
        (!random.chance(0.1)).then_some(number * sign)
    };
    let numbers: Decimal128Array = (0..200).map(|_| one()).collect();
    Arc::new(numbers.with_precision_and_scale(38, scale).unwrap())
}

#[test]
fn averages_in_128_bits_are_those_in_256() {
    let mut narrow = 0;
    for seed in 0..400 {
        let random = &mut Prng::new(seed);
        let (digits, scale) = (1 + random.below(30) as u32, random.below(21) as i8);
        let sums = sums(random, digits, scale);
        // Halves are rounded: many counts are even and small.
        let counts: Int64Array = (0..200).map(|_| Some(random.below(9) as i64)).collect();
        let wide = arrow_cast::cast(&sums, &DataType::Decimal256(76, scale)).unwrap();
        narrow += usize::from(divide_narrow(&sums, &counts).is_some());
        let counts: ArrayRef = Arc::new(counts);
        assert_eq!(
            &divide(&sums, &counts).unwrap(),
            &divide(&wide, &counts).unwrap(),
            "seed {seed}"
        );
    }
    assert!((100..400).contains(&narrow), "{narrow} of 400");
}
