//! Agreement of the members among each other, without gold labels.

/// The meaning of an option's index on different rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classes {
    /// The same index is the same label on every row, as in a classification.
    Shared,
    /// Each row has options of its own. Then no two rows have a label in common, and alpha is close to the pair
    /// agreement.
    PerRow,
}

/// Sums over rows, from which agreement is computed. Its size does not depend on the number of rows.
///
/// ```
/// use ep_polling::evaluation::agreement::{Agreement, Classes};
///
/// let mut agreement = Agreement::new(Classes::Shared);
/// agreement.add(&[3, 0]); // three votes for the first label
/// agreement.add(&[1, 2]);
/// assert_eq!(agreement.pair_agreement(), Some(4.0 / 6.0));
/// assert!((agreement.alpha().unwrap() - 0.375).abs() < 1e-12);
/// ```
#[derive(Debug, Clone)]
pub struct Agreement {
    classes: Classes,
    /// Votes on rows with two votes or more.
    votes: u64,
    /// Sum of c(c − 1) / (m − 1) over rows with m votes, c of them for an option.
    observed: f64,
    /// Ordered pairs of equal votes on a row, and of all votes on a row.
    equal_pairs: u64,
    pairs: u64,
    /// Votes by shared class.
    by_class: Vec<u64>,
}

impl Agreement {
    /// Creates empty sums.
    pub const fn new(classes: Classes) -> Self {
        Self { classes, votes: 0, observed: 0.0, equal_pairs: 0, pairs: 0, by_class: Vec::new() }
    }

    /// True if each row has labels of its own.
    pub const fn is_per_row(&self) -> bool {
        matches!(self.classes, Classes::PerRow)
    }

    /// Adds a row with these votes for each option. Rows with fewer than two votes do not count.
    pub fn add(&mut self, counts: &[u32]) {
        let votes: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if votes < 2 {
            return;
        }
        let equal: u64 = counts.iter().map(|&count| ordered_pairs(u64::from(count))).sum();
        self.votes += votes;
        self.observed += equal as f64 / (votes - 1) as f64;
        self.equal_pairs += equal;
        self.pairs += ordered_pairs(votes);
        if self.classes == Classes::Shared {
            if self.by_class.len() < counts.len() {
                self.by_class.resize(counts.len(), 0);
            }
            for (class, &count) in self.by_class.iter_mut().zip(counts) {
                *class += u64::from(count);
            }
        }
    }

    /// Returns the share of equal pairs of votes among all pairs on a row; `None` without a pair.
    pub fn pair_agreement(&self) -> Option<f64> {
        (self.pairs > 0).then(|| self.equal_pairs as f64 / self.pairs as f64)
    }

    /// Returns Krippendorff's alpha for nominal data (Content Analysis, 2004, section 11.3): 1 is full agreement, 0 that of
    /// votes distributed at random. `None` without a pair, or if all votes are equal.
    ///
    /// Alpha tells how alike the members vote, not whether they are right.
    pub fn alpha(&self) -> Option<f64> {
        let equal_classes = match self.classes {
            Classes::Shared => self.by_class.iter().map(|&class| ordered_pairs(class) as f64).sum(),
            Classes::PerRow => self.equal_pairs as f64,
        };
        let expected = 1.0 - equal_classes / ordered_pairs(self.votes) as f64;
        let observed = 1.0 - self.observed / self.votes as f64;
        (self.votes > 0 && expected > 0.0).then(|| 1.0 - observed / expected)
    }
}

/// Returns the number of ordered pairs of `count` votes.
const fn ordered_pairs(count: u64) -> u64 {
    count * count.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(classes: Classes, rows: &[&[u32]]) -> Agreement {
        let mut agreement = Agreement::new(classes);
        for row in rows {
            agreement.add(row);
        }
        agreement
    }

    /// The example of Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers, twelve
    /// units, missing votes.
    #[test]
    fn alpha_of_the_published_example() {
        let units: [&[u32]; 12] = [
            &[3],
            &[0, 3, 1],
            &[0, 0, 4],
            &[0, 0, 4],
            &[0, 4],
            &[1, 1, 1, 1],
            &[0, 0, 0, 4],
            &[3, 1],
            &[0, 4],
            &[0, 0, 0, 0, 3],
            &[2],
            &[0, 0, 1],
        ];
        let agreement = of(Classes::Shared, &units);
        assert!((agreement.alpha().unwrap() - 0.743).abs() < 5e-4, "{:?}", agreement.alpha());
    }

    #[test]
    fn rows_without_a_pair_do_not_count() {
        let none = of(Classes::Shared, &[&[1, 0], &[0, 0]]);
        assert_eq!((none.pair_agreement(), none.alpha()), (None, None));
        let equal = of(Classes::Shared, &[&[3, 0]]);
        assert_eq!((equal.pair_agreement(), equal.alpha()), (Some(1.0), None), "nothing to compare with");
    }

    #[test]
    fn options_of_different_rows_are_different_labels() {
        let rows: [&[u32]; 2] = [&[2, 0], &[2, 0]];
        assert_eq!(of(Classes::Shared, &rows).alpha(), None);
        assert_eq!(of(Classes::PerRow, &rows).alpha(), Some(1.0));
    }
}
