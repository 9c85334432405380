//! The plan of a poll, fixed when the poll opens.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ballot::{Ballot, BallotViews};
use super::budget::Budget;
use super::choices::{ChoiceKind, Choices};
use super::dispatch::DispatchOrder;
use super::explainers::{self, Explainer};
use super::explanation::{ExplanationCount, TIME_LIMIT};
use super::order::Seed;
use super::panel::{ChosenPanel, PanelVersion};
use super::question::AskedQuestion;
use super::roster::{Member, ModelChoice, ModelSource, Roster};
use super::scale::PassSide;
use super::stopping::{FinalResponse, Pace, Responses};
use super::threshold::Threshold;
use super::tie_rule::TieRule;
use crate::money::{Hold, MicroUsd, Spend, SpendBasis};

/// A validated poll request.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The question.
    pub question: AskedQuestion,
    /// The options, or a scale.
    pub options: Choices,
    /// The models to ask.
    pub models: ModelChoice,
    /// The account's panel that they come from.
    pub panel: Option<ChosenPanel>,
    /// The confidence at which the poll may stop early.
    pub threshold: Threshold,
    /// The maximum cost of the poll.
    pub budget: Budget,
    /// The policy for calls in flight.
    pub pace: Pace,
    /// True if only the owner may read the result.
    pub private: bool,
    /// The number of voters to ask for an explanation after the decision.
    pub explanations: Option<ExplanationCount>,
    /// True if every model is asked, even after the outcome is certain. A scale without a pass mark asks every model in any
    /// case.
    pub complete: bool,
    /// The rule for a tie.
    pub on_tie: TieRule,
}

/// A poll as it was opened. It is stored completely, so that any process can run it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The question.
    pub question: Arc<str>,
    /// The options, in the caller's order.
    pub options: Vec<String>,
    /// The kind of the options.
    pub kind: ChoiceKind,
    /// The preset that chose the roster; `None` if the caller named the models.
    pub preset: Option<String>,
    /// The account's panel that chose the roster. Its name is the account's own, so only the owner may read it.
    pub panel: Option<PanelVersion>,
    /// The confidence at which the poll may stop early.
    pub threshold: Threshold,
    /// The maximum cost of the poll.
    pub budget: Budget,
    /// The policy for calls in flight.
    pub pace: Pace,
    /// True if only the owner may read the result.
    pub private: bool,
    /// The number of voters to ask for an explanation after the decision.
    pub explanations: Option<ExplanationCount>,
    /// True if every model is asked, even after the outcome is certain. An early stop favours the leader, so shares of
    /// votes need a complete panel.
    pub complete: bool,
    /// The rule for a tie.
    pub on_tie: TieRule,
    /// True if the members are in the order of their strength by their panel, their preset or the tie rule.
    pub ranked: bool,
    /// True if the voters are simulated.
    pub simulated: bool,
    /// The roster in dispatch order.
    pub roster: DispatchOrder,
    /// The seed of every random choice of the poll.
    pub seed: Seed,
    /// The time limit of the poll, in milliseconds.
    pub deadline_ms: u64,
    /// Notices about the roster and the question.
    pub notices: OwnerNotices,
}

/// Notices for the owner of a poll. They name settings of the operator and of the caller, so public forms cannot print them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OwnerNotices(Vec<String>);

impl OwnerNotices {
    /// Returns the notices, for the owner alone.
    pub fn for_owner(&self) -> &[String] {
        &self.0
    }

    const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<String>> for OwnerNotices {
    fn from(notices: Vec<String>) -> Self {
        Self(notices)
    }
}

/// The form in which polls are stored, and the rules for running and counting them: first past the post, with an optional
/// rule for ties or scale.
///
/// A process runs, shows and counts only polls of known forms. With the wrong rules it would ask models again, decide
/// differently and charge twice.
pub const FORM: i64 = 1;

/// The rules of a stored poll: its [`Plan`] without question, options, seed and roster. Usual values are
/// omitted from the JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rules {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preset: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    panel: Option<PanelVersion>,
    threshold: Threshold,
    #[serde(
        rename = "max_cost_micro_usd",
        with = "crate::budget::stored",
        default,
        skip_serializing_if = "is_default"
    )]
    budget: Budget,
    pace: Pace,
    #[serde(default, skip_serializing_if = "is_default")]
    private: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    explanations: Option<ExplanationCount>,
    #[serde(default, skip_serializing_if = "is_default")]
    kind: ChoiceKind,
    #[serde(default, skip_serializing_if = "is_default")]
    complete: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    on_tie: TieRule,
    #[serde(default, skip_serializing_if = "is_default")]
    ranked: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    simulated: bool,
    #[serde(default = "usual_deadline_ms", skip_serializing_if = "is_usual_deadline")]
    deadline_ms: u64,
    #[serde(default, skip_serializing_if = "OwnerNotices::is_empty")]
    notices: OwnerNotices,
    /// [`Seed::ALGORITHM`] of the program that opened the poll.
    #[serde(default = "first_algorithm", skip_serializing_if = "is_first_algorithm")]
    draws: u8,
}

// Omitted values must never change, because stored plans rely on them.

const fn usual_deadline_ms() -> u64 {
    180_000
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_usual_deadline(deadline_ms: &u64) -> bool {
    *deadline_ms == usual_deadline_ms()
}

const fn first_algorithm() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_first_algorithm(draws: &u8) -> bool {
    *draws == first_algorithm()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An upper bound for the prompt tokens of the instructions and the tool schema, without question and
/// options.
pub const INSTRUCTION_TOKENS: u64 = 700;

impl Plan {
    /// Draws the dispatch order and creates the plan.
    pub fn new(draft: Draft, roster: Roster, seed: Seed, deadline: Duration) -> Self {
        let Roster { members, simulated, mut notices, is_ranked } = roster;
        let AskedQuestion { text: question, notice } = draft.question;
        notices.extend(notice);
        let kind = draft.options.kind();
        // Models that a request lists have an order of strength only if the request relies on it.
        let is_listed = matches!(draft.models.source, ModelSource::Named(_));
        Self {
            question: question.into(),
            kind,
            options: draft.options.into(),
            preset: match draft.models.source {
                ModelSource::Preset(name) => Some(name),
                ModelSource::Named(_) | ModelSource::Ids(_) => None,
            },
            panel: draft.panel.map(|panel| panel.version),
            threshold: draft.threshold,
            budget: draft.budget,
            pace: draft.pace,
            private: draft.private,
            explanations: draft.explanations,
            complete: draft.complete || kind == ChoiceKind::Levels,
            on_tie: draft.on_tie,
            ranked: is_ranked && (draft.on_tie != TieRule::Report || !is_listed),
            simulated,
            roster: DispatchOrder::draw(members, seed),
            seed,
            deadline_ms: deadline.as_millis() as u64,
            notices: notices.into(),
        }
    }

    /// Returns the rules, for storage.
    pub fn rules(&self) -> Rules {
        Rules {
            preset: self.preset.clone(),
            panel: self.panel.clone(),
            threshold: self.threshold,
            budget: self.budget,
            pace: self.pace,
            private: self.private,
            explanations: self.explanations,
            kind: self.kind,
            complete: self.complete,
            on_tie: self.on_tie,
            ranked: self.ranked,
            simulated: self.simulated,
            deadline_ms: self.deadline_ms,
            notices: self.notices.clone(),
            draws: Seed::ALGORITHM,
        }
    }

    /// Returns a stored plan; `None` if a newer version of the program has drawn its orders. `members` are in
    /// registry order.
    pub fn stored(
        rules: Rules,
        question: String,
        options: Vec<String>,
        members: Arc<[Member]>,
        seed: Seed,
    ) -> Option<Self> {
        let Rules {
            preset,
            panel,
            threshold,
            budget,
            pace,
            private,
            explanations,
            kind,
            complete,
            on_tie,
            ranked,
            simulated,
            deadline_ms,
            notices,
            draws,
        } = rules;
        (draws == Seed::ALGORITHM).then(|| Self {
            question: question.into(),
            options,
            kind,
            preset,
            panel,
            threshold,
            budget,
            pace,
            private,
            explanations,
            complete,
            on_tie,
            ranked,
            simulated,
            roster: DispatchOrder::draw(members, seed),
            seed,
            deadline_ms,
            notices,
        })
    }

    /// Returns the id of the model that cast this ballot; an empty text if the plan has no such member.
    pub fn model(&self, ballot: &Ballot) -> &str {
        self.roster.get(ballot.position as usize).map_or("", |member| member.model.as_str())
    }

    /// Returns the votes of these ballots, those of the strongest members first.
    pub fn ranked_votes<'b>(&self, ballots: impl IntoIterator<Item = &'b Ballot>) -> Vec<Option<usize>> {
        let mut ranked: Vec<&Ballot> = ballots.into_iter().collect();
        ranked.sort_by_key(|ballot| self.roster.rank(ballot.position as usize));
        ranked.into_iter().map(|ballot| ballot.vote.as_ref().ok().copied()).collect()
    }

    /// True if the members are in the order of their strength.
    pub fn has_order(&self) -> bool {
        self.ranked || self.on_tie == TieRule::Strongest
    }

    /// Returns the vote of the strongest member that voted; `None` if the members have no order of strength.
    pub fn strongest_vote<'b>(&self, ballots: impl IntoIterator<Item = &'b Ballot>) -> Option<usize> {
        self.has_order().then(|| self.ranked_votes(ballots).into_iter().flatten().next()).flatten()
    }

    /// Returns the options in the order in which the member of this ballot saw them, as indices into the
    /// caller's order.
    pub fn option_order(&self, ballot: &Ballot) -> Vec<usize> {
        self.seed.option_order(ballot.position as usize, self.options.len())
    }

    /// Returns the record of responses that decides when the poll stops. With a pass mark, it has two options: for and
    /// against the pass.
    pub fn responses(&self) -> Responses {
        match self.kind {
            ChoiceKind::PassMark(_) => {
                Responses::with_tie_won_by(PassSide::Against as usize, 2, self.roster.len())
            }
            ChoiceKind::Options | ChoiceKind::Levels => Responses::new(self.options.len(), self.roster.len()),
        }
    }

    /// Returns the response of a ballot for this record.
    pub fn response(&self, ballot: &Ballot) -> FinalResponse {
        let response = ballot.response();
        self.kind.pass_mark().map_or(response, |mark| mark.response(response))
    }

    /// Returns the ballot views of the members.
    pub fn ballot_views(&self) -> BallotViews<'_> {
        BallotViews::new(self.seed, &self.question, &self.options)
    }

    /// Returns the voters to ask for an explanation of their votes. None if the poll asks for none.
    pub fn explainers<'b>(&self, ballots: impl IntoIterator<Item = &'b Ballot>) -> Vec<Explainer> {
        let Some(count) = self.explanations else { return Vec::new() };
        explainers::draw(count, ballots, self.options.len(), self.seed)
    }

    /// Returns an upper bound for the prompt tokens of one request, at one token per byte. Each option
    /// appears in the list and in the schema, where it may contain escapes. A request for an explanation has no
    /// schema, but names the chosen option again.
    pub fn prompt_tokens(&self) -> u64 {
        let options: usize = self.options.iter().map(|option| option.len() + 16).sum();
        INSTRUCTION_TOKENS + self.question.len() as u64 + 3 * options as u64
    }

    /// Returns the maximum cost of the member at this position. An unknown price counts as zero,
    /// because responses without a price are not charged.
    pub fn worst_case(&self, position: usize) -> MicroUsd {
        self.roster[position].worst_case(self.prompt_tokens()).unwrap_or(MicroUsd::ZERO)
    }

    /// Returns the charge for a response of the member at this position, at most its worst case. An unknown
    /// cost is estimated from the listed price. Without a listed price, the spend is returned unchanged.
    pub fn charged(&self, position: usize, spend: Spend) -> Spend {
        let member = &self.roster[position];
        let prompt_tokens = self.prompt_tokens();
        let (Some(worst), Some(estimate)) =
            (member.worst_case(prompt_tokens), member.estimate(prompt_tokens))
        else {
            return spend;
        };
        match spend.basis {
            SpendBasis::Unknown => {
                Spend { amount: spend.amount.plus(estimate).min(worst), basis: SpendBasis::Estimated }
            }
            _ => Spend { amount: spend.amount.min(worst), ..spend },
        }
    }

    /// Returns the highest charge for the responses of this many members together.
    fn worst_case_of_first(&self, members: usize) -> MicroUsd {
        (0..members).map(|position| self.worst_case(position)).sum()
    }

    /// Returns the money to reserve for the poll; `first_wave` is the number of calls before the first
    /// response. A complete poll needs the money for all of its calls.
    pub fn hold(&self, first_wave: usize) -> Hold {
        let at_most = self.at_most();
        let first = if self.complete { self.roster.len() } else { first_wave.min(self.roster.len()) };
        Hold { at_least: self.worst_case_of_first(first).min(at_most), at_most }
    }

    /// True if every member is known to be free, so that the poll cannot cost anything.
    pub fn is_free(&self) -> bool {
        self.roster.iter().all(|member| member.price.is_some_and(|price| price.is_free()))
    }

    /// Returns the maximum cost of the poll: the worst cases of all members and of the explanations, or the budget
    /// if that is less.
    pub fn at_most(&self) -> MicroUsd {
        let mut worst: Vec<_> = (0..self.roster.len()).map(|position| self.worst_case(position)).collect();
        let everything = self.worst_case_of_first(self.roster.len());
        // Explanations come from the voters of two options, which may be the most expensive ones.
        worst.sort_unstable_by_key(|cost| std::cmp::Reverse(*cost));
        let explainers = self.explanations.map_or(0, ExplanationCount::at_most);
        let explanations = worst.into_iter().take(explainers).sum::<MicroUsd>();
        everything.plus(explanations).min(self.budget.amount())
    }

    /// Returns the maximum duration of the poll.
    pub fn longest(&self) -> Duration {
        let explanations = self.explanations.map_or(Duration::ZERO, |_| TIME_LIMIT);
        Duration::from_millis(self.deadline_ms) + explanations
    }

    /// Returns the smallest budget with which the poll can start, whichever member is asked first: the
    /// largest worst case of a single member. A complete poll never ends for its budget, so that it needs the worst case of
    /// all members.
    pub fn least_budget(&self) -> MicroUsd {
        if self.complete {
            return self.worst_case_of_first(self.roster.len());
        }
        (0..self.roster.len()).map(|position| self.worst_case(position)).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Levels, Options};
    use crate::roster::ModelId;
    use crate::scale::Scale;

    #[test]
    fn rules_omit_usual_values_and_stored_plans_are_the_opened_ones() {
        let member = |number: usize| Member {
            model: ModelId::new(number.to_string()),
            family: String::new(),
            price: None,
            output_tokens: 1,
        };
        let roster = Roster::new((0..5).map(member).collect(), false, Vec::new()).unwrap();
        let members = Arc::clone(&roster.members);
        let draft = Draft {
            question: "Tabs or spaces?".into(),
            options: Options::new(&["Tabs", "Spaces"]).unwrap().into(),
            models: ModelChoice::preset("trio"),
            panel: None,
            threshold: Threshold::DEFAULT,
            budget: Budget::DEFAULT,
            pace: Pace::Fast,
            private: false,
            explanations: None,
            complete: false,
            on_tie: TieRule::Report,
        };
        let seed = Seed::new([3; 32]);
        let plan = Plan::new(draft, roster, seed, Duration::from_mins(2));
        let rules = serde_json::to_string(&plan.rules()).unwrap();
        assert_eq!(rules, r#"{"preset":"trio","threshold":0.95,"pace":"fast","deadline_ms":120000}"#);
        let stored = |rules: &str| {
            let (question, options) = (plan.question.to_string(), plan.options.clone());
            Plan::stored(serde_json::from_str(rules).unwrap(), question, options, Arc::clone(&members), seed)
        };
        assert_eq!(stored(&rules), Some(plan.clone()));
        // The values that stored plans omit.
        let usual = rules.replace(",\"deadline_ms\":120000", "");
        assert_eq!(stored(&usual), Some(Plan { deadline_ms: 180_000, ..plan.clone() }));
        assert_eq!(stored(&rules.replace('}', ",\"draws\":1}")), Some(plan.clone()));
        let complete = Plan { complete: true, ..plan.clone() };
        assert_eq!(stored(&serde_json::to_string(&complete.rules()).unwrap()), Some(complete.clone()));
        let score = Plan { kind: ChoiceKind::Levels, ..complete };
        assert_eq!(stored(&serde_json::to_string(&score.rules()).unwrap()), Some(score.clone()));
        let scale = Scale::new(Levels::new(&["1", "2", "3"]).unwrap(), Some("2")).unwrap();
        let marked = Plan { kind: Choices::from(scale).kind(), ..plan.clone() };
        let marked_rules = serde_json::to_string(&marked.rules()).unwrap();
        assert!(marked_rules.contains(r#""kind":{"pass_mark":1}"#), "{marked_rules}");
        assert_eq!(stored(&marked_rules), Some(marked));
        let panel = Some(PanelVersion { name: "support".parse().unwrap(), version: 3 });
        let chosen = Plan { preset: None, panel, ranked: true, ..plan.clone() };
        let chosen_rules = serde_json::to_string(&chosen.rules()).unwrap();
        assert!(chosen_rules.starts_with(r#"{"panel":{"name":"support","version":3},"#), "{chosen_rules}");
        assert_eq!(stored(&chosen_rules), Some(chosen));
        assert_eq!(stored(&rules.replace('}', ",\"draws\":2}")), None);
    }
}
