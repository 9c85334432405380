//! Further paths of a document, beside those that catalogues list.

/// A family of paths at which a document is served, too: the same bytes at each.
pub struct Mirrors {
    /// The path, with `{placeholders}`.
    pub path: &'static str,
    /// Each placeholder and the values that it takes; nothing is served for others.
    pub values: &'static [(&'static str, &'static [&'static str])],
}

impl Mirrors {
    /// Every path of the family.
    pub fn paths(&self) -> Vec<String> {
        self.values.iter().fold(vec![self.path.to_owned()], |paths, (name, values)| {
            let placeholder = format!("{{{name}}}");
            let filled = |path: String| values.iter().map(move |value| (path.clone(), value));
            paths
                .into_iter()
                .flat_map(filled)
                .map(|(path, value)| path.replace(&placeholder, value))
                .collect()
        })
    }
}
