//! Which choices an answer names.

/// A set of choices, by their place on the view. Papers hold at most ten; places from the 64th on
/// would never be marked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks(u64);

impl Marks {
    /// No choice.
    pub(crate) const NONE: Self = Self(0);

    /// One choice.
    pub(crate) fn one(place: usize) -> Self {
        Self(u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place)).unwrap_or(0))
    }

    /// Adds those of another set.
    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether there is none.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The only one, where there is exactly one.
    pub(crate) fn only(self) -> Option<usize> {
        self.0.is_power_of_two().then(|| self.0.trailing_zeros() as usize)
    }

    /// The set itself where it holds exactly one choice, else none.
    pub(crate) fn if_unique(self) -> Self {
        if self.0.is_power_of_two() { self } else { Self::NONE }
    }
}

impl FromIterator<usize> for Marks {
    fn from_iter<T: IntoIterator<Item = usize>>(places: T) -> Self {
        let mut marks = Self::NONE;
        for place in places {
            marks.add(Self::one(place));
        }
        marks
    }
}
