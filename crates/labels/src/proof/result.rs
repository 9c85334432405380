//! The result of a proof, computed from the votes and the gold labels.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use anyhow::bail;
use ep_polling::Timestamp;
use ep_polling::evaluation::proof::{GoldRow, Score, sequence};
use serde::{Deserialize, Serialize};

use super::constant::Constant;
use super::declaration::{Declaration, DeclaredGold, Rule};
use super::difference::{Difference, differences};
use super::scored::{Scored, ScoredGold};
use crate::decision::{decide, describe};
use crate::entry::{Entry, Key};

/// The longest time between the first vote and the last one. Providers change models without a new name.
const LONGEST: Duration = Duration::from_hours(7 * 24);

/// The result of all rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProofResult {
    pub(crate) verdict: Verdict,
    /// True if the claim is about the rows of the file; else it is about rows drawn like the gold.
    pub(crate) is_about_file: bool,
    /// The differences between the gold rows and the file, if the gold rows are not known to be a random draw of it. Absent
    /// in records of earlier releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) differences: Vec<Difference>,
    /// The reasons against a proof.
    pub(crate) reasons: Vec<String>,
    /// Gold rows that were compared.
    pub(crate) gold: u64,
    /// Gold rows that were opened before, and set aside.
    pub(crate) set_aside: u64,
    pub(crate) rules: Vec<RuleResult>,
    /// The rule that decides which labels are accepted, by its number in `rules`.
    pub(crate) chosen: Option<usize>,
}

/// The strength of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// A bound is proved.
    Proved,
    /// The gold rows speak for a bound, but they were opened before.
    Estimate,
    /// The votes do not meet a condition of the proof, so the gold labels stay unread.
    Unread,
    /// The gold rows do not speak for a bound.
    Nothing,
}

/// The result of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleResult {
    /// The tests in their order; the last one may have failed.
    pub(crate) tests: Vec<RuleTest>,
    /// The agreement at which no gold row is, if it ended the tests. Absent in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) without_gold: Option<String>,
    /// The lowest score that is accepted; null if no test passed.
    pub(crate) threshold: Option<u64>,
    /// Rows of the file that are accepted.
    pub(crate) accepted: u64,
    /// The most frequent label, tested on the gold rows of the last test that passed, or of the last one. Absent if no label
    /// is frequent, and in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) constant: Option<Constant>,
}

/// The test of one threshold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleTest {
    /// Labels with this score or a higher one are accepted.
    pub(crate) threshold: u64,
    /// The score, as votes for the label.
    pub(crate) agreement: String,
    /// Accepted gold rows.
    pub(crate) gold: u64,
    /// Of these, rows with a wrong label.
    pub(crate) wrong: u64,
    /// The most wrong labels with which the test passes; null if there are too few gold rows.
    pub(crate) most_wrong: Option<u64>,
}

/// The conditions of a proof that the votes must meet.
#[derive(Default)]
struct Conditions {
    /// The names with which each model responded.
    names: BTreeMap<String, BTreeSet<Option<String>>>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    is_simulated: bool,
    /// The versions of the reader of the votes.
    readers: BTreeSet<u32>,
}

/// Returns the conditions of a proof that these votes do not meet. Fails if a row is there twice.
pub(crate) fn broken_conditions(
    entries: impl Iterator<Item = anyhow::Result<Entry>>,
) -> anyhow::Result<Vec<String>> {
    let mut conditions = Conditions::default();
    let mut keys = HashSet::new();
    for entry in entries {
        let entry = entry?;
        if !keys.insert(entry.key) {
            bail!("the row {} has two labels; remove one of them", entry.id);
        }
        conditions.add(&entry);
    }
    Ok(conditions.broken())
}

impl Conditions {
    fn add(&mut self, entry: &Entry) {
        for vote in entry.votes.iter().filter(|vote| vote.vote.is_some()) {
            self.names.entry(vote.model.clone()).or_default().insert(vote.answered_by.clone());
        }
        self.first = Some(self.first.map_or(entry.asked_at, |first| first.min(entry.asked_at)));
        self.last = self.last.max(Some(entry.asked_again_at.unwrap_or(entry.asked_at)));
        self.is_simulated |= entry.simulated;
        if !entry.votes.is_empty() {
            self.readers.insert(entry.reader);
            self.readers.extend(entry.later_reader);
        }
    }

    /// Returns the conditions that do not hold.
    fn broken(&self) -> Vec<String> {
        let changed = self.names.iter().filter(|(_, names)| names.len() > 1);
        let mut reasons: Vec<String> = changed
            .map(|(model, names)| {
                let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or(model)).collect();
                format!(
                    "{model} responded as {}: it changed between rows. Ask all rows anew, with another --round and --out",
                    names.join(" and ")
                )
            })
            .collect();
        let span = self.first.zip(self.last).map_or(0, |(first, last)| last.millis() - first.millis());
        if u128::try_from(span).is_ok_and(|span| span > LONGEST.as_millis()) {
            reasons.push(format!(
                "more than {} days lie between the first call and the last one. Ask all rows anew, with another --round \
                 and --out",
                LONGEST.as_secs() / 86_400
            ));
        }
        if self.readers.len() > 1 {
            reasons.push(
                "different versions of the reader have read the votes (\"reader\" in the lines). Ask all rows anew, with another \
                 --round and --out"
                    .to_owned(),
            );
        }
        if self.is_simulated {
            reasons.push("the voters are simulated, so their labels mean nothing".to_owned());
        }
        reasons
    }
}

impl ProofResult {
    /// True if this is the result of a record. Records of earlier releases lack some of the figures.
    pub(crate) fn is(&self, recorded: &Self) -> bool {
        let mut own = self.clone();
        for (rule, recorded) in own.rules.iter_mut().zip(&recorded.rules) {
            rule.constant = rule.constant.take().filter(|_| recorded.constant.is_some());
            rule.without_gold = rule.without_gold.take().filter(|_| recorded.without_gold.is_some());
        }
        if recorded.differences.is_empty() {
            own.differences.clear();
        }
        own == *recorded
    }

    /// Creates the result of votes that do not meet these conditions.
    pub(crate) fn unread(reasons: Vec<String>, differences: Vec<Difference>) -> Self {
        Self {
            verdict: Verdict::Unread,
            is_about_file: false,
            differences,
            reasons,
            gold: 0,
            set_aside: 0,
            rules: Vec::new(),
            chosen: None,
        }
    }

    /// Tests all rules on these labels. The gold rows with these keys were opened before.
    pub(crate) fn of(
        declaration: &Declaration,
        entries: impl Iterator<Item = anyhow::Result<Entry>>,
        opened_before: &BTreeSet<Key>,
    ) -> anyhow::Result<Self> {
        let gold: HashMap<Key, &DeclaredGold> =
            declaration.gold.rows.iter().map(|row| (row.key, row)).collect();
        let mut sizes: BTreeMap<usize, Scored> =
            declaration.rules.iter().map(|rule| (rule.models, Scored::default())).collect();
        let mut asked = 0;
        for entry in entries {
            let entry = entry?;
            let gold = gold.get(&entry.key).copied();
            let is_in_file = gold.is_none_or(|gold| gold.is_in_file);
            asked += u64::from(is_in_file);
            for (&size, scored) in &mut sizes {
                let decision = decide(&entry.votes, &declaration.panel, size, declaration.on_tie);
                if is_in_file {
                    scored.scores.add(decision.score);
                    decision.label.into_iter().for_each(|label| scored.labels.add(label));
                }
                if let Some(gold) = gold {
                    let is_wrong = decision.label != gold.label.as_deref();
                    let row = GoldRow { score: decision.score, is_wrong };
                    let label = decision.label.map(str::to_owned);
                    scored.gold.insert(entry.key, ScoredGold { row, label });
                }
            }
        }
        if asked > declaration.file.rows {
            bail!("there are labels of rows that are not in the file; name another file with --out");
        }
        // Rows that could not be asked are never accepted.
        for scored in sizes.values_mut() {
            scored.scores.add_rows(Score::NO_LABEL, declaration.file.rows - asked);
            scored.levels = scored.scores.levels();
        }
        let all: Vec<&DeclaredGold> = declaration.proof_rows().collect();
        let fresh: Vec<&DeclaredGold> =
            all.iter().copied().filter(|row| !opened_before.contains(&row.key)).collect();
        let opened = (all.len() - fresh.len()) as u64;
        let mut reasons = Vec::new();
        let is_proof = opened == 0 || fresh.len() as u64 >= declaration.fewest_gold();
        if !is_proof {
            reasons.push(format!(
                "{opened} of the {} gold rows were opened before, for another rule or other votes; label new ones",
                all.len()
            ));
        }
        let (rows, set_aside) = if is_proof { (fresh, opened) } else { (all, 0) };
        let results = declaration.rules.iter().filter_map(|rule| {
            sizes.get(&rule.models).map(|scored| rule_result(declaration, rule, scored, &rows))
        });
        let rules: Vec<RuleResult> = results.collect();
        let chosen = chosen(&declaration.rules, &rules);
        let verdict = match chosen {
            None => Verdict::Nothing,
            Some(_) if is_proof => Verdict::Proved,
            Some(_) => Verdict::Estimate,
        };
        // Rows were not set aside at random, so the others are no sample of the file.
        let is_about_file = declaration.gold.is_drawn && set_aside == 0;
        let differences = if is_about_file { Vec::new() } else { differences(declaration, &sizes, &rows) };
        let gold = rows.len() as u64;
        Ok(Self { verdict, is_about_file, differences, reasons, gold, set_aside, rules, chosen })
    }
}

/// Tests one rule on these gold rows.
fn rule_result(
    declaration: &Declaration,
    rule: &Rule,
    scored: &Scored,
    rows: &[&DeclaredGold],
) -> RuleResult {
    let claim = declaration.claim(rule);
    let not_asked = GoldRow { score: Score::NO_LABEL, is_wrong: true };
    let gold: Vec<GoldRow> =
        rows.iter().map(|row| scored.gold.get(&row.key).map_or(not_asked, |gold| gold.row)).collect();
    let tests = sequence(&scored.scores.thresholds_with_gold(&gold, &claim), &gold, &claim);
    let threshold = tests.iter().rfind(|test| claim.is_passed_by(test)).map(|test| test.threshold);
    // A test that failed ended the tests before.
    let passed = tests.iter().all(|test| claim.is_passed_by(test));
    let without_gold = scored.scores.level_without_gold(&gold).filter(|_| passed);
    let without_gold = without_gold.map(|level| describe(level, &declaration.panel, rule.models));
    let constant = scored.labels.most_frequent().zip(threshold.or(tests.last().map(|test| test.threshold)));
    let constant = constant.map(|(label, threshold)| {
        let accepted = gold.iter().zip(rows).filter(|(row, _)| row.score >= threshold);
        let accepted: Vec<Option<&str>> = accepted.map(|(_, row)| row.label.as_deref()).collect();
        Constant::new(label, &accepted, gold.len() as u64, &claim)
    });
    let tests = tests.iter().map(|test| RuleTest {
        threshold: test.threshold.0,
        agreement: describe(test.threshold, &declaration.panel, rule.models),
        gold: test.accepted,
        wrong: test.wrong,
        most_wrong: claim.most_wrong(claim.trials(test.accepted, gold.len() as u64)),
    });
    RuleResult {
        tests: tests.collect(),
        without_gold,
        threshold: threshold.map(|threshold| threshold.0),
        accepted: threshold.map_or(0, |threshold| scored.scores.accepted_rows(threshold)),
        constant,
    }
}

/// Returns the rule with the most accepted rows among those with the first bound that is proved.
fn chosen(rules: &[Rule], results: &[RuleResult]) -> Option<usize> {
    let proved: Vec<(usize, &Rule, &RuleResult)> = rules
        .iter()
        .zip(results)
        .enumerate()
        .filter(|(_, (_, result))| result.threshold.is_some())
        .map(|(place, (rule, result))| (place, rule, result))
        .collect();
    let (_, first, _) = proved.first()?;
    let same_bound = proved.iter().filter(|(_, rule, _)| rule.max_error == first.max_error);
    // Of equal ones, the first.
    same_bound.rev().max_by_key(|(_, _, result)| result.accepted).map(|(place, _, _)| *place)
}
