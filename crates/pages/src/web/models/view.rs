//! The page of the voting models: the registry with each model's statistics from polls.

use std::cmp::Reverse;
use std::collections::HashMap;

use askama::Template;
use ep_kernel::{Registry, Tool};
use ep_site::Site;
use ep_site::layout::{Layout, one_line, own};
use ep_site::names::{MODELS_MARKDOWN, MODELS_PAGE};
use ep_tools::models::ListModels;
use ep_tools::reputation::{ListModelReputation, ModelReputation, ModelReputations};

use super::family_mark::FamilyMarks;
use super::order::{COLUMNS, Column, Order, Query};
use super::row::{Model, Row, preset_title};

/// Maximum number of models on the page; longer lists are available as JSON.
const SHOWN: usize = 1_000;

/// The page of the models.
#[derive(Template)]
#[template(path = "web/models/models.html")]
pub struct ModelsPage<'a> {
    page: Layout<'a>,
    models: View,
}

impl<'a> ModelsPage<'a> {
    /// Creates the page from the outputs of [`ListModels`] and [`ListModelReputation`]. `query` is the query of
    /// the request.
    pub fn new(site: &'a Site, registry: &Registry, reputation: ModelReputations, query: &str) -> Self {
        let names = [MODELS_PAGE, MODELS_MARKDOWN, ListModels::SPEC.name, ListModelReputation::SPEC.name];
        let [address, markdown, list, figures] = names.map(|name| site.links.url(name, &[]));
        let models = View::new(registry, reputation, query, &address, [list, figures]);
        let page = Layout::new(site, "Models".to_owned(), models.description.clone());
        let page = Layout { canonical: Some(address), markdown: Some(markdown), ..page };
        Self { page, models }
    }

    /// Renders the page as Markdown.
    pub fn markdown(&self) -> askama::Result<String> {
        self.models.render()
    }
}

/// Data of the templates.
#[derive(Template)]
#[template(path = "web/models/models.md")]
struct View {
    description: String,
    simulated: bool,
    /// "60 models of 14 families".
    counts: String,
    fetched: String,
    /// Target of the search form, with the values of its hidden fields.
    action: String,
    sort: Option<&'static str>,
    preset: Option<String>,
    search: String,
    /// Number of rows that the search finds.
    found: usize,
    presets: Vec<Link>,
    columns: Vec<Link>,
    rows: Vec<Row>,
    /// Number of listed models that are not shown.
    left_out: usize,
    /// True if any of the models has statistics from polls.
    has_figures: bool,
    minimum_votes: i64,
    /// URLs of the list and the statistics as JSON.
    json: [String; 2],
}

/// A link to another order or filter.
struct Link {
    href: String,
    text: String,
    /// Number of models behind a filter.
    count: usize,
    current: bool,
    sorted: &'static str,
    /// True if the link heads a column of numbers.
    number: bool,
}

impl View {
    /// Returns the rows that the search finds.
    fn shown(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.hidden)
    }

    /// Returns the cells of a row in Markdown. Statistics from polls are included if the page shows them.
    fn cells(&self, row: &Row) -> String {
        let mut cells = vec![
            format!("{} ({})", one_line(&row.name), one_line(&row.id)),
            one_line(&row.family),
            row.price.clone(),
            row.input.clone(),
            row.output.clone(),
            row.context.clone(),
        ];
        if self.has_figures {
            cells.extend([row.answers.clone(), row.time.clone(), row.majority.clone()]);
        }
        cells.push(one_line(&row.presets));
        cells.join(" | ")
    }

    fn new(
        registry: &Registry,
        reputation: ModelReputations,
        query: &str,
        address: &str,
        json: [String; 2],
    ) -> Self {
        let minimum_votes = reputation.minimum_votes;
        let statistics = reputation.models.into_iter().filter(|statistics| statistics.success_rate.is_some());
        let mut statistics: HashMap<String, ModelReputation> =
            statistics.map(|statistics| (statistics.model_id.clone(), statistics)).collect();
        let mut models: Vec<Model<'_>> = registry
            .variants
            .iter()
            .map(|variant| Model::new(variant, statistics.remove(&variant.id)))
            .collect();
        let has_figures = models.iter().any(|model| model.statistics.is_some());
        let marks = FamilyMarks::new(registry.variants.iter().map(|variant| variant.family.as_str()));
        let presets = presets(registry);
        let names: Vec<&str> = presets.iter().map(|(name, _)| *name).collect();
        let query = Query::read(query, &names);
        models.retain(|model| {
            query.preset.is_none_or(|preset| model.variant.presets.iter().any(|name| name == preset))
        });
        match query.order {
            Order::Listed => {}
            Order::Model => models.sort_by_cached_key(|model| model.variant.name.to_lowercase()),
            Order::Family => models.sort_by(|one, other| one.variant.family.cmp(&other.variant.family)),
            order => models.sort_by_key(|model| Reverse(model.rank(order).map(Reverse))),
        }
        let left_out = models.len().saturating_sub(SHOWN);
        let finds = query.finds();
        // Models that the search does not find are hidden, so that a script can show them for another search.
        let rows = models.iter().take(SHOWN).map(|model| {
            let row = model.row(marks.of(&model.variant.family));
            Row { hidden: !query.search.is_empty() && !finds(&row.words()), ..row }
        });
        let rows: Vec<Row> = rows.collect();
        let kind = if registry.simulated { "simulated models" } else { "models" };
        let counts = format!("{} {kind} of {}", registry.count, family_count(marks.len()));
        let fetched = registry.fetched_at.calendar();
        Self {
            description: format!(
                "The {counts} that can vote here: what they cost, how often they answer, and which panels they belong to."
            ),
            simulated: registry.simulated,
            fetched: fetched.strftime("%-d %B %Y").to_string(),
            counts,
            action: own(address),
            sort: query.sort(),
            preset: query.preset.map(str::to_owned),
            found: rows.iter().filter(|row| !row.hidden).count(),
            presets: filters(&query, address, &presets, registry.count),
            columns: columns(&query, address, has_figures),
            rows,
            search: query.search,
            left_out,
            has_figures,
            minimum_votes,
            json,
        }
    }
}

fn family_count(families: usize) -> String {
    if families == 1 { "1 family".to_owned() } else { format!("{families} families") }
}

/// Returns the links to each preset, after a link to all models.
fn filters(query: &Query<'_>, address: &str, presets: &[(&str, usize)], count: usize) -> Vec<Link> {
    let filter = |preset: Option<&str>, count: usize| Link {
        href: Query { preset, ..query.clone() }.href(address),
        text: preset.map_or_else(|| "All".to_owned(), preset_title),
        count,
        current: query.preset == preset,
        sorted: "",
        number: false,
    };
    let each = presets.iter().map(|(name, count)| filter(Some(name), *count));
    std::iter::once(filter(None, count)).chain(each).collect()
}

/// Returns the links to each order.
fn columns(query: &Query<'_>, address: &str, has_figures: bool) -> Vec<Link> {
    let sort = |column: &Column| Link {
        href: Query {
            order: if query.order == column.order { Order::Listed } else { column.order },
            ..query.clone()
        }
        .href(address),
        text: column.title.to_owned(),
        count: 0,
        current: query.order == column.order,
        sorted: column.sorted,
        number: !matches!(column.order, Order::Model | Order::Family | Order::Price),
    };
    COLUMNS.iter().filter(|column| has_figures || !column.of_polls).map(sort).collect()
}

/// Returns the presets that include any listed model, with their number of models.
fn presets(registry: &Registry) -> Vec<(&str, usize)> {
    let mut presets: Vec<(&str, usize)> = Vec::new();
    for name in registry.variants.iter().flat_map(|variant| &variant.presets) {
        match presets.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => presets.push((name, 1)),
        }
    }
    presets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_comes_last_in_every_order() {
        let ranks = [None, Some(3), Some(1)];
        let mut sorted = ranks.to_vec();
        sorted.sort_by_key(|rank| Reverse(rank.map(Reverse)));
        assert_eq!(sorted, [Some(1), Some(3), None]);
    }
}
