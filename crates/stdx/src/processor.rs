//! Which vector instructions the processor has: functions are compiled for several kinds of processor, and
//! one is chosen when the program runs.

/// Vector instructions that the processor at hand has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors(Width);

/// How wide they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// What every processor has that the program is compiled for.
    Portable,
    /// 256 bits: AVX2.
    Avx2,
    /// 512 bits: AVX-512 with its instructions for bytes, double and quad words, and shorter vectors.
    Avx512,
}

impl Vectors {
    /// The widest ones.
    pub fn widest() -> Vectors {
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if has_avx512 {
                return Vectors(Width::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                return Vectors(Width::Avx2);
            }
        }
        Vectors(Width::Portable)
    }

    /// All that there are, the widest last: tests compare what is computed with each.
    pub fn all() -> Vec<Vectors> {
        let widths = [Width::Portable, Width::Avx2, Width::Avx512].into_iter();
        // A processor with AVX-512 has AVX2, too.
        widths.filter(|width| *width <= Vectors::widest().0).map(Vectors).collect()
    }

    /// How wide they are.
    pub fn width(self) -> Width {
        self.0
    }
}

/// Defines a function that is compiled for each kind of processor; its first argument chooses. What its
/// body calls belongs to it where it is inlined only, so loops are best written out.
#[macro_export]
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        $(#[$meta])*
        $vis fn $name(vectors: $crate::Vectors, $($arg: $ty),*) -> $ret {
            #[inline(always)]
            fn portable($($arg: $ty),*) -> $ret $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $ty),*) -> $ret {
                portable($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512($($arg: $ty),*) -> $ret {
                portable($($arg),*)
            }

            match vectors.width() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: only a processor that has these instructions has vectors of this width.
                $crate::Width::Avx2 => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                $crate::Width::Avx512 => unsafe { avx512($($arg),*) },
                _ => portable($($arg),*),
            }
        }
    };
}
