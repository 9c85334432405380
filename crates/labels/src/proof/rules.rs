//! The rules to prove, as a person wants them.

use std::path::PathBuf;

use anyhow::bail;
use ep_polling::evaluation::Fraction;
use ep_polling::evaluation::proof::Scope;

use super::declaration::Rule;
use crate::gold::GoldSettings;
use crate::settings::Panel;

/// The proof that a person wants.
#[derive(Debug, Clone)]
pub struct ProofPlan {
    /// The file of gold rows.
    pub path: PathBuf,
    /// The settings for reading it.
    pub gold: GoldSettings,
    /// True if the gold rows were drawn in another way than as a sample: the proof is about rows drawn like them.
    pub own_draw: bool,
    /// True if gold rows may differ from the file more than a random draw does.
    pub despite_difference: bool,
    /// The scope of the bounds.
    pub scope: Scope,
    /// The shares of wrong labels to prove, in the order in which they are tried.
    pub bounds: Vec<Fraction>,
    /// The numbers of models to prove, the strongest first; without any, all of them.
    pub sizes: Vec<usize>,
}

impl ProofPlan {
    /// Returns the rules for a panel of so many models: each bound with each number of models.
    pub(crate) fn rules(&self, panel: &Panel, models: usize) -> anyhow::Result<Vec<Rule>> {
        let mut sizes = self.sizes.clone();
        if sizes.is_empty() {
            sizes.push(models);
        }
        if let Some(size) = sizes.iter().find(|size| !(1..=models).contains(*size)) {
            bail!("--sizes {size} must be between 1 and {models}, the models of the panel");
        }
        if matches!(panel, Panel::Preset(_)) && sizes != [models] {
            bail!("--sizes needs the models in their order: name them with --model, the strongest first");
        }
        let mut rules: Vec<Rule> = Vec::new();
        for &max_error in &self.bounds {
            for &models in &sizes {
                let rule = Rule { models, scope: self.scope, max_error };
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        Ok(rules)
    }
}
