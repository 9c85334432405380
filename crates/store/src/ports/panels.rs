//! Panels of accounts.

use async_trait::async_trait;
use ep_polling::panel::{PanelDefinition, PanelName, PanelVersion};
use ep_polling::time::Timestamp;

use super::StoreError;
use crate::ids::UserId;

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

/// Stores the panels of accounts. A stored version never changes. Changes are acknowledged once a power loss cannot undo
/// them.
#[async_trait]
pub trait PanelStore: Send + Sync {
    /// Stores the next version of a panel, or version 1 of a new one, unless its newest version has the same definition.
    /// [`StoreError::NotFound`] for an unknown or deleted account.
    async fn save_panel(
        &self,
        user: UserId,
        name: &PanelName,
        definition: &PanelDefinition,
        at: Timestamp,
    ) -> Result<SavedPanel, StoreError>;

    /// Returns a version of the user's panel: by default the newest.
    async fn panel(
        &self,
        user: UserId,
        name: &PanelName,
        version: Option<u32>,
    ) -> Result<Option<StoredPanel>, StoreError>;

    /// Returns the newest versions of the user's panels, by name: at most [`MAX_PANELS`].
    async fn panels_of(&self, user: UserId) -> Result<Vec<StoredPanel>, StoreError>;

    /// Returns up to `limit` versions of the user's panels, ordered by name and version, after this one.
    async fn panel_versions_after(
        &self,
        user: UserId,
        after: Option<&PanelVersion>,
        limit: u32,
    ) -> Result<Vec<StoredPanel>, StoreError>;

    /// Deletes all versions of the user's panel. Returns `false` if the user has no such panel.
    async fn delete_panel(&self, user: UserId, name: &PanelName) -> Result<bool, StoreError>;
}
