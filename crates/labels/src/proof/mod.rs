//! A proof of an error bound: gold rows are asked among the rows of a file, and their labels are read once, for rules
//! that were fixed before.

mod accepted;
mod constant;
mod declaration;
mod difference;
mod file_part;
mod finished;
mod opening;
mod record;
mod result;
mod rules;
mod scored;
mod statement;
mod verify;

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::bail;
use ep_kernel::Clock;
use ep_polling::TieRule;
use ep_polling::counted::counted;
use ep_polling::evaluation::Fraction;
use ep_polling::tie_rule;
use serde::Serialize;

use crate::Note;
use crate::entry::Key;
use crate::gold::{GoldRow, read_gold};
use crate::journal::Journal;
use crate::openings::{LockedOpenings, Openings};
use crate::question::{RowQuestion, digest};
use crate::review::Review;
use crate::rows::InputCounts;
use crate::settings::LabelSettings;
use accepted::FileCounts;
pub use accepted::review_path;
use declaration::{Declaration, DeclaredGold, GoldSet, InputFile};
use difference::{Difference, listed};
use file_part::FilePart;
pub use finished::{Finished, finish};
use opening::{Opening, entries_of, hashes, opened_by_others};
use record::{FileNames, ProofRecord};
use result::{ProofResult, Verdict, broken_conditions};
pub use rules::ProofPlan;
pub use verify::{Verification, verify};
use verify::{check, first_openings};

/// The run that a proof is about.
pub struct ProofRun<'r> {
    /// The record of gold rows that were read on this machine.
    pub openings: &'r Openings,
    /// The clock.
    pub clock: &'r dyn Clock,
    /// The file of rows.
    pub input: &'r Path,
    /// The file of labels.
    pub labels: &'r Path,
    /// The settings that all rows share.
    pub settings: &'r LabelSettings,
    /// The models and their version.
    pub panel: &'r str,
    /// The number of models.
    pub models: usize,
}

/// A proof, with everything that is fixed before the gold labels are read.
pub struct Proof<'r> {
    run: ProofRun<'r>,
    names: FileNames,
    declaration: Declaration,
    /// Gold rows that are no rows of the file.
    more: Vec<RowQuestion>,
    /// True if the gold rows may differ from the file.
    despite_difference: bool,
    /// The proof of these rules, if the gold labels were read before.
    earlier: Option<ProofRecord>,
}

/// The result for the summary.
#[derive(Debug, Serialize)]
pub struct ProofSummary {
    #[serde(flatten)]
    result: ProofResult,
    statement: String,
    /// Rows of the files that were written.
    #[serde(flatten)]
    files: Option<FileCounts>,
    /// Rows that a person has to label, because nothing is proved: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    all_left: Option<u64>,
}

impl<'r> Proof<'r> {
    /// Reads the gold file and fixes the rules.
    pub fn prepare(
        plan: &ProofPlan,
        run: ProofRun<'r>,
        input: Option<&InputCounts>,
        journal: &Journal,
    ) -> anyhow::Result<Self> {
        let Some(input) = input else { bail!("a proof needs a file of rows, and this is standard input") };
        if input.equal > 0 {
            bail!(
                "{} of the rows equal an earlier one; a proof needs an id for each row: name its column with --id",
                input.equal
            );
        }
        let ProofRun { settings, panel, .. } = run;
        let names = FileNames { rows: run.input.to_owned(), gold: plan.path.clone() };
        let (rows, more) =
            gold_rows(read_gold(&plan.path, &plan.gold, settings, panel)?, input, settings, &names)?;
        let mut declaration = Declaration {
            file: InputFile { sha256: FilePart::of(run.input)?.sha256, rows: input.keys.len() as u64 },
            questions: settings.questions.clone(),
            panel: settings.panel.clone(),
            panel_version: panel.to_owned(),
            on_tie: settings.on_tie,
            tie_rule: tie_rule::VERSION,
            round: settings.round,
            asks_empty: settings.asks_empty,
            risk: Fraction::FIVE_PERCENT,
            rules: plan.rules(&settings.panel, run.models)?,
            gold: GoldSet { is_drawn: false, seed: plan.gold.seed, rows },
        };
        declaration.gold.is_drawn = declaration.is_drawn_from(run.input, settings.read_request)?;
        refuse_bad_gold(&declaration, &names, plan)?;
        let known: HashSet<Key> = declaration.gold.rows.iter().map(|row| row.key).collect();
        if journal.keys().iter().any(|key| !input.keys.contains(key) && !known.contains(key)) {
            bail!(
                "{} has labels of other rows, or of another question, panel or id column; a proof needs a file of its own: \
                 name it with --out",
                run.labels.display()
            );
        }
        let earlier = earlier(&run, &declaration)?;
        let despite_difference = plan.despite_difference;
        Ok(Self { run, names, declaration, more, despite_difference, earlier })
    }

    /// Takes the gold rows that are no rows of the file.
    pub fn take_more(&mut self) -> Vec<RowQuestion> {
        std::mem::take(&mut self.more)
    }

    /// Describes the gold rows before they are read.
    pub fn notice(&self) -> anyhow::Result<String> {
        let openings = self.run.openings.lock()?;
        let opened = opened_by_others(&self.declaration, &openings.first(hashes(&self.declaration))?, None);
        let opened = self.declaration.proof_rows().filter(|row| opened.contains(&row.key)).count();
        Ok(statement::notice(&self.declaration, &self.names, opened))
    }

    /// True if the gold labels were read before, for the same rules.
    pub const fn is_opened(&self) -> bool {
        self.earlier.is_some()
    }

    /// Reads the gold labels, if they were not read before, and tests the rules. If a bound is proved, writes the accepted
    /// labels and the rows for a person.
    pub fn finish(mut self, note: Note<'_>) -> anyhow::Result<ProofSummary> {
        let labels = self.run.labels;
        let record = if let Some(record) = self.earlier.take() {
            record
        } else {
            let journal = FilePart::of(labels)?;
            // No other process reads gold labels until the record is written.
            let openings = self.run.openings.lock()?;
            let opening = Opening::find(&self.declaration, &journal, &openings)?;
            let mut broken = broken_conditions(entries_of(labels, &journal)?)?;
            let mut differences = Vec::new();
            if broken.is_empty() {
                let blind = self.without_gold_labels(&journal, &opening)?;
                broken.extend(self.untestable(&blind));
                differences = blind.differences;
                if !self.despite_difference && !differences.is_empty() {
                    broken.push(self.different(&differences));
                }
            }
            if !broken.is_empty() {
                drop(openings);
                let result = ProofResult::unread(broken, differences);
                let statement = statement::unread(&result.reasons);
                let all_left = Some(self.leave_all(note)?);
                return Ok(ProofSummary { result, statement, files: None, all_left });
            }
            self.open(journal, opening, &openings)?
        };
        let statement = statement::statement(&record);
        let (files, all_left) = match record.result.verdict {
            Verdict::Proved => (accepted::write(&record, &self.run, note)?, None),
            Verdict::Estimate | Verdict::Unread | Verdict::Nothing => (None, Some(self.leave_all(note)?)),
        };
        Ok(ProofSummary { result: record.result, statement, files, all_left })
    }

    /// Writes all rows for a person, because no label is accepted. Returns their number.
    fn leave_all(&self, note: Note<'_>) -> anyhow::Result<u64> {
        let ProofRun { input, labels, settings, panel, models, .. } = self.run;
        let review = Review { input, settings, panel, models };
        review.write(labels, &HashSet::new(), &accepted::review_path(labels), note)
    }

    /// Returns the result without the gold labels: the tests that are possible, and the differences from the file.
    fn without_gold_labels(&self, journal: &FilePart, opening: &Opening) -> anyhow::Result<ProofResult> {
        let mut unlabelled = self.declaration.clone();
        for row in &mut unlabelled.gold.rows {
            row.label = Some(String::new());
        }
        ProofResult::of(&unlabelled, entries_of(self.run.labels, journal)?, &opening.opened_before)
    }

    /// Returns the reason why the votes leave no test of any rule.
    fn untestable(&self, blind: &ProofResult) -> Option<String> {
        if blind.rules.iter().any(|rule| !rule.tests.is_empty()) {
            return None;
        }
        let without = blind.rules.iter().find_map(|rule| rule.without_gold.as_ref());
        Some(without.map_or_else(
            || {
                let fewest = self.declaration.fewest_gold();
                format!("the models agree on too few gold rows: a test needs {fewest}; label more rows")
            },
            |agreement| {
                format!(
                    "no gold row has an agreement of {agreement}, so labels with it cannot be accepted; label rows that \
                     `ep label sample` draws"
                )
            },
        ))
    }

    /// Describes differences that stop the proof.
    fn different(&self, differences: &[Difference]) -> String {
        format!(
            "the gold rows differ from {} more than a random draw does; label rows that `ep label sample` draws, or repeat the \
             command with --despite-difference for a proof that says so:{}",
            self.names.rows.display(),
            listed(differences)
        )
    }

    /// Tests the rules and writes the record. The opening is on disk before the first test.
    fn open(
        &self,
        journal: FilePart,
        opening: Opening,
        openings: &LockedOpenings,
    ) -> anyhow::Result<ProofRecord> {
        let ProofRun { input, labels, .. } = self.run;
        if FilePart::of(input)?.sha256 != self.declaration.file.sha256 {
            bail!(
                "{} has changed during the run; the gold labels stay unread. Run the command again",
                input.display()
            );
        }
        opening.record(&self.declaration, openings)?;
        let Opening { id, opened_before, .. } = opening;
        let result = ProofResult::of(&self.declaration, entries_of(labels, &journal)?, &opened_before)?;
        let (declaration, names, opened_at) =
            (self.declaration.clone(), self.names.clone(), self.run.clock.now());
        let record =
            ProofRecord { names, declaration, journal, opening: id, opened_at, opened_before, result };
        record.write(labels)?;
        Ok(record)
    }
}

/// Returns the gold rows, and the questions of those that are no rows of the file.
fn gold_rows(
    gold: Vec<GoldRow>,
    input: &InputCounts,
    settings: &LabelSettings,
    names: &FileNames,
) -> anyhow::Result<(Vec<DeclaredGold>, Vec<RowQuestion>)> {
    let (mut rows, mut more) = (Vec::new(), Vec::new());
    for GoldRow { question, hashes, label, part } in gold {
        let (key, is_in_file) = (question.key, input.keys.contains(&question.key));
        rows.push(DeclaredGold { key, hashes, label: Some(label), part, is_in_file });
        if is_in_file {
            continue;
        }
        if settings.questions.have_ids() && input.ids.contains(&digest(&question.id_text().into())) {
            bail!(
                "{}: row {} has the id {} of a row of {}, but another text; copy the text of that row",
                names.gold.display(),
                question.row.number,
                question.id,
                names.rows.display()
            );
        }
        more.push(question);
    }
    Ok((rows, more))
}

/// Refuses gold rows that cannot prove as they are. Gold labels are read once, so a mistake would waste them.
fn refuse_bad_gold(declaration: &Declaration, names: &FileNames, plan: &ProofPlan) -> anyhow::Result<()> {
    let name = names.gold.display();
    if !declaration.gold.is_drawn && !plan.own_draw {
        bail!(
            "{}. If you drew with another seed, name it with --seed. If you drew in another way, add --own-draw: the proof \
             is then about rows drawn like the gold",
            statement::not_drawn(&declaration.gold, names)
        );
    }
    let labelled = declaration.proof_rows().count() as u64;
    let fewest = declaration.fewest_gold();
    if labelled < fewest {
        let apart = match plan.gold.choose {
            0 => String::new(),
            choose => format!(", or set fewer apart with --choose (now {choose})"),
        };
        bail!(
            "{name} has {labelled} labelled rows to prove with, and {fewest} are the fewest that can prove this; label more \
             rows{apart}"
        );
    }
    Ok(())
}

/// Refuses labels whose proof has another rule for ties: deciding them anew would take the proof away.
///
/// # Errors
///
/// There is such a proof, or its record cannot be read.
pub fn refuse_other_tie_rule(labels: &Path, on_tie: TieRule) -> anyhow::Result<()> {
    let record = ProofRecord::read(labels)?;
    let proved = record.filter(|record| record.result.verdict == Verdict::Proved);
    if proved.is_some_and(|record| record.declaration.on_tie != on_tie) {
        bail!(
            "the labels of {} are proved with another --on-tie; name another file with --out",
            labels.display()
        );
    }
    Ok(())
}

/// Returns the record of the same rules and gold rows, if it is on disk. Fails if another proof is there, or if this machine
/// knows another opening of the gold rows.
fn earlier(run: &ProofRun<'_>, declaration: &Declaration) -> anyhow::Result<Option<ProofRecord>> {
    let labels = run.labels;
    let Some(mut record) = ProofRecord::read(labels)? else { return Ok(None) };
    if record.declaration == *declaration {
        record.result = check(&record, labels)?;
        first_openings(&record, run.openings)?;
        return Ok(Some(record));
    }
    if record.result.verdict == Verdict::Proved {
        bail!(
            "{} has the proof of other rules, gold labels or rows; name another file with --out",
            ProofRecord::path(labels).display()
        );
    }
    Ok(None)
}

impl ProofSummary {
    /// True if a bound is proved.
    pub fn is_proved(&self) -> bool {
        self.result.verdict == Verdict::Proved
    }

    /// Returns the result in words, with the files beside this file of labels.
    pub fn text(&self, labels: &Path) -> String {
        let statement = &self.statement;
        let (accepted, review) = (accepted::path(labels), accepted::review_path(labels));
        if let Some(rows) = self.all_left {
            let gold = counted(self.result.gold, "gold row");
            return format!(
                "{statement}\n\n{}: all {rows} rows for you to label, the most doubtful first; your {gold} among them",
                review.display()
            );
        }
        let Some(FileCounts { by_person, by_models, left }) = &self.files else { return statement.clone() };
        let mut text = format!(
            "{statement}\n\n{}: {}, {by_person} labelled by you and {by_models} by the models",
            accepted.display(),
            counted(by_person + by_models, "row")
        );
        if *left > 0 {
            let _ = write!(
                text,
                "\n{}: {} for you to label, the most doubtful first",
                review.display(),
                counted(*left, "row")
            );
        }
        text
    }
}
