//! A budget of work for readers of outside text, so that no request costs more than its length.

/// Units of work for each byte of the text. A unit is a value that is visited, or a byte that is hashed or compared.
const UNITS_PER_BYTE: usize = 4;
/// Units of work for a short text.
const LEAST: usize = 16 << 10;

/// The work that is left for reading a text.
#[derive(Debug)]
pub struct Work {
    limit: usize,
    used: usize,
}

/// The text would take more work than its length allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

impl Work {
    /// Creates the budget for a text of this length, in bytes.
    pub fn of(bytes: usize) -> Self {
        Self { limit: bytes.saturating_mul(UNITS_PER_BYTE).max(LEAST), used: 0 }
    }

    /// Spends units. Call it before the work.
    pub fn spend(&mut self, units: usize) -> Result<(), Exhausted> {
        match self.used.checked_add(units) {
            Some(used) if used <= self.limit => {
                self.used = used;
                Ok(())
            }
            _ => Err(Exhausted),
        }
    }

    /// Gives back units that were spent on work that was not needed.
    pub const fn refund(&mut self, units: usize) {
        self.used = self.used.saturating_sub(units);
    }

    /// Returns the units that were spent.
    #[cfg(test)]
    pub const fn used(&self) -> usize {
        self.used
    }
}
