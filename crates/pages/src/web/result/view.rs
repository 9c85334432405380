//! Template data of a result.

use askama::Template;
use ep_kernel::Tool;
use ep_polling::PassResult;
use ep_polling::apportion::percentages;
use ep_site::Site;
use ep_site::layout::{one_line, own};
use ep_site::names::{EMBED, OEMBED, RESULT_PAGE};
use ep_tools::polls::reply::VoteResult;
use ep_tools::polls::sentences::{EndedPoll, independence};
use ep_tools::results::{GetPollResult, PollResult, WatchResult};
use serde_json::{Map, Value};

use super::answer::{Answer, asked, decisive, voters_of};
use super::hero::{Meter, Seats, stopped_early};
use super::reasons::{OptionReasons, by_option};
pub(crate) use super::votes::Query;
use super::votes::{Link, PositionVotes, Row, colour, columns, filters, rows, slots};
use super::words::{self, Length};
use crate::share_image::{is_rtl, letter};

/// Template data of a result.
#[derive(Template)]
#[template(path = "web/result/result.md")]
pub struct View {
    pub(crate) id: String,
    pub(crate) question: String,
    /// Decides where the question is clamped.
    pub(crate) length: Length,
    /// The text direction of the question, which is also that of the answer and of the options.
    pub(crate) direction: &'static str,
    /// The question on one line, for a Markdown heading.
    pub(crate) question_line: String,
    pub(crate) sentence: String,
    pub(crate) answer: Answer,
    /// The answers that a running poll can show. Each takes room, so that the page does not move.
    pub(crate) leads: Vec<Answer>,
    /// Absent if the size of the panel is unknown.
    pub(crate) chamber: Option<Seats>,
    pub(crate) meter: Option<Meter>,
    /// The lines about a poll that has ended.
    pub(crate) ended: Option<EndedView>,
    pub(crate) progress: String,
    pub(crate) running: bool,
    /// True for levels, which the form of the start page does not have.
    pub(crate) is_scale: bool,
    pub(crate) private: bool,
    pub(crate) simulated: bool,
    /// The name of those who vote.
    pub(crate) voters: &'static str,
    /// The number of models that were asked, for example "15 models were asked".
    pub(crate) asked: String,
    /// Creation time in machine-readable and human-readable form, and its day.
    pub(crate) created_at: String,
    pub(crate) created: String,
    pub(crate) day: String,
    pub(crate) notices: Vec<String>,
    pub(crate) bars: Vec<Bar>,
    pub(crate) votes: Vec<Row>,
    /// Reasons of voters; empty unless requested.
    pub(crate) reasons: Vec<OptionReasons>,
    /// True if there are votes, regardless of the filter.
    pub(crate) has_votes: bool,
    /// True if the visitor has chosen an order or a filter of the votes.
    pub(crate) opens_votes: bool,
    pub(crate) filters: Vec<Link>,
    pub(crate) columns: Vec<Link>,
    pub(crate) slots: Vec<PositionVotes>,
    pub(crate) address: String,
    /// The page's URL without its origin.
    pub(crate) path: String,
    pub(crate) json: String,
    pub(crate) json_path: String,
    pub(crate) events: String,
    /// HTML code of a frame for other websites.
    pub(crate) frame: String,
    pub(super) embed: String,
    /// URL of the frame's oEmbed description.
    pub(crate) oembed: String,
    raw: Vec<VoteResult>,
}

/// The lines about a poll that has ended: one each on its counts, its end, its confidence and its models.
pub struct EndedView {
    pub(crate) counts: String,
    pub(crate) stopped: String,
    pub(crate) sure: String,
    /// Absent unless the winner is contested.
    pub(crate) dissent: Option<String>,
    /// The line above the meter; absent if the votes decided the end.
    pub(crate) early: Option<&'static str>,
    /// The text before the confidence.
    pub(crate) held: &'static str,
    /// The lower median of the votes on a scale.
    pub(crate) median: Option<String>,
    /// The votes on the pass of a scale with a pass mark.
    pub(crate) pass: Option<PassResult>,
    /// Absent without votes.
    pub(crate) independence: Option<String>,
}

impl EndedView {
    fn new(poll: &PollResult) -> Self {
        let sentences = EndedPoll::from(poll);
        Self {
            counts: sentences.counts(),
            stopped: sentences.stopped(),
            sure: sentences.sure(),
            dissent: sentences.dissent(),
            early: stopped_early(poll),
            held: sentences.held(),
            median: poll.scale.as_ref().and_then(|scale| scale.median.clone()),
            pass: sentences.pass().cloned(),
            independence: (poll.models.succeeded() > 0).then(|| independence(&poll.families)),
        }
    }
}

/// An option with its votes.
pub struct Bar {
    pub(crate) label: String,
    /// The label for a cell of a Markdown table.
    pub(crate) cell: String,
    pub(crate) key: char,
    pub(crate) colour: usize,
    pub(crate) votes: u32,
    /// Share of the votes in per cent. Shares add up to 100.
    pub(crate) share: u32,
    pub(crate) winner: bool,
}

/// Returns a query string with this URL as the `url` parameter.
fn url_query(address: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("url", address).finish()
}

impl View {
    pub(crate) fn new(site: &Site, poll: PollResult, private: bool, query: &Query) -> Self {
        let url = |name: &str| site.links.url(name, &[("poll_id", poll.poll_id.as_str())]);
        let (address, json, events) =
            (url(RESULT_PAGE), url(GetPollResult::SPEC.name), own(&url(WatchResult::SPEC.name)));
        let (embed, oembed) = (url(EMBED), format!("{}?{}", url(OEMBED), url_query(&address)));
        let votes = || poll.options.iter().map(|label| poll.tally.of(label));
        let bars = poll.options.iter().enumerate().zip(votes()).zip(percentages(votes()));
        let bars = bars.map(|(((position, label), votes), share)| Bar {
            label: label.clone(),
            cell: one_line(label),
            key: letter(position),
            colour: colour(position),
            votes,
            share,
            winner: decisive(&poll) == Some(label),
        });
        let mut bars: Vec<Bar> = bars.collect();
        // A running poll has one order, so that no bar moves. Levels have an order of their own.
        if !poll.status.is_open() && poll.scale.is_none() {
            bars.sort_by_key(|bar| std::cmp::Reverse(bar.votes));
        }
        let question = poll.question.clone().unwrap_or_default();
        let ended = (!poll.status.is_open()).then(|| EndedView::new(&poll));
        // The lines about the end say these notices already.
        let said = |notice: &str| {
            ended.as_ref().is_some_and(|ended| notice == ended.counts || notice == ended.stopped)
        };
        let created = |format: &str| poll.created_at.calendar().strftime(format).to_string();
        let notices = poll.notices.iter().filter(|notice| !said(notice));
        let mut view = Self {
            id: poll.poll_id.to_string(),
            question_line: one_line(&question),
            direction: if is_rtl(&question) { "rtl" } else { "ltr" },
            length: Length::of(&question),
            question,
            sentence: words::sentence(&poll),
            answer: Answer::new(&poll),
            leads: Answer::leads(&poll),
            chamber: Seats::new(&poll),
            meter: Meter::new(&poll),
            progress: words::progress(&poll),
            running: poll.status.is_open(),
            is_scale: poll.scale.is_some(),
            private,
            simulated: poll.simulated,
            voters: voters_of(&poll),
            asked: asked(&poll),
            created_at: poll.created_at.to_string(),
            created: created("%-d %B %Y, %H:%M UTC"),
            day: created("%-d %B %Y"),
            notices: notices.map(|notice| words::notice(notice)).collect(),
            ended,
            bars,
            votes: rows(&poll, *query),
            reasons: by_option(&poll),
            has_votes: !poll.votes.is_empty(),
            opens_votes: !query.is_default(),
            filters: filters(&poll, *query, &address),
            columns: columns(*query, &address),
            slots: slots(&poll),
            path: own(&address),
            frame: String::new(),
            embed,
            oembed,
            address,
            json_path: own(&json),
            json,
            events,
            raw: poll.votes,
        };
        let (width, height) = view.frame_size(None);
        view.frame = view.frame_of(width, height);
        view
    }

    /// Returns true if a decision model voted.
    pub(crate) fn has_decision_models(&self) -> bool {
        self.raw.iter().any(|vote| vote.probabilities.is_some())
    }

    pub(crate) fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut lines = csv::Writer::from_writer(Vec::new());
        lines.write_record([
            "model_id",
            "family",
            "chosen_option",
            "latency_ms",
            "error",
            "probabilities",
        ])?;
        for vote in &self.raw {
            let time = vote.latency_ms.to_string();
            let option = vote.chosen_option.as_deref().unwrap_or_default();
            let error = vote.error.as_deref().unwrap_or_default();
            let cells = [&vote.model_id, &vote.family, option, &time, error, &probabilities(vote)];
            lines.write_record(cells.map(plain_cell))?;
        }
        lines.into_inner().map_err(|error| csv::Error::from(error.into_error()))
    }
}

/// Returns the probabilities of a decision model as a JSON object: options are texts of callers, and may contain any separator.
fn probabilities(vote: &VoteResult) -> String {
    let given = vote.probabilities.iter().flatten();
    let members: Map<String, Value> =
        given.map(|given| (given.option.clone(), given.probability.into())).collect();
    if members.is_empty() { String::new() } else { Value::Object(members).to_string() }
}

/// Escapes a cell that a spreadsheet would read as a formula (OWASP, "CSV Injection").
pub(in crate::web) fn plain_cell(text: &str) -> String {
    let risky = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if risky { format!("'{text}") } else { text.to_owned() }
}
