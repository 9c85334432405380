//! Whole numbers that add up: percentages of votes, and seats of rows.

/// Splits a whole number by weights, by largest remainder; of equal remainders, the first ones are rounded up.
/// Without positive weights, every part is 0.
pub fn apportion(whole: usize, weights: &[f64]) -> Vec<usize> {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return vec![0; weights.len()];
    }
    let exact: Vec<f64> = weights.iter().map(|weight| whole as f64 * weight / sum).collect();
    let mut parts: Vec<usize> = exact.iter().map(|exact| exact.floor() as usize).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let remainder = |index: &usize| exact[*index] - exact[*index].floor();
    order.sort_by(|one, other| remainder(other).total_cmp(&remainder(one)));
    let missing = whole.saturating_sub(parts.iter().sum());
    for index in order.into_iter().take(missing) {
        parts[index] += 1;
    }
    parts
}

/// Returns the shares of these votes in whole per cent. They add up to 100, except without votes.
pub fn percentages(votes: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let votes: Vec<f64> = votes.into_iter().map(f64::from).collect();
    apportion(100, &votes).into_iter().map(|share| share as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        assert_eq!(percentages([8, 2, 1]), [73, 18, 9]);
        assert_eq!(percentages([1, 1, 1]), [34, 33, 33]);
        assert_eq!(percentages([0, 0]), [0, 0]);
        assert_eq!(apportion(7, &[0.9, 0.6]), [4, 3]);
        for votes in 1..40 {
            assert_eq!(percentages([votes, 7, 3, 0]).iter().sum::<u32>(), 100);
        }
    }
}
