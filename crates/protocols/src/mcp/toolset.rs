//! Selection of the tools that a client sees and may call.

use std::borrow::Cow;

use axum::http::HeaderMap;
use ep_kernel::{Agents, Entry, Fault};

/// Header with toolset names.
pub(super) const HEADER: &str = "x-mcp-toolsets";
/// Query parameter and path parameter with toolset names.
const QUERY: &str = "toolsets";
pub(super) const PATH: &str = "toolset";
/// Toolset names.
const CORE: &str = "core";
const ALL: &str = "all";
const READ_ONLY: &str = "read-only";
/// All toolset names.
pub(super) const TOOLSETS: [&str; 3] = [CORE, ALL, READ_ONLY];

/// The tools requested by a client. Unlisted tools can still be called by name, unless `read_only` is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Toolset {
    /// Lists all tools for agents, not only the core tools.
    all: bool,
    /// Allows only tools without side effects.
    read_only: bool,
}

impl Toolset {
    /// Reads the toolset from the path, else the header, else the query.
    pub(super) fn of(path: Option<&str>, headers: &HeaderMap, query: Option<&str>) -> Result<Self, Fault> {
        let header = headers.get(HEADER).and_then(|header| header.to_str().ok());
        if let Some(names) = path.or(header) {
            return Self::named(names);
        }
        let mut pairs = url::form_urlencoded::parse(query.unwrap_or("").as_bytes());
        pairs
            .find(|(name, _)| name == QUERY)
            .map_or_else(|| Ok(Self::default()), |(_, names)| Self::named(&names))
    }

    /// Parses comma-separated toolset names. `read-only` alone selects all tools without side effects.
    pub(super) fn named(names: &str) -> Result<Self, Fault> {
        let mut set = Self::default();
        let mut core = false;
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                CORE => core = true,
                ALL => set.all = true,
                READ_ONLY => set.read_only = true,
                other => {
                    let other: Cow<'_, str> = other.chars().take(40).collect();
                    let rule = format!("must name {CORE}, {ALL} or {READ_ONLY}, not {other}");
                    return Err(Fault::invalid(QUERY, rule));
                }
            }
        }
        set.all |= set.read_only && !core;
        Ok(set)
    }

    /// True if all tools are listed, with all their arguments.
    pub(super) fn is_all(self) -> bool {
        self.all
    }

    /// True if a tool is listed.
    pub(super) fn lists(self, entry: &Entry) -> bool {
        (self.all || entry.spec.agents == Agents::Core) && self.allows(entry)
    }

    /// True if a tool may be called.
    pub(super) fn allows(self, entry: &Entry) -> bool {
        !self.read_only || entry.spec.effect.read_only()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_combine() {
        let set = |names| Toolset::named(names).map(|set| (set.all, set.read_only)).ok();
        assert_eq!(set(""), Some((false, false)));
        assert_eq!(set("core"), Some((false, false)));
        assert_eq!(set("all"), Some((true, false)));
        assert_eq!(set("read-only"), Some((true, true)));
        assert_eq!(set("core, read-only"), Some((false, true)));
        assert_eq!(set("all,read-only,"), Some((true, true)));
        assert_eq!(set("everything"), None);
    }

    #[test]
    fn path_takes_precedence_over_header_and_header_over_query() {
        let mut headers = HeaderMap::new();
        let of = |path, headers: &HeaderMap| Toolset::of(path, headers, Some("a=b&toolsets=all")).unwrap();
        assert!(of(None, &headers).all);
        headers.insert(HEADER, "core".parse().unwrap());
        assert!(!of(None, &headers).all);
        assert!(of(Some("read-only"), &headers).read_only);
    }
}
