//! The constraints of users' tables, and the defaults of their columns.

use std::sync::Arc;

use plan::catalog::{TableDef, TableId};
use plan::constraints::{Check, ColumnDefault, Deferral, ForeignKey, ReferentialAction};
use sql::sequence::{next_of, numbered_by};

use crate::objects::{Index, KIND, constraint_oid, indexes, table_oid};
use crate::view::View;

/// A constraint.
pub(crate) struct Constraint<'a> {
    pub(crate) oid: i64,
    pub(crate) name: String,
    pub(crate) table: &'a Arc<TableDef>,
    pub(crate) rule: Rule<'a>,
}

/// What a constraint demands.
pub(crate) enum Rule<'a> {
    /// The index that upholds it, of the primary key or unique.
    Key(Index),
    Check(&'a Check),
    /// With the table referred to.
    Foreign(&'a ForeignKey, &'a Arc<TableDef>),
}

impl Constraint<'_> {
    /// `p` primary key, `u` unique, `c` check, `f` foreign key.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.rule {
            Rule::Key(index) if index.primary => "p",
            Rule::Key(_) => "u",
            Rule::Check(_) => "c",
            Rule::Foreign(..) => "f",
        }
    }

    /// When a transaction checks it.
    pub(crate) fn deferral(&self) -> Deferral {
        match &self.rule {
            Rule::Key(index) => index.deferral,
            Rule::Foreign(key, _) => key.deferral,
            Rule::Check(_) => Deferral::Never,
        }
    }

    /// In the words of `information_schema`.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.kind() {
            "p" => "PRIMARY KEY",
            "u" => "UNIQUE",
            "c" => "CHECK",
            _ => "FOREIGN KEY",
        }
    }

    /// Ordinals of the table's columns that it is about.
    pub(crate) fn columns(&self) -> Vec<usize> {
        match &self.rule {
            Rule::Key(index) => index.columns.clone(),
            Rule::Foreign(key, _) => key.columns.clone(),
            Rule::Check(check) => {
                let named = |name: &str| sql::names_column(&check.expression, name);
                let columns = self.table.schema.columns.iter().enumerate();
                let used = columns.filter(|(_, c)| named(&c.name).unwrap_or(false));
                used.map(|(i, _)| i).collect()
            }
        }
    }

    /// Names of the columns that it is about.
    pub(crate) fn column_names(&self) -> Vec<&str> {
        column_names(self.table, &self.columns())
    }

    /// As `ALTER TABLE .. ADD` takes it; `pretty` is without parentheses that are not needed.
    pub(crate) fn definition(&self, view: &View, pretty: bool) -> String {
        self.demand(view, pretty) + self.deferral().words()
    }

    fn demand(&self, view: &View, pretty: bool) -> String {
        let columns = || sql::quote_idents(self.column_names());
        match &self.rule {
            Rule::Key(index) if index.primary => format!("PRIMARY KEY ({})", columns()),
            Rule::Key(index) => format!("UNIQUE {}", index.column_lists(self.table)),
            Rule::Check(check) => format!("CHECK ({})", condition(self.table, check, pretty)),
            Rule::Foreign(key, parent) => {
                let mut text = format!(
                    "FOREIGN KEY ({}) REFERENCES {}({})",
                    columns(),
                    view.spelled(&parent.name),
                    sql::quote_idents(column_names(parent, &key.referenced)),
                );
                for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
                    if action != ReferentialAction::Refuse {
                        text.push_str(&format!(" ON {event} {}", action_name(action)));
                    }
                }
                text
            }
        }
    }
}

fn column_names<'t>(table: &'t TableDef, ordinals: &[usize]) -> Vec<&'t str> {
    ordinals.iter().map(|&c| table.schema.columns[c].name.as_str()).collect()
}

/// In the standard's words.
pub(crate) fn action_name(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::Refuse => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

/// The letter of `pg_constraint`.
pub(crate) fn action_letter(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::Refuse => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}

/// The condition of a check as PostgreSQL writes it, as far as it is known how.
pub(crate) fn condition(table: &TableDef, check: &Check, pretty: bool) -> String {
    let written = &check.expression;
    sql::definition::condition(written, &table.schema, pretty).unwrap_or_else(|| match pretty {
        true => written.clone(),
        false => format!("({written})"),
    })
}

/// The default of a column as an expression; `None` where it has none or is an identity.
pub(crate) fn default_text(view: &View, table: &TableDef, ordinal: usize) -> Option<String> {
    let next_of = |sequence: &str| next_of(&view.spelled(sequence));
    match table.constraints.default_of(ordinal)? {
        ColumnDefault::Expression(text) => {
            let ty = table.schema.columns[ordinal].ty;
            let known = || sql::definition::default(text, ty, false);
            let next = numbered_by(text).map(|sequence| next_of(&sequence));
            let written = || sql::definition::default_as_written(text, |name| view.spelled(name));
            Some(next.or_else(known).unwrap_or_else(written))
        }
        ColumnDefault::Generated(text) => {
            let known = sql::definition::condition(text, &table.schema, false);
            Some(known.unwrap_or_else(|| text.clone()))
        }
        ColumnDefault::Identity(_) => Some(next_of(&table.sequence_name(ordinal))),
    }
}

/// Whether a unique index came from a constraint.
fn is_constraint(table: &TableDef, index: &Index) -> bool {
    index.unique
        && (table.constraints.unique.contains(&index.name)
            || index.name
                == format!("{}_{}_key", table.name, index.attribute_names(table).join("_")))
}

impl View {
    /// All constraints.
    pub(crate) fn constraints(&self) -> Vec<Constraint<'_>> {
        self.tables().flat_map(|table| self.constraints_of(table)).collect()
    }

    fn constraints_of<'a>(&'a self, table: &'a Arc<TableDef>) -> Vec<Constraint<'a>> {
        let mut found = vec![];
        for index in indexes(table) {
            if index.primary || is_constraint(table, &index) {
                let (oid, name) = (constraint_oid(index.oid), index.name.clone());
                found.push(Constraint { oid, name, table, rule: Rule::Key(index) });
            }
        }
        // Their place in the table tells them apart; tables' ids are far below this.
        let oid =
            |kind: i64, number: usize| table_oid(table) + kind * KIND + number as i64 * (KIND >> 8);
        for (number, check) in table.constraints.checks.iter().enumerate() {
            let (oid, name) = (oid(4, number), check.name.clone());
            found.push(Constraint { oid, name, table, rule: Rule::Check(check) });
        }
        for (number, key) in table.constraints.foreign_keys.iter().enumerate() {
            let Some(parent) = self.table_by_id(TableId(key.table)) else { continue };
            let (oid, name) = (oid(5, number), key.name.clone());
            found.push(Constraint { oid, name, table, rule: Rule::Foreign(key, parent) });
        }
        found
    }
}
