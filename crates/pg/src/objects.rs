//! The objects of a database with their oids. An oid is made of the id that the catalog gave and of
//! what kind of thing it is, so it is the same in every session and after a restart.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use plan::catalog::{IndexDef, IndexMethod, KeyOrder, TableDef, TableId, TableStatistics};
use plan::constraints::{Deferral, ForeignKey};
use sql::ViewDef;
use sql::parse::TEMPORARY_SCHEMA;
use types::{Column, Schema};

use crate::relation::{self, Relation};
use crate::sequences::{self, Sequence};
use crate::view::View;

/// Ids of users' objects follow it.
pub(crate) const FIRST_OID: i64 = TableId::FIRST_OID as i64;

/// Kinds of objects that share the catalog's ids lie this far apart.
pub(crate) const KIND: i64 = 0x1000_0000;

/// The kind of views; smaller ones are those of tables, their indexes and constraints.
pub(crate) const VIEW_KIND: i64 = 7;

pub(crate) const PG_CATALOG: i64 = 11;
pub(crate) const PUBLIC: i64 = 2_200;
pub(crate) const INFORMATION_SCHEMA: i64 = 13_183;
/// The role that owns what is built in.
pub(crate) const OWNER: i64 = 10;
/// The database; there is one.
pub(crate) const DATABASE: i64 = 5;

/// An index of a user's table.
pub(crate) struct Index {
    pub(crate) oid: i64,
    pub(crate) name: String,
    pub(crate) columns: Vec<usize>,
    /// Those that its entries only carry.
    pub(crate) included: Vec<usize>,
    pub(crate) unique: bool,
    pub(crate) primary: bool,
    /// When a transaction checks the constraint that it upholds.
    pub(crate) deferral: Deferral,
    /// How each of its key columns is ordered, as the statement said.
    pub(crate) orders: Vec<KeyOrder>,
    pub(crate) method: IndexMethod,
    /// Position among the secondary indexes.
    pub(crate) position: Option<usize>,
}

/// A relation: a user's or the system's.
pub(crate) enum Object<'a> {
    Table(&'a Arc<TableDef>),
    Index(&'a Arc<TableDef>, Index),
    View(i64, &'a Arc<ViewDef>),
    Sequence(Sequence<'a>),
    System(&'static Relation),
}

/// The first oid of views.
const VIEW_OID: i64 = FIRST_OID + VIEW_KIND * KIND;

/// A number that follows from a view's name: FNV-1a, in half of the oids that views have.
fn hash(view: &ViewDef) -> i64 {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    i64::from(view.name.bytes().fold(0x811c_9dc5, mix)) % (KIND / 2)
}

pub(crate) fn table_oid(table: &TableDef) -> i64 {
    i64::from(table.id.oid())
}

/// The oid of a table's row type.
pub(crate) fn row_type_oid(table: &TableDef) -> i64 {
    table_oid(table) + 3 * KIND
}

/// The oid of the constraint that an index stands for.
pub(crate) fn constraint_oid(index_oid: i64) -> i64 {
    index_oid + 2 * KIND
}

pub(crate) fn index_oid(index: &IndexDef) -> i64 {
    FIRST_OID + i64::from(index.id.0)
}

/// The indexes of a table, that of its primary key first.
pub(crate) fn indexes(table: &TableDef) -> Vec<Index> {
    let primary = (!table.primary_key.is_empty()).then(|| Index {
        oid: table_oid(table) + KIND,
        name: table.primary_key_name(),
        columns: table.primary_key.clone(),
        included: vec![],
        unique: true,
        primary: true,
        deferral: Deferral::Never,
        orders: vec![KeyOrder::default(); table.primary_key.len()],
        method: IndexMethod::Tree,
        position: None,
    });
    let secondary = table.indexes.iter().enumerate().map(|(position, index)| Index {
        oid: index_oid(index),
        name: index.name.clone(),
        columns: index.columns.clone(),
        included: index.included.clone(),
        unique: index.unique,
        primary: index.primary,
        deferral: index.deferral,
        orders: index.key_orders().collect(),
        method: index.method,
        position: Some(position),
    });
    let mut all: Vec<Index> = primary.into_iter().chain(secondary).collect();
    all.sort_by_key(|index| !index.primary);
    all
}

impl Index {
    /// Whether it finds what the foreign key refers to.
    pub(crate) fn upholds(&self, key: &ForeignKey) -> bool {
        self.unique
            && self.deferral.is_never()
            && self.columns.len() == key.referenced.len()
            && self.columns.iter().all(|column| key.referenced.contains(column))
    }

    /// All its columns: the indexed ones, then those included.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().chain(&self.included).copied()
    }

    /// Names of all its columns.
    pub(crate) fn attribute_names<'t>(&self, table: &'t TableDef) -> Vec<&'t str> {
        self.attributes().map(|c| table.schema.columns[c].name.as_str()).collect()
    }

    /// `(indexed columns) INCLUDE (included columns)`.
    pub(crate) fn column_lists(&self, table: &TableDef) -> String {
        let names = self.attribute_names(table);
        let (key, included) = names.split_at(self.columns.len());
        let ordered = |(name, order): (&&str, &KeyOrder)| sql::quote_ident(name) + order.words();
        let key: Vec<String> = key.iter().zip(&self.orders).map(ordered).collect();
        let key = format!("({})", key.join(", "));
        match included {
            [] => key,
            _ => format!("{key} INCLUDE ({})", sql::quote_idents(included.to_vec())),
        }
    }

    /// `CREATE INDEX ..`; the table with its schema, or without.
    pub(crate) fn definition(&self, table: &TableDef, qualified: bool) -> String {
        let unique = if self.unique { "UNIQUE " } else { "" };
        let schema = if qualified { "public." } else { "" };
        format!(
            "CREATE {unique}INDEX {} ON {schema}{} USING {} {}",
            sql::quote_ident(&self.name),
            sql::quote_ident(&table.name),
            self.method.name(),
            self.column_lists(table),
        )
    }
}

impl Object<'_> {
    pub(crate) fn oid(&self) -> i64 {
        match self {
            Object::Table(table) => table_oid(table),
            Object::Index(_, index) => index.oid,
            Object::View(oid, _) => *oid,
            Object::Sequence(sequence) => sequence.oid(),
            Object::System(relation) => relation.oid,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Object::Table(table) => &table.name,
            Object::Index(_, index) => &index.name,
            Object::View(_, view) => &view.name,
            Object::Sequence(sequence) => &sequence.name,
            Object::System(relation) => relation.name,
        }
    }

    pub(crate) fn namespace(&self) -> i64 {
        match self {
            Object::System(relation) => namespace_oid(relation.schema).unwrap_or(PG_CATALOG),
            _ => PUBLIC,
        }
    }

    /// The name, with the schema where the search path would not find it.
    pub(crate) fn display_name(&self, view: &View) -> String {
        match self {
            Object::System(relation) if relation.schema != "pg_catalog" => {
                format!("{}.{}", relation.schema, sql::quote_ident(relation.name))
            }
            Object::System(relation) => sql::quote_ident(relation.name),
            other => view.spelled(other.name()),
        }
    }
}

/// The schemas: oid and name.
pub(crate) const NAMESPACES: [(i64, &str); 3] =
    [(PG_CATALOG, "pg_catalog"), (PUBLIC, "public"), (INFORMATION_SCHEMA, "information_schema")];

pub(crate) fn namespace_oid(name: &str) -> Option<i64> {
    NAMESPACES.iter().find(|(_, n)| *n == name).map(|(oid, _)| *oid)
}

pub(crate) fn namespace_name(oid: i64) -> Option<&'static str> {
    NAMESPACES.iter().find(|(o, _)| *o == oid).map(|(_, name)| *name)
}

/// Rows and pages of a table.
pub(crate) struct Counts(Arc<TableStatistics>);

impl Deref for Counts {
    type Target = TableStatistics;

    fn deref(&self) -> &TableStatistics {
        &self.0
    }
}

impl Counts {
    /// Pages of an index; the one of the primary key is the table.
    pub(crate) fn pages_of(&self, index: &Index) -> u64 {
        match index.position {
            Some(position) => self.index_leaf_pages.get(position).copied().unwrap_or_default(),
            None => self.leaf_pages,
        }
    }
}

impl View {
    /// Rows and pages of a table at the moment.
    pub(crate) fn counts(&self, table: &TableDef) -> Counts {
        Counts(self.statistics(table.id))
    }

    /// The users' views, ordered by name, each with its oid. Views have no number of their own: an
    /// oid follows from the name, and is the next free one where two names would have the same.
    pub(crate) fn user_views(&self) -> Vec<(i64, &Arc<ViewDef>)> {
        let mut oids = BTreeSet::new();
        let mut views = vec![];
        for view in self.views() {
            let mut number = hash(view);
            while !oids.insert(number) {
                number += 1;
            }
            views.push((VIEW_OID + number, view));
        }
        views
    }

    /// The oid of one of them; plans that are kept ask for it at each execution.
    pub(crate) fn view_oid(&self, name: &str) -> Option<i64> {
        let number = hash(self.view(name)?);
        // Views before it may have taken its number, each as many numbers behind its own as views are before it.
        let mut before = self.views().take_while(|view| view.name != name).zip(0..);
        let is_free = before.all(|(view, moved)| !(0..=moved).contains(&(number - hash(view))));
        let all = || self.user_views().into_iter().find(|(_, view)| view.name == name);
        if is_free { Some(VIEW_OID + number) } else { all().map(|(oid, _)| oid) }
    }

    /// The query of a view as PostgreSQL writes it, as far as it is known how; `pretty` is without
    /// parentheses that are not needed.
    pub(crate) fn view_text(&self, view: &ViewDef, pretty: bool) -> String {
        let schema = |name: &str| {
            let table = self.table(name).map(|table| table.schema.clone());
            let columns = || self.view(name).map(|view| self.view_columns(view));
            table.or_else(|| columns().map(|columns| Schema { columns }))
        };
        let style = sql::definition::Style { pretty, qualified: !self.finds_public() };
        let is_user = |name: &str| self.is_relation(name);
        sql::definition::view(view, schema, style)
            .unwrap_or_else(|| sql::definition::view_as_written(view, is_user, style))
    }

    /// Whether a table or view of a user has this name.
    pub(crate) fn is_relation(&self, name: &str) -> bool {
        self.table(name).is_some() || self.view(name).is_some()
    }

    /// The columns of a view; none when what it names has changed.
    pub(crate) fn view_columns(&self, view: &ViewDef) -> Vec<Column> {
        sql::view_columns(view, self.catalog()).unwrap_or_default()
    }

    /// All relations and indexes.
    pub(crate) fn objects(&self) -> Vec<Object<'_>> {
        let mut objects: Vec<Object> = relation::all().map(Object::System).collect();
        for table in self.tables() {
            objects.push(Object::Table(table));
            objects.extend(indexes(table).into_iter().map(|i| Object::Index(table, i)));
            objects.extend(sequences::of_table(table).map(Object::Sequence));
        }
        objects.extend(self.made_sequences().map(sequences::of_statement).map(Object::Sequence));
        objects.extend(self.user_views().into_iter().map(|(oid, view)| Object::View(oid, view)));
        objects
    }

    /// The relation or index with this oid.
    pub(crate) fn object(&self, oid: i64) -> Option<Object<'_>> {
        if oid < FIRST_OID {
            return relation::all().find(|r| r.oid == oid).map(Object::System);
        }
        if let Some((oid, view)) = self.user_views().into_iter().find(|(known, _)| *known == oid) {
            return Some(Object::View(oid, view));
        }
        let mut made = self.made_sequences().map(sequences::of_statement);
        if let Some(sequence) = made.find(|sequence| sequence.oid() == oid) {
            return Some(Object::Sequence(sequence));
        }
        self.tables().find_map(|table| {
            if table_oid(table) == oid {
                return Some(Object::Table(table));
            }
            let index = indexes(table).into_iter().find(|i| i.oid == oid);
            let sequence = || sequences::of_table(table).find(|s| s.oid() == oid);
            let index = index.map(|index| Object::Index(table, index));
            index.or_else(|| sequence().map(Object::Sequence))
        })
    }

    /// The relation or index that a possibly qualified name means.
    pub(crate) fn object_named(&self, parts: &[String]) -> Option<Object<'_>> {
        let (schema, name) = match parts {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            [_, schema, name] => (Some(schema.as_str()), name),
            _ => return None,
        };
        if let Some(system) = relation::find(schema.unwrap_or("pg_catalog"), name) {
            return Some(Object::System(system));
        }
        if let Some(table) = self.table_meant(schema, name) {
            return Some(Object::Table(table));
        }
        let is_public = schema.map_or(self.finds_public(), |schema| schema == "public");
        let is_temporary = schema.map_or(!is_public, |schema| schema == TEMPORARY_SCHEMA);
        if is_temporary {
            return self.part_named(name, true);
        }
        if !is_public {
            return None;
        }
        if let Some((oid, view)) = self.user_views().into_iter().find(|(_, v)| v.name == *name) {
            return Some(Object::View(oid, view));
        }
        if let Some(def) = self.made_sequence(name) {
            return Some(Object::Sequence(sequences::of_statement(def)));
        }
        self.part_named(name, false)
    }

    /// The index or the sequence of a table, perhaps of a temporary one alone.
    fn part_named(&self, name: &str, is_temporary: bool) -> Option<Object<'_>> {
        let is_meant = |table: &&Arc<TableDef>| !is_temporary || self.is_temporary(table.id);
        self.tables().filter(is_meant).find_map(|table| {
            let index = indexes(table).into_iter().find(|i| i.name == *name);
            let sequence = || sequences::of_table(table).find(|s| s.name == *name);
            let index = index.map(|index| Object::Index(table, index));
            index.or_else(|| sequence().map(Object::Sequence))
        })
    }
}
