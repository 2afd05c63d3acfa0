//! The extended protocol: statements that are prepared, portals that are run in parts.

use std::io;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use engine::{
    Announced, Parameter, PointExecution, ResultSet, Setting, SqlError, SqlResult, SqlState,
    Statement, StatementResult, Template,
};

use crate::binary;
use crate::connection::{Block, Connection};
use crate::frame::Frame;
use crate::message::{Bind, Reader, utf8};
use crate::oid;

/// A prepared statement.
pub(crate) struct Prepared {
    /// `None` is the empty statement.
    statement: Option<engine::Prepared>,
    /// The types of its parameters as the client knows them.
    oids: Vec<u32>,
    /// As others see it.
    text: Announced,
}

/// A statement with its parameters, and as much of its result as is still to be sent.
pub(crate) struct Portal {
    /// `None` is the empty statement.
    bound: Option<Bound>,
    text: Announced,
    formats: Vec<i16>,
    rows: Option<Rows>,
}

/// A statement with its values.
#[derive(Clone)]
enum Bound {
    /// To be planned and run.
    Statement(Box<Statement>),
    /// Planned already.
    Point(Box<PointExecution>),
}

/// A result and where it goes on.
struct Rows {
    result: ResultSet,
    batch: usize,
    row: usize,
}

pub(crate) fn no_statement(name: &str) -> SqlError {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    SqlError::new(SqlState::UNDEFINED_STATEMENT, message)
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_PORTAL, format!("portal \"{name}\" does not exist"))
}

impl Connection {
    /// Answers a message of the extended protocol; after an error all is skipped until `Sync`.
    pub(crate) async fn extended(&mut self, frame: Frame) -> io::Result<()> {
        let outcome = match frame.tag {
            b'P' => self.parse(&frame.body),
            b'B' => self.bind(&frame.body),
            b'D' => self.describe(&frame.body),
            b'C' => self.close(&frame.body),
            _ => self.run_portal(&frame.body).await?,
        };
        if let Err(error) = outcome {
            self.fail(&error);
            self.skipping = true;
        }
        self.flush_if_long().await
    }

    /// Ends a round of the extended protocol.
    pub(crate) async fn sync(&mut self) -> io::Result<()> {
        self.skipping = false;
        if self.block == Block::Idle {
            self.portals.clear();
        }
        self.ready().await
    }

    fn parse(&mut self, body: &[u8]) -> SqlResult<()> {
        let mut reader = Reader(body);
        let (name, text) = (reader.string()?, reader.string()?);
        let count = reader.count()?;
        let mut oids = (0..count).map(|_| reader.u32()).collect::<SqlResult<Vec<u32>>>()?;
        reader.end()?;
        let mut templates = Template::all(text)?;
        if templates.len() > 1 {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        if !name.is_empty() && self.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_STATEMENT, message));
        }
        let template = templates.pop();
        let needed = template.as_ref().map_or(0, Template::parameter_count);
        oids.resize(needed.max(oids.len()), 0);
        if let Some(template) = &template {
            // Reports what does not parse now rather than when it is bound.
            template.bind(&nulls(&oids))?;
            self.infer(template, &mut oids);
        }
        let statement = template.map(engine::Prepared::new);
        let text = text.into();
        self.statements.insert(name.to_owned(), Arc::new(Prepared { statement, oids, text }));
        self.output.empty(b'1');
        Ok(())
    }

    /// Fills in the types that the client left open. Where none can be told it stays open, and what
    /// is wrong with the statement is reported when it is described or run.
    fn infer(&self, template: &Template, oids: &mut [u32]) {
        if !oids.contains(&0) {
            return;
        }
        let session = self.session.as_ref().expect("no statement runs now");
        let types = session.parameter_types(template).unwrap_or_default();
        for (oid, ty) in oids.iter_mut().zip(types) {
            if let (0, Some(ty)) = (*oid, ty) {
                *oid = oid::of(&ty.arrow()).oid;
            }
        }
    }

    fn bind(&mut self, body: &[u8]) -> SqlResult<()> {
        let bind = Bind::read(body)?;
        let prepared = self.statements.get(bind.statement).cloned();
        let prepared = prepared.ok_or_else(|| no_statement(bind.statement))?;
        let (given, needed) = (bind.parameters.len(), prepared.oids.len());
        if given != needed {
            let name = bind.statement;
            let message = format!(
                "bind message supplies {given} parameters, but prepared statement \"{name}\" requires {needed}"
            );
            return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        let values = bind.parameters.iter().zip(&prepared.oids);
        let parameters = values
            .map(|((format, bytes), oid)| parameter(*oid, *format, *bytes))
            .collect::<SqlResult<Vec<_>>>()?;
        let bound = prepared.statement.as_ref().map(|s| self.bound(s, &parameters)).transpose()?;
        let text = prepared.text.clone();
        let portal = Portal { bound, text, formats: bind.formats, rows: None };
        self.portals.insert(bind.portal.to_owned(), portal);
        self.output.empty(b'2');
        Ok(())
    }

    /// A statement with values for its parameters.
    fn bound(&self, statement: &engine::Prepared, parameters: &[Parameter]) -> SqlResult<Bound> {
        let session = self.session.as_ref().expect("no statement runs now");
        // In a failed block nothing is planned; what may still run needs no plan.
        if self.block != Block::Failed
            && let Some(point) = session.point(statement, parameters)?
        {
            return Ok(Bound::Point(Box::new(point)));
        }
        Ok(Bound::Statement(Box::new(statement.template().bind(parameters)?)))
    }

    fn describe(&mut self, body: &[u8]) -> SqlResult<()> {
        let mut reader = Reader(body);
        let (kind, name) = (reader.u8()?, reader.string()?);
        let (bound, formats) = match kind {
            b'S' => {
                let prepared = self.statements.get(name).cloned();
                let prepared = prepared.ok_or_else(|| no_statement(name))?;
                self.parameter_description(&prepared.oids);
                let nulls = nulls(&prepared.oids);
                let bound = prepared.statement.as_ref().map(|s| s.template().bind(&nulls));
                (bound.transpose()?.map(|s| Bound::Statement(Box::new(s))), vec![])
            }
            _ => {
                let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
                (portal.bound.clone(), portal.formats.clone())
            }
        };
        let columns = match bound {
            None => None,
            Some(Bound::Statement(statement)) => self.columns(&statement)?,
            Some(Bound::Point(point)) => Some(point.schema()),
        };
        match columns {
            Some(schema) => self.output.row_description(&schema, &formats),
            None => self.output.empty(b'n'),
        }
        Ok(())
    }

    fn parameter_description(&mut self, oids: &[u32]) {
        self.output.message(b't', |body| {
            body.extend_from_slice(&(oids.len() as u16).to_be_bytes());
            for oid in oids {
                let oid = if matches!(*oid, 0 | oid::UNKNOWN) { oid::TEXT } else { *oid };
                body.extend_from_slice(&oid.to_be_bytes());
            }
        });
    }

    /// The columns of what a statement gives; `None` when it gives no rows.
    fn columns(&self, statement: &Statement) -> SqlResult<Option<SchemaRef>> {
        let session = self.session.as_ref().expect("no statement runs now");
        let texts = |names: &[&str]| {
            let field = |name: &&str| Field::new(*name, DataType::Utf8View, true);
            Some(Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>())))
        };
        Ok(match statement {
            Statement::Query(query) => Some(session.describe(query)?),
            Statement::Explain(_) => texts(&["QUERY PLAN"]),
            Statement::Show { name } if name.eq_ignore_ascii_case("all") => {
                texts(&["name", "setting", "description"])
            }
            Statement::Show { name } => texts(&[Setting::find(name)?.name]),
            other => session.returned(other)?,
        })
    }

    fn close(&mut self, body: &[u8]) -> SqlResult<()> {
        let mut reader = Reader(body);
        let (kind, name) = (reader.u8()?, reader.string()?);
        match kind {
            b'S' => drop(self.statements.remove(name)),
            _ => drop(self.portals.remove(name)),
        }
        self.output.empty(b'3');
        Ok(())
    }

    async fn run_portal(&mut self, body: &[u8]) -> io::Result<SqlResult<()>> {
        let mut reader = Reader(body);
        let (name, limit) = match reader.string().and_then(|name| Ok((name, reader.i32()?))) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let Some(mut portal) = self.portals.remove(name) else { return Ok(Err(no_portal(name))) };
        if portal.rows.is_none() {
            let Some(bound) = portal.bound.clone() else {
                self.output.empty(b'I');
                return Ok(Ok(()));
            };
            if let Some(session) = &self.session {
                session.activity().announce(&portal.text);
            }
            self.text = Some(portal.text.shown().clone());
            let executed = match bound {
                Bound::Statement(statement) => self.execute(*statement).await?,
                Bound::Point(point) => self.look_up(*point).await?,
            };
            match executed {
                Err(error) => return Ok(Err(error)),
                Ok(StatementResult::Command { tag }) => {
                    self.output.command_complete(&tag);
                    return Ok(Ok(()));
                }
                Ok(StatementResult::Rows(result)) => {
                    portal.rows = Some(Rows { result, batch: 0, row: 0 });
                }
            }
        }
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let sent = self.some_rows(&mut portal, limit).await?;
        self.portals.insert(name.to_owned(), portal);
        Ok(sent)
    }

    /// Sends up to `limit` rows of a portal, and whether there are more.
    async fn some_rows(&mut self, portal: &mut Portal, limit: usize) -> io::Result<SqlResult<()>> {
        let rows = portal.rows.as_mut().expect("the portal has run");
        let mut count = 0;
        while let Some(batch) = rows.result.batches.get(rows.batch) {
            if rows.row == batch.num_rows() {
                (rows.batch, rows.row) = (rows.batch + 1, 0);
                continue;
            }
            if count == limit {
                self.output.empty(b's');
                return Ok(Ok(()));
            }
            if let Err(error) = self.output.row(batch, rows.row, &portal.formats) {
                return Ok(Err(error));
            }
            (rows.row, count) = (rows.row + 1, count + 1);
            self.flush_if_long().await?;
        }
        let tag = match rows.result.tag.split_once(' ') {
            Some(("SELECT", _)) => format!("SELECT {count}"),
            _ => rows.result.tag.clone(),
        };
        self.output.command_complete(&tag);
        Ok(Ok(()))
    }
}

/// Nulls of the parameters' types, to look at a statement before it has values.
fn nulls(oids: &[u32]) -> Vec<Parameter> {
    oids.iter().map(|oid| Parameter { value: None, ty: oid::parameter(*oid, None) }).collect()
}

fn parameter(oid: u32, format: i16, bytes: Option<&[u8]>) -> SqlResult<Parameter> {
    let value = match (format, bytes) {
        (_, None) => None,
        (0, Some(bytes)) => Some(utf8(bytes)?.to_owned()),
        (_, Some(bytes)) => Some(binary::decode(oid, bytes)?),
    };
    let ty = oid::parameter(oid, value.as_deref());
    Ok(Parameter { value, ty })
}
