//! The models of the service.

use ep_kernel::ports::Registry;
use ep_tools::entry_of;
use ep_tools::models::ListModels;
use serde_json::json;

use crate::cli::target::Target;

/// Reads the list of models.
pub(super) async fn registry(target: &Target) -> anyhow::Result<Registry> {
    let list = target.call(entry_of::<ListModels>()?, json!({}), None).await?;
    Ok(serde_json::from_value(list)?)
}
