//! Exact binomial probabilities, and the bounds of Clopper and Pearson (Biometrika 26, 1934).

use std::ops::RangeInclusive;

use crate::fraction::Fraction;

/// Number of bisections: enough to reach the neighbouring floating-point number.
const BISECTIONS: u32 = 64;

/// Returns the probability of at most this many errors in independent trials with this error rate. Linear in `errors`.
///
/// ```
/// use ep_evaluation::{binomial, Fraction};
///
/// let rate = Fraction::new(0.05)?;
/// // 59 trials without an error are the fewest that speak against an error rate of 5 % with 95 % confidence.
/// assert!(binomial::at_most(0, 59, rate) <= 0.05);
/// assert!(binomial::at_most(0, 58, rate) > 0.05);
/// # Ok::<(), ep_evaluation::NotAFraction>(())
/// ```
pub fn at_most(errors: u64, trials: u64, rate: Fraction) -> f64 {
    sum_of_terms(errors, trials, rate.get())
}

fn sum_of_terms(errors: u64, trials: u64, rate: f64) -> f64 {
    if errors >= trials {
        return 1.0;
    }
    let odds = rate.ln() - (-rate).ln_1p();
    let mut term = trials as f64 * (-rate).ln_1p();
    let mut sum = term.exp();
    for error in 0..errors {
        term += ((trials - error) as f64 / (error + 1) as f64).ln() + odds;
        sum += term.exp();
    }
    sum.min(1.0)
}

/// Returns the upper bound of the error rate after these trials; it is too low with at most this risk.
///
/// ```
/// use ep_evaluation::{binomial, Fraction};
///
/// let bound = binomial::upper_bound(3, 200, Fraction::FIVE_PERCENT);
/// assert!((bound - 0.0383).abs() < 1e-4);
/// ```
pub fn upper_bound(errors: u64, trials: u64, risk: Fraction) -> f64 {
    if errors >= trials {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if sum_of_terms(errors, trials, middle) > risk.get() {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the interval of a rate after this many successes in `trials`; its two sides share the risk.
pub fn interval(successes: u64, trials: u64, risk: Fraction) -> RangeInclusive<f64> {
    let side = risk.divided_by(2);
    let failures = trials.saturating_sub(successes);
    1.0 - upper_bound(failures, trials, side)..=upper_bound(successes, trials, side)
}
