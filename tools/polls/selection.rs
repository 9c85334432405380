//! The models of a poll, and the rules that come with them.

use ep_kernel::{Ctx, Fault};
use ep_polling::{ChosenPanel, ModelChoice, ModelId, ModelNames, ModelSource, PanelRef, Threshold, TieRule};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::profile::Profile;
use crate::panels::{FoundPanel, find};

/// The models that a request names, by a panel, by a preset or one by one.
#[derive(Debug, Clone)]
pub struct NamedModels {
    /// The panel.
    pub panel: Option<PanelRef>,
    /// The preset.
    pub preset: Option<String>,
    /// The models.
    pub models: Option<ModelNames>,
    /// Models not to ask.
    pub exclude: Option<ModelNames>,
}

/// The models of a poll with the rules of their panel, which apply unless the poll has its own.
#[derive(Debug)]
pub struct Selection {
    /// The models. They are not looked up yet.
    pub models: ModelChoice,
    /// The account's panel that they come from.
    pub panel: Option<ChosenPanel>,
    /// The panel's rule for a tie.
    pub on_tie: Option<TieRule>,
    /// The panel's threshold.
    pub threshold: Option<Threshold>,
}

impl NamedModels {
    /// Returns the mistakes in the names of models in an invalid input. The fields that can be read are looked up.
    pub async fn mistakes(cx: &Ctx, input: &Value) -> Option<Fault> {
        let named = Self {
            panel: field(input, "panel"),
            preset: field(input, "preset"),
            models: field(input, "models"),
            exclude: field(input, "exclude"),
        };
        named.wrong(cx).await
    }

    /// Returns the fault of names that cannot be looked up; `None` without names, or if the registry is not available.
    pub async fn wrong(self, cx: &Ctx) -> Option<Fault> {
        if self.panel.is_none() && self.preset.is_none() && self.models.is_none() && self.exclude.is_none() {
            return None;
        }
        let found = match self.select(cx, &Profile::Balanced.bundle().preset).await {
            Ok(selection) => cx.models().roster(&selection.models).await.map(drop),
            Err(fault) => Err(fault),
        };
        found.err().filter(|fault| !fault.kind().is_ours())
    }

    /// Rejects a request with more than one of panel, preset and models. `*` for all models is not a choice, because some
    /// agents fill in every argument.
    pub fn check(&self) -> Result<(), Fault> {
        let models = self.models.as_ref().filter(|models| models.as_slice() != ["*"]);
        match (&self.panel, &self.preset, models) {
            (Some(_), Some(_), _) => {
                Err(Fault::invalid("panel", "panel replaces preset: send one of the two"))
            }
            (Some(_), _, Some(_)) => {
                Err(Fault::invalid("panel", "panel replaces models: send one of the two"))
            }
            (_, Some(_), Some(_)) => {
                Err(Fault::invalid("models", "models replace preset: send one of the two"))
            }
            _ => Ok(()),
        }
    }

    /// Looks up the panel, if the request names one. `default` is the preset of a request that names nothing.
    pub async fn select(self, cx: &Ctx, default: &str) -> Result<Selection, Fault> {
        self.check()?;
        let Self { panel, preset, models, exclude } = self;
        let own = match &panel {
            None => None,
            Some(wanted) => match find(cx, wanted).await? {
                FoundPanel::Own(own) => Some(own),
                FoundPanel::Preset(name) => return Ok(Selection::of(ModelSource::Preset(name), exclude)),
            },
        };
        let Some(own) = own else {
            let source = match (preset, models) {
                (None, Some(models)) => ModelSource::Named(models),
                (preset, _) => ModelSource::Preset(preset.unwrap_or_else(|| default.to_owned())),
            };
            return Ok(Selection::of(source, exclude));
        };
        let names: Vec<&str> = own.definition.models.iter().map(ModelId::as_str).collect();
        let names = ModelNames::new(&names).map_err(Fault::internal)?;
        Ok(Selection {
            panel: Some(ChosenPanel { version: own.version, order: own.definition.order }),
            on_tie: own.definition.on_tie,
            threshold: own.definition.confidence_threshold,
            ..Selection::of(ModelSource::Ids(names), exclude)
        })
    }
}

/// Reads a field of an input; `None` if it is missing or invalid.
pub(crate) fn field<T: DeserializeOwned>(input: &Value, name: &str) -> Option<T> {
    T::deserialize(input.get(name)?).ok()
}

impl Selection {
    /// Returns these models, without rules.
    pub const fn of(source: ModelSource, exclude: Option<ModelNames>) -> Self {
        Self { models: ModelChoice { source, exclude }, panel: None, on_tie: None, threshold: None }
    }
}
