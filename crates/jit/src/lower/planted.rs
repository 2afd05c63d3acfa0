//! Faults of single lowerings, which tests plant: a fuzz that does not find them is none.

#[cfg(test)]
use std::cell::Cell;

/// A wrong lowering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Sums that overflow are not refused.
    SumsWrapAround,
    /// The quotient of the least word by -1 is not refused.
    LeastByMinusOne,
    /// A division refuses for a null row, too.
    NullsDivide,
    /// A NaN is neither equal to a NaN nor the greatest.
    NanHasNoOrder,
    /// Products of floats that become zero are not refused.
    ProductsVanish,
    /// A NaN divided by zero is refused.
    NanDividedByZero,
    /// A NaN is what the processor makes.
    NanHasASign,
    /// Negative words become large floats.
    WordsHaveNoSign,
}

impl Fault {
    #[cfg(test)]
    pub(crate) const ALL: [Fault; 8] = [
        Fault::SumsWrapAround,
        Fault::LeastByMinusOne,
        Fault::NullsDivide,
        Fault::NanHasNoOrder,
        Fault::ProductsVanish,
        Fault::NanDividedByZero,
        Fault::NanHasASign,
        Fault::WordsHaveNoSign,
    ];
}

#[cfg(test)]
thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// True if the fault is planted; never in a build without tests.
pub(super) fn is(fault: Fault) -> bool {
    #[cfg(test)]
    return PLANTED.get() == Some(fault);
    #[cfg(not(test))]
    {
        let _ = fault;
        false
    }
}

/// Does some work of this thread with a fault.
#[cfg(test)]
pub(crate) fn with<T>(fault: Fault, work: impl FnOnce() -> T) -> T {
    PLANTED.set(Some(fault));
    let done = work();
    PLANTED.set(None);
    done
}
