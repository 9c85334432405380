//! The nearest known name for a misspelt one.

/// The longest name that is compared. Comparing takes time proportional to the product of two lengths.
const MAX_NAME: usize = 64;
/// The least similarity of a suggestion.
const SIMILAR: f64 = 0.6;

/// Returns the most similar known name, if one is similar.
pub fn nearest<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let given: String = given.chars().take(MAX_NAME).collect();
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(&given, known);
    let scored = known.into_iter().map(|known| (similarity(known), known));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(similarity, _)| *similarity > SIMILAR).map(|(_, known)| known)
}
