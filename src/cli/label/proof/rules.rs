//! The rules to prove, from the command line.

use std::path::PathBuf;

use anyhow::bail;
use ep_evaluation::Fraction;
use ep_evaluation::proof::Scope;

use super::declaration::Rule;
use crate::cli::label::gold::GoldArguments;
use crate::cli::label::settings::Panel;

/// The arguments of a proof.
#[derive(clap::Args)]
pub(in crate::cli::label) struct ProofArguments {
    /// File of rows that a person labelled, in the column gold; proves an error bound with them
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli::label) gold: Option<PathBuf>,
    /// The gold rows were drawn in another way than by --sample: the proof is about rows drawn like them
    #[arg(long, requires = "gold")]
    pub(super) own_draw: bool,
    /// Prove even if the gold rows differ from the file more than a random draw does; the proof begins with this difference
    #[arg(long, requires = "gold")]
    pub(super) despite_difference: bool,
    /// Share of the accepted labels that may be wrong, such as 0.05; several are tried in this order
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "SHARE,…",
        requires = "gold",
        conflicts_with = "max_set_error"
    )]
    max_error: Vec<Fraction>,
    /// Share of all labels of the file that may be accepted and wrong; the other rows are labelled by hand
    #[arg(long, value_delimiter = ',', value_name = "SHARE,…", requires = "gold")]
    max_set_error: Vec<Fraction>,
    /// Numbers of models to prove, the strongest first, such as 1,3,5; by default all of them
    #[arg(long, value_delimiter = ',', value_name = "NUMBER,…", requires = "gold")]
    prove: Vec<usize>,
    #[command(flatten)]
    pub(in crate::cli::label) rows: GoldArguments,
}

impl ProofArguments {
    /// Returns the rules for a panel of so many models: each bound with each number of models.
    pub(super) fn rules(&self, panel: &Panel, models: usize) -> anyhow::Result<Vec<Rule>> {
        let (scope, bounds) = match (&self.max_error[..], &self.max_set_error[..]) {
            ([], []) => {
                bail!("a proof needs the share of labels that may be wrong: --max-error 0.05, for example")
            }
            (bounds, []) => (Scope::Accepted, bounds),
            (_, bounds) => (Scope::File, bounds),
        };
        let mut sizes = self.prove.clone();
        if sizes.is_empty() {
            sizes.push(models);
        }
        if let Some(size) = sizes.iter().find(|size| !(1..=models).contains(*size)) {
            bail!("--prove {size} must be between 1 and {models}, the models of the panel");
        }
        if matches!(panel, Panel::Preset(_)) && sizes != [models] {
            bail!("--prove needs the models in their order: name them with --model, the strongest first");
        }
        let mut rules: Vec<Rule> = Vec::new();
        for &max_error in bounds {
            for &models in &sizes {
                let rule = Rule { models, scope, max_error };
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        Ok(rules)
    }
}
