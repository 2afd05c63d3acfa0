//! Generic plans that sessions share.

use std::sync::Arc;

use runtime::time;
use sql::{Bound, Generic, Parameter, Statement, Template};
use types::SqlResult;

use super::state::Session;
use crate::planning::Planned;
use crate::plans::{ATTEMPTS_MAX, Key, Known, Wish, are_many, are_too_many, bytes_of};
use crate::settings::PlanCache;
use crate::system::catalog::SystemCatalog;

impl Session {
    /// A statement with values for its parameters: one that is planned keeps these apart.
    ///
    /// # Errors
    /// As [`Template::bind`].
    pub(crate) fn bound_again(
        &self,
        template: &Template,
        values: &[Parameter],
    ) -> SqlResult<Statement> {
        match self.plan_key(template, values).and_then(|key| self.database().plans().of(&key)) {
            Some(Known::Generic(generic)) => Ok(generic.statement(template, values, None)),
            _ => template.bind_noted(values),
        }
    }

    /// A part of a statement by its generic plan, if there is one.
    pub(crate) fn planned_part(&self, part: Statement) -> Statement {
        let generic = part.bound().and_then(|bound| {
            let key = self.plan_key(&bound.template, &bound.parameters)?;
            match self.database().plans().of(&key)? {
                Known::Generic(generic) => {
                    Some(generic.statement(&bound.template, &bound.parameters, None))
                }
                Known::Once | Known::EachTime(_) => None,
            }
        });
        generic.unwrap_or(part)
    }

    /// The query that `text` is, of which a statement has parameters in the places of literals: by the generic plan
    /// of that, or to be one that it is made for. `None` where there is none, and where reading the text fails.
    pub(crate) fn bound_from(
        &self,
        template: &Template,
        values: &[Parameter],
        text: &str,
    ) -> Option<Statement> {
        if template.has_parts() {
            return template.bind_noted(values).ok();
        }
        let key = self.plan_key(template, values)?;
        match self.database().plans().of(&key) {
            Some(Known::Generic(generic)) => {
                Some(generic.statement(template, values, Some(text.into())))
            }
            Some(Known::EachTime(attempts)) if attempts >= ATTEMPTS_MAX => None,
            known => {
                // It is known by its text, so it has run before.
                if known.is_none() {
                    self.database().plans().keep(key, Known::Once);
                }
                template.bind_from(values, &text.into()).ok()
            }
        }
    }

    /// `None` for what has no generic plan.
    fn plan_key(&self, template: &Template, values: &[Parameter]) -> Option<Key> {
        let typed = |value: &Parameter| Some((value.ty?, value.told, value.is_null()));
        let (plans, text_bytes) = (self.database().plans(), template.text().len());
        let values_bytes = bytes_of(values);
        let is_long = plans.is_too_long(text_bytes) || are_too_many(values_bytes);
        let is_custom = self.settings.plan_cache == PlanCache::ForceCustom;
        if is_custom || is_long {
            return None;
        }
        let key = Key {
            text: template.text().clone(),
            place: template.place(),
            types: values.iter().map(typed).collect::<Option<_>>()?,
            zone: self.settings.zone.0,
            switches: self.switches(),
            values_bytes: None,
        };
        Some(key.with_values(values_bytes))
    }

    /// How a statement is run that has a generic plan, which is good still: by a plan that is kept,
    /// or one that is made here if that `may_plan` and there are few values.
    pub(crate) fn planned_before(
        &self,
        bound: &Bound,
        catalog: &SystemCatalog,
        may_plan: bool,
    ) -> Option<Planned> {
        let generic = bound.generic().filter(|generic| generic.holds(catalog))?;
        let began = time::now();
        let _entered = types::zone::enter(self.context());
        let may_plan = may_plan && !are_many(&bound.parameters);
        let plan = match generic.kept(&bound.parameters, catalog) {
            None if !may_plan => return None,
            None => {
                let options = self.planner_options_now();
                generic.plan(&bound.parameters, catalog, &options).ok()?
            }
            Some(kept) => kept,
        };
        Some((catalog.clone(), Arc::new(plan), began.elapsed()))
    }

    /// The generic plan that is to be made of a statement, which runs for the second time.
    pub(crate) fn wish(&self, bound: Option<&Arc<Bound>>) -> Option<Wish> {
        let bound = bound?;
        let key = self.plan_key(&bound.template, &bound.parameters)?;
        let attempts = match self.database().plans().of(&key) {
            None if !self.forces_generic() => {
                self.database().plans().keep(key, Known::Once);
                return None;
            }
            Some(Known::EachTime(attempts)) if attempts >= ATTEMPTS_MAX => return None,
            Some(Known::EachTime(attempts)) => attempts + 1,
            Some(Known::Once | Known::Generic(_)) | None => 1,
        };
        Some(Wish { key, attempts, bound: bound.clone(), is_forced: self.forces_generic() })
    }

    /// True if a plan for all values is taken wherever there is one.
    pub(crate) fn forces_generic(&self) -> bool {
        self.settings.plan_cache == PlanCache::ForceGeneric
    }

    /// Keeps what was made of a wish.
    pub(crate) fn keep_plan(&self, wish: Wish, made: Option<Arc<Generic>>) {
        let known = made.map_or(Known::EachTime(wish.attempts), Known::Generic);
        self.database().plans().keep(wish.key, known);
    }
}
