//! What a session shows of plans and settings: `EXPLAIN` and `SHOW`.

use runtime::sync::Cancel;
use sql::parse::Explain;
use types::SqlResult;

use super::state::Session;
use crate::query::Watch;
use crate::result::{ResultSet, StatementResult};
use crate::settings::setting::Setting;
use crate::{explain, query};

impl Session {
    pub(super) async fn explain(
        &mut self,
        statement: &Explain,
        cancel: Cancel,
    ) -> SqlResult<StatementResult> {
        self.look_alone();
        let (catalog, plan, planning) = self.plan(&statement.query, &cancel).await?;
        let figures = match statement.analyze {
            true => {
                let watch = Watch { cancel, activity: &self.activity };
                let numbers = catalog.clone();
                let (db, settings) = (&self.db, &self.settings);
                let run = query::run(db, catalog, &plan, settings, watch, planning).await?;
                self.save_numbers(numbers.given()).await?;
                Some(run.1)
            }
            false => None,
        };
        let lines = match &figures {
            figures if statement.json => {
                vec![explain::json(&plan, figures.as_ref(), &self.settings, statement.costs)]
            }
            Some(figures) => explain::analyzed(&plan, figures, &self.settings, statement.costs),
            None => sql::explain_text(&plan, None, statement.costs),
        };
        let rows = lines.into_iter().map(|line| vec![line]).collect();
        Ok(StatementResult::Rows(ResultSet::text(&["QUERY PLAN"], rows, "EXPLAIN")))
    }

    pub(super) fn show(&self, name: &str) -> SqlResult<StatementResult> {
        let snapshot = self.db.snapshot();
        let may_examine =
            |setting: &Setting| crate::privileges::examine(&snapshot, self.info.role, setting);
        if !name.eq_ignore_ascii_case("all") {
            may_examine(Setting::find(name)?)?;
            let (value, name) = (self.settings.show(name)?, Setting::find(name)?.name);
            return Ok(StatementResult::Rows(ResultSet::text(&[name], vec![vec![value]], "SHOW")));
        }
        let row = |s: &'static Setting| {
            let value = self.settings.shown(s);
            vec![s.name.to_owned(), value, s.description.to_owned()]
        };
        let all = Setting::sorted().into_iter().filter(|setting| may_examine(setting).is_ok());
        let rows = all.map(row).collect();
        let columns = ["name", "setting", "description"];
        Ok(StatementResult::Rows(ResultSet::text(&columns, rows, "SHOW")))
    }
}
