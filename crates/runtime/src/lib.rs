//! One worker per core: coroutines over a ring.
