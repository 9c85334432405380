//! Alias paths of documents, which catalogues do not list.

/// A path pattern at which the same bytes of a document are served.
pub struct AliasPaths {
    /// The path pattern, with `{placeholders}`.
    pub path: &'static str,
    /// Each placeholder with its allowed values. Other values are not served.
    pub values: &'static [(&'static str, &'static [&'static str])],
}

impl AliasPaths {
    /// Returns every path that the pattern matches.
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
