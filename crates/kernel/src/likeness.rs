//! The likeness of a misspelt name to a known one.

/// Returns the similarity to a known name, up to 1; 0 for an unrelated name.
pub fn likeness(given: &str, known: &str) -> f64 {
    let (given, known) = (words(given), words(known));
    let whole = similarity(&given.concat(), &known.concat());
    // `max_cost` for max_cost_usd; `threshold` or `treshold` for confidence_threshold.
    let part_of = |word: &String| known.iter().any(|known| known.len() > 3 && similarity(word, known) > 0.8);
    let parts = given.iter().all(|word| known.contains(word) || part_of(word)) && given.iter().any(part_of);
    // `num_models` for models.
    let around = |word: &String| word.len() > 3 && given.iter().any(|given| similarity(given, word) > 0.8);
    match whole {
        whole if whole >= 0.75 => whole,
        whole if parts || known.iter().all(around) => whole.max(0.5),
        _ => 0.0,
    }
}

/// Returns the similarity of two different names, by letters and common words.
pub fn resemblance(given: &str, known: &str) -> f64 {
    let (given, known) = (words(given), words(known));
    let common = given.iter().filter(|word| known.contains(word)).count() as f64;
    similarity(&given.concat(), &known.concat()) + common
}

fn similarity(one: &str, other: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(one, other)
}

/// Splits a name in any style into lower-case words: `maxCost`, `max-cost` and `MAX_COST` are two words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
