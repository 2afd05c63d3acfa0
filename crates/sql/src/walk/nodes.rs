//! Walks over the library's plans and expressions, compiled once for all that is done at their nodes: each
//! instance of a generic one is some 60 functions.

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};

/// The walks of [`TreeNode`], with what is done behind a pointer.
pub(crate) trait Nodes: TreeNode {
    fn apply<'n>(
        &'n self,
        mut look: impl FnMut(&'n Self) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        TreeNode::apply(self, erased(&mut look))
    }

    fn apply_children<'n>(
        &'n self,
        mut look: impl FnMut(&'n Self) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        TreeNode::apply_children(self, erased(&mut look))
    }

    fn exists(&self, mut is_it: impl FnMut(&Self) -> Result<bool>) -> Result<bool> {
        TreeNode::exists(self, erased_ref(&mut is_it))
    }

    fn transform(
        self,
        change: impl FnMut(Self) -> Result<Transformed<Self>>,
    ) -> Result<Transformed<Self>> {
        Nodes::transform_up(self, change)
    }

    fn transform_down(
        self,
        mut change: impl FnMut(Self) -> Result<Transformed<Self>>,
    ) -> Result<Transformed<Self>> {
        TreeNode::transform_down(self, erased(&mut change))
    }

    fn transform_up(
        self,
        mut change: impl FnMut(Self) -> Result<Transformed<Self>>,
    ) -> Result<Transformed<Self>> {
        TreeNode::transform_up(self, erased(&mut change))
    }

    fn map_children(
        self,
        mut change: impl FnMut(Self) -> Result<Transformed<Self>>,
    ) -> Result<Transformed<Self>> {
        TreeNode::map_children(self, erased(&mut change))
    }
}

impl<T: TreeNode> Nodes for T {}

/// What is done at a node, behind a pointer.
pub(crate) fn erased<'f, N, R>(
    done: &'f mut dyn FnMut(N) -> R,
) -> &'f mut (dyn FnMut(N) -> R + 'f) {
    done
}

/// The same of what only looks.
pub(crate) fn erased_ref<'f, N, R>(
    done: &'f mut dyn FnMut(&N) -> R,
) -> &'f mut (dyn FnMut(&N) -> R + 'f) {
    done
}
