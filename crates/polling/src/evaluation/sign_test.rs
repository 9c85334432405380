//! The sign test: one of two ways to label is more often right than the other, by the rows on which only one of them is.

use crate::evaluation::binomial;
use crate::evaluation::fraction::Fraction;

/// Returns the probability of so many wins or more, if wins and losses are equally probable.
///
/// ```
/// use ep_polling::evaluation::sign_test::p_value;
///
/// assert_eq!(p_value(5, 0), 0.03125);
/// assert_eq!(p_value(0, 0), 1.0);
/// ```
pub fn p_value(wins: u64, losses: u64) -> f64 {
    binomial::at_most(losses, wins + losses, Fraction::HALF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_exact() {
        for (wins, losses, exact) in
            [(2, 0, 0.25), (4, 0, 0.0625), (5, 0, 0.031_25), (7, 1, 0.035_156_25), (12, 4, 0.038_406_372_1)]
        {
            assert!((p_value(wins, losses) - exact).abs() < 1e-10, "{wins}-{losses}");
        }
        assert!(p_value(0, 5) > 0.999 && p_value(3, 3) > 0.5);
    }
}
