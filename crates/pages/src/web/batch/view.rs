//! The data of the page of a batch.

use std::time::Duration;

use askama::Template;
use ep_polling::{MicroUsd, Timestamp};
use ep_site::Site;
use ep_site::layout::{HeaderVisitor, Layout, Renders, one_line, own};
use ep_site::names::{BATCH_FORMS, BATCH_PAGE};
use ep_store::{AnswerCounts, BatchError, BatchStatus, RowCounts};
use ep_tools::batches::{BatchReview, BatchState, ReviewRow, status_text};
use ep_tools::polls::sentences::number;

use crate::share_image::letter;
use crate::web::account::{Moment, figure};
use crate::web::result::colour;

/// Options that have a key: the digits from 1 to 9, then 0.
const KEYS: usize = 10;

/// The page of a batch.
#[derive(Template)]
#[template(path = "web/batch/batch.html")]
pub struct BatchPage<'a> {
    page: Layout<'a>,
    inner: Batch,
}

/// The part for the owner.
pub struct OwnerView {
    /// The batch.
    pub batch: BatchState,
    /// Idempotency key of the forms.
    pub nonce: String,
}

/// The part of the queue to show.
pub struct QueueView<'a> {
    /// Its position.
    pub cursor: Option<&'a str>,
    /// The time of the request.
    pub now: Timestamp,
}

#[derive(Template)]
#[template(path = "web/batch/batch.md")]
struct Batch {
    id: String,
    name: String,
    state: BatchStatus,
    status: &'static str,
    is_open: bool,
    shared: bool,
    simulated: bool,
    /// Rows with a result, rows with an error, and all rows.
    completed: u32,
    failed: u32,
    total: u32,
    /// The width of the bar, in percent.
    percent: String,
    /// The pace and the remaining time; empty unless rows are asked.
    pace: String,
    counts: AnswerCounts,
    /// The row to review.
    row: Option<Row>,
    /// The rows after it.
    next: Vec<Row>,
    /// The query that continues after this part of the queue.
    more: Option<String>,
    cursor: String,
    owner: Option<Owner>,
    path: String,
    /// The URL of the state that a script follows.
    events: String,
    /// The address of the page with its host, to copy and to print.
    link: String,
}

struct Row {
    /// The query that continues after the row.
    skip: String,
    number: u32,
    custom_id: String,
    question: String,
    /// The question as one line, without the words that begin every question.
    short: String,
    options: Vec<RowOption>,
    answer: Option<String>,
    /// The votes, as in 2 : 1.
    split: String,
}

struct RowOption {
    /// The digit of its key.
    key: Option<usize>,
    letter: char,
    colour: usize,
    text: String,
    votes: String,
}

struct Owner {
    nonce: String,
    cost: String,
    /// True if it has cost something.
    has_cost: bool,
    at_most: Option<String>,
    /// The money set aside for rows that have not ended.
    held: Option<String>,
    errors: Vec<BatchError>,
    deleted: Option<String>,
}

impl<'a> BatchPage<'a> {
    /// Creates the page for a visitor. `owner` is missing for others who read a shared batch.
    pub fn new(
        site: &'a Site,
        found: BatchReview,
        owner: Option<OwnerView>,
        visitor: Option<HeaderVisitor>,
        view: QueueView<'_>,
    ) -> Self {
        let id = found.batch_id.to_string();
        let RowCounts { total, completed, failed } = found.rows;
        let done = completed + failed;
        let is_open = found.status.is_open();
        let started = owner.as_ref().and_then(|owner| owner.batch.started_at);
        let of_batch = |name: &str| site.links.url(name, &[("batch_id", &id)]);
        let (link, events) = (of_batch(BATCH_PAGE), own(&of_batch("get_batch_review")));
        let mut rows = found.queue.into_iter().map(Row::new);
        let mut row = rows.next();
        let mut next: Vec<Row> = rows.collect();
        shorten(row.iter_mut().chain(&mut next));
        let inner = Batch {
            name: found.title.unwrap_or_else(|| id.clone()),
            state: found.status,
            status: status_text(found.status),
            is_open,
            shared: found.shared,
            simulated: found.simulated,
            completed,
            failed,
            total,
            percent: format!("{:.2}", f64::from(completed) / f64::from(total.max(1)) * 100.0),
            pace: started
                .filter(|_| is_open)
                .map_or_else(String::new, |started| pace(done, total, view.now.since(started))),
            counts: found.answers,
            row,
            next,
            more: found.next_cursor.as_deref().map(after),
            cursor: view.cursor.unwrap_or_default().to_owned(),
            owner: owner.map(|owner| Owner::new(owner, is_open, view.now)),
            path: own(&link),
            link,
            events,
            id,
        };
        let about = format!("A batch of {total} questions to several AI models.");
        let title =
            if is_open { format!("{done} of {total} rows: {}", inner.name) } else { inner.name.clone() };
        let page = Layout::new(site, title, about);
        Self { page: Layout { noindex: true, visitor, ..page }, inner }
    }
}

impl Batch {
    /// Returns the name as one line of Markdown.
    fn title_line(&self) -> String {
        one_line(&self.name)
    }

    /// Returns the number of rows with a result, and of rows with an error.
    fn so_far(&self) -> String {
        let rows = if self.total == 1 { "row" } else { "rows" };
        let failed = match (self.failed, self.state) {
            (0, _) => String::new(),
            // Rows that were not asked have an error, too.
            (failed, BatchStatus::Cancelled | BatchStatus::Expired) => {
                format!(" · {failed} failed or not asked")
            }
            (failed, _) => format!(" · {failed} failed"),
        };
        format!("of {} {rows} answered{failed}", self.total)
    }

    /// True if there are answers, or may be.
    const fn has_answers(&self) -> bool {
        self.is_open || self.counts.all > 0
    }

    /// True if the batch ended before a row was answered.
    const fn did_not_run(&self) -> bool {
        !self.is_open && self.completed == 0 && !matches!(self.state, BatchStatus::Completed)
    }

    /// The answers on which all votes agree, in per cent.
    fn unanimous_share(&self) -> u32 {
        share(self.counts.unanimous, self.counts.all)
    }

    /// The contested answers, in per cent.
    fn contested_share(&self) -> u32 {
        share(self.counts.contested, self.counts.all)
    }

    /// Returns the number of answers with its noun.
    fn answers(&self) -> String {
        number(self.counts.all, "answer")
    }

    /// Returns the number of reviewed rows with its noun.
    fn reviewed(&self) -> String {
        number(self.counts.reviewed, "row")
    }

    /// Returns the rows of the queue on the page.
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.row.iter().chain(&self.next)
    }
}

impl Owner {
    fn new(owner: OwnerView, is_open: bool, now: Timestamp) -> Self {
        let OwnerView { batch, nonce } = owner;
        Self {
            nonce,
            cost: figure(batch.cost_usd.0.as_usd()),
            has_cost: batch.cost_usd.0 > MicroUsd::ZERO,
            held: (is_open && batch.held_usd.0 > MicroUsd::ZERO).then(|| figure(batch.held_usd.0.as_usd())),
            at_most: batch.max_cost_usd.map(|most| figure(most.0.as_usd())),
            errors: batch.errors,
            deleted: batch.deleted_at.map(|at| Moment::new(at, now).day),
        }
    }

    /// True if errors name the lines of a file.
    fn names_lines(&self) -> bool {
        self.errors.iter().any(|error| error.line.is_some())
    }
}

impl Row {
    fn new(row: ReviewRow) -> Self {
        let votes = |option: &str| row.tally.of(option);
        let mut split: Vec<u32> =
            row.tally.0.iter().map(|(_, votes)| *votes).filter(|votes| *votes > 0).collect();
        split.sort_unstable_by(|first, second| second.cmp(first));
        let split: Vec<String> = split.iter().map(ToString::to_string).collect();
        let options = row.options.iter().enumerate().map(|(place, option)| RowOption {
            key: (place < KEYS).then_some((place + 1) % KEYS),
            letter: letter(place),
            colour: colour(place),
            text: option.clone(),
            votes: match votes(option) {
                1 => "1 model".to_owned(),
                votes => format!("{votes} models"),
            },
        });
        Self {
            options: options.collect(),
            split: if split.is_empty() { "no votes".to_owned() } else { split.join(" : ") },
            skip: after(&row.cursor),
            number: row.row,
            custom_id: row.custom_id,
            short: row.question.split_whitespace().collect::<Vec<_>>().join(" "),
            question: row.question,
            answer: row.answer,
        }
    }

    /// Returns the question as one line.
    fn line(&self) -> String {
        one_line(&self.question)
    }

    /// Returns the answer as one line of Markdown.
    fn answer_line(&self) -> Option<String> {
        self.answer.as_deref().map(one_line)
    }

    /// Returns the last key before 0.
    fn last_key(&self) -> usize {
        self.options.len().min(KEYS - 1)
    }

    /// True if an option has the key 0.
    fn has_zero(&self) -> bool {
        self.options.len() >= KEYS
    }
}

impl Renders for BatchPage<'_> {
    fn markdown(&self) -> askama::Result<String> {
        self.inner.render()
    }
}

/// Returns the query that continues after a position of the queue.
pub(super) fn after(cursor: &str) -> String {
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("cursor", cursor).finish();
    format!("?{query}")
}

/// Removes the words with which all questions begin.
fn shorten<'r>(rows: impl Iterator<Item = &'r mut Row>) {
    let rows: Vec<&mut Row> = rows.collect();
    let Some((first, others)) = rows.split_first() else { return };
    let words: Vec<&str> = first.short.split(' ').collect();
    let same = others.iter().map(|row| {
        let pairs = words.iter().zip(row.short.split(' '));
        pairs.take_while(|(one, two)| **one == *two).count()
    });
    let same = same.min().unwrap_or(0);
    for row in rows {
        let rest: Vec<&str> = row.short.split(' ').skip(same).collect();
        if same > 0 && !rest.is_empty() {
            row.short = format!("… {}", rest.join(" "));
        }
    }
}

/// Returns a share in percent. Only all is 100 %, and only none is 0 %.
fn share(part: u32, all: u32) -> u32 {
    match (u64::from(part), u64::from(all)) {
        (0, _) | (_, 0) => 0,
        (part, all) if part == all => 100,
        (part, all) => ((part * 200 + all) / (all * 2)).clamp(1, 99) as u32,
    }
}

/// Describes the pace of the rows and the remaining time.
fn pace(done: u32, total: u32, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if done == 0 || seconds < 1.0 || done >= total {
        return String::new();
    }
    let rate = f64::from(done) / seconds;
    let left = f64::from(total - done) / rate;
    let rate = if rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") };
    format!("{rate} rows/s · about {} left", duration(left))
}

/// Writes a duration in its two largest units.
fn duration(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_tells_when_a_batch_ends() {
        let pace = |done, total, seconds| pace(done, total, Duration::from_secs(seconds));
        assert_eq!(pace(0, 10, 5), "");
        assert_eq!(pace(10, 10, 5), "");
        assert_eq!(pace(310, 2_914, 10), "31 rows/s · about 1 min 24 s left");
        assert_eq!(pace(1, 100_000, 2), "0.5 rows/s · about 55 h 33 min left");
    }

    #[test]
    fn only_all_rows_are_a_hundred_percent() {
        let shares = [share(0, 0), share(0, 9), share(1, 1000), share(9, 120), share(999, 1000), share(3, 3)];
        assert_eq!(shares, [0, 0, 1, 8, 99, 100]);
    }
}
