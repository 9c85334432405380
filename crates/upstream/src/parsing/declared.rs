//! The choices that a part of a response declares.

use super::choice_set::ChoiceSet;

/// The choices that a text declares.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Declared {
    pub(super) choices: ChoiceSet,
    /// A value has no end.
    pub(super) unfinished: bool,
}

impl Declared {
    /// Adds what another part of the text declares.
    pub(super) fn add(&mut self, other: Self) {
        self.choices.add(other.choices);
        self.unfinished = self.unfinished || other.unfinished;
    }
}
