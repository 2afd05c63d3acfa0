//! Fragments on their way between nodes.

use std::sync::Arc;

use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use prost::Message;

use crate::fragment::wire::{FragmentMessage, read, write};
use crate::local::Local;
use crate::node::FragmentExec;

/// Writes fragments, and reads them as nodes that run over the database of this process.
#[derive(Clone, Debug)]
pub struct Codec(pub Local);

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        bytes: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let message = FragmentMessage::decode(bytes)
            .map_err(|error| exec_datafusion_err!("a fragment cannot be read: {error}"))?;
        let (fragment, partitions) = read(message, context, self)?;
        Ok(Arc::new(FragmentExec::new(fragment, partitions, &self.0)?))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(node) = node.downcast_ref::<FragmentExec>() else {
            return Err(exec_datafusion_err!("{} is no fragment", node.name()));
        };
        let message = write(node.fragment(), node.partitions(), self)?;
        message.encode(bytes).map_err(|error| exec_datafusion_err!("{error}"))
    }
}
