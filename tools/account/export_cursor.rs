//! The position in an export: the entry after a key in one of its lists.

use std::fmt;
use std::str::FromStr;

use ep_kernel::Fault;
use ep_polling::{PanelRef, PanelVersion};

use crate::paging::{PollCursor, malformed_cursor};

/// The start of a page: the entry after this key in one of the lists. The variants are in list order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExportCursor {
    Transfers(i64),
    Polls(Option<PollCursor>),
    Feedback(String),
    Notifications(String),
    Tasks(String),
    Panels(Option<PanelVersion>),
}

impl fmt::Display for ExportCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfers(number) => write!(f, "transfers.{number}"),
            Self::Polls(None) => f.write_str("polls."),
            Self::Polls(Some(cursor)) => write!(f, "polls.{cursor}"),
            Self::Feedback(poll) => write!(f, "feedback.{poll}"),
            Self::Notifications(poll) => write!(f, "notifications.{poll}"),
            Self::Tasks(task) => write!(f, "tasks.{task}"),
            Self::Panels(None) => f.write_str("panels."),
            Self::Panels(Some(panel)) => write!(f, "panels.{panel}"),
        }
    }
}

impl FromStr for ExportCursor {
    type Err = Fault;

    fn from_str(cursor: &str) -> Result<Self, Fault> {
        let (list, key) = cursor.split_once('.').ok_or_else(malformed_cursor)?;
        Ok(match list {
            "transfers" => Self::Transfers(key.parse().map_err(|_| malformed_cursor())?),
            "polls" if key.is_empty() => Self::Polls(None),
            "polls" => Self::Polls(Some(key.parse()?)),
            "feedback" => Self::Feedback(key.to_owned()),
            "notifications" => Self::Notifications(key.to_owned()),
            "tasks" => Self::Tasks(key.to_owned()),
            "panels" if key.is_empty() => Self::Panels(None),
            "panels" => Self::Panels(Some(panel(key).ok_or_else(malformed_cursor)?)),
            _ => return Err(malformed_cursor()),
        })
    }
}

/// Reads a panel's name and version.
fn panel(key: &str) -> Option<PanelVersion> {
    let reference: PanelRef = key.parse().ok()?;
    Some(PanelVersion { name: reference.name().parse().ok()?, version: reference.version()? })
}

impl ExportCursor {
    /// Returns the start of the next list.
    pub(super) const fn next_list(&self) -> Option<Self> {
        match self {
            Self::Transfers(_) => Some(Self::Polls(None)),
            Self::Polls(_) => Some(Self::Feedback(String::new())),
            Self::Feedback(_) => Some(Self::Notifications(String::new())),
            Self::Notifications(_) => Some(Self::Tasks(String::new())),
            Self::Tasks(_) => Some(Self::Panels(None)),
            Self::Panels(_) => None,
        }
    }
}
