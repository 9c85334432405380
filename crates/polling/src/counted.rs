//! Counts with their nouns, for messages.

/// Formats a count with its noun, which is given in the singular: `1 vote`, `2 votes`, `3 identities`.
pub fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let stem = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match (count, stem) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}

/// Formats a count with its noun and a verb, which is given for one and for several: `1 row was`, `2 rows were`.
pub fn counted_with(count: impl TryInto<u64>, noun: &str, [one, several]: [&str; 2]) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{} {}", counted(count, noun), if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        for (count, votes, keys, identities) in [
            (0_usize, "0 votes", "0 keys", "0 identities"),
            (1, "1 vote", "1 key", "1 identity"),
            (2, "2 votes", "2 keys", "2 identities"),
        ] {
            assert_eq!(
                [counted(count, "vote"), counted(count, "key"), counted(count, "identity")],
                [votes, keys, identities]
            );
        }
        assert_eq!(counted_with(1_u32, "row", ["was", "were"]), "1 row was");
        assert_eq!(counted_with(0_u32, "row", ["was", "were"]), "0 rows were");
    }
}
