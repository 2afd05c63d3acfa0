//! Statements that run again and again: a look-up by key is parsed and planned once.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use plan::catalog::TableDef;
use plan::{Access, Plan};
use sql::dml::Compiled;
use sql::parse::Transaction;
use sql::{DeviceProfile, InFlight, Parameter, PointQuery, Statement, Template};
use types::zone::Zone;

use crate::access::role::RoleId;

/// Types of values that a statement is compiled for at once.
pub(crate) const COMPILED_MAX: usize = 4;

/// Plans of a look-up that are kept at once.
pub(crate) const POINTS_MAX: usize = 16;

/// A statement with the plan that its last execution left.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) template: Template,
    planned: Mutex<Planned>,
}

/// What is known of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    /// It did not run yet.
    Nothing,
    /// It was planned, and has to be for each execution.
    EachTime,
    /// Its plans are good for all values, each for a role, a zone and switches of the planner: the
    /// sessions of a database share what is known by its text.
    Points(Vec<Arc<Cached>>),
    /// It changes rows, and is compiled for values of several types.
    Compiled(Vec<Arc<Compiled>>),
    /// It begins or ends a transaction, and is the same each time.
    Transaction(Transaction),
}

/// A plan, and what it depends on besides the table.
#[derive(Debug)]
pub(crate) struct Cached {
    pub(crate) point: PointQuery,
    pub(crate) role: RoleId,
    pub(crate) switches: Switches,
    pub(crate) zone: Zone,
}

/// Settings that the planner follows: operators that may be used, and what decides the price of reads.
pub(crate) type Switches = ([bool; 5], InFlight, DeviceProfile);

/// A look-up with its values.
#[derive(Clone, Debug)]
pub struct PointExecution {
    pub(crate) cached: Arc<Cached>,
    pub(crate) access: Access,
}

impl PointExecution {
    /// The columns of its result.
    pub fn schema(&self) -> SchemaRef {
        self.cached.point.plan().root.schema.clone()
    }

    /// The access path with other values; `None` for values that need a plan of their own.
    pub(crate) fn with_values(&self, parameters: &[Parameter]) -> Option<Access> {
        self.cached.point.access(parameters)
    }

    /// Its plan, and the access path with the values.
    pub(crate) fn planned(&self) -> (&Arc<Plan>, &Access) {
        (self.cached.point.plan(), &self.access)
    }
}

impl Cached {
    /// True if both are plans for the same kind of session.
    pub(crate) fn is_for_those_of(&self, other: &Cached) -> bool {
        self.role == other.role && self.zone == other.zone && self.switches == other.switches
    }
}

impl Prepared {
    /// A statement that did not run yet.
    pub fn new(template: Template) -> Prepared {
        Prepared { template, planned: Mutex::new(Planned::Nothing) }
    }

    /// The statement.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// True if it means the same until a definition changes.
    pub(crate) fn may_be_kept(&self) -> bool {
        self.template.depends_on_definitions_alone()
    }

    pub(crate) fn planned(&self) -> Planned {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `BEGIN`, `COMMIT` and their like, once one has been parsed.
    pub(crate) fn transaction(&self) -> Option<Statement> {
        match &*self.planned.lock().unwrap_or_else(PoisonError::into_inner) {
            Planned::Transaction(transaction) => Some(Statement::Transaction(transaction.clone())),
            _ => None,
        }
    }

    /// Keeps a statement that begins or ends a transaction.
    pub(crate) fn keep_transaction(&self, statement: &Statement) {
        if let Statement::Transaction(transaction) = statement {
            self.keep(Planned::Transaction(transaction.clone()));
        }
    }

    pub(crate) fn keep(&self, planned: Planned) {
        *self.planned.lock().unwrap_or_else(PoisonError::into_inner) = planned;
    }
}

/// Whether two versions of a table differ in nothing but their rows.
pub(crate) fn same_shape(now: &Arc<TableDef>, planned: &Arc<TableDef>) -> bool {
    let ids = |def: &TableDef| def.indexes.iter().map(|index| index.id).collect::<Vec<_>>();
    Arc::ptr_eq(now, planned)
        || now.id == planned.id
            && now.schema == planned.schema
            && now.primary_key == planned.primary_key
            && ids(now) == ids(planned)
}
