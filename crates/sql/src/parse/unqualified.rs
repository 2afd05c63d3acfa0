//! Which relations a statement names, before anybody knows whether there are any of these names.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{self, ObjectName, Visitor};
use datafusion_sql::sqlparser::parser::Parser;

use super::template::Template;
use crate::parse::dialect::Postgres;
use crate::parse::object_name::identifier;
use crate::parse::{balance, tokens};
use crate::walk::Walk;

/// A relation that a statement names without a schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedRelation {
    /// Its name in the catalog, where there are no capitals unless they were quoted.
    pub name: String,
    /// Its name as the statement writes it, without quotation marks.
    pub written: String,
}

impl Template {
    /// The relations that the statement names without a schema, each once, except for those that its own
    /// `WITH` defines; a table that it makes or changes is among them. A statement that only this
    /// engine's grammar has names none, and neither does one that cannot be read: what is wrong with it
    /// is told when it runs.
    pub fn relations(&self) -> Vec<NamedRelation> {
        let dialect = Postgres::for_length(self.tokens().len());
        let parser = Parser::new(&dialect).with_recursion_limit(2 * tokens::nesting_max());
        let statement = parser.with_tokens_with_locations(self.tokens().clone()).parse_statement();
        let Ok(mut statement) = statement else { return vec![] };
        if balance(&mut statement).is_err() {
            return vec![];
        }
        let mut named = Named::default();
        // The visit itself never stops.
        let _ = statement.walk(&mut named);
        let Named { relations, defined } = named;
        relations.into_iter().filter(|relation| !defined.contains(&relation.name)).collect()
    }
}

/// What a syntax tree names and defines.
#[derive(Default)]
struct Named {
    relations: BTreeSet<NamedRelation>,
    defined: BTreeSet<String>,
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let defined = query.with.iter().flat_map(|with| &with.cte_tables);
        self.defined.extend(defined.map(|cte| identifier(&cte.alias.name)));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if let [part] = relation.0.as_slice()
            && let Some(ident) = part.as_ident()
            // A text in the place of a name is that of a file.
            && ident.quote_style != Some('\'')
        {
            let (name, written) = (identifier(ident), ident.value.clone());
            self.relations.insert(NamedRelation { name, written });
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
