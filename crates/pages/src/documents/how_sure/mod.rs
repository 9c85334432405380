//! `/how-sure`: a poll to try, when a poll stops, what its confidence means and does not mean, and measurements on
//! recorded votes. The charts are drawn from the committed figures.

mod chart;
mod figures;
mod labels;
mod measurements;
mod plot;
mod sample;

use askama::Template;
use axum::body::Bytes;
use ep_polling::{Evidence, Rule, Threshold};
use ep_site::layout::{Layout, text as rendered};
use ep_site::names::HOW_SURE;
use ep_site::{Document, Form, HTML, MARKDOWN as MARKDOWN_TYPE, Site};

use super::page::{About, bytes, layout};
use super::prose;
use super::prose::Prose;
use chart::Chart;
use figures::Figures;
use labels::{GOLD, LabelFigures};
use measurements::{charts, named};

pub use sample::SamplePoll;

const PAGE: About = About {
    title: "How sure is a result?",
    description: "Try it: drag the votes of a poll, and see how sure the result is and when the poll stops.",
    name: HOW_SURE,
    markdown: "how_sure_markdown",
};

/// The page with its default poll. The route of the page serves it, because it has a query.
pub(super) const DOCUMENT: Document = Document::new(
    PAGE.name,
    PAGE.description,
    |_| Vec::new(),
    &[Form::new(HTML, |site| page(site, SamplePoll::default())), Form::markdown(markdown)],
);

pub(super) const MARKDOWN: Document = Document::new(
    PAGE.markdown,
    "The page about confidence in Markdown.",
    |_| vec!["/how-sure.md".into()],
    &[Form::new(MARKDOWN_TYPE, markdown)],
)
.headers(|site| PAGE.canonical(site))
.unlisted();

/// The number of pictures.
const PICTURES: usize = 4;
/// The size of the panel in the example.
const EXAMPLE_PANEL: u32 = 25;

#[derive(Template)]
#[template(path = "how-sure.md")]
struct Text<'a> {
    p: Prose<'a>,
    figures: &'a Figures,
    /// The poll to try, in a sentence; a page shows it with its fields.
    sample: String,
    labels: &'a LabelFigures,
    /// The pictures, or their tables in Markdown.
    pictures: [String; PICTURES],
    /// The levels that the other rule misses on close questions.
    missed: String,
    example_panel: u32,
    /// The split of votes at which the example stops.
    example: String,
}

#[derive(Template)]
#[template(path = "documents/how_sure/how_sure.html")]
struct HowSurePage<'a> {
    page: Layout<'a>,
    beginning: String,
    sample: String,
    rest: String,
}

fn markdown(site: &Site) -> Option<Bytes> {
    let (figures, labels) = (Figures::read()?, LabelFigures::read()?);
    let pictures = pictures(&figures, &labels)?.map(|chart| chart.table());
    let sample = SamplePoll::default();
    let sample = format!("For example: {} {}", sample.sentence(), sample.verdict());
    prose::bytes(&text(site, (&figures, &labels), sample, pictures))
}

/// Renders the page with this poll to try.
pub fn page(site: &Site, sample: SamplePoll) -> Option<Bytes> {
    let (figures, labels) = (Figures::read()?, LabelFigures::read()?);
    let charts = pictures(&figures, &labels)?;
    // In the rendered Markdown, a paragraph with U+FFFC and a number marks the position of a picture.
    let places: [String; PICTURES] = std::array::from_fn(|index| format!("\u{fffc}{index}"));
    let text = text(site, (&figures, &labels), String::new(), places.clone()).render().ok()?;
    let text = rendered(&text, &site.settings.base_url);
    let mut rest = text.rest;
    for (index, chart) in places.iter().zip(&charts) {
        rest = rest.replace(&format!("<p>{index}</p>"), &chart.drawn().render().ok()?);
    }
    bytes(&HowSurePage {
        page: layout(site, PAGE.name, PAGE.markdown, PAGE.title, PAGE.description),
        beginning: text.beginning,
        sample: sample.drawn().render().ok()?,
        rest,
    })
}

/// Returns the pictures, in the order of the text.
fn pictures(figures: &Figures, labels: &LabelFigures) -> Option<[Chart; PICTURES]> {
    let [calls, agreement, close] = charts(figures)?;
    Some([calls, agreement, close, labels.chart()?])
}

fn text<'a>(
    site: &'a Site,
    (figures, labels): (&'a Figures, &'a LabelFigures),
    sample: String,
    pictures: [String; PICTURES],
) -> Text<'a> {
    let example = (0..4).filter_map(|rival| Some(format!("{} to {rival}", votes_needed(rival)?)));
    let example: Vec<String> = example.collect();
    let close = figures.sets.last().into_iter().flat_map(|set| &set.thresholds);
    let missed = close.filter(|at| at.beta.agreement() < 100.0 * at.threshold);
    let missed: Vec<String> = missed.map(|at| named(at.threshold)).collect();
    Text {
        p: Prose::new(site),
        figures,
        labels,
        sample,
        pictures,
        missed: missed.join(" and "),
        example_panel: EXAMPLE_PANEL,
        example: example.join(", "),
    }
}

/// Returns the fewest votes that stop the example at the default threshold when the strongest rival has `rival`
/// votes.
fn votes_needed(rival: u32) -> Option<u32> {
    let rule = Rule::for_threshold(Threshold::DEFAULT);
    (rival + 1..=EXAMPLE_PANEL - rival).find(|leader| {
        rule.stops(Evidence { leader: *leader, rival, remaining: EXAMPLE_PANEL - leader - rival })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_figures_support_the_page() {
        let figures = Figures::read().unwrap();
        let [all, other, close] = figures.sets.as_slice() else { panic!("there are three sets") };
        for set in [all, other, close] {
            let mut before = 0.0;
            for at in &set.thresholds {
                let calls_share = at.bridge.calls_share(set.models);
                assert!(at.bridge.agreement() >= 100.0 * at.threshold && calls_share > before, "{}", set.set);
                assert!(
                    at.beta.calls_share(set.models) < calls_share
                        && at.beta.agreement() <= at.bridge.agreement()
                );
                before = calls_share;
            }
            assert!(set.lock.calls_share(set.models) > before);
            assert_eq!(set.lock.agreement_in_words(), "100 %");
        }
        assert!(close.questions < all.questions && close.models == all.models);
    }

    #[test]
    fn example_follows_the_stopping_rule() {
        assert_eq!([0, 1, 2, 3].map(votes_needed), [Some(6), Some(8), Some(9), Some(10)]);
    }
}
