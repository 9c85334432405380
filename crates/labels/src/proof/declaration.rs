//! The rules, the gold rows and the file, as they are fixed before the gold labels are read.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use anyhow::bail;
use ep_polling::TieRule;
use ep_polling::evaluation::Fraction;
use ep_polling::evaluation::proof::{Claim, Scope};
use ep_polling::evaluation::split::Part;
use ep_polling::tie_rule::{self, first_version};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file_part::FilePart;
use crate::entry::Key;
use crate::files::sample;
use crate::files::table::Table;
use crate::gold::{RowHashes, asked_hash, parts};
use crate::openings::OpeningId;
use crate::settings::{LabelSettings, Panel, Questions, ReadRequest};

/// Everything that decides the result, except the votes. It is fixed before a gold label is compared with a vote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Declaration {
    pub(crate) file: InputFile,
    #[serde(flatten)]
    pub(crate) questions: Questions,
    pub(crate) panel: Panel,
    /// The models of the panel as text, which changes with its members.
    pub(crate) panel_version: String,
    pub(crate) on_tie: TieRule,
    /// The version of the rule that decides from votes.
    #[serde(default = "first_version")]
    pub(crate) tie_rule: u32,
    pub(crate) round: u32,
    /// True if the models were asked about rows without a text, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) asks_empty: bool,
    /// The risk of a wrong proof, shared by all rules.
    pub(crate) risk: Fraction,
    pub(crate) rules: Vec<Rule>,
    pub(crate) gold: GoldSet,
}

/// The file of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputFile {
    pub(crate) sha256: String,
    pub(crate) rows: u64,
}

/// A rule to prove: the label of the strongest few models, and a bound of its errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rule {
    /// The number of models, the strongest first.
    pub(crate) models: usize,
    pub(crate) scope: Scope,
    pub(crate) max_error: Fraction,
}

/// The gold rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GoldSet {
    /// True if these are exactly the rows that `ep label sample` draws from the file with this seed.
    pub(crate) is_drawn: bool,
    pub(crate) seed: u64,
    pub(crate) rows: Vec<DeclaredGold>,
}

/// A gold row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeclaredGold {
    pub(crate) key: Key,
    pub(crate) hashes: RowHashes,
    /// The label of a person; null if there is none.
    pub(crate) label: Option<String>,
    pub(crate) part: Part,
    /// True if it is a row of the file, too.
    pub(crate) is_in_file: bool,
}

impl Declaration {
    /// Refuses a declaration with another version of the rule that decides from votes.
    pub(crate) fn check_tie_rule(&self) -> anyhow::Result<()> {
        if self.tie_rule == tie_rule::VERSION {
            return Ok(());
        }
        bail!(
            "this proof used version {} of the tie rule, and this release uses version {}; label again with another --out",
            self.tie_rule,
            tie_rule::VERSION
        );
    }

    /// Returns the claim of a rule. All rules share the risk.
    pub(crate) fn claim(&self, rule: &Rule) -> Claim {
        let rules = u32::try_from(self.rules.len()).unwrap_or(u32::MAX);
        Claim { scope: rule.scope, max_error: rule.max_error, risk: self.risk }.for_rules(rules)
    }

    /// Returns the fewest gold rows that can prove one of the rules.
    pub(crate) fn fewest_gold(&self) -> u64 {
        self.rules.iter().map(|rule| self.claim(rule).fewest_gold()).min().unwrap_or(0)
    }

    /// Returns the gold rows that can prove. Without a label, a drawn row counts as an error, and another one not at all.
    pub(crate) fn proof_rows(&self) -> impl Iterator<Item = &DeclaredGold> {
        let is_drawn = self.gold.is_drawn;
        self.gold.rows.iter().filter(move |row| row.part == Part::Prove && (is_drawn || row.label.is_some()))
    }

    /// Returns the id of the opening with the votes of these labels. The rows with these keys were opened before.
    pub(crate) fn opening(
        &self,
        journal: &FilePart,
        opened_before: &BTreeSet<Key>,
    ) -> anyhow::Result<OpeningId> {
        let digest = Sha256::digest(serde_json::to_vec(&(self, journal, opened_before))?);
        Ok(OpeningId(hex::encode(digest)))
    }

    /// Returns the settings with which all rows are asked.
    pub(crate) fn settings(&self, read_request: ReadRequest) -> LabelSettings {
        LabelSettings {
            questions: self.questions.clone(),
            panel: self.panel.clone(),
            on_tie: self.on_tie,
            round: self.round,
            asks_empty: self.asks_empty,
            read_request,
        }
    }

    /// True if the gold rows are set apart as their digests say, and those of this file have its digests.
    pub(crate) fn has_digests_of(&self, file: &Path, read_request: ReadRequest) -> anyhow::Result<bool> {
        let rows = &self.gold.rows;
        let apart = rows.iter().filter(|row| row.part == Part::Choose).map(|row| &row.hashes.asked);
        let apart = apart.collect::<BTreeSet<_>>().len();
        let parts = parts(rows.iter().map(|row| &row.hashes.asked), apart);
        if rows.iter().zip(&parts).any(|(row, part)| row.part != *part) {
            return Ok(false);
        }
        let (settings, mut found) = (self.settings(read_request), 0);
        let gold: HashMap<Key, &DeclaredGold> = rows.iter().map(|row| (row.key, row)).collect();
        for row in Table::of_file(file)? {
            let question = settings.question(row?, &self.panel_version)?;
            if let Some(gold) = gold.get(&question.key).filter(|gold| gold.is_in_file) {
                if gold.hashes.asked != asked_hash(&question, &settings.questions) {
                    return Ok(false);
                }
                found += 1;
            }
        }
        Ok(found >= rows.iter().filter(|row| row.is_in_file).count())
    }

    /// True if these are exactly the gold rows that the seed draws from this file.
    pub(crate) fn is_drawn_from(&self, file: &Path, read_request: ReadRequest) -> anyhow::Result<bool> {
        let settings = self.settings(read_request);
        let keys: HashSet<Key> = self.gold.rows.iter().map(|row| row.key).collect();
        let drawn = sample::draw(Table::of_file(file)?, keys.len(), self.gold.seed)?;
        for row in &drawn {
            if !keys.contains(&settings.question(row.clone(), &self.panel_version)?.key) {
                return Ok(false);
            }
        }
        Ok(drawn.len() == keys.len())
    }
}
