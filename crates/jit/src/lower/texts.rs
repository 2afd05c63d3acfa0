//! Questions about texts: their views answer most, a proxy the others.
//!
//! A view has the length and the first four bytes of a text, all of one of at most twelve.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::make_view;
use arrow_array::cast::AsArray;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use ir::Text;

use super::chunk::{PANICKED, Place, TRUSTED, byte, cold};
use crate::assembly::{ADDRESS, signature};

/// Bytes of a text that lies wholly in its view.
const INLINE_BYTES_MAX: usize = 12;

/// Bytes of a text that each view has.
const PREFIX_BYTES: usize = 4;

/// Texts that are compared with each one of a list; a longer list is for the proxy.
const LIST_INLINE_MAX: usize = 8;

/// The answer as a byte, and the flag of a proxy that was asked.
pub(super) fn ask(
    builder: &mut FunctionBuilder<'_>,
    question: &Arc<Text>,
    place: &Place,
    row: Value,
) -> (Value, Option<Value>) {
    let at = builder.ins().ishl_imm_u(row, 4);
    let address = builder.ins().iadd(place.values, at);
    let head = builder.ins().load(types::I64, TRUSTED, address, 0);
    match question.as_ref() {
        Text::OneOf(wanted) if wanted.len() <= LIST_INLINE_MAX => {
            let tail = builder.ins().load(types::I64, TRUSTED, address, 8);
            // Texts that lie in their views are equal or not; of others the heads may be.
            let (mut any, mut perhaps) = (byte(builder, false), None);
            for text in wanted.iter() {
                let view = make_view(text.as_bytes(), 0, 0);
                let is_head = is_word(builder, head, view as u64);
                if text.len() <= INLINE_BYTES_MAX {
                    let is_tail = is_word(builder, tail, (view >> 64) as u64);
                    let is_equal = builder.ins().band(is_head, is_tail);
                    any = builder.ins().bor(any, is_equal);
                } else {
                    let so_far = perhaps.unwrap_or_else(|| byte(builder, false));
                    perhaps = Some(builder.ins().bor(so_far, is_head));
                }
            }
            match perhaps {
                None => (any, None),
                Some(perhaps) => proxied(builder, perhaps, any, question, place, row),
            }
        }
        Text::OneOf(_) => {
            let (yes, no) = (byte(builder, true), byte(builder, false));
            proxied(builder, yes, no, question, place, row)
        }
        Text::StartsWith(prefix) => {
            let begins = begins_with(builder, head, prefix.as_bytes());
            match prefix.len() <= PREFIX_BYTES {
                true => (begins, None),
                false => {
                    let no = byte(builder, false);
                    proxied(builder, begins, no, question, place, row)
                }
            }
        }
    }
}

fn is_word(builder: &mut FunctionBuilder<'_>, found: Value, wanted: u64) -> Value {
    let wanted = builder.ins().iconst(types::I64, wanted.cast_signed());
    builder.ins().icmp(IntCC::Equal, found, wanted)
}

/// True where a text is long enough and has those of the first four bytes that its view has.
fn begins_with(builder: &mut FunctionBuilder<'_>, head: Value, prefix: &[u8]) -> Value {
    let known = prefix.len().min(PREFIX_BYTES);
    let mut bytes = [0; 8];
    bytes[4..4 + known].copy_from_slice(&prefix[..known]);
    let mut mask = [0; 8];
    mask[4..4 + known].fill(0xff);
    let mask = builder.ins().iconst(types::I64, i64::from_le_bytes(mask));
    let masked = builder.ins().band(head, mask);
    let begins = is_word(builder, masked, u64::from_le_bytes(bytes));
    let length = builder.ins().ireduce(types::I32, head);
    let least = u32::try_from(prefix.len()).unwrap_or(u32::MAX);
    let least = builder.ins().iconst(types::I32, i64::from(least));
    let is_long = builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, length, least);
    builder.ins().band(begins, is_long)
}

/// The proxy's answer where it is to be asked, otherwise another.
fn proxied(
    builder: &mut FunctionBuilder<'_>,
    is_asked: Value,
    otherwise: Value,
    question: &Arc<Text>,
    place: &Place,
    row: Value,
) -> (Value, Option<Value>) {
    let (asking, join) = (cold(builder), builder.create_block());
    let answer = builder.append_block_param(join, types::I8);
    let flag = builder.append_block_param(join, types::I64);
    let zero = builder.ins().iconst(types::I64, 0);
    builder.ins().brif(is_asked, asking, &[], join, &[otherwise.into(), zero.into()]);

    builder.switch_to_block(asking);
    let callee = builder.import_signature(signature(3));
    let proxy = builder.ins().iconst(ADDRESS, ask_text as *const () as i64);
    let question = builder.ins().iconst(ADDRESS, Arc::as_ptr(question) as i64);
    let call = builder.ins().call_indirect(callee, proxy, &[question, place.array, row]);
    let result = builder.inst_results(call)[0];
    let panicked = builder.ins().band_imm_s(result, PANICKED);
    let yes = builder.ins().band_imm_s(result, 1);
    let yes = builder.ins().ireduce(types::I8, yes);
    builder.ins().jump(join, &[yes.into(), panicked.into()]);

    builder.switch_to_block(join);
    (answer, Some(flag))
}

/// The proxy: 1 for yes, 0 for no, the flag if it has panicked.
extern "C" fn ask_text(question: *const Text, array: *const ArrayRef, row: usize) -> i64 {
    let ask = || {
        // SAFETY: the program of the running code owns the question, and who runs it lends the
        // vector.
        let (question, array) = unsafe { (&*question, &*array) };
        let text = array.as_string_view().value(row);
        match question {
            Text::OneOf(wanted) => wanted.iter().any(|wanted| wanted.as_ref() == text),
            Text::StartsWith(prefix) => text.starts_with(prefix.as_ref()),
        }
    };
    catch_unwind(AssertUnwindSafe(ask)).map_or(PANICKED, i64::from)
}
