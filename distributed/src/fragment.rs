//! A fragment: the part of a query that runs over each partition of one table, as a typed
//! description. Whoever has the table makes a plan of it (`lower`); it crosses machines as a
//! message (`wire`).

pub mod wire;

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion::physical_expr::PhysicalExpr;

use crate::local::State;

/// An expression over the columns of the step before.
pub type Scalar = Arc<dyn PhysicalExpr>;

/// The work on the rows of a table, step after step.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// The table's name.
    pub table: String,
    /// The database that the partitions were cut in.
    pub state: State,
    /// Ordinals of the columns that are read, in the order in which the first step sees them.
    pub columns: Vec<usize>,
    /// Their names and types.
    pub read: SchemaRef,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One operator over the rows of the step before.
#[derive(Clone, Debug)]
pub enum Step {
    /// Rows for which this is true.
    Filter(Scalar),
    /// One expression for each column.
    Project(Vec<Scalar>, SchemaRef),
    /// Groups, each with states of aggregates that others complete.
    Aggregate(Partial),
}

/// A partial aggregation: its rows are the values of the groups, then the states.
#[derive(Clone, Debug)]
pub struct Partial {
    /// Group columns; none is one group, even of no rows.
    pub groups: Vec<Scalar>,
    /// Columns of states.
    pub states: Vec<Aggregate>,
    /// Names and types of both.
    pub schema: SchemaRef,
}

/// A column of the state of an aggregate, which is an aggregate itself.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// The function.
    pub function: Function,
    /// Its argument; none of those that count rows.
    pub arg: Option<Scalar>,
    /// Only rows for which this is true.
    pub filter: Option<Scalar>,
    /// The type that the state has.
    pub ty: DataType,
}

/// Aggregates of which partitions can be put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Function {
    /// Rows.
    Rows = 0,
    /// Values that are not null.
    Count = 1,
    /// The sum of the values.
    Sum = 2,
    /// The smallest value.
    Min = 3,
    /// The largest value.
    Max = 4,
}

impl Fragment {
    /// The whole table, some of its columns.
    pub fn of_table(table: &str, state: State, columns: Vec<usize>, read: SchemaRef) -> Fragment {
        Fragment { table: table.to_owned(), state, columns, read, steps: vec![] }
    }

    /// The same with one step more.
    #[must_use]
    pub fn then(&self, step: Step) -> Fragment {
        let mut longer = self.clone();
        longer.steps.push(step);
        longer
    }

    /// Names and types of its rows.
    pub fn schema(&self) -> SchemaRef {
        self.steps.iter().rev().find_map(Step::schema).unwrap_or(&self.read).clone()
    }

    /// True if the last step aggregates: others complete its rows.
    pub fn is_partial(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Aggregate(_)))
    }
}

impl Step {
    /// Names and types of its rows, if they are not those of the step before.
    pub fn schema(&self) -> Option<&SchemaRef> {
        match self {
            Step::Filter(_) => None,
            Step::Project(_, schema) => Some(schema),
            Step::Aggregate(partial) => Some(&partial.schema),
        }
    }
}

fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// The operators, as EXPLAIN shows them.
impl fmt::Display for Fragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.read.fields().iter().map(|field| field.name());
        write!(f, "Scan {} [{}]", self.table, list(names))?;
        self.steps.iter().try_for_each(|step| write!(f, " -> {step}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Filter(predicate) => write!(f, "Filter [{predicate}]"),
            Step::Project(exprs, _) => write!(f, "Project [{}]", list(exprs)),
            Step::Aggregate(Partial { groups, states, .. }) => {
                write!(f, "PartialAggregate [by: {}; {}]", list(groups), list(states))
            }
        }
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.arg {
            None => f.write_str("count(*)")?,
            Some(arg) => write!(f, "{}({arg})", self.function.name())?,
        }
        self.filter.iter().try_for_each(|filter| write!(f, " filter ({filter})"))
    }
}

impl Function {
    /// As SQL names it.
    pub fn name(self) -> &'static str {
        match self {
            Function::Rows | Function::Count => "count",
            Function::Sum => "sum",
            Function::Min => "min",
            Function::Max => "max",
        }
    }
}
