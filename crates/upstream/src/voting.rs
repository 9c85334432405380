//! One vote: what to ask, what to make of what comes back, and what to ask next.
//!
//! A vote is one request in the good case. A request that the server refuses for its form is asked
//! again in another form, a busy upstream is waited for, and an answer that names no option is asked
//! for once more. Whatever was or may have been charged counts as a paid answer, of which there are at
//! most [`PAID_ANSWERS`].

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use ep_polling::ballot::{BallotView, ModelAnswer, NoVote, Reason};
use ep_polling::roster::{Member, PAID_ANSWERS};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use crate::chat::failure::{Complaint, Remedy, presentable};
use crate::chat::request::Ask;
use crate::chat::response::Completion;
use crate::chat::spend::Bill;
use crate::chat::{Chat, Lost, Reply};
use crate::ladder::{Ladder, Place, Rung};
use crate::pacer::Pacer;
use crate::parsing::{self, Reading, Said};

/// Waits for a busy upstream, per vote.
const MAX_WAITS: u32 = 2;
/// Requests of one vote; refusals of forms and parameters end long before.
const MAX_REQUESTS: u32 = 16;

/// Longer than any vote: sums of times stay far from overflowing.
const LONGEST: Duration = Duration::from_hours(24);

/// What the registry says about how to ask a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traits {
    /// The rung its listed parameters promise.
    pub(crate) start: Rung,
    /// The lowest reasoning effort it supports.
    pub(crate) effort: Option<&'static str>,
}

impl Traits {
    /// Nobody says anything: try the strictest form.
    pub(crate) const UNKNOWN: Self = Self { start: Rung::Required, effort: None };
}

/// Everything a vote needs.
pub(crate) struct Voting {
    pub(crate) chat: Chat,
    pub(crate) ladder: Ladder,
    pub(crate) pacer: Pacer,
    pub(crate) secret: Option<SecretString>,
    pub(crate) routed: bool,
    pub(crate) model_timeout: Duration,
}

/// A vote under way.
struct Vote<'v> {
    voting: &'v Voting,
    member: &'v Member,
    view: &'v BallotView,
    traits: Traits,
    place: Place<'v>,
    /// The end of the time given by the poll.
    deadline: Instant,
    /// The end of the time given to this model; set when its first turn has come.
    until: Option<Instant>,
    bill: Bill,
    paid: u32,
    requests: u32,
    waits: u32,
    reconnected: bool,
    answered_by: Option<String>,
}

/// What comes after a reply.
enum Step {
    Done(Result<usize, NoVote>),
    /// Ask again at this rung.
    Again(Rung),
    /// Ask again after a while, unless there is no time for it: then this is the result.
    Wait(Option<Duration>, NoVote),
    /// Show the unusable answer and ask for a better one.
    Repair(Rung, String),
}

impl Voting {
    /// Asks one model for its vote.
    pub(crate) async fn vote(
        &self,
        member: &Member,
        view: &BallotView,
        traits: Traits,
        within: Duration,
    ) -> ModelAnswer {
        let deadline = Instant::now() + within.min(LONGEST);
        let mut vote = Vote {
            voting: self,
            member,
            view,
            traits,
            place: self.ladder.place(&member.model, || traits.start).await,
            deadline,
            until: None,
            bill: Bill::new(member.price),
            paid: 0,
            requests: 0,
            waits: 0,
            reconnected: false,
            answered_by: None,
        };
        let result = vote.run().await;
        let span = tracing::Span::current();
        span.record("attempts", vote.requests);
        if let Err(no_vote) = &result {
            span.record("failure", no_vote.reason.as_str());
            tracing::debug!(reason = no_vote.reason.as_str(), detail = no_vote.detail, "no vote");
        }
        ModelAnswer { vote: result, spend: vote.bill.total(), answered_by: vote.answered_by }
    }

    fn presentable(&self, message: &str) -> String {
        presentable(message, self.secret.as_ref().map(ExposeSecret::expose_secret))
    }
}

impl Vote<'_> {
    async fn run(&mut self) -> Result<usize, NoVote> {
        let mut rung = self.place.habit().rung;
        let mut bad_answer: Option<String> = None;
        loop {
            let until = self.turn().await?;
            self.requests += 1;
            tracing::Span::current().record("rung", rung.as_str());
            let ask = Ask {
                model: self.member.model.as_str(),
                view: self.view,
                rung,
                habit: self.place.habit(),
                tokens: self.member.output_tokens.saturating_mul(if self.paid == 0 { 1 } else { 2 }),
                effort: self.traits.effort,
                routed: self.voting.routed,
                bad_answer: bad_answer.as_deref(),
            };
            let step = match self.voting.chat.ask(ask.body(), until).await {
                Ok(reply) => self.judge(&reply, &ask),
                Err(lost) => self.lost(lost, rung),
            };
            match step {
                Step::Done(result) => return result,
                _ if self.requests >= MAX_REQUESTS => {
                    return Err(NoVote::new(
                        Reason::Rejected,
                        "the upstream refused every form of the question",
                    ));
                }
                Step::Again(next) => rung = next,
                Step::Repair(next, bad) => (rung, bad_answer) = (next, Some(bad)),
                Step::Wait(wait, otherwise) => self.wait(wait, otherwise).await?,
            }
        }
    }

    /// Waits for the upstream's limit of requests; the time until which this request may take.
    async fn turn(&mut self) -> Result<Instant, NoVote> {
        let free = self.member.price.is_some_and(|price| price.is_free());
        let until = self.until.unwrap_or(self.deadline);
        match self.voting.pacer.turn(free, until) {
            Ok(turn) => turn.come().await,
            Err(full) => {
                let text = format!(
                    "the upstream takes {} requests a minute for {}; the next turn is {} s away, later than this vote may wait",
                    full.per_minute,
                    if free { "free models" } else { "all models" },
                    full.wait.as_secs() + 1,
                );
                return Err(NoVote::new(Reason::RateLimited, text));
            }
        }
        let now = Instant::now();
        let model_timeout = self.voting.model_timeout.min(LONGEST);
        let until = *self.until.get_or_insert(self.deadline.min(now + model_timeout));
        if now >= until { Err(self.out_of_time()) } else { Ok(until) }
    }

    fn out_of_time(&self) -> NoVote {
        if self.until.is_none_or(|until| until >= self.deadline) {
            NoVote::new(Reason::Deadline, "no answer before the poll's deadline")
        } else {
            let seconds = self.voting.model_timeout.as_secs_f64();
            NoVote::new(Reason::Timeout, format!("no answer within {seconds} s"))
        }
    }

    /// Sleeps as long as the upstream asked, a little more so that not all come back at once; or gives
    /// up where that is too long.
    async fn wait(&mut self, asked: Option<Duration>, otherwise: NoVote) -> Result<(), NoVote> {
        let until = self.until.unwrap_or(self.deadline);
        let wait = asked.unwrap_or(Duration::from_millis(250) * (1 << self.waits.min(4))).min(LONGEST);
        let spread = wait.max(Duration::from_millis(200)).min(Duration::from_secs(4)) / 4;
        let chance = RandomState::new().hash_one(0) % 1000;
        let wait = wait + spread * chance as u32 / 1000;
        self.waits += 1;
        if self.waits > MAX_WAITS || self.paid >= PAID_ANSWERS || Instant::now() + wait >= until {
            return Err(otherwise);
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Nothing came back.
    fn lost(&mut self, lost: Lost, rung: Rung) -> Step {
        if matches!(lost, Lost::Early | Lost::Midway | Lost::TooLong | Lost::Timeout) {
            self.bill.unreported();
            self.paid += 1;
        }
        let no_vote = match lost {
            Lost::Connect => NoVote::new(Reason::Unreachable, "the upstream could not be reached"),
            Lost::Early => NoVote::new(Reason::Unreachable, "the upstream broke off before it answered"),
            Lost::Midway => {
                NoVote::new(Reason::Unreachable, "the upstream broke off in the middle of its answer")
            }
            Lost::TooLong => {
                NoVote::new(Reason::UpstreamError, "the upstream's answer was too long to be a vote")
            }
            Lost::Timeout => self.out_of_time(),
            Lost::Crowded => {
                NoVote::new(Reason::Deadline, "too many requests are in flight; none left in time")
            }
        };
        if matches!(lost, Lost::Connect | Lost::Early) && !self.reconnected && self.paid < PAID_ANSWERS {
            self.reconnected = true;
            return Step::Again(rung);
        }
        Step::Done(Err(no_vote))
    }

    fn judge(&mut self, reply: &Reply, ask: &Ask<'_>) -> Step {
        if reply.status >= 400 {
            let usage = Completion::read(&reply.body).and_then(|body| body.usage());
            self.paid += u32::from(self.bill.failure(reply.cost, usage));
            return self.complaint(&Complaint::with_status(reply.status, &reply.body, reply.wait), ask);
        }
        let Some(completion) = Completion::read(&reply.body).filter(|_| reply.status < 300) else {
            self.bill.unreported();
            self.paid += 1;
            let text = match reply.status {
                300..400 => "the upstream redirects; its address should be set to where it redirects",
                _ => "the upstream's answer is not a completion",
            };
            return Step::Done(Err(NoVote::new(Reason::UpstreamError, text)));
        };
        let choice = completion.choice();
        if let Some(error) = completion.error(choice.as_ref()) {
            self.paid += u32::from(self.bill.failure(reply.cost, completion.usage()));
            return self.complaint(&Complaint::inside(error, reply.wait), ask);
        }
        self.bill.answer(reply.cost, completion.usage());
        self.paid += 1;
        let (upstream, rung) = (Arc::clone(self.voting.chat.label()), ask.rung.as_str());
        metrics::counter!("ep_upstream_rungs_total", "upstream" => upstream, "rung" => rung).increment(1);
        self.answered_by = completion
            .model()
            .filter(|model| *model != ask.model)
            .map(|model| model.chars().filter(|c| !c.is_control()).take(120).collect());
        let choice = choice.unwrap_or_default();
        let finish = choice.finish_reason().unwrap_or_default();
        let declined = choice.refused() || finish == "content_filter";
        let mut said = choice.said();
        if declined {
            // What a filter left over, or a refusal's explanation, is no vote; a finished call is.
            said.text = None;
        }
        let reading = parsing::read(&said, self.view);
        match reading {
            Reading::Vote(option) => {
                self.place.answered(ask.rung, keeps_the_form(ask.rung, &said));
                Step::Done(Ok(option))
            }
            Reading::Conflicting => {
                let no_vote = NoVote::new(Reason::Conflicting, "the answer votes for several options");
                if !ask.rung.has_tool() || !said.calls.is_empty() {
                    return Step::Done(Err(no_vote));
                }
                // It talked about several where one call was due: it ignored the form, and may obey another.
                let bad = said.text.as_deref().map(parsing::thoughtless).unwrap_or_default().to_string();
                self.place.answered(ask.rung, false);
                let rung = self.place.habit().repair(ask.rung);
                self.again_if_unpaid(Step::Repair(rung, bad), no_vote)
            }
            Reading::Nothing if declined => {
                Step::Done(Err(NoVote::new(Reason::Refused, "the model or its provider declined to answer")))
            }
            Reading::Nothing => self.no_vote_in(&said, finish == "length", ask),
        }
    }

    /// An answer without a vote: the way to a better one, or the end.
    fn no_vote_in(&mut self, said: &Said<'_>, cut_off: bool, ask: &Ask<'_>) -> Step {
        let text = said.text.as_deref().map(parsing::thoughtless).unwrap_or_default();
        let talked = !text.trim().is_empty();
        let no_vote = if cut_off {
            NoVote::new(Reason::Truncated, "the answer ended at the token limit before it named an option")
        } else {
            NoVote::new(Reason::Unparsable, "the answer names no option, even when asked again")
        };
        // Cut off in its thoughts or its call, it needs more room. Cut off while it talks where a call
        // was due, it would only talk longer.
        if cut_off && !(talked && ask.rung.has_tool() && said.calls.is_empty()) {
            return self.again_if_unpaid(Step::Again(ask.rung), no_vote);
        }
        self.place.answered(ask.rung, false);
        let bad = if talked { &text } else { said.calls.first().unwrap_or(&text) };
        let rung = self.place.habit().repair(ask.rung);
        self.again_if_unpaid(Step::Repair(rung, bad.to_string()), no_vote)
    }

    fn again_if_unpaid(&self, again: Step, otherwise: NoVote) -> Step {
        if self.paid < PAID_ANSWERS { again } else { Step::Done(Err(otherwise)) }
    }

    /// The upstream reported an error.
    fn complaint(&mut self, complaint: &Complaint<'_>, ask: &Ask<'_>) -> Step {
        let words = self.voting.presentable(&complaint.message);
        tracing::debug!(status = complaint.status, message = words, "the upstream complained");
        let status = complaint.status;
        let no_vote = |reason, what: &str| {
            let code = if status == 0 { String::new() } else { format!(" ({status})") };
            let words = if words.is_empty() { String::new() } else { format!(": {words}") };
            NoVote::new(reason, format!("the upstream {what}{code}{words}"))
        };
        match complaint.remedy(ask) {
            Remedy::StepDown(refused) => {
                let next = self.place.refused(ask.rung, refused);
                self.again_if_unpaid(
                    Step::Again(next),
                    no_vote(Reason::Rejected, "refused the form of the question"),
                )
            }
            Remedy::Missed => {
                self.bill.unreported();
                self.paid += 1;
                self.place.answered(ask.rung, false);
                let rung = self.place.habit().repair(ask.rung);
                let no_vote =
                    NoVote::new(Reason::Unparsable, "the model did not call the tool as it was asked to");
                self.again_if_unpaid(Step::Repair(rung, String::new()), no_vote)
            }
            Remedy::Wait(wait) if complaint.is_rate_limit() => {
                Step::Wait(wait, no_vote(Reason::RateLimited, "asks for fewer requests"))
            }
            Remedy::Wait(wait) => Step::Wait(wait, no_vote(Reason::UpstreamError, "failed")),
            // What it says about credit, keys and accounts is the operator's business.
            Remedy::Rejected if matches!(status, 401..=403) => Step::Done(Err(NoVote::new(
                Reason::Rejected,
                match status {
                    401 => "the upstream refused the service's key (401)",
                    402 => "the upstream wants payment from the service first (402)",
                    _ => "the upstream does not permit the service to use this model (403)",
                },
            ))),
            Remedy::Rejected => Step::Done(Err(no_vote(Reason::Rejected, "refused the request"))),
            Remedy::Refused => Step::Done(Err(no_vote(Reason::Refused, "declined to answer"))),
            Remedy::Failed => Step::Done(Err(no_vote(Reason::UpstreamError, "failed"))),
        }
    }
}

/// Whether an answer has the form that was demanded of it.
fn keeps_the_form(rung: Rung, said: &Said<'_>) -> bool {
    match rung {
        Rung::Required | Rung::Object | Rung::Auto => !said.calls.is_empty(),
        Rung::Schema => said.text.as_deref().is_some_and(|text| text.trim_start().starts_with(['{', '`'])),
        Rung::Prose => true,
    }
}
