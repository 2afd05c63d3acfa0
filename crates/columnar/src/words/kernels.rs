//! The loops over words, compiled for each kind of processor.

/// The loops for one kind of word and one kind of processor. Those of one row of words stand alone and
/// have lengths that are known, so that each becomes some vector instructions.
macro_rules! loops {
    ($name:ident, $word:ident $(, #[$features:meta])?) => {
        mod $name {
            use crate::layout::VECTOR_ROWS;
            use crate::mask::Mask;
            use crate::words::{ROW_BYTES, Word};

            const LANES: usize = <$word as Word>::LANES;
            const BITS: usize = <$word as Word>::BITS;

            type Packed = [u8; ROW_BYTES];
            type Row = [$word; LANES];

            $(#[$features])?
            pub(super) fn unpack(
                packed: &[u8],
                width: usize,
                (base, factor): ($word, $word),
                out: &mut [$word],
            ) {
                let packed = packed.as_chunks::<ROW_BYTES>().0;
                let load = |row: usize| packed.get(row).unwrap_or(&[0; ROW_BYTES]);
                let mask = if width == 0 { 0 } else { $word::MAX >> (BITS - width) };
                // With a factor, the base is added after it.
                let first_base = if factor == 1 { base } else { 0 };
                for (row, values) in out.as_chunks_mut().0.iter_mut().enumerate() {
                    let (at, shift) = (row * width / BITS, row * width % BITS);
                    let codes = (shift as u32, mask, first_base);
                    match shift + width > BITS {
                        true => join(values, load(at), load(at + 1), codes),
                        false => cut(values, load(at), codes),
                    }
                    if factor != 1 {
                        scale(values, factor, base);
                    }
                }
            }

            $(#[$features])?
            pub(super) fn in_range(words: &[$word], least: $word, span: $word) -> Mask {
                let mut flags = [0; VECTOR_ROWS];
                for (flag, word) in flags.iter_mut().zip(words) {
                    *flag = u8::from(word.wrapping_sub(least) <= span);
                }
                Mask::from_flags(&flags)
            }

            $(#[$features])?
            #[inline(never)]
            fn cut(values: &mut Row, packed: &Packed, (shift, mask, base): (u32, $word, $word)) {
                for (value, word) in values.iter_mut().zip(words(packed)) {
                    *value = (word.wrapping_shr(shift) & mask).wrapping_add(base);
                }
            }

            $(#[$features])?
            #[inline(never)]
            fn join(
                values: &mut Row,
                low: &Packed,
                high: &Packed,
                (shift, mask, base): (u32, $word, $word),
            ) {
                let left = $word::BITS - shift;
                for ((value, low), high) in values.iter_mut().zip(words(low)).zip(words(high)) {
                    let code = low.wrapping_shr(shift) | high.wrapping_shl(left);
                    *value = (code & mask).wrapping_add(base);
                }
            }

            $(#[$features])?
            #[inline(never)]
            fn scale(values: &mut Row, factor: $word, base: $word) {
                for value in values {
                    *value = value.wrapping_mul(factor).wrapping_add(base);
                }
            }

            #[inline(always)]
            fn words(packed: &Packed) -> Row {
                let bytes = packed.as_chunks::<{ <$word as Word>::BYTES }>().0;
                std::array::from_fn(|lane| $word::from_le_bytes(bytes[lane]))
            }
        }
    };
}

/// The loops for one kind of word, and the choice among them.
macro_rules! kernels {
    ($word:ident) => {
        pub(super) mod $word {
            use stdx::{Vectors, Width};

            use crate::mask::Mask;

            loops!(portable, $word);
            #[cfg(target_arch = "x86_64")]
            loops!(avx2, $word, #[target_feature(enable = "avx2")]);
            #[cfg(target_arch = "x86_64")]
            loops!(
                avx512,
                $word,
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            );

            pub(in crate::words) fn unpack(
                vectors: Vectors,
                packed: &[u8],
                width: usize,
                scale: ($word, $word),
                out: &mut [$word],
            ) {
                match vectors.width() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: only a processor that has these instructions has vectors of this width.
                    Width::Avx2 => unsafe { avx2::unpack(packed, width, scale, out) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    Width::Avx512 => unsafe { avx512::unpack(packed, width, scale, out) },
                    _ => portable::unpack(packed, width, scale, out),
                }
            }

            pub(in crate::words) fn in_range(
                vectors: Vectors,
                words: &[$word],
                least: $word,
                span: $word,
            ) -> Mask {
                match vectors.width() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: only a processor that has these instructions has vectors of this width.
                    Width::Avx2 => unsafe { avx2::in_range(words, least, span) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    Width::Avx512 => unsafe { avx512::in_range(words, least, span) },
                    _ => portable::in_range(words, least, span),
                }
            }
        }
    };
}

kernels!(u16);
kernels!(u32);
kernels!(u64);
