//! Exact probabilities of draws without replacement.

/// Returns the probability that a random draw of `drawn` of these `rows` has at most this many `marked` ones. Linear in the
/// smaller one of `drawn` and `marked`.
///
/// ```
/// use ep_polling::evaluation::hypergeometric::at_most;
///
/// // Of 100 rows, 6 are wrong. A draw of 40 rows misses all of them in 4.2 % of cases.
/// assert!((at_most(0, 100, 6, 40) - 0.042).abs() < 1e-4);
/// ```
pub fn at_most(count: u64, rows: u64, marked: u64, drawn: u64) -> f64 {
    let (marked, drawn) = (marked.min(rows), drawn.min(rows));
    let unmarked = rows - marked;
    let fewest = drawn.saturating_sub(unmarked);
    if count < fewest {
        return 0.0;
    }
    if count >= marked.min(drawn) {
        return 1.0;
    }
    // Differences of logarithms of factorials would lose digits in large files.
    let (one, other) = if fewest == 0 { (drawn, marked) } else { (rows - drawn, unmarked) };
    let (few, many) = (one.min(other), one.max(other));
    let first: f64 = (0..few).map(|taken| (-(many as f64) / (rows - taken) as f64).ln_1p()).sum();
    // Each term follows from the one before. The largest one scales the sum, because each alone can be too small a number.
    let mut terms = vec![first];
    let mut term = first;
    for found in fewest..count {
        let more = (marked - found) as f64 * (drawn - found) as f64;
        let fewer = (found + 1) as f64 * (unmarked + found + 1 - drawn) as f64;
        term += (more / fewer).ln();
        terms.push(term);
    }
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = terms.iter().map(|term| (term - largest).exp()).sum();
    (largest.exp() * sum).min(1.0)
}

/// Returns the probability that such a draw has at least this many marked rows.
pub fn at_least(count: u64, rows: u64, marked: u64, drawn: u64) -> f64 {
    let (marked, drawn) = (marked.min(rows), drawn.min(rows));
    drawn.checked_sub(count).map_or(0.0, |others| at_most(others, rows, rows - marked, drawn))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Probabilities that were computed with rational numbers: the count, the rows, the marked ones, the drawn ones.
    const EXACT: [(u64, u64, u64, u64, f64); 12] = [
        (0, 100, 6, 40, 0.041_998_036_327_9),
        (2, 721, 37, 200, 0.000_535_207_865_227),
        (7, 721, 37, 200, 0.148_002_060_2),
        (4, 2_000, 101, 200, 0.019_756_271_784_9),
        (5, 100_000, 5_001, 220, 0.033_993_488_736_4),
        (400, 100_000, 5_001, 9_000, 0.005_401_282_311_11),
        (0, 1_000_000, 50_001, 59, 0.048_487_146_717_6),
        (2, 1_000_000, 20_001, 300, 0.060_144_088_03),
        (1, 30, 2, 25, 0.310_344_827_586),
        (15, 50, 25, 40, 0.000_318_211_787_678),
        (19, 50, 25, 40, 0.362_601_223_736),
        (9, 60, 20, 30, 0.392_326_286_8),
    ];

    #[test]
    fn probabilities_are_exact() {
        for (count, rows, marked, drawn, exact) in EXACT {
            let found = at_most(count, rows, marked, drawn);
            assert!((found / exact - 1.0).abs() < 1e-9, "{found} instead of {exact}");
        }
    }

    proptest! {
        #[test]
        fn both_tails_share_one_term(
            rows in 1_u64..400,
            marked in 0.0_f64..1.0,
            drawn in 0.0_f64..1.0,
            count in 0_u64..400,
        ) {
            let [marked, drawn] = [marked, drawn].map(|share| (share * rows as f64).round() as u64);
            let both = at_most(count, rows, marked, drawn) + at_least(count + 1, rows, marked, drawn);
            prop_assert!((both - 1.0).abs() < 1e-9, "{both}");
        }
    }
}
