//! Panels of accounts: named, versioned lists of models, the strongest first, with their rules.

mod create_panel;
mod delete_panel;
mod found;
mod get_panel;
mod list_panels;
mod view;

pub use create_panel::CreatePanel;
pub use delete_panel::DeletePanel;
pub use found::{FoundPanel, find, no_longer_known};
pub use get_panel::GetPanel;
pub use list_panels::ListPanels;
pub use view::Panel;
