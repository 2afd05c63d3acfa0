//! Statements that run again and again: a look-up by key is parsed and planned once.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use sql::catalog::TableDef;
use sql::dml::Compiled;
use sql::parse::Transaction;
use sql::plan::{Access, Plan};
use sql::{DeviceProfile, InFlight, Parameter, PointQuery, Statement, Template};
use types::SqlResult;
use types::zone::Zone;

use crate::access;
use crate::access::role::RoleId;
use crate::session::Session;

/// Types of values that a statement is compiled for at once.
const COMPILED_MAX: usize = 4;

/// A statement with the plan that its last execution left.
#[derive(Debug)]
pub struct Prepared {
    template: Template,
    planned: Mutex<Planned>,
}

/// What is known of a statement.
#[derive(Clone, Debug)]
enum Planned {
    /// It did not run yet.
    Nothing,
    /// It was planned, and has to be for each execution.
    EachTime,
    /// Its plan is good for all values.
    Point(Arc<Cached>),
    /// It changes rows, and is compiled for values of several types.
    Compiled(Vec<Arc<Compiled>>),
    /// It begins or ends a transaction, and is the same each time.
    Transaction(Transaction),
}

/// A plan, and what it depends on besides the table.
#[derive(Debug)]
struct Cached {
    point: PointQuery,
    role: RoleId,
    switches: Switches,
    zone: Zone,
}

/// Settings that the planner follows: operators that may be used, and what decides the price of reads.
pub(crate) type Switches = ([bool; 5], InFlight, DeviceProfile);

/// A look-up with its values.
#[derive(Clone, Debug)]
pub struct PointExecution {
    cached: Arc<Cached>,
    access: Access,
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

impl Prepared {
    /// A statement that did not run yet.
    pub fn new(template: Template) -> Prepared {
        Prepared { template, planned: Mutex::new(Planned::Nothing) }
    }

    /// The statement.
    pub fn template(&self) -> &Template {
        &self.template
    }

    fn planned(&self) -> Planned {
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

    fn keep(&self, planned: Planned) {
        *self.planned.lock().unwrap_or_else(PoisonError::into_inner) = planned;
    }
}

impl Session {
    /// A prepared statement with its values, when it changes rows and can be compiled for all values;
    /// `None` for all others. `text` is where the values were taken from, if they were.
    pub(crate) fn compiled(
        &self,
        prepared: &Prepared,
        parameters: &[Parameter],
        text: Option<&str>,
    ) -> Option<Statement> {
        if !prepared.template.changes_rows() {
            return None;
        }
        let mut known = match prepared.planned() {
            Planned::Compiled(known) => known,
            Planned::Nothing => vec![],
            Planned::EachTime | Planned::Point(_) | Planned::Transaction(_) => return None,
        };
        let _entered = types::zone::enter(self.context());
        let fits = |compiled: &&Arc<Compiled>| self.is_current(compiled, parameters);
        if let Some(compiled) = known.iter().find(fits) {
            return Some(compiled.statement(parameters, text));
        }
        // What is wrong with it is told when it is planned.
        let compiled = Compiled::of(&prepared.template, parameters, &self.system_catalog());
        let Some(compiled) = compiled.ok().flatten().map(Arc::new) else {
            prepared.keep(Planned::EachTime);
            return None;
        };
        known.truncate(COMPILED_MAX - 1);
        known.insert(0, compiled.clone());
        prepared.keep(Planned::Compiled(known));
        Some(compiled.statement(parameters, text))
    }

    fn is_current(&self, compiled: &Compiled, parameters: &[Parameter]) -> bool {
        let snapshot = self.database().snapshot();
        let entry = snapshot.table(compiled.table_name());
        entry.is_ok_and(|entry| compiled.fits(&entry.def, parameters))
    }

    /// A prepared statement with its values, when it is a look-up by key; `None` for all others, which
    /// are bound, planned and run as any statement.
    ///
    /// # Errors
    /// What planning says, of the first execution.
    pub fn point(
        &self,
        prepared: &Prepared,
        parameters: &[Parameter],
    ) -> SqlResult<Option<PointExecution>> {
        let _entered = types::zone::enter(self.context());
        let cached = match prepared.planned() {
            Planned::EachTime | Planned::Compiled(_) | Planned::Transaction(_) => return Ok(None),
            Planned::Point(cached) if self.fits(&cached) => Some(cached),
            _ => self.plan_point(prepared, parameters)?,
        };
        let Some(cached) = cached else { return Ok(None) };
        let access = cached.point.access(parameters);
        Ok(access.map(|access| PointExecution { cached, access }))
    }

    /// Plans it for all values. One with a null among them says nothing about the next.
    fn plan_point(
        &self,
        prepared: &Prepared,
        parameters: &[Parameter],
    ) -> SqlResult<Option<Arc<Cached>>> {
        if parameters.iter().any(|parameter| parameter.value.is_none()) {
            return Ok(None);
        }
        let (catalog, options) = (self.system_catalog(), self.planner_options());
        let point = sql::plan_point(&prepared.template, parameters, &catalog, &options)?;
        let (role, switches, zone) = (self.role(), self.switches(), self.settings.zone.0);
        let cached = point.map(|point| Arc::new(Cached { point, role, switches, zone }));
        prepared.keep(match &cached {
            Some(cached) => Planned::Point(cached.clone()),
            None => Planned::EachTime,
        });
        Ok(cached)
    }

    pub(crate) fn switches(&self) -> Switches {
        let options = self.planner_options();
        let enabled = [
            options.enable_hashjoin,
            options.enable_indexnestloop,
            options.enable_seqscan,
            options.enable_indexscan,
            options.enable_indexonlyscan,
        ];
        (enabled, options.in_flight, options.device)
    }

    /// Whether a plan is still what planning would make: the table has the same columns and indexes,
    /// and the role may still read it.
    fn fits(&self, cached: &Cached) -> bool {
        let (snapshot, planned) = (self.database().snapshot(), cached.point.table());
        let Ok(entry) = snapshot.table(&planned.name) else { return false };
        let readable = || {
            let privilege = sql::parse::Privilege::Select;
            access::check::relation(&snapshot, self.role(), &planned.name, privilege).is_ok()
        };
        same_shape(&entry.def, planned)
            && cached.role == self.role()
            && cached.switches == self.switches()
            && cached.zone == self.settings.zone.0
            && readable()
    }
}

/// Whether two versions of a table differ in nothing but their rows.
fn same_shape(now: &Arc<TableDef>, planned: &Arc<TableDef>) -> bool {
    let ids = |def: &TableDef| def.indexes.iter().map(|index| index.id).collect::<Vec<_>>();
    Arc::ptr_eq(now, planned)
        || now.id == planned.id
            && now.schema == planned.schema
            && now.primary_key == planned.primary_key
            && ids(now) == ids(planned)
}
