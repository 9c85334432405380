//! The result of a proof in words.

use std::fmt::Write;

use ep_polling::counted::{counted, counted_with};
use ep_polling::evaluation::proof::Scope;
use ep_polling::evaluation::split::Part;

use super::constant::Constant;
use super::declaration::{Declaration, GoldSet, Rule};
use super::difference::{Difference, listed};
use super::record::{FileNames, ProofRecord};
use super::result::{RuleResult, RuleTest, Verdict};
use crate::settings::Panel;

/// Describes the gold rows before they are read. Some were `opened` before.
pub(crate) fn notice(declaration: &Declaration, names: &FileNames, opened: usize) -> String {
    let Declaration { gold, rules, .. } = declaration;
    let proving = declaration.proof_rows().count();
    let mut text = match rules.len() {
        1 => format!("{proving} gold rows will test the bound"),
        rules => format!("{proving} gold rows will test {rules} rules"),
    };
    let apart = gold.rows.iter().filter(|row| row.part == Part::Choose).count();
    if apart > 0 {
        let _ = write!(
            text,
            "; {apart} are set apart to choose the panel (if they chose nothing, --choose 0 tests with them, too)"
        );
    }
    if !gold.is_drawn {
        let _ =
            write!(text, "\n{}: a proof will be about rows drawn like the gold rows", not_drawn(gold, names));
    }
    if opened > 0 {
        let _ = write!(
            text,
            "\n{opened} of the gold rows {} read before; for other rules or votes, they prove nothing",
            if opened == 1 { "was" } else { "were" }
        );
    }
    text
}

/// Tells that gold rows are no sample of a file, as far as is known.
pub(crate) fn not_drawn(gold: &GoldSet, names: &FileNames) -> String {
    let (name, file) = (names.gold.display(), names.rows.display());
    format!("{name} is not exactly what `ep label sample` draws from {file} with --seed {}", gold.seed)
}

/// Returns the result of votes that do not meet the conditions of a proof.
pub(crate) fn unread(reasons: &[String]) -> String {
    let reasons: Vec<String> = reasons.iter().map(|reason| format!("\n- {reason}")).collect();
    format!("Not proved. The gold labels stay unread:{}", reasons.concat())
}

/// Returns the result in words.
pub(crate) fn statement(record: &ProofRecord) -> String {
    let ProofRecord { names, declaration, result, .. } = record;
    let proved_constant = chosen(record).and_then(|(_, result)| result.constant.as_ref());
    let mut heading = match proved_constant.filter(|constant| constant.is_proved) {
        Some(constant) => heading(constant, result.verdict),
        None => String::new(),
    };
    if !result.differences.is_empty() {
        heading = format!("{}{heading}", unlike(names, &result.differences));
    }
    let verdict = match (result.verdict, chosen(record)) {
        (Verdict::Proved, Some((rule, _))) => proved(record, rule),
        (Verdict::Estimate, Some((rule, _))) => {
            format!("Not proved; an estimate: {}.", claim(record, rule))
        }
        _ => format!("Nothing is proved. The tests on {} gold rows say why.", result.gold),
    };
    let mut text = heading + &verdict;
    for reason in &result.reasons {
        let _ = write!(text, "\n- {reason}");
    }
    if result.set_aside > 0 {
        let _ = write!(
            text,
            "\n{}, so nothing is said about all rows of {}.",
            counted_with(
                result.set_aside,
                "more gold row",
                ["was read before, and is set aside", "were read before, and are set aside"]
            ),
            names.rows.display()
        );
    }
    if let Some((rule, rule_result)) = chosen(record) {
        let passed = |test: &&RuleTest| Some(test.threshold) == rule_result.threshold;
        let _ = write!(
            text,
            "\nThe rule: the label of {}, if the agreement is at least {}. It accepts {} of {} rows.",
            models(declaration, rule),
            rule_result.tests.iter().rfind(passed).map_or("", |test| &test.agreement),
            rule_result.accepted,
            declaration.file.rows,
        );
    }
    let _ = write!(
        text,
        "\n\nThe tests, on {} gold rows{}, with {} confidence{}:",
        result.gold,
        match declaration.proof_rows().filter(|row| row.label.is_none()).count() {
            0 => String::new(),
            unlabelled => format!(" ({unlabelled} without a label, which count as errors)"),
        },
        percent(1.0 - declaration.risk.get()),
        match declaration.rules.len() {
            1 => String::new(),
            rules => format!(" for all {rules} rules together"),
        }
    );
    for (rule, rule_result) in declaration.rules.iter().zip(&result.rules) {
        tests(&mut text, declaration, rule, rule_result);
    }
    text
}

/// Heads a proof that the most frequent label would pass, too.
fn heading(constant: &Constant, verdict: Verdict) -> String {
    let Constant { label, gold, wrong, .. } = constant;
    let equal = if verdict == Verdict::Proved { "be proved, too" } else { "pass the same tests" };
    format!(
        "Always saying “{label}” would {equal}: it is wrong on {wrong} of the {} that the rule accepts. So this does not \
         show that the models find any other label.\n\n",
        counted(*gold, "gold row")
    )
}

/// Heads a result with gold rows that differ from the file.
fn unlike(names: &FileNames, differences: &[Difference]) -> String {
    let (gold, rows) = (names.gold.display(), names.rows.display());
    format!(
        "The rows of {gold} differ from {rows} more than a random draw does. The result is about rows like those of {gold}, \
         not about {rows}:{}\n\n",
        listed(differences)
    )
}

/// Returns the rule that decides which labels are accepted, with its result.
pub(crate) fn chosen(record: &ProofRecord) -> Option<(&Rule, &RuleResult)> {
    let place = record.result.chosen?;
    record.declaration.rules.get(place).zip(record.result.rules.get(place))
}

fn proved(record: &ProofRecord, rule: &Rule) -> String {
    let ProofRecord { names, declaration, result, .. } = record;
    let confidence = percent(1.0 - declaration.risk.get());
    let claim = claim(record, rule);
    if result.is_about_file {
        return format!("Proved: {claim}, with {confidence} confidence over the draw.");
    }
    let mut text =
        format!("Proved for rows drawn like the gold: {claim}, with {confidence} confidence over the draw.");
    if !declaration.gold.is_drawn {
        let _ = write!(
            text,
            "\n{}, so nothing is said about all rows of that file.",
            not_drawn(&declaration.gold, names)
        );
    }
    text
}

/// Returns the claim of a rule.
fn claim(record: &ProofRecord, rule: &Rule) -> String {
    let (error, file) = (percent(rule.max_error.get()), record.names.rows.display());
    let rows = match (record.result.is_about_file, rule.scope) {
        (true, Scope::Accepted) => format!("of the rows of {file} that the rule accepts, gold included,"),
        (true, Scope::File) => format!("of all rows of {file}, gold included,"),
        (false, Scope::Accepted) => "of the rows that the rule accepts,".to_owned(),
        (false, Scope::File) => "of all rows,".to_owned(),
    };
    match rule.scope {
        Scope::Accepted => format!("{rows} at most {error} are wrong"),
        Scope::File => format!("{rows} at most {error} are accepted and wrong"),
    }
}

/// Describes the models of a rule.
fn models(declaration: &Declaration, rule: &Rule) -> String {
    match &declaration.panel {
        Panel::Preset(preset) => format!("the {} of {preset}", counted(rule.models, "model")),
        Panel::Models(models) => {
            models.iter().take(rule.models).map(String::as_str).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Appends the tests of a rule.
fn tests(text: &mut String, declaration: &Declaration, rule: &Rule, result: &RuleResult) {
    let size = counted(rule.models, "model");
    let _ = write!(text, "\n{size}, at most {} wrong:", percent(rule.max_error.get()));
    if result.tests.is_empty() && result.without_gold.is_none() {
        let fewest = declaration.claim(rule).fewest_gold();
        let _ = write!(text, " no test, because fewer than {fewest} gold rows can be accepted");
    }
    for test in &result.tests {
        let is_passed = result.threshold.is_some_and(|threshold| test.threshold >= threshold);
        let allowed = match test.most_wrong {
            Some(most) => format!("at most {most} allowed"),
            None => format!("{} are needed", declaration.claim(rule).fewest_gold()),
        };
        let _ = write!(
            text,
            "\n  {}: {} accepted, {} wrong, {allowed}: {}",
            test.agreement,
            test.gold,
            test.wrong,
            if is_passed { "passed" } else { "failed" }
        );
    }
    if let Some(agreement) = &result.without_gold {
        let _ = write!(
            text,
            "\n  {agreement}: no gold row, so labels with this or a lower agreement are not accepted"
        );
    }
    if let Some(Constant { label, gold, wrong, is_proved }) = &result.constant {
        let verdict = if *is_proved { "would pass, too" } else { "would fail" };
        let _ = write!(
            text,
            "\n  The most frequent label alone, “{label}”, is wrong on {wrong} of {}: it {verdict}.",
            match result.threshold {
                Some(_) => format!("these {}", counted(*gold, "accepted gold row")),
                None => counted(*gold, "gold row"),
            }
        );
    }
}

/// Returns a share in per cent, without needless digits.
fn percent(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}
