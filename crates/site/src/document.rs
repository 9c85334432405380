//! A document as data: its name, its paths, its forms and their renderers.

use std::fmt;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use schemars::Schema;

use super::Site;
use super::negotiation::wants_markdown;

/// The media type of Markdown (RFC 7763).
pub const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// The media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";

/// A document for crawlers and readers.
pub struct Document {
    /// The name, for links and metrics.
    pub name: &'static str,
    /// A summary in one sentence.
    pub summary: &'static str,
    /// The paths at which it is served; empty if it is only a committed file.
    pub paths: fn(&Site) -> Vec<String>,
    /// Alias paths, which no catalogue lists.
    pub aliases: &'static [AliasPaths],
    /// The cache lifetime in seconds.
    pub max_age: u32,
    /// The representations; the first one is the default.
    pub forms: &'static [Form],
    /// The message of the 404 response if this configuration does not have the document.
    pub absent: &'static str,
    /// Additional response headers. The last header of a name wins.
    pub headers: fn(&Site) -> Vec<(HeaderName, String)>,
    /// True if pages of every website may read it, regardless of the operator's CORS settings.
    pub open: bool,
    /// True if lists of documents include it.
    pub listed: bool,
    /// The reason why it changes while the service runs.
    pub changes: Changes,
}

/// The reason why a document changes while the service runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// It does not change and is rendered once.
    Never,
    /// It depends on the time and is rendered for every request.
    WithTime,
    /// The models that are available, and their prices: it is rendered for every request.
    WithModels,
}

/// A representation of a document.
pub struct Form {
    /// The condition on the request; `None` for the default form.
    pub condition: Option<FormCondition>,
    /// The media type.
    pub media_type: &'static str,
    /// Renders the form; `None` if this configuration does not have the document.
    pub render: fn(&Site) -> Option<Bytes>,
    /// The path of the rendered copy in the repository, if it has one.
    pub committed: Option<&'static str>,
    /// The schema of its JSON, if it is more specific than an object.
    pub schema: Option<fn() -> Schema>,
}

/// The condition under which a request gets another form than the default.
pub struct FormCondition {
    /// The request header that decides, for `Vary`.
    pub header: &'static str,
    /// Returns true if a request with these headers gets the form.
    pub by: fn(&HeaderMap) -> bool,
}

/// A path pattern at which the same bytes of a document are served.
pub struct AliasPaths {
    /// The path pattern, with `{placeholders}`.
    pub path: &'static str,
    /// Each placeholder with its allowed values. Other values are not served.
    pub values: &'static [(&'static str, &'static str)],
}

impl AliasPaths {
    /// Returns every path that the pattern matches.
    pub fn paths(&self) -> Vec<String> {
        self.values.iter().fold(vec![self.path.to_owned()], |paths, (name, values)| {
            let placeholder = format!("{{{name}}}");
            let filled = |path: String| values.split(' ').map(move |value| (path.clone(), value));
            paths
                .into_iter()
                .flat_map(filled)
                .map(|(path, value)| path.replace(&placeholder, value))
                .collect()
        })
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Document {
    /// Creates a document that every configuration has, cached for an hour.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        paths: fn(&Site) -> Vec<String>,
        forms: &'static [Form],
    ) -> Self {
        Self {
            name,
            summary,
            paths,
            aliases: &[],
            max_age: 3600,
            forms,
            absent: "",
            headers: |_| Vec::new(),
            open: false,
            listed: true,
            changes: Changes::Never,
        }
    }

    /// Marks a document that some configurations lack, with the message of the 404 response.
    pub const fn absent(self, message: &'static str) -> Self {
        Self { absent: message, ..self }
    }

    /// Adds response headers.
    pub const fn headers(self, headers: fn(&Site) -> Vec<(HeaderName, String)>) -> Self {
        Self { headers, ..self }
    }

    /// Lets pages of every website read it, as some specifications require.
    pub const fn open(self) -> Self {
        Self { open: true, ..self }
    }

    /// Excludes it from lists of documents.
    pub const fn unlisted(self) -> Self {
        Self { listed: false, ..self }
    }

    /// Renders it for every request because it depends on the time.
    pub const fn timed(self) -> Self {
        Self { changes: Changes::WithTime, ..self }
    }

    /// Renders it for every request, since it states facts about the models: the price of a poll, or whether some are
    /// free.
    pub const fn with_models(self) -> Self {
        Self { changes: Changes::WithModels, ..self }
    }

    /// Adds alias paths.
    pub const fn with_aliases(self, aliases: &'static [AliasPaths]) -> Self {
        Self { aliases, ..self }
    }

    /// Creates a document that is only a committed file.
    pub const fn in_repository(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Self {
        Self { max_age: 0, ..Self::new(name, summary, |_| Vec::new(), forms) }
    }
}

impl Document {
    /// Returns the index of the form that the request headers select.
    pub fn form(&self, headers: &HeaderMap) -> usize {
        let matches = |form: &Form| form.condition.as_ref().is_some_and(|condition| (condition.by)(headers));
        self.forms.iter().position(matches).unwrap_or_default()
    }
}

impl Form {
    /// Creates the default form.
    pub const fn new(media_type: &'static str, render: fn(&Site) -> Option<Bytes>) -> Self {
        Self { condition: None, media_type, render, committed: None, schema: None }
    }

    /// Creates a Markdown form, for requests that prefer it to HTML.
    pub const fn markdown(render: fn(&Site) -> Option<Bytes>) -> Self {
        Self::new(MARKDOWN, render).condition("accept", wants_markdown)
    }

    /// Sets the schema of its JSON.
    pub const fn described(self, schema: fn() -> Schema) -> Self {
        Self { schema: Some(schema), ..self }
    }

    /// Commits a rendered copy to the repository.
    pub const fn committed(self, file: &'static str) -> Self {
        Self { committed: Some(file), ..self }
    }

    /// Limits the form to requests with a matching header.
    pub const fn condition(self, header: &'static str, by: fn(&HeaderMap) -> bool) -> Self {
        Self { condition: Some(FormCondition { header, by }), ..self }
    }
}
