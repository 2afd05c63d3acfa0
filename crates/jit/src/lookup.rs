//! Look-ups by a batch of keys: the first program of rows, over whatever looks a key up.

use ir::{Arithmetic, Comparison};

use crate::compiler::Compiler;
use crate::coroutine::{Coroutine, Expr, Proxy, Script, Statement};
use crate::refusal::NotCompiled;

/// Looks up each key of its slice by `P`, and of the words that it finds takes those in a range
/// (its two parameters). It answers with their sum, their count, and how many keys are missing.
pub struct Sum;

impl Sum {
    /// The coroutine.
    ///
    /// # Errors
    /// Why there is none.
    pub fn compile<E, P: Proxy<E>>(compiler: &Compiler) -> Result<Coroutine<E>, NotCompiled> {
        compiler.coroutine(&Sum::script::<E, P>())
    }

    /// The script of the coroutine.
    pub fn script<E, P: Proxy<E>>() -> Script<E> {
        let mut script = Script::new(2, 1);
        let (least, greatest, keys) = (script.parameter(0), script.parameter(1), script.slice(0));
        let [at, sum, count, missing] = [(); 4].map(|()| script.local());
        let [found, word] = [(); 2].map(|()| script.local());
        let lookup = script.proxy::<P>();
        let add =
            |local, more: Expr| Statement::Set(local, Expr::compute(Arithmetic::Add, local, more));
        let is_least = Expr::compare(Comparison::GreaterOrEqual, word, least);
        let is_greatest = Expr::compare(Comparison::LessOrEqual, word, greatest);
        let take = vec![add(sum, word.into()), add(count, 1.into())];
        let in_range =
            vec![Statement::If(is_least, vec![Statement::If(is_greatest, take, vec![])], vec![])];
        let turn = vec![
            Statement::Await {
                proxy: lookup,
                arguments: vec![Expr::element(keys, at)],
                found,
                word,
            },
            Statement::If(found.into(), in_range, vec![add(missing, 1.into())]),
            add(at, 1.into()),
        ];
        let is_key = Expr::compare(Comparison::Less, at, Expr::Length(keys));
        script.push(Statement::While(is_key, turn));
        script.answer(&[sum, count, missing]);
        script
    }
}
