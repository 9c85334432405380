//! Options for open questions, which models propose.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ep_polling::text::comparison_key;
use ep_polling::{
    BallotView, ChoiceForm, DispatchOrder, Member, Proposal, ProposedOption, Roster, Seed, Timestamp,
    proposals,
};
use futures::future::join_all;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use crate::fault::{Fault, Kind, Result};
use crate::ports::{CallLimits, Clock, Entropy, Models};

/// Number of models whose options are merged.
const PROPOSERS: usize = 2;
/// Maximum number of models that are asked: one that proposes nothing is replaced.
const MAX_ASKED: usize = 4;
/// Time limit of each round of requests. Both rounds fit into the time that an operation has beyond the deadline of a poll.
const TIME_LIMIT: Duration = Duration::from_secs(12);
/// Time for which the same question gets the same options.
const LIFETIME: Duration = Duration::from_hours(24);
/// Maximum number of questions whose options are stored.
const CAPACITY: usize = 2_000;
/// Maximum number of questions that are asked at the same time.
const MAX_RUNNING: usize = 16;

/// Asks models for options, and stores them for a day.
pub struct Proposals {
    models: Arc<dyn Models>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// By the question in lower case.
    known: Cache<String, Arc<Proposed>>,
    running: Semaphore,
}

/// The options for a question.
#[derive(Debug)]
pub struct Proposed {
    /// The options, the most proposed first.
    pub options: Vec<ProposedOption>,
    /// The models that proposed something, and what they proposed.
    pub proposals: Vec<Proposal>,
    /// True if the models are simulated.
    pub simulated: bool,
    at: Timestamp,
}

impl Proposals {
    /// Creates the service.
    pub fn new(models: Arc<dyn Models>, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { models, clock, entropy, known: Cache::new(CAPACITY), running: Semaphore::new(MAX_RUNNING) }
    }

    /// Returns at most `most` options for a question: those of an equal question of the same day, or new ones by members of this
    /// roster.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] if too many questions are asked, [`Kind::NoProposals`] if fewer than two options were proposed.
    pub async fn of(&self, question: &str, roster: Roster, most: usize) -> Result<Arc<Proposed>> {
        let key = comparison_key(question).to_lowercase();
        if let Some(known) = self.known.get(&key)
            && self.clock.now().since(known.at) > LIFETIME
        {
            self.known.remove(&key);
        }
        // Equal questions at the same time wait for the first one.
        self.known.get_or_insert_async(&key, self.ask(question, roster, most)).await
    }

    async fn ask(&self, question: &str, roster: Roster, most: usize) -> Result<Arc<Proposed>> {
        let Ok(_permit) = self.running.try_acquire() else {
            let text = "models propose options for too many questions at the moment; wait, or send options";
            return Err(Fault::new(Kind::Busy, text).retry_after(TIME_LIMIT));
        };
        let seed = Seed::new(self.entropy.bytes());
        let simulated = roster.simulated;
        let mut left = drawn(roster, seed);
        let mut proposals: Vec<Proposal> = Vec::new();
        for _ in 0..MAX_ASKED.div_ceil(PROPOSERS) {
            let missing = PROPOSERS.saturating_sub(proposals.len()).min(left.len());
            if missing == 0 {
                break;
            }
            let asked: Vec<Member> = left.drain(..missing).collect();
            let calls = asked.iter().enumerate().map(|(position, member)| {
                let view = BallotView {
                    question: question.into(),
                    choices: Vec::new(),
                    answer: ChoiceForm::Letter,
                    delimiter_mark: seed.delimiter_mark(proposals.len() + position),
                };
                async move { self.models.propose(member, &view, CallLimits::from(TIME_LIMIT)).await }
            });
            let responses = join_all(calls).await;
            let answered = asked.into_iter().zip(responses);
            proposals.extend(
                answered.filter_map(|(member, response)| Proposal::new(member.model, &response.options)),
            );
        }
        let options = proposals::merged(&proposals, most);
        if options.len() < 2 {
            return Err(too_few(&options));
        }
        Ok(Arc::new(Proposed { options, proposals, simulated, at: self.clock.now() }))
    }
}

/// Returns the members in a drawn order, those of different families first.
fn drawn(roster: Roster, seed: Seed) -> Vec<Member> {
    let order = DispatchOrder::draw(roster.members().into(), seed);
    let mut families = HashSet::new();
    let (first, others): (Vec<&Member>, Vec<&Member>) =
        order.iter().partition(|member| families.insert(member.family.as_str()));
    first.into_iter().chain(others).cloned().collect()
}

fn too_few(options: &[ProposedOption]) -> Fault {
    let found = match options {
        [] => "the models proposed no options".to_owned(),
        [one, ..] => format!("the models proposed one option only, “{}”", one.text),
    };
    Fault::new(Kind::NoProposals, format!("{found}; send options with the question"))
        .with_field("options", "are missing, and could not be proposed")
}
