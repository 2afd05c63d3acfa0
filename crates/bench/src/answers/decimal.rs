//! Decimal numbers just large enough to compare answers exactly.

/// `unscaled` / 10^`scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    unscaled: i128,
    /// Digits after the point.
    pub scale: u32,
}

impl Decimal {
    /// Reads `-12.34`. `None` for text that is no plain decimal number or has too many digits:
    /// such cells are compared as text.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let numeric = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let shape_ok = !whole.is_empty() && numeric(whole) && numeric(fraction);
        if !shape_ok || digits.ends_with('.') {
            return None;
        }
        let magnitude: i128 = format!("{whole}{fraction}").parse().ok()?;
        let unscaled = if negative { -magnitude } else { magnitude };
        Some(Decimal { unscaled, scale: fraction.len().try_into().ok()? })
    }

    /// The value with `scale` digits after the point, half away from zero. `None` on overflow.
    pub fn rounded(self, scale: u32) -> Option<Decimal> {
        let unscaled = if scale >= self.scale {
            self.unscaled.checked_mul(power_of_ten(scale - self.scale)?)?
        } else {
            let unit = power_of_ten(self.scale - scale)?;
            let half = if self.unscaled < 0 { -(unit / 2) } else { unit / 2 };
            self.unscaled.checked_add(half)? / unit
        };
        Some(Decimal { unscaled, scale })
    }

    /// The value with at most `scale` digits after the point, the others cut off.
    pub fn truncated(self, scale: u32) -> Decimal {
        let surplus = self.scale.saturating_sub(scale);
        match power_of_ten(surplus) {
            Some(unit) => Decimal { unscaled: self.unscaled / unit, scale: self.scale - surplus },
            None => self,
        }
    }
}

fn power_of_ten(exponent: u32) -> Option<i128> {
    10i128.checked_pow(exponent)
}
