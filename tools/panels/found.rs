//! Finds the panel that a request names: one of the caller's account, or a preset.

use ep_kernel::{Ctx, Fault, Kind};
use ep_polling::{ModelNames, PanelName, PanelRef, PanelVersion};
use ep_store::StoredPanel;

/// Maximum number of the account's panels that a message lists.
const LISTED: usize = 10;

/// The panel of a request.
#[derive(Debug)]
pub enum FoundPanel {
    /// A panel of the caller's account.
    Own(StoredPanel),
    /// The preset of this name.
    Preset(String),
}

/// Finds a panel. A panel of the account comes before a preset that the operator added later under the same name.
/// [`Kind::InvalidInput`] with the field `panel` for an unknown one.
pub async fn find(cx: &Ctx, wanted: &PanelRef) -> Result<FoundPanel, Fault> {
    let own = cx.caller.user().zip(wanted.name().parse::<PanelName>().ok());
    if let Some((user, name)) = &own {
        if let Some(panel) = cx.store().panel(*user, name, wanted.version()).await? {
            return Ok(FoundPanel::Own(panel));
        }
        if wanted.version().is_some()
            && let Some(newest) = cx.store().panel(*user, name, None).await?
        {
            let text = format!(
                "{wanted} does not exist: the versions of {name} are 1 to {}; leave the version out for the newest",
                newest.version.version
            );
            return Err(Fault::invalid("panel", text));
        }
    }
    let presets = cx.models().presets();
    let is_preset = presets.iter().any(|preset| preset == wanted.name());
    match wanted.version() {
        None if is_preset => Ok(FoundPanel::Preset(wanted.name().to_owned())),
        Some(_) if is_preset => {
            let text = format!("{wanted} is a preset, which has no versions; send {} alone", wanted.name());
            Err(Fault::invalid("panel", text))
        }
        _ => Err(unknown(cx, wanted, &presets).await?),
    }
}

/// Builds the error for an unknown panel, which lists the known ones.
async fn unknown(cx: &Ctx, wanted: &PanelRef, presets: &[String]) -> Result<Fault, Fault> {
    let presets = presets.join(", ");
    let Some(user) = cx.caller.user() else {
        let text = format!("{wanted} is unknown: without an account, use a preset: {presets}");
        return Ok(Fault::invalid("panel", text));
    };
    let own = cx.store().panels_of(user).await?;
    let names: Vec<&str> = own.iter().take(LISTED).map(|panel| panel.version.name.as_str()).collect();
    let yours = match names.len() {
        0 => "this account has no panels (create_panel)".to_owned(),
        _ if own.len() > LISTED => {
            format!("this account has {} and {} more (list_panels)", names.join(", "), own.len() - LISTED)
        }
        _ => format!("this account has {}", names.join(", ")),
    };
    Ok(Fault::invalid("panel", format!("{wanted} is unknown: {yours}; the presets are {presets}")))
}

/// Replaces the error about models that the registry no longer has with one that names the panel.
pub fn no_longer_known(fault: Fault, panel: &PanelVersion, models: &ModelNames) -> Fault {
    let missing = unknown_models(&fault, models);
    if missing.is_empty() {
        return fault;
    }
    let text = format!(
        "{panel} has models that the registry no longer has: {}; store a new version of {} without them (create_panel)",
        missing.join(", "),
        panel.name
    );
    Fault::invalid("panel", text)
}

/// Returns the models that a fault of the registry calls unknown.
pub(super) fn unknown_models<'m>(fault: &Fault, models: &'m ModelNames) -> Vec<&'m str> {
    let index = |field: &str| field.strip_prefix("models[")?.strip_suffix(']')?.parse::<usize>().ok();
    let indices = fault.fields().iter().filter_map(|wrong| index(&wrong.field));
    let named = indices.filter_map(|index| models.as_slice().get(index).map(String::as_str));
    if fault.kind() == Kind::InvalidInput { named.collect() } else { Vec::new() }
}
