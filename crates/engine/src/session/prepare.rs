//! Prepares statements, and plans them once for all values.

use std::sync::Arc;

use sql::dml::Compiled;
use sql::{Parameter, Statement};
use types::SqlResult;

use super::state::Session;
use crate::prepared::{
    COMPILED_MAX, Cached, POINTS_MAX, Planned, PointExecution, Prepared, Switches, same_shape,
};

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
            Planned::EachTime | Planned::Points(_) | Planned::Transaction(_) => return None,
        };
        let _entered = types::zone::enter(self.context());
        let fits = |compiled: &&Arc<Compiled>| self.is_current(compiled, parameters);
        let meant = |statement: Statement| self.means_by_name(&statement).then_some(statement);
        if let Some(compiled) = known.iter().find(fits) {
            return meant(compiled.statement(parameters, text));
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
        meant(compiled.statement(parameters, text))
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
        let known = match prepared.planned() {
            Planned::EachTime | Planned::Compiled(_) | Planned::Transaction(_) => return Ok(None),
            Planned::Points(known) => known,
            Planned::Nothing => vec![],
        };
        let cached = match known.iter().find(|cached| self.fits(cached)) {
            Some(cached) => Some(cached.clone()),
            None => self.plan_point(prepared, known, parameters)?,
        };
        let Some(cached) = cached else { return Ok(None) };
        let access = cached.point.access(parameters);
        Ok(access.map(|access| PointExecution { cached, access }))
    }

    /// Plans it for all values. One with a null among them says nothing about the next.
    fn plan_point(
        &self,
        prepared: &Prepared,
        mut known: Vec<Arc<Cached>>,
        parameters: &[Parameter],
    ) -> SqlResult<Option<Arc<Cached>>> {
        if parameters.iter().any(Parameter::is_null) {
            return Ok(None);
        }
        let (catalog, options) = (self.system_catalog(), self.planner_options());
        let point = sql::plan_point(&prepared.template, parameters, &catalog, &options)?;
        let (role, switches, zone) = (self.role(), self.switches(), self.settings.zone.0);
        let cached = point.map(|point| Arc::new(Cached { point, role, switches, zone }));
        prepared.keep(match &cached {
            Some(cached) => {
                known.retain(|old| !old.is_for_those_of(cached));
                known.truncate(POINTS_MAX - 1);
                known.insert(0, cached.clone());
                Planned::Points(known)
            }
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
        let is_of_session = cached.role == self.role()
            && cached.zone == self.settings.zone.0
            && self.settings.finds_public()
            && cached.switches == self.switches();
        if !is_of_session {
            return false;
        }
        let (snapshot, planned) = (self.database().snapshot(), cached.point.table());
        let Ok(entry) = snapshot.table(&planned.name) else { return false };
        let readable = || {
            let privilege = sql::parse::Privilege::Select;
            crate::privileges::relation(&snapshot, self.role(), &planned.name, privilege).is_ok()
        };
        same_shape(&entry.def, planned) && readable()
    }
}

#[cfg(test)]
mod tests;
