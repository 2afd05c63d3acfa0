//! From the generator's functions to executable pages.

use std::sync::Arc;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function, Signature, Type, UserFuncName, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::memory::{Budget, Code};
use crate::refusal::NotCompiled;

/// The type of addresses: code is generated for processors of 64 bits only.
pub(crate) const ADDRESS: Type = types::I64;

/// The generator for the processor at hand.
pub(crate) fn processor() -> Result<OwnedTargetIsa, NotCompiled> {
    if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
        return Err(NotCompiled::Processor(std::env::consts::ARCH.into()));
    }
    let mut flags = settings::builder();
    let is_checked = if cfg!(debug_assertions) { "true" } else { "false" };
    let chosen = [
        ("opt_level", "speed"),
        ("enable_verifier", is_checked),
        // Calls of functions of a run-time library would need relocations.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        // Profilers and backtraces find their way.
        ("preserve_frame_pointers", "true"),
    ];
    for (name, value) in chosen {
        flags.set(name, value).map_err(|why| NotCompiled::Generator(why.to_string()))?;
    }
    let host = cranelift_native::builder().map_err(|why| NotCompiled::Processor(why.into()))?;
    host.finish(settings::Flags::new(flags)).map_err(|why| NotCompiled::Processor(why.to_string()))
}

/// The signature of a C function; there is one result, of 64 bits.
pub(crate) fn signature(parameters: usize) -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend((0..parameters).map(|_| AbiParam::new(types::I64)));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}

/// Functions that will lie in the same pages.
pub(crate) struct Assembly<'a> {
    isa: &'a OwnedTargetIsa,
    bytes: Vec<u8>,
    builder: FunctionBuilderContext,
    context: Context,
}

impl<'a> Assembly<'a> {
    pub(crate) fn new(isa: &'a OwnedTargetIsa) -> Assembly<'a> {
        let (builder, context) = (FunctionBuilderContext::new(), Context::new());
        Assembly { isa, bytes: Vec::new(), builder, context }
    }

    /// Adds the function of `parameters` words that `build` makes; says where it begins.
    pub(crate) fn function(
        &mut self,
        parameters: usize,
        build: impl FnOnce(&mut FunctionBuilder<'_>) -> Result<(), NotCompiled>,
    ) -> Result<usize, NotCompiled> {
        self.context.clear();
        self.context.func =
            Function::with_name_signature(UserFuncName::default(), signature(parameters));
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        if let Err(refused) = build(&mut builder) {
            // The builder takes no half-made function back.
            self.builder = FunctionBuilderContext::new();
            return Err(refused);
        }
        builder.seal_all_blocks();
        builder.finalize(self.isa.frontend_config());
        let compiled = self.context.compile(self.isa.as_ref(), &mut ControlPlane::default());
        let code = compiled.map_err(|why| NotCompiled::Generator(format!("{:?}", why.inner)))?;
        if !code.buffer.relocs().is_empty() {
            return Err(NotCompiled::Generator("code that is not independent of its place".into()));
        }
        let alignment = (code.buffer.alignment as usize).max(16);
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(code.buffer.data());
        Ok(begin)
    }

    /// Bytes of code so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The pages with all functions.
    pub(crate) fn finish(self, budget: &Arc<Budget>) -> Result<Arc<Code>, NotCompiled> {
        Ok(Arc::new(Code::new(&self.bytes, budget)?))
    }
}
