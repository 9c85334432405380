//! The comparison of drawn rows with the rows that they were drawn from: a random draw has about the same shares.
//!
//! In a random draw, the number of drawn rows of one group is hypergeometric. Each group is tested exactly, on both sides, and
//! the groups share the risk. So a random draw is found unlikely at most as often as the risk says, whatever the shares are.
//! A draw that passes is not shown to be random: it can differ within the groups.

use crate::evaluation::fraction::Fraction;
use crate::evaluation::hypergeometric::{at_least, at_most};

/// Rows that have something in common, such as a label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Group {
    /// Rows of the group, the drawn ones included.
    pub rows: u64,
    /// Of these, rows that were drawn.
    pub drawn: u64,
}

/// Returns the places of the groups whose rows a random draw would rarely have so often or so seldom. Of a random draw,
/// there is such a group with a probability of at most `risk`.
///
/// ```
/// use ep_polling::evaluation::Fraction;
/// use ep_polling::evaluation::draw::{Group, unlikely};
///
/// let groups = |drawn: [u64; 2]| [(1_200, drawn[0]), (800, drawn[1])].map(|(rows, drawn)| Group { rows, drawn });
/// let risk = Fraction::new(0.01)?;
/// assert_eq!(unlikely(&groups([115, 85]), risk), Vec::<usize>::new());
/// assert_eq!(unlikely(&groups([200, 0]), risk), [0, 1]);
/// # Ok::<(), ep_polling::evaluation::NotAFraction>(())
/// ```
pub fn unlikely(groups: &[Group], risk: Fraction) -> Vec<usize> {
    let rows = groups.iter().map(|group| group.rows).sum();
    let drawn = groups.iter().map(|group| group.drawn).sum();
    let side = risk.divided_by(u32::try_from(2 * groups.len()).unwrap_or(u32::MAX)).get();
    let is_unlikely = |group: &Group| {
        at_most(group.drawn, rows, group.rows, drawn) <= side
            || at_least(group.drawn, rows, group.rows, drawn) <= side
    };
    groups.iter().enumerate().filter(|(_, group)| is_unlikely(group)).map(|(place, _)| place).collect()
}
