//! Values of 16 and 32 bytes: decimals as scaled integers where 64 bits suffice, else the bytes.

use arrow_buffer::i256;

use crate::encoding::Encoding;
use crate::error::Result;
use crate::mask::Mask;
use crate::restriction::{Range, words_of_decimals};
use crate::view::{View, push_pad8};
use crate::words::{self, Coded, Decoder, codes_mask, push_coded};

/// Greatest power of ten that decimals are divided by: the scale of numbers without a precision.
const POWER_MAX: u8 = 20;

/// Values in one of their encodings; all but `Scaled` hand out bytes.
pub(crate) enum Fixed<'a> {
    Plain(View<'a>, usize),
    Dictionary(Coded<'a>),
    Scaled { words: Decoder<'a>, power: Power },
}

impl<'a> Fixed<'a> {
    /// A decoder of `count` values of `width` bytes that begin at `at`.
    pub fn parse(
        view: View<'a>,
        at: usize,
        encoding: Encoding,
        (width, count): (usize, usize),
    ) -> Result<Fixed<'a>> {
        match encoding {
            Encoding::Plain => Ok(Fixed::Plain(view.tail(at)?, count)),
            Encoding::Dictionary => Ok(Fixed::Dictionary(Coded::parse(view, at, width, count)?)),
            Encoding::Scaled => Fixed::parse_scaled(view, at, count),
            _ => Err(view.damage(at, "an encoding that values of 16 bytes do not have")),
        }
    }

    fn parse_scaled(view: View<'a>, at: usize, count: usize) -> Result<Fixed<'a>> {
        let power = view.u8(at)?;
        if power > POWER_MAX {
            return Err(view.damage(at, "a power of ten that cannot be"));
        }
        let inner = Encoding::of_number(view.u8(at + 1)?);
        let inner = inner.ok_or_else(|| view.damage(at + 1, "an encoding that is not known"))?;
        let words = Decoder::parse::<u64>(view, at + 8, inner, count)?;
        Ok(Fixed::Scaled { words, power: Power::of(power) })
    }

    /// All values; `N` is their width.
    pub fn decode<const N: usize>(&self) -> Result<Vec<[u8; N]>> {
        match self {
            Fixed::Plain(view, count) => Ok(view.bytes(0, count * N)?.as_chunks::<N>().0.to_vec()),
            Fixed::Dictionary(coded) => {
                let entries = coded.entries()?.as_chunks::<N>().0;
                Ok(coded.codes()?.into_iter().map(|code| entries[usize::from(code)]).collect())
            }
            Fixed::Scaled { words, power } => {
                let words: Vec<u64> = words.decode()?;
                Ok(words.into_iter().map(|word| scaled(word, *power)).collect())
            }
        }
    }

    /// The value of one row.
    pub fn get<const N: usize>(&self, index: usize) -> Result<[u8; N]> {
        match self {
            Fixed::Plain(view, _) => view.array(index * N),
            Fixed::Dictionary(coded) => Ok(coded.get(index)?.as_chunks::<N>().0[0]),
            Fixed::Scaled { words, power } => Ok(scaled(words.get(index)?, *power)),
        }
    }

    /// The rows whose value is in `range`; `contains` looks at one value.
    pub fn in_range<const N: usize>(
        &self,
        range: &Range,
        contains: impl Fn(&[u8; N]) -> bool,
    ) -> Result<Mask> {
        match self {
            Fixed::Scaled { words, power } => match words_of_decimals(range, power.wide()) {
                Some((least, greatest)) => words.in_range::<u64>(least, greatest),
                None => Ok(Mask::NONE),
            },
            Fixed::Dictionary(coded) => {
                let entries = coded.entries()?.as_chunks::<N>().0;
                let wanted: Vec<u8> = entries.iter().map(|e| u8::from(contains(e))).collect();
                Ok(codes_mask(&coded.codes()?, &wanted))
            }
            Fixed::Plain(..) => {
                let values = self.decode::<N>()?;
                Ok(Mask::from_fn(values.len(), |row| contains(&values[row])))
            }
        }
    }
}

/// The first `N` bytes of the product, modulo 2^256.
#[inline]
fn scaled<const N: usize>(word: u64, power: Power) -> [u8; N] {
    let word = word.cast_signed();
    let Power::Narrow(power) = power else {
        let bytes = i256::from(word).wrapping_mul(power.wide()).to_le_bytes();
        return std::array::from_fn(|i| bytes[i]);
    };
    let product = i128::from(word) * i128::from(power);
    let (bytes, sign) = (product.to_le_bytes(), ((product >> 127) as i8).cast_unsigned());
    std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(sign))
}

/// A power of ten. Products with a narrow one have 128 bits.
#[derive(Clone, Copy)]
pub(crate) enum Power {
    Narrow(i64),
    Wide(i256),
}

impl Power {
    fn of(exponent: u8) -> Power {
        let power = power_of_ten(exponent);
        match power.to_i128().and_then(|power| i64::try_from(power).ok()) {
            Some(power) => Power::Narrow(power),
            None => Power::Wide(power),
        }
    }

    fn wide(self) -> i256 {
        match self {
            Power::Narrow(power) => i256::from(power),
            Power::Wide(power) => power,
        }
    }
}

fn power_of_ten(power: u8) -> i256 {
    i256::from_i128(10_i128.pow(power.into()))
}

/// The decimal in little-endian bytes; one of 16 has its sign extended.
pub(crate) fn decimal_of<const N: usize>(bytes: &[u8; N]) -> i256 {
    let sign = if bytes[N - 1] >> 7 == 1 { u8::MAX } else { 0 };
    i256::from_le_bytes(std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(sign)))
}

/// The first `N` bytes of each decimal.
pub(crate) fn decimal_bytes<const N: usize>(values: &[i256]) -> Vec<[u8; N]> {
    let bytes = |value: &i256| {
        let bytes = value.to_le_bytes();
        std::array::from_fn(|i| bytes[i])
    };
    values.iter().map(bytes).collect()
}

/// Appends decimals: scaled if all fit 64 bits then, else as bytes.
pub(crate) fn encode_decimals<const N: usize>(values: &[i256], out: &mut Vec<u8>) -> Encoding {
    let power = common_power(values);
    let divisor = power_of_ten(power);
    let word = |value: &i256| i64::try_from(value.wrapping_div(divisor).to_i128()?).ok();
    let words: Option<Vec<u64>> =
        values.iter().map(|value| word(value).map(i64::cast_unsigned)).collect();
    let Some(words) = words else { return encode_bytes(&decimal_bytes::<N>(values), out) };
    let mut rest = Vec::new();
    let inner = words::encode(&words, &mut rest);
    out.extend_from_slice(&[power, inner.number()]);
    push_pad8(out);
    out.extend_from_slice(&rest);
    Encoding::Scaled
}

/// The greatest power of ten that divides all values.
fn common_power(values: &[i256]) -> u8 {
    let mut power = POWER_MAX;
    for value in values {
        while power > 0 && value.wrapping_rem(power_of_ten(power)) != i256::ZERO {
            power -= 1;
        }
    }
    power
}

/// Appends values as they are, or as a dictionary if that is shorter.
pub(crate) fn encode_bytes<const N: usize>(values: &[[u8; N]], out: &mut Vec<u8>) -> Encoding {
    let mut entries = values.to_vec();
    entries.sort_unstable();
    entries.dedup();
    // A code takes at most ten bits, its entry is worth the rest.
    if entries.len() * N + values.len() * 10 / 8 + 160 >= values.len() * N {
        values.iter().for_each(|value| out.extend_from_slice(value));
        return Encoding::Plain;
    }
    let code = |value: &[u8; N]| entries.binary_search(value).expect("each value is an entry");
    let codes: Vec<u16> = values.iter().map(|value| code(value) as u16).collect();
    push_coded(entries.len(), entries.iter().flatten().copied(), &codes, out);
    Encoding::Dictionary
}
