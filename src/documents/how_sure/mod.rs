//! `/how-sure`: when a poll stops, what its confidence means and does not mean, and measurements on recorded
//! votes. The charts are drawn from the committed figures.

mod chart;
mod figures;

use askama::Template;
use axum::body::Bytes;
use ep_polling::stopping::{Evidence, Rule};
use ep_polling::threshold::Threshold;

use super::page::About;
use super::prose;
use super::prose::Prose;
use crate::site::HTML;
use crate::site::{Document, Form, MARKDOWN as MARKDOWN_TYPE, Site};
use chart::{Chart, Line};
use figures::{Figures, Set};

const PAGE: About = About {
    title: "How sure a result is",
    description: "The stopping rule of a poll, the meaning and the limits of its confidence, and measurements on real votes.",
    name: "how_sure",
    markdown: "how_sure_markdown",
};

pub(super) const DOCUMENT: Document = Document::new(
    PAGE.name,
    PAGE.description,
    |_| vec!["/how-sure".into()],
    &[Form::new(HTML, html), Form::markdown(markdown)],
);

pub(super) const MARKDOWN: Document = Document::new(
    PAGE.markdown,
    "The page about confidence in Markdown.",
    |_| vec!["/how-sure.md".into()],
    &[Form::new(MARKDOWN_TYPE, markdown)],
)
.headers(|site| PAGE.canonical(site))
.unlisted();

/// The size of the panel in the example.
const EXAMPLE_PANEL: u32 = 25;

#[derive(Template)]
#[template(path = "how-sure.md")]
struct Text<'a> {
    p: Prose<'a>,
    figures: &'a Figures,
    /// The pictures, or their tables in Markdown.
    pictures: [String; 3],
    /// The levels that the other rule misses on contested questions.
    missed: String,
    example_panel: u32,
    /// The split of votes at which the example stops.
    example: String,
}

fn markdown(site: &Site) -> Option<Bytes> {
    let figures = Figures::read()?;
    let pictures = charts(&figures)?.map(|chart| chart.table());
    prose::bytes(&text(site, &figures, pictures))
}

fn html(site: &Site) -> Option<Bytes> {
    let figures = Figures::read()?;
    let charts = charts(&figures)?;
    // In the rendered Markdown, a paragraph with U+FFFC and a number marks the position of a picture.
    let places = [0, 1, 2].map(|index| format!("\u{fffc}{index}"));
    let written = String::from_utf8(prose::bytes(&text(site, &figures, places.clone()))?.into()).ok()?;
    let mut page = String::from_utf8(PAGE.html(site, &written)?.into()).ok()?;
    for (index, chart) in places.iter().zip(&charts) {
        page = page.replace(&format!("<p>{index}</p>"), &chart.drawn().render().ok()?);
    }
    Some(page.into())
}

fn text<'a>(site: &'a Site, figures: &'a Figures, pictures: [String; 3]) -> Text<'a> {
    let example = (0..4).filter_map(|rival| Some(format!("{} to {rival}", votes_needed(rival)?)));
    let example: Vec<String> = example.collect();
    let contested = figures.sets.last().into_iter().flat_map(|set| &set.thresholds);
    let missed = contested.filter(|at| at.beta.agreement() < 100.0 * at.threshold);
    let missed: Vec<String> = missed.map(|at| named(at.threshold)).collect();
    Text {
        p: Prose::new(site),
        figures,
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

/// Returns the charts, in the order of the text.
fn charts(figures: &Figures) -> Option<[Chart; 3]> {
    let [all, other, contested] = figures.sets.as_slice() else { return None };
    Some([
        calls(&[all, other, contested]),
        agreement("agreement", all, format!("Agreement with the whole panel, all questions of {}", all.set)),
        agreement(
            "contested",
            contested,
            format!("Agreement with the whole panel, contested questions of {}", all.set),
        ),
    ])
}

/// Formats a threshold as a percentage.
fn named(threshold: f64) -> String {
    format!("{} %", (threshold * 1000.0).round() / 10.0)
}

/// Draws the share of models that are asked.
fn calls(sets: &[&Set; 3]) -> Chart {
    let places: Vec<String> =
        sets[0].thresholds.iter().map(|at| named(at.threshold)).chain([named(1.0)]).collect();
    let values = |set: &Set| -> Vec<f64> {
        let at = set.thresholds.iter().map(|at| &at.bridge).chain([&set.lock]);
        at.map(|found| found.calls_share(set.models)).collect()
    };
    let columns: Vec<Vec<f64>> = sets.iter().map(|set| values(set)).collect();
    let row = |(index, name): (usize, &String)| {
        let cells = columns.iter().map(|values| format!("{:.1} %", values[index]));
        std::iter::once(name.clone()).chain(cells).collect()
    };
    let name = |set: &Set| format!("{}, {} models", set.set, set.models);
    Chart {
        id: "calls",
        title: "How much of the panel is asked, by how sure the poll must be".to_owned(),
        description: "The surer a poll must be, the more models it asks; easy questions need far fewer than contested ones."
            .to_owned(),
        across: "how sure the poll must be",
        upwards: "models asked, of the panel",
        rows: places.iter().enumerate().map(row).collect(),
        places,
        lines: sets.iter().zip(&columns).map(|(set, values)| Line { name: name(set), values: values.clone() }).collect(),
        columns: std::iter::once("must be sure").map(str::to_owned).chain(sets.iter().map(|set| name(set))).collect(),
    }
}

/// Draws the agreement with the whole panel, compared with another rule and with the promised level.
fn agreement(id: &'static str, set: &Set, title: String) -> Chart {
    let at = || set.thresholds.iter();
    let row = |at: &figures::AtThreshold| {
        vec![
            named(at.threshold),
            at.bridge.agreement_in_words(),
            format!("{:.1} %", at.bridge.calls_share(set.models)),
            at.beta.agreement_in_words(),
            format!("{:.1} %", at.beta.calls_share(set.models)),
        ]
    };
    let lock = &set.lock;
    let certain = vec![
        named(1.0),
        lock.agreement_in_words(),
        format!("{:.1} %", lock.calls_share(set.models)),
        "–".to_owned(),
        "–".to_owned(),
    ];
    let line = |name: &str, values: Vec<f64>| Line { name: name.to_owned(), values };
    Chart {
        id,
        title,
        description: "This service's rule stays above what is promised at every level; the other rule asks fewer models and \
                      agrees less often."
            .to_owned(),
        across: "how sure the poll must be",
        upwards: "polls that agree with the whole panel",
        places: at().map(|at| named(at.threshold)).collect(),
        lines: vec![
            line("this service's rule", at().map(|at| at.bridge.agreement()).collect()),
            line("Adaptive-Consistency's Beta rule", at().map(|at| at.beta.agreement()).collect()),
            line("what is promised", at().map(|at| 100.0 * at.threshold).collect()),
        ],
        columns: ["must be sure", "agrees", "asked", "Beta rule agrees", "Beta rule asked"].map(str::to_owned).to_vec(),
        rows: at().map(row).chain([certain]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_figures_support_the_page() {
        let figures = Figures::read().unwrap();
        let [all, other, contested] = figures.sets.as_slice() else { panic!("there are three sets") };
        for set in [all, other, contested] {
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
        assert!(contested.questions < all.questions && contested.models == all.models);
    }

    #[test]
    fn example_follows_the_stopping_rule() {
        assert_eq!([0, 1, 2, 3].map(votes_needed), [Some(6), Some(8), Some(9), Some(10)]);
    }
}
