//! Errors among the most certain labels.

use crate::evaluation::proof::GoldRow;

/// Returns the area under the risk-coverage curve (El-Yaniv and Wiener, JMLR 11, 2010): the mean error rate among the most
/// certain 1, 2, 3 … rows. Lower is better. Rows with the same score are in random order, so each has the error rate of its
/// score. `None` without rows.
///
/// ```
/// use ep_polling::evaluation::proof::{GoldRow, Score};
/// use ep_polling::evaluation::risk_coverage::area;
///
/// let row = |score, is_wrong| GoldRow { score: Score(score), is_wrong };
/// // Error rates of the first one, two and three rows: 0, 0 and 1/3.
/// let rows = [row(3, false), row(2, false), row(1, true)];
/// assert!((area(&rows).unwrap() - 1.0 / 9.0).abs() < 1e-12);
/// ```
pub fn area(rows: &[GoldRow]) -> Option<f64> {
    let curve = curve(rows);
    (!curve.is_empty()).then(|| curve.iter().sum::<f64>() / curve.len() as f64)
}

/// Returns the accuracy of the most certain part of the rows; `None` without rows in it.
pub fn accuracy(rows: &[GoldRow], coverage: f64) -> Option<f64> {
    let most = (rows.len() as f64 * coverage.clamp(0.0, 1.0)).round() as usize;
    curve(rows).get(most.checked_sub(1)?).map(|risk| 1.0 - risk)
}

/// Returns the error rate among the most certain 1, 2, 3 … rows.
fn curve(rows: &[GoldRow]) -> Vec<f64> {
    let mut rows = rows.to_vec();
    rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.score));
    let (mut curve, mut errors) = (Vec::with_capacity(rows.len()), 0.0);
    for level in rows.chunk_by(|first, second| first.score == second.score) {
        let rate = level.iter().filter(|row| row.is_wrong).count() as f64 / level.len() as f64;
        for _ in level {
            errors += rate;
            curve.push(errors / (curve.len() + 1) as f64);
        }
    }
    curve
}
