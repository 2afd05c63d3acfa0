//! Scripts of coroutines: statements over locals of 64 bits and slices of words.

use std::marker::PhantomData;

use ir::{Arithmetic, Comparison};

use super::frame::ARGUMENTS_MAX;
use super::proxy::{Proxy, Table};

/// A word that survives suspensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local(pub(super) usize);

/// Words that the caller lends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice(pub(super) usize);

/// One of the proxies of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyId(pub(super) usize);

/// A word.
#[derive(Clone, Debug)]
pub enum Expr {
    /// The same word always.
    Constant(i64),
    /// The word of a local.
    Local(Local),
    /// How many words there are.
    Length(Slice),
    /// The word at a position; outside of the slice a fault.
    Element(Slice, Box<Expr>),
    /// An operation; an overflow is a fault, as is a division by zero.
    Compute(Arithmetic, Box<Expr>, Box<Expr>),
    /// 1 or 0.
    Compare(Comparison, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// The operation on two words.
    pub fn compute(operation: Arithmetic, left: impl Into<Expr>, right: impl Into<Expr>) -> Expr {
        Expr::Compute(operation, Box::new(left.into()), Box::new(right.into()))
    }

    /// The comparison of two words.
    pub fn compare(comparison: Comparison, left: impl Into<Expr>, right: impl Into<Expr>) -> Expr {
        Expr::Compare(comparison, Box::new(left.into()), Box::new(right.into()))
    }

    /// The word at a position.
    pub fn element(slice: Slice, at: impl Into<Expr>) -> Expr {
        Expr::Element(slice, Box::new(at.into()))
    }
}

impl From<i64> for Expr {
    fn from(word: i64) -> Expr {
        Expr::Constant(word)
    }
}

impl From<Local> for Expr {
    fn from(local: Local) -> Expr {
        Expr::Local(local)
    }
}

/// A step of a script.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Gives a local a word.
    Set(Local, Expr),
    /// Asks a proxy; here the coroutine may be suspended, and dropped.
    Await {
        /// Whom it asks.
        proxy: ProxyId,
        /// The words that it asks.
        arguments: Vec<Expr>,
        /// Gets 1 if there is an answer, otherwise 0.
        found: Local,
        /// Gets the answer, or 0.
        word: Local,
    },
    /// Does it as long as the word is not 0; looks each time whether it is to stop.
    While(Expr, Vec<Statement>),
    /// Does the first if the word is not 0, otherwise the second.
    If(Expr, Vec<Statement>, Vec<Statement>),
}

/// A coroutine to be compiled. Its proxies are asked with an environment `E`, which whoever runs it
/// lends.
pub struct Script<E> {
    pub(super) parameters: usize,
    pub(super) locals: usize,
    pub(super) slices: usize,
    pub(super) proxies: Vec<Table>,
    pub(super) body: Vec<Statement>,
    pub(super) results: Vec<Local>,
    environment: PhantomData<fn(&E)>,
}

impl<E> Script<E> {
    /// A script that is given some words and some slices.
    pub fn new(parameters: usize, slices: usize) -> Script<E> {
        Script {
            parameters,
            locals: parameters,
            slices,
            proxies: Vec::new(),
            body: Vec::new(),
            results: Vec::new(),
            environment: PhantomData,
        }
    }

    /// A word that it is given.
    ///
    /// # Panics
    /// If it is not.
    pub fn parameter(&self, at: usize) -> Local {
        assert!(at < self.parameters, "the script has so many parameters");
        Local(at)
    }

    /// A slice that it is given.
    ///
    /// # Panics
    /// If it is not.
    pub fn slice(&self, at: usize) -> Slice {
        assert!(at < self.slices, "the script has so many slices");
        Slice(at)
    }

    /// Another local, 0 at first.
    pub fn local(&mut self) -> Local {
        self.locals += 1;
        Local(self.locals - 1)
    }

    /// A proxy that it asks.
    pub fn proxy<P: Proxy<E>>(&mut self) -> ProxyId {
        self.proxies.push(Table::of::<E, P>());
        ProxyId(self.proxies.len() - 1)
    }

    /// Adds a statement.
    ///
    /// # Panics
    /// If it asks a proxy more than [`ARGUMENTS_MAX`] words.
    pub fn push(&mut self, statement: Statement) {
        check(&statement);
        self.body.push(statement);
    }

    /// The locals that it answers with at its end.
    pub fn answer(&mut self, results: &[Local]) {
        self.results = results.to_vec();
    }
}

fn check(statement: &Statement) {
    match statement {
        Statement::Set(..) => {}
        Statement::Await { arguments, .. } => {
            assert!(arguments.len() <= ARGUMENTS_MAX, "a proxy takes so many words");
        }
        Statement::While(_, body) => body.iter().for_each(check),
        Statement::If(_, yes, no) => yes.iter().chain(no).for_each(check),
    }
}
