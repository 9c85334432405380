//! Exact binomial probabilities, and the bounds of Clopper and Pearson (Biometrika 26, 1934).

use std::ops::RangeInclusive;

use crate::evaluation::fraction::Fraction;

/// Number of bisections: enough to reach the neighbouring floating-point number.
const BISECTIONS: u32 = 64;

/// Returns the probability of at most this many errors in independent trials with this error rate. Linear in `errors`.
///
/// ```
/// use ep_polling::evaluation::{binomial, Fraction};
///
/// let rate = Fraction::new(0.05)?;
/// // 59 trials without an error are the fewest that speak against an error rate of 5 % with 95 % confidence.
/// assert!(binomial::at_most(0, 59, rate) <= 0.05);
/// assert!(binomial::at_most(0, 58, rate) > 0.05);
/// # Ok::<(), ep_polling::evaluation::NotAFraction>(())
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

/// Returns the upper bound of the error rate after these trials; it is too low with at most this risk. Linear in `trials`,
/// once for all bisections.
///
/// ```
/// use ep_polling::evaluation::{binomial, Fraction};
///
/// let bound = binomial::upper_bound(3, 200, Fraction::FIVE_PERCENT);
/// assert!((bound - 0.0383).abs() < 1e-4);
/// ```
pub fn upper_bound(errors: u64, trials: u64, risk: Fraction) -> f64 {
    if errors >= trials {
        return 1.0;
    }
    if risk > Fraction::HALF {
        // The lower bound of the rate of the other outcome, from one more of it.
        return 1.0 - upper_bound(trials - errors - 1, trials, risk.complement());
    }
    let ways = ln_of_combinations(errors, trials);
    // At the observed rate, the probability of at most this many errors is at least one half.
    let (mut low, mut high) = (errors as f64 / trials as f64, 1.0);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if lower_tail(errors, trials, ways, middle) > risk.get() {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the logarithm of the number of ways in which `trials` have this many errors.
fn ln_of_combinations(errors: u64, trials: u64) -> f64 {
    let chosen = errors.min(trials - errors);
    (0..chosen).map(|error| ((trials - error) as f64 / (error + 1) as f64).ln()).sum()
}

/// Returns the probability of at most `errors` at a rate of at least `errors / trials`. The terms then fall from that of
/// `errors` on, so the sum ends at terms too small to change it. `ways` is [`ln_of_combinations`].
fn lower_tail(errors: u64, trials: u64, ways: f64, rate: f64) -> f64 {
    /// The share of the sum below which a term is left out, with all that follow.
    const NEGLIGIBLE: f64 = f64::EPSILON / 1024.0;
    let correct = (trials - errors) as f64;
    let mut term = (ways + errors as f64 * rate.ln() + correct * (-rate).ln_1p()).exp();
    let mut sum = term;
    for error in (0..errors).rev() {
        term *= (error + 1) as f64 / (trials - error) as f64 * ((1.0 - rate) / rate);
        sum += term;
        if term < sum * NEGLIGIBLE {
            break;
        }
    }
    sum
}

/// Returns the interval of a rate after this many successes in `trials`; its two sides share the risk.
pub fn interval(successes: u64, trials: u64, risk: Fraction) -> RangeInclusive<f64> {
    let side = risk.divided_by(2);
    let failures = trials.saturating_sub(successes);
    1.0 - upper_bound(failures, trials, side)..=upper_bound(successes, trials, side)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// At the bound, the probability of so few errors is the risk.
        #[test]
        fn bound_has_the_risk(trials in 1_u64..3_000, share in 0.0_f64..1.0, risk in 0.001_f64..0.999) {
            let errors = (trials as f64 * share) as u64;
            let bound = upper_bound(errors, trials, Fraction::new(risk).unwrap());
            prop_assert!((sum_of_terms(errors, trials, bound) - risk).abs() < 1e-9);
        }
    }
}
