//! What is known of a statement's parameters while their types are being found.

pub(crate) mod expressions;
pub(crate) mod relations;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::{DataType, Field};
use datafusion_common::{DFSchema, DataFusionError, ExprSchema, Result, ScalarValue};
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion_expr::{Expr, ExprSchemable, Operator};
use datafusion_sql::sqlparser::ast::BinaryOperator;
use types::{LogicalType, SqlError, SqlState, oid};

use crate::analyze::told;
use crate::analyze::told::told_oid;
use crate::signatures;
use crate::signatures::{Choice, array_of, common_type, type_name};

/// The types of parameters, as far as they are known; shared with the library's binder.
#[derive(Clone, Debug)]
pub(crate) struct Inference(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// 0 is open.
    types: Vec<u32>,
    /// Whether a parameter stands where any type would do.
    indifferent: Vec<bool>,
    /// What cannot be whatever else is found.
    refused: Option<SqlError>,
}

impl Inference {
    /// Of parameters with these types; 0 is open.
    pub(crate) fn new(oids: &[u32]) -> Inference {
        let (types, indifferent) = (oids.to_vec(), vec![false; oids.len()]);
        Inference(Arc::new(Mutex::new(State { types, indifferent, refused: None })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known so far.
    pub(crate) fn known(&self) -> Vec<u32> {
        self.state().types.clone()
    }

    /// An error that no more types would mend.
    pub(crate) fn refused(&self) -> Option<SqlError> {
        self.state().refused.clone()
    }

    /// Refuses the statement.
    pub(crate) fn refuse(&self, error: SqlError) -> DataFusionError {
        self.state().refused.get_or_insert_with(|| error.clone());
        DataFusionError::External(Box::new(error))
    }

    /// Whether a parameter stands where any type would do.
    pub(crate) fn is_indifferent(&self, index: usize) -> bool {
        self.state().indifferent.get(index).copied().unwrap_or_default()
    }

    /// Notes that an expression stands where any type would do.
    pub(crate) fn ignore(&self, expr: &Expr) {
        if let Some(index) = self.open(expr)
            && let Some(place) = self.state().indifferent.get_mut(index)
        {
            *place = true;
        }
    }

    /// Gives every expression within `expr` the types that follow from what stands around it.
    pub(crate) fn typed(&self, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        expressions::typed(self, expr, schema)
    }

    /// The number of an open parameter that the whole expression is, from 0.
    pub(crate) fn open(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Alias(alias) => self.open(&alias.expr),
            Expr::Placeholder(placeholder) => {
                let index = crate::parse::expressions::index(&placeholder.id)?;
                (self.state().types.get(index) == Some(&0)).then_some(index)
            }
            _ => None,
        }
    }

    /// The type of a parameter by its number, if it is open.
    pub(crate) fn settle(&self, index: usize, ty: u32) {
        if let Some(place @ 0) = self.state().types.get_mut(index)
            && ty != oid::UNKNOWN
        {
            *place = ty;
        }
    }

    /// Whether nothing is known of a parameter.
    pub(crate) fn is_open(&self, index: usize) -> bool {
        self.state().types.get(index) == Some(&0)
    }

    /// The types of open parameters by their numbers, as one list of values tells them. One that stands for
    /// values of several types is refused.
    pub(crate) fn settle_together(&self, places: Vec<(usize, u32)>) {
        for (at, (index, ty)) in places.iter().enumerate() {
            match places[..at].iter().find(|(before, _)| before == index) {
                Some((_, first)) if first != ty => {
                    drop(self.refuse(inconsistent(*index, [*first, *ty])))
                }
                Some(_) => {}
                None => self.settle(*index, *ty),
            }
        }
    }

    /// The type of an expression that is an open parameter; others keep theirs.
    pub(crate) fn assign(&self, expr: &mut Expr, ty: u32) {
        if let Some(index) = self.open(expr) {
            self.settle(index, ty);
            self.show(expr);
        }
    }

    /// Shows the library what is known of a parameter, and nothing else: it has guesses of its own.
    pub(crate) fn show(&self, expr: &mut Expr) {
        match expr {
            Expr::Alias(alias) => self.show(&mut alias.expr),
            Expr::Placeholder(placeholder) => {
                let index = crate::parse::expressions::index(&placeholder.id);
                let ty = index.and_then(|index| self.state().types.get(index).copied());
                placeholder.field = ty.filter(|ty| *ty != 0).map(|ty| {
                    let own = oid::parameter(ty, None).map_or(DataType::Utf8View, vector);
                    Arc::new(told::told(Field::new("", own, true), ty))
                });
            }
            _ => {}
        }
    }

    /// The type of an expression as PostgreSQL numbers it; open parameters, nulls and literals in quotes
    /// are of an unknown one.
    pub(crate) fn oid_of(&self, expr: &Expr, schema: &DFSchema) -> Result<u32> {
        Ok(match expr {
            Expr::Alias(alias) => self.oid_of(&alias.expr, schema)?,
            Expr::Literal(ScalarValue::Utf8(_), _) => oid::UNKNOWN,
            Expr::Literal(ScalarValue::Int64(Some(v)), _) if i32::try_from(*v).is_ok() => oid::INT4,
            Expr::Placeholder(_) if self.open(expr).is_some() => oid::UNKNOWN,
            Expr::Placeholder(placeholder) => match &placeholder.field {
                Some(field) => told_oid(field),
                None => oid::UNKNOWN,
            },
            Expr::Column(column) => {
                schema.field_from_column(column).map_or(oid::UNKNOWN, |field| told_oid(field))
            }
            Expr::OuterReferenceColumn(field, _) => told_oid(field),
            Expr::Cast(cast) => told_oid(&cast.field),
            // To the library literals in it are bigint.
            Expr::ScalarFunction(call)
                if call.func.name() == "make_array" && !call.args.is_empty() =>
            {
                let elements = call.args.iter().map(|arg| self.oid_of(arg, schema));
                let common = common_type(&elements.collect::<Result<Vec<_>>>()?);
                match common.and_then(array_of) {
                    Some(ty) => ty,
                    None => oid::of(&expr.get_type(schema)?).oid,
                }
            }
            Expr::ScalarFunction(call)
                if matches!(call.func.name(), "coalesce" | "greatest" | "least" | "abs") =>
            {
                self.common_of(call.args.iter(), schema)?.map_or_else(|| own(expr, schema), Ok)?
            }
            // Its own type where `=` has such an operator, else that to which `=` brings it.
            Expr::ScalarFunction(call) if call.func.name() == "nullif" && call.args.len() == 2 => {
                let given =
                    [self.oid_of(&call.args[0], schema)?, self.oid_of(&call.args[1], schema)?];
                match signatures::operator("=", given) {
                    Choice::One(types) if types[0] != 0 => types[0],
                    _ => own(expr, schema)?,
                }
            }
            Expr::AggregateFunction(call)
                if matches!(call.func.name(), "min" | "max") && call.params.args.len() == 1 =>
            {
                self.oid_of(&call.params.args[0], schema)?
            }
            Expr::Negative(value) => match value.as_ref() {
                Expr::Literal(ScalarValue::Int64(Some(least)), _) if *least == MIN_INT4 => {
                    oid::INT8
                }
                value => self.oid_of(value, schema)?,
            },
            Expr::BinaryExpr(pair) if is_arithmetic(pair.op) => {
                let sides = [self.oid_of(&pair.left, schema)?, self.oid_of(&pair.right, schema)?];
                match sides {
                    [oid::INT4 | oid::INT2, oid::INT4] | [oid::INT4, oid::INT2] => oid::INT4,
                    _ => own(expr, schema)?,
                }
            }
            Expr::Case(case) => {
                let thens = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
                let results = case.else_expr.iter().map(AsRef::as_ref).chain(thens);
                self.common_of(results, schema)?.map_or_else(|| own(expr, schema), Ok)?
            }
            other => own(other, schema)?,
        })
    }

    /// The type that some expressions have in common, as literals are of it which the library takes for bigint.
    fn common_of<'a>(
        &self,
        exprs: impl Iterator<Item = &'a Expr>,
        schema: &DFSchema,
    ) -> Result<Option<u32>> {
        let given = exprs.map(|expr| self.oid_of(expr, schema)).collect::<Result<Vec<_>>>()?;
        Ok(common_type(&given).filter(|ty| *ty != oid::UNKNOWN))
    }
}

/// Its negation is no `integer`.
const MIN_INT4: i64 = i32::MIN as i64;

fn is_arithmetic(op: Operator) -> bool {
    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | Modulo)
}

/// The type that the library gives an expression.
fn own(expr: &Expr, schema: &DFSchema) -> Result<u32> {
    Ok(match expr.get_type(schema)? {
        DataType::Null => oid::UNKNOWN,
        ty => oid::of(&ty).oid,
    })
}

/// The vectors of a declared parameter; a `numeric` has any number of digits.
fn vector(ty: LogicalType) -> DataType {
    match ty {
        LogicalType::Decimal { .. } => LogicalType::Numeric.arrow(),
        other => other.arrow(),
    }
}

/// Finds types of operands before the library looks at them.
impl ExprPlanner for Inference {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        expr.left = self.typed(expr.left, schema)?;
        expr.right = self.typed(expr.right, schema)?;
        if let Some(name) = operator_name(&expr.op) {
            expressions::operator(self, name, [&mut expr.left, &mut expr.right], schema)?;
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// PostgreSQL's name of an operator whose operands decide about types.
fn operator_name(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::Plus => "+",
        BinaryOperator::Minus => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::Eq => "=",
        BinaryOperator::NotEq => "<>",
        BinaryOperator::Lt => "<",
        BinaryOperator::LtEq => "<=",
        BinaryOperator::Gt => ">",
        BinaryOperator::GtEq => ">=",
        BinaryOperator::StringConcat => "||",
        BinaryOperator::AtArrow => "@>",
        BinaryOperator::ArrowAt => "<@",
        BinaryOperator::PGOverlap => "&&",
        BinaryOperator::PGExp => "^",
        BinaryOperator::BitwiseAnd => "&",
        BinaryOperator::BitwiseOr => "|",
        BinaryOperator::PGBitwiseXor => "#",
        BinaryOperator::PGBitwiseShiftLeft => "<<",
        BinaryOperator::PGBitwiseShiftRight => ">>",
        BinaryOperator::PGRegexMatch => "~",
        BinaryOperator::PGRegexIMatch => "~*",
        BinaryOperator::PGRegexNotMatch => "!~",
        BinaryOperator::PGRegexNotIMatch => "!~*",
        _ => return None,
    })
}

/// 42P08: a parameter is a value of two types.
fn inconsistent(index: usize, types: [u32; 2]) -> SqlError {
    let message = format!("inconsistent types deduced for parameter ${}", index + 1);
    let [first, second] = types.map(type_name);
    SqlError::new(SqlState::AMBIGUOUS_PARAMETER, message)
        .with_detail(format!("{first} versus {second}"))
}
