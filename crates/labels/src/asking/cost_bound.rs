//! The maximum cost of a row, without a dry run for each.

use ep_polling::MicroUsd;

use crate::question::RowQuestion;

/// The maximum cost of a row: a line over the bytes of its prompt.
#[derive(Debug, Clone, Copy)]
pub struct CostBound {
    /// The maximum cost of a poll whose prompt has `bytes` that depend on the row.
    pub(crate) base: MicroUsd,
    pub(crate) bytes: usize,
    /// The further cost of [`LONGER`] further bytes.
    pub(crate) longer: MicroUsd,
    /// The number of models: the cost of each is rounded up.
    pub models: u32,
}

/// The further bytes at which the slope of a [`CostBound`] is known.
pub(crate) const LONGER: usize = 1_000;

impl CostBound {
    /// Returns the maximum cost of a row. After a kill, each lost call is charged by estimate, at most half of its
    /// highest cost, and made again.
    pub(crate) fn of(&self, question: &RowQuestion) -> MicroUsd {
        let further = question.bytes() as i128 - self.bytes as i128;
        let slope = i128::from(self.longer.micro());
        let rounding = if self.base.is_zero() && slope == 0 { 0 } else { i128::from(self.models) };
        let once =
            i128::from(self.base.micro()) + (slope * further).div_euclid(LONGER as i128) + 1 + rounding;
        let free = rounding == 0;
        MicroUsd::from_i128(if free { 0 } else { once + once / 2 + 1 })
    }
}
