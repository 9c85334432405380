//! Marks of model families: two letters each, generated from the name, in place of the makers' logos.

use std::collections::{BTreeSet, HashMap, HashSet};

/// The marks of the families of a list.
pub(super) struct FamilyMarks<'a>(HashMap<&'a str, String>);

impl<'a> FamilyMarks<'a> {
    /// Chooses a mark for each family: the first letter of its product line, and the first later letter with which
    /// no other family has the mark. Families with equal letters share a mark.
    pub(super) fn new(families: impl Iterator<Item = &'a str>) -> Self {
        let families: BTreeSet<&str> = families.collect();
        let mut used = HashSet::new();
        let mut marks = HashMap::with_capacity(families.len());
        for family in families {
            let line = family.rsplit('/').next().unwrap_or(family);
            let mut letters = line.chars().filter(|letter| letter.is_alphanumeric());
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            let pairs: Vec<String> = letters.map(|letter| format!("{first}{letter}")).collect();
            let free = pairs.iter().find(|pair| !used.contains(*pair));
            let mark = free.or_else(|| pairs.first()).cloned().unwrap_or(first);
            used.insert(mark.clone());
            marks.insert(family, mark);
        }
        Self(marks)
    }

    /// Returns the number of families.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the mark of a family.
    pub(super) fn of(&self, family: &str) -> &str {
        self.0.get(family).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_distinct_marks() {
        let families = ["google/gemini", "google/gemma", "openai/gpt", "x/q", "", "other/q"];
        let marks = FamilyMarks::new(families.into_iter());
        let shown = families.map(|family| marks.of(family));
        assert_eq!(shown, ["Ge", "Gm", "Gp", "Q", "", "Q"]);
        assert_eq!(marks.len(), 6);
    }
}
