//! Plans against a naive reference, in all modes, with artificial suspensions.

mod build;
mod exchange;
mod groups;
mod joins;
mod memory;
mod operators;
mod random;
mod reference;
mod rig;
mod sideways;
mod stop;
mod turns;
