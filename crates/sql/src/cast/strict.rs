//! Casts that fail where a value does not fit.

use arrow_cast::CastOptions;
use arrow_cast::display::FormatOptions;

/// Casts that fail instead of making null.
pub(crate) const STRICT_CAST: CastOptions<'static> =
    CastOptions { safe: false, format_options: FormatOptions::new() };
