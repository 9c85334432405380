//! Selection of the tools that a client sees and may call.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderValue};
use ep_kernel::{Agents, Entry, Fault, Kind, ToolSet};
use rmcp::model::{ErrorCode, ErrorData};

/// Header with toolset names.
pub(super) const HEADER: &str = "x-mcp-toolsets";
/// Query parameter and path parameter with toolset names.
const QUERY: &str = "toolsets";
pub(super) const PATH: &str = "toolset";
/// Toolset names.
const CORE: &str = "core";
const ALL: &str = "all";
const READ_ONLY: &str = "read-only";

/// Returns the names of all toolsets.
pub(super) fn names() -> Vec<&'static str> {
    [CORE].into_iter().chain(ToolSet::ALL.map(ToolSet::name)).chain([ALL, READ_ONLY]).collect()
}

/// The tools requested by a client: the core tools, and these. Unlisted tools can still be called by name, unless `read_only` is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Toolset {
    /// For each of [`ToolSet::ALL`], true if its tools are listed.
    sets: [bool; ToolSet::ALL.len()],
    /// Allows only tools without side effects.
    read_only: bool,
}

impl Toolset {
    /// Reads the toolset from the path, else the header, else the query. A connection is read-only if any of them says so.
    pub(super) fn of(path: Option<&str>, headers: &HeaderMap, query: Option<&str>) -> Result<Self, Fault> {
        let text = |header: &HeaderValue| header.to_str().map(str::to_owned);
        let headers: Result<Vec<String>, _> = headers.get_all(HEADER).iter().map(text).collect();
        let headers = headers.map_err(|_| Fault::invalid(HEADER, "must be ASCII text"))?.join(",");
        let pairs = url::form_urlencoded::parse(query.unwrap_or("").as_bytes());
        let queries: Vec<_> = pairs.filter(|(name, _)| name == QUERY).map(|(_, names)| names).collect();
        let sources = [path.unwrap_or_default(), &headers, &queries.join(",")].map(Self::named);
        let [path_set, header_set, query_set] = sources;
        let (path_set, header_set, query_set) = (path_set?, header_set?, query_set?);
        let chosen = if path.is_some() {
            path_set
        } else if headers.trim().is_empty() {
            query_set
        } else {
            header_set
        };
        let read_only = path_set.read_only || header_set.read_only || query_set.read_only;
        Ok(Self { read_only, ..chosen })
    }

    /// Parses comma-separated toolset names. `read-only` alone selects all tools without side effects.
    pub(super) fn named(names: &str) -> Result<Self, Fault> {
        let mut set = Self::default();
        let mut narrowed = false;
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known = ToolSet::ALL.into_iter().find(|set| set.name() == name);
            match (known, name) {
                (Some(known), _) => set.sets[known as usize] = true,
                (None, CORE) => {}
                (None, ALL) => set.sets = [true; ToolSet::ALL.len()],
                (None, READ_ONLY) => set.read_only = true,
                (None, other) => {
                    let other: Cow<'_, str> = other.chars().take(40).collect();
                    let rule = format!("must name toolsets of {}, not {other}", self::names().join(", "));
                    return Err(Fault::invalid(QUERY, rule));
                }
            }
            narrowed |= name != READ_ONLY;
        }
        if set.read_only && !narrowed {
            set.sets = [true; ToolSet::ALL.len()];
        }
        Ok(set)
    }

    /// True if more than the core tools are listed, with all their arguments.
    pub(super) fn has_sets(self) -> bool {
        self.sets.contains(&true)
    }

    /// True if a tool is listed; one that needs an account only if there is one.
    pub(super) fn lists(self, entry: &Entry, has_account: bool) -> bool {
        let is_requested = match entry.spec.agents {
            Agents::Core => true,
            Agents::Set(set) => self.sets[set as usize],
            Agents::None => false,
        };
        is_requested && (has_account || !entry.needs_account) && self.allows(entry)
    }

    /// True if a tool may be called.
    pub(super) fn allows(self, entry: &Entry) -> bool {
        !self.read_only || entry.spec.effect.read_only()
    }

    /// Refuses a tool that may not be called.
    pub(super) fn check(self, entry: &Entry) -> Result<(), ErrorData> {
        if self.allows(entry) {
            return Ok(());
        }
        let message = format!(
            "{} makes changes, and this connection is read-only; connect with the toolset all",
            entry.spec.name
        );
        Err(ErrorData::new(ErrorCode(Kind::Forbidden.row().mcp), message, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_combine() {
        let set = |names| Toolset::named(names).map(|set| (set.sets, set.read_only)).ok();
        let (none, all) = ([false; 3], [true; 3]);
        assert_eq!(set(""), Some((none, false)));
        assert_eq!(set("core"), Some((none, false)));
        assert_eq!(set("polls, account"), Some(([true, false, true], false)));
        assert_eq!(set("all"), Some((all, false)));
        assert_eq!(set("read-only"), Some((all, true)));
        assert_eq!(set("core, read-only"), Some((none, true)));
        assert_eq!(set("labels,read-only"), Some(([false, true, false], true)));
        assert_eq!(set("all,read-only,"), Some((all, true)));
        assert_eq!(set("everything"), None);
    }

    #[test]
    fn path_takes_precedence_over_header_and_header_over_query() {
        let mut headers = HeaderMap::new();
        let of = |path, headers: &HeaderMap| Toolset::of(path, headers, Some("a=b&toolsets=all")).unwrap();
        assert_eq!(of(None, &headers).sets, [true; 3]);
        headers.insert(HEADER, "core".parse().unwrap());
        assert_eq!(of(None, &headers).sets, [false; 3]);
        assert!(of(Some("read-only"), &headers).read_only);
    }
}
