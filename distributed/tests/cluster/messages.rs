//! Fragments as messages: what is written is read again, and what is damaged is an error or another
//! fragment.

use std::sync::Arc;

use datafusion::execution::TaskContext;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{binary, col, lit};
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion_proto::physical_plan::{DefaultPhysicalProtoConverter, PhysicalExtensionCodec};
use distributed::codec::Codec;
use distributed::fragment::{Aggregate, Fragment, Function, Partial, Step};
use distributed::local::Local;
use distributed::node::FragmentExec;
use engine::Partition;

use crate::data;

/// Orders of some customers, counted by state.
fn fragment(local: &Local) -> Fragment {
    let table = local.table("orders").expect("a table");
    let columns = vec![1, 2];
    let read = table.schema.project(&columns);
    let customer = col("o_custkey", &read).expect("a column");
    let few = binary(customer, Operator::Lt, lit(40_i64), &read).expect("a comparison");
    let state = col("o_orderstatus", &read).expect("a column");
    let ty = arrow_schema::DataType::Int64;
    let count = Aggregate { function: Function::Rows, arg: None, filter: None, ty: ty.clone() };
    let fields = vec![
        arrow_schema::Field::new("state", arrow_schema::DataType::Utf8View, true),
        arrow_schema::Field::new("count", ty, true),
    ];
    let schema = Arc::new(arrow_schema::Schema::new(fields));
    Fragment::of_table("orders", local.state(), columns, read)
        .then(Step::Filter(few))
        .then(Step::Aggregate(Partial { groups: vec![state], states: vec![count], schema }))
}

fn written(codec: &Codec, node: FragmentExec) -> Vec<u8> {
    let mut bytes = vec![];
    let converter = DefaultPhysicalProtoConverter {};
    codec.try_encode(Arc::new(node), &mut bytes, &converter).expect("a message");
    bytes
}

fn read(codec: &Codec, bytes: &[u8]) -> Result<Arc<dyn ExecutionPlan>, String> {
    let converter = DefaultPhysicalProtoConverter {};
    let read = codec.try_decode(bytes, &[], &TaskContext::default(), &converter);
    read.map_err(|error| error.to_string())
}

fn shown(node: &dyn ExecutionPlan) -> String {
    displayable(node).one_line().to_string()
}

#[test]
fn a_message_is_read_as_it_was_written() {
    let local = data::local();
    let partitions = vec![
        Partition { lower: vec![], upper: Some(vec![1, 2]) },
        Partition { lower: vec![1, 2], upper: None },
    ];
    let node = FragmentExec::new(fragment(&local), partitions.clone(), &local).expect("a node");
    let (text, codec) = (shown(&node), Codec(local));
    let again = read(&codec, &written(&codec, node)).expect("the same");
    assert_eq!(shown(again.as_ref()), text);
    let again = again.downcast_ref::<FragmentExec>().expect("a fragment");
    assert_eq!(again.partitions(), partitions);
}

#[test]
fn a_damaged_message_does_no_harm() {
    let local = data::local();
    let node = FragmentExec::new(fragment(&local), vec![Partition::default()], &local);
    let codec = Codec(local);
    let bytes = written(&codec, node.expect("a node"));
    let mut refused = 0;
    for at in 0..bytes.len() {
        refused += usize::from(read(&codec, &bytes[..at]).is_err());
        for bit in [0, 3, 7] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            refused += usize::from(read(&codec, &damaged).is_err());
        }
    }
    assert!(refused > bytes.len(), "{refused} of {} were refused", 4 * bytes.len());
}
