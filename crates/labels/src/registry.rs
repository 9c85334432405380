//! The models of a service.

use ep_kernel::Registry;
use ep_tools::entry_of;
use ep_tools::models::ListModels;
use serde_json::json;

use crate::operations::Operations;
use crate::settings::Panel;

/// Reads the list of models.
///
/// # Errors
///
/// The service cannot be reached, or refuses.
pub async fn registry(operations: &impl Operations) -> anyhow::Result<Registry> {
    let list = operations.call(entry_of::<ListModels>()?, json!({})).await?;
    Ok(serde_json::from_value(list)?)
}

/// Returns the models of a panel as text, which changes with its members.
///
/// # Errors
///
/// The members of a preset cannot be read.
pub async fn panel_version(operations: &impl Operations, panel: &Panel) -> anyhow::Result<String> {
    let name = match panel {
        Panel::Models(models) => return Ok(json!(models).to_string()),
        Panel::Preset(preset) => preset,
    };
    let variants = registry(operations).await?.variants;
    let members = variants.iter().filter(|variant| variant.presets.contains(name));
    let mut ids: Vec<&str> = members.map(|variant| variant.id.as_str()).collect();
    ids.sort_unstable();
    Ok(json!([name, ids]).to_string())
}
