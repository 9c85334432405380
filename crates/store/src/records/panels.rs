//! Panels of accounts.

use super::StoreError;
use crate::row::{Columns, FromRow};
use ep_polling::panel::{PanelDefinition, PanelVersion};
use ep_polling::time::Timestamp;

/// Maximum number of panels per account.
pub const MAX_PANELS: u32 = 100;
/// Maximum number of versions per panel.
pub const MAX_PANEL_VERSIONS: u32 = 100;

/// A stored version of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPanel {
    /// The name and the version.
    pub version: PanelVersion,
    /// The models and rules.
    pub definition: PanelDefinition,
    /// The time when the version was stored.
    pub created_at: Timestamp,
}

/// The outcome of saving a panel.
#[derive(Debug, Clone, PartialEq)]
pub enum SavedPanel {
    /// A new version was stored.
    Stored(StoredPanel),
    /// The newest version has the same definition; nothing was stored.
    Unchanged(StoredPanel),
    /// The account already has [`MAX_PANELS`] panels.
    TooManyPanels,
    /// The panel already has [`MAX_PANEL_VERSIONS`] versions.
    TooManyVersions,
}

impl FromRow for StoredPanel {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            version: PanelVersion { name: columns.get()?, version: columns.get()? },
            definition: columns.json()?,
            created_at: columns.get()?,
        })
    }
}
