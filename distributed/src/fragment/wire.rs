//! Fragments as messages. Operators, partitions and the state of the database are described here;
//! expressions and schemas inside of them are the library's own messages.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion_proto::physical_plan::PhysicalExtensionCodec;
use datafusion_proto::physical_plan::from_proto::parse_physical_expr;
use datafusion_proto::physical_plan::to_proto::serialize_physical_expr;
use datafusion_proto::protobuf::{self, PhysicalExprNode};
use engine::Partition;
use prost::Message;

use super::{Aggregate, Fragment, Function, Partial, Scalar, Step};
use crate::local::State;

/// A fragment with the partitions that a task runs it over.
#[derive(Clone, PartialEq, Message)]
pub struct FragmentMessage {
    #[prost(string, tag = "1")]
    table: String,
    #[prost(message, optional, tag = "2")]
    state: Option<State>,
    #[prost(uint32, repeated, tag = "3")]
    columns: Vec<u32>,
    #[prost(message, optional, tag = "4")]
    read: Option<protobuf::Schema>,
    #[prost(message, repeated, tag = "5")]
    steps: Vec<StepMessage>,
    #[prost(message, repeated, tag = "6")]
    partitions: Vec<PartitionMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct StepMessage {
    #[prost(oneof = "StepKind", tags = "1, 2, 3")]
    kind: Option<StepKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum StepKind {
    #[prost(message, tag = "1")]
    Filter(Box<PhysicalExprNode>),
    #[prost(message, tag = "2")]
    Project(ProjectMessage),
    #[prost(message, tag = "3")]
    Aggregate(PartialMessage),
}

#[derive(Clone, PartialEq, Message)]
struct ProjectMessage {
    #[prost(message, repeated, tag = "1")]
    exprs: Vec<PhysicalExprNode>,
    #[prost(message, optional, tag = "2")]
    schema: Option<protobuf::Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialMessage {
    #[prost(message, repeated, tag = "1")]
    groups: Vec<PhysicalExprNode>,
    #[prost(message, repeated, tag = "2")]
    states: Vec<AggregateMessage>,
    #[prost(message, optional, tag = "3")]
    schema: Option<protobuf::Schema>,
}

/// The type of the state is that of its column in the schema.
#[derive(Clone, PartialEq, Message)]
struct AggregateMessage {
    #[prost(int32, tag = "1")]
    function: i32,
    #[prost(message, optional, tag = "2")]
    arg: Option<PhysicalExprNode>,
    #[prost(message, optional, tag = "3")]
    filter: Option<PhysicalExprNode>,
}

#[derive(Clone, PartialEq, Message)]
struct PartitionMessage {
    #[prost(bytes = "vec", tag = "1")]
    lower: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "2")]
    upper: Option<Vec<u8>>,
}

/// Writes a fragment and its partitions.
///
/// # Errors
/// Those of expressions that have no message.
pub fn write(
    fragment: &Fragment,
    partitions: &[Partition],
    codec: &dyn PhysicalExtensionCodec,
) -> Result<FragmentMessage> {
    let writer = Writer(codec);
    let partition = |p: &Partition| {
        let Partition { lower, upper } = p.clone();
        PartitionMessage { lower, upper }
    };
    Ok(FragmentMessage {
        table: fragment.table.clone(),
        state: Some(fragment.state),
        columns: fragment.columns.iter().map(|column| *column as u32).collect(),
        read: Some(fragment.read.as_ref().try_into()?),
        steps: fragment.steps.iter().map(|step| writer.step(step)).collect::<Result<_>>()?,
        partitions: partitions.iter().map(partition).collect(),
    })
}

/// Reads what [`write`] has written.
///
/// # Errors
/// Parts that are missing; expressions that this node does not know.
pub fn read(
    message: FragmentMessage,
    context: &TaskContext,
    codec: &dyn PhysicalExtensionCodec,
) -> Result<(Fragment, Vec<Partition>)> {
    let read = schema(message.read.as_ref())?;
    let state = message.state.ok_or_else(|| missing("state"))?;
    let columns = message.columns.iter().map(|column| *column as usize).collect();
    let mut fragment = Fragment::of_table(&message.table, state, columns, read);
    for step in message.steps {
        let input = fragment.schema();
        let reader = Reader { context, codec, input: &input };
        fragment.steps.push(reader.step(step.kind.ok_or_else(|| missing("step"))?)?);
    }
    let partitions = message.partitions.into_iter();
    let partition = |p: PartitionMessage| Partition { lower: p.lower, upper: p.upper };
    Ok((fragment, partitions.map(partition).collect()))
}

fn missing(part: &str) -> datafusion::common::DataFusionError {
    exec_datafusion_err!("a fragment came without its {part}")
}

fn schema(message: Option<&protobuf::Schema>) -> Result<SchemaRef> {
    let schema: Schema = message.ok_or_else(|| missing("schema"))?.try_into()?;
    Ok(Arc::new(schema))
}

struct Writer<'a>(&'a dyn PhysicalExtensionCodec);

impl Writer<'_> {
    fn expr(&self, expr: &Scalar) -> Result<PhysicalExprNode> {
        serialize_physical_expr(expr, self.0)
    }

    fn exprs(&self, exprs: &[Scalar]) -> Result<Vec<PhysicalExprNode>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn step(&self, step: &Step) -> Result<StepMessage> {
        let kind = match step {
            Step::Filter(predicate) => StepKind::Filter(Box::new(self.expr(predicate)?)),
            Step::Project(exprs, schema) => StepKind::Project(ProjectMessage {
                exprs: self.exprs(exprs)?,
                schema: Some(schema.as_ref().try_into()?),
            }),
            Step::Aggregate(partial) => StepKind::Aggregate(PartialMessage {
                groups: self.exprs(&partial.groups)?,
                states: partial.states.iter().map(|s| self.state(s)).collect::<Result<_>>()?,
                schema: Some(partial.schema.as_ref().try_into()?),
            }),
        };
        Ok(StepMessage { kind: Some(kind) })
    }

    fn state(&self, state: &Aggregate) -> Result<AggregateMessage> {
        Ok(AggregateMessage {
            function: state.function as i32,
            arg: state.arg.as_ref().map(|arg| self.expr(arg)).transpose()?,
            filter: state.filter.as_ref().map(|filter| self.expr(filter)).transpose()?,
        })
    }
}

struct Reader<'a> {
    context: &'a TaskContext,
    codec: &'a dyn PhysicalExtensionCodec,
    /// The columns that expressions are over.
    input: &'a SchemaRef,
}

impl Reader<'_> {
    fn expr(&self, message: &PhysicalExprNode) -> Result<Scalar> {
        parse_physical_expr(message, self.context, self.input, self.codec)
    }

    fn exprs(&self, messages: &[PhysicalExprNode]) -> Result<Vec<Scalar>> {
        messages.iter().map(|message| self.expr(message)).collect()
    }

    fn step(&self, kind: StepKind) -> Result<Step> {
        Ok(match kind {
            StepKind::Filter(predicate) => Step::Filter(self.expr(&predicate)?),
            StepKind::Project(project) => {
                Step::Project(self.exprs(&project.exprs)?, schema(project.schema.as_ref())?)
            }
            StepKind::Aggregate(message) => {
                let (groups, schema) =
                    (self.exprs(&message.groups)?, schema(message.schema.as_ref())?);
                if schema.fields().len() != groups.len() + message.states.len() {
                    return Err(missing("columns of groups"));
                }
                let fields = schema.fields()[groups.len()..].iter();
                let states = message.states.iter().zip(fields);
                let states = states.map(|(state, field)| self.state(state, field.data_type()));
                let states = states.collect::<Result<_>>()?;
                Step::Aggregate(Partial { groups, states, schema })
            }
        })
    }

    fn state(&self, message: &AggregateMessage, ty: &arrow_schema::DataType) -> Result<Aggregate> {
        let function = Function::try_from(message.function);
        Ok(Aggregate {
            function: function.map_err(|_| missing("aggregate function"))?,
            arg: message.arg.as_ref().map(|arg| self.expr(arg)).transpose()?,
            filter: message.filter.as_ref().map(|filter| self.expr(filter)).transpose()?,
            ty: ty.clone(),
        })
    }
}
