//! Sets of choices named by a response.

/// A set of choices, by their index in the ballot view. A view has at most ten choices; indices from 64 on
/// are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ChoiceSet(u64);

impl ChoiceSet {
    /// The empty set.
    pub(crate) const NONE: Self = Self(0);

    /// Creates a set of one choice.
    pub(crate) fn one(index: usize) -> Self {
        Self(u32::try_from(index).ok().and_then(|index| 1_u64.checked_shl(index)).unwrap_or(0))
    }

    /// Adds the choices of another set.
    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Returns true if the set is empty.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the index of the only choice, if there is exactly one.
    pub(crate) fn only(self) -> Option<usize> {
        self.0.is_power_of_two().then(|| self.0.trailing_zeros() as usize)
    }

    /// Returns the set itself if it has exactly one choice, else the empty set.
    pub(crate) fn if_unique(self) -> Self {
        if self.0.is_power_of_two() { self } else { Self::NONE }
    }
}

impl FromIterator<usize> for ChoiceSet {
    fn from_iter<T: IntoIterator<Item = usize>>(indices: T) -> Self {
        let mut set = Self::NONE;
        for index in indices {
            set.add(Self::one(index));
        }
        set
    }
}
