//! The page of the voting models: the registry with each model's statistics from polls.

use std::cmp::Reverse;
use std::collections::HashMap;

use askama::Template;
use ep_kernel::ports::{Registry, Variant};
use ep_kernel::tool::Tool;
use ep_polling::money::{MicroUsd, UsdFigure};
use ep_tools::models::ListModels;
use ep_tools::reputation::{ListModelReputation, ModelReputation, ModelReputations};

use crate::layout::Layout;
use crate::layout::one_line;
use crate::layout::own;
use crate::site::Site;

/// Maximum number of models on the page; longer lists are available as JSON.
const SHOWN: usize = 1_000;

/// The page of the models.
#[derive(Template)]
#[template(path = "web/models/models.html")]
pub struct ModelsPage<'a> {
    page: Layout<'a>,
    models: View,
}

#[derive(Template)]
#[template(path = "web/models/models.md")]
struct ModelsText<'a> {
    models: &'a View,
}

/// Absolute URLs of the page.
pub struct ModelsAddresses {
    /// The HTML page.
    pub page: String,
    /// The Markdown page.
    pub markdown: String,
}

impl<'a> ModelsPage<'a> {
    /// Creates the page from the outputs of [`ListModels`] and [`ListModelReputation`]. `query` is the query of
    /// the request.
    pub fn new(
        site: &'a Site,
        registry: &Registry,
        reputation: ModelReputations,
        addresses: ModelsAddresses,
        query: &str,
    ) -> Self {
        let json = [ListModels::SPEC.name, ListModelReputation::SPEC.name];
        let json = json.map(|name| site.links.url(name, &[]));
        let models = View::new(registry, reputation, query, &addresses.page, json);
        let page = Layout::new(site, "Models".to_owned(), models.description.clone());
        let page = Layout { canonical: Some(addresses.page), markdown: Some(addresses.markdown), ..page };
        Self { page, models }
    }

    /// Renders the page as Markdown.
    pub fn markdown(&self) -> askama::Result<String> {
        ModelsText { models: &self.models }.render()
    }
}

/// The order of the models.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The order of the upstream's list.
    #[default]
    Listed,
    Model,
    Family,
    Input,
    Output,
    Context,
    Answers,
    Time,
    Majority,
}

/// A column of the table.
struct Column {
    order: Order,
    /// Value of the column in the query.
    word: &'static str,
    title: &'static str,
    /// Description of the order while it is in use.
    sorted: &'static str,
    /// True if the figures come from polls.
    of_polls: bool,
}

const fn column(order: Order, word: &'static str, title: &'static str) -> Column {
    Column { order, word, title, sorted: "ascending", of_polls: false }
}

const COLUMNS: [Column; 8] = [
    column(Order::Model, "model", "Model"),
    column(Order::Family, "family", "Family"),
    column(Order::Input, "input", "Input"),
    column(Order::Output, "output", "Output"),
    Column { sorted: "descending", ..column(Order::Context, "context", "Context") },
    Column { sorted: "descending", of_polls: true, ..column(Order::Answers, "answers", "Answers") },
    Column { of_polls: true, ..column(Order::Time, "time", "Time") },
    Column {
        sorted: "descending",
        of_polls: true,
        ..column(Order::Majority, "majority", "With the majority")
    },
];

/// The query of a request.
#[derive(Default, Clone, Copy)]
struct Query<'a> {
    order: Order,
    /// Shows only the models of this preset.
    preset: Option<&'a str>,
}

impl<'a> Query<'a> {
    /// Parses a query; unknown parameters are ignored.
    fn read(query: &str, presets: &[&'a str]) -> Self {
        let mut read = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "sort" => {
                    let known = COLUMNS.iter().find(|column| column.word == value);
                    read.order = known.map_or_else(Order::default, |column| column.order);
                }
                "preset" => read.preset = presets.iter().copied().find(|preset| *preset == value),
                _ => {}
            }
        }
        read
    }

    /// Returns the URL of the page with this order and filter.
    fn href(self, address: &str) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if let Some(column) = COLUMNS.iter().find(|column| column.order == self.order) {
            query.append_pair("sort", column.word);
        }
        if let Some(preset) = self.preset {
            query.append_pair("preset", preset);
        }
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{query}#models", own(address))
    }
}

/// Data of the templates.
struct View {
    description: String,
    simulated: bool,
    fetched_at: String,
    fetched: String,
    presets: Vec<Link>,
    columns: Vec<Link>,
    rows: Vec<Row>,
    /// Number of listed models that are not shown.
    left_out: usize,
    /// True if any of the models has statistics from polls.
    has_figures: bool,
    minimum_votes: i64,
    /// URLs of the list and the statistics as JSON. `json` is absolute; `json_paths` is for links on the page.
    json: [String; 2],
    json_paths: [String; 2],
}

/// A link to another order or filter.
struct Link {
    href: String,
    text: String,
    current: bool,
    sorted: &'static str,
    /// True if the link heads a column of numbers.
    number: bool,
}

/// A model in the table.
struct Row {
    name: String,
    id: String,
    family: String,
    input: String,
    output: String,
    context: String,
    presets: String,
    answers: String,
    time: String,
    majority: String,
}

/// A model with its statistics from polls.
struct Model<'a> {
    variant: &'a Variant,
    input: Option<MicroUsd>,
    output: Option<MicroUsd>,
    statistics: Option<ModelReputation>,
}

impl<'a> Model<'a> {
    fn new(variant: &'a Variant, statistics: Option<ModelReputation>) -> Self {
        let price = variant.pricing.as_ref();
        Self {
            input: price.and_then(|price| per_million(&price.prompt)),
            output: price.and_then(|price| per_million(&price.completion)),
            variant,
            statistics,
        }
    }

    /// Returns the sort key in a column of numbers, in ascending order.
    fn rank(&self, order: Order) -> Option<i64> {
        let falling = |share: f64| -((share * 1e6) as i64);
        let statistics = self.statistics.as_ref();
        match order {
            Order::Listed | Order::Model | Order::Family => None,
            Order::Input => self.input.map(MicroUsd::micro),
            Order::Output => self.output.map(MicroUsd::micro),
            Order::Context => {
                self.variant.context_length.map(|tokens| -i64::try_from(tokens).unwrap_or(i64::MAX))
            }
            Order::Answers => statistics.and_then(|statistics| statistics.success_rate).map(falling),
            Order::Time => {
                statistics.and_then(|statistics| statistics.average_latency_ms).map(|ms| ms as i64)
            }
            Order::Majority => statistics.and_then(|statistics| statistics.with_outcome_rate).map(falling),
        }
    }

    fn row(&self) -> Row {
        let Variant { id, name, family, context_length, presets, free, .. } = self.variant;
        let price = |price: Option<MicroUsd>| match price {
            Some(price) if !price.is_zero() => price.to_string(),
            Some(_) => "free".to_owned(),
            None if *free => "free".to_owned(),
            None => "not listed".to_owned(),
        };
        let statistics =
            |figure: fn(&ModelReputation) -> Option<f64>| self.statistics.as_ref().and_then(figure);
        let share = |share: Option<f64>| share.map_or_else(none, |share| format!("{:.1} %", share * 100.0));
        let time = statistics(|statistics| statistics.average_latency_ms);
        Row {
            name: name.clone(),
            id: id.clone(),
            family: family.clone(),
            input: price(self.input),
            output: price(self.output),
            context: context_length.map_or_else(|| "not listed".to_owned(), grouped),
            presets: presets.join(", "),
            answers: share(statistics(|statistics| statistics.success_rate)),
            time: time.map_or_else(none, |ms| format!("{:.1} s", ms / 1000.0)),
            majority: share(statistics(|statistics| statistics.with_outcome_rate)),
        }
    }
}

impl View {
    /// Returns the cells of a row in Markdown. Statistics from polls are included if the page shows them.
    fn cells(&self, row: &Row) -> String {
        let mut cells = vec![
            format!("{} ({})", one_line(&row.name), one_line(&row.id)),
            one_line(&row.family),
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
        let filter = |preset: Option<&str>, name: &str, count: usize| Link {
            href: Query { preset, ..query }.href(address),
            text: format!("{name} ({count})"),
            current: query.preset == preset,
            sorted: "",
            number: false,
        };
        let each = presets.iter().map(|(name, count)| filter(Some(name), name, *count));
        let sort = |column: &Column| Link {
            href: Query {
                order: if query.order == column.order { Order::Listed } else { column.order },
                ..query
            }
            .href(address),
            text: column.title.to_owned(),
            current: query.order == column.order,
            sorted: column.sorted,
            number: !matches!(column.order, Order::Model | Order::Family),
        };
        let fetched = registry.fetched_at;
        let kind = if registry.simulated { "simulated models" } else { "models" };
        Self {
            description: format!(
                "The {} {kind} that can vote here: families, prices, context, and figures from polls.",
                registry.count
            ),
            simulated: registry.simulated,
            fetched_at: fetched.to_string(),
            fetched: fetched.calendar().strftime("%-d %B %Y, %H:%M UTC").to_string(),
            presets: std::iter::once(filter(None, "all", registry.count)).chain(each).collect(),
            columns: COLUMNS.iter().filter(|column| has_figures || !column.of_polls).map(sort).collect(),
            rows: models.iter().take(SHOWN).map(Model::row).collect(),
            left_out,
            has_figures,
            minimum_votes,
            json_paths: [own(&json[0]), own(&json[1])],
            json,
        }
    }
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

/// Converts USD per token to USD per million tokens: a million pico-USD is one micro-USD.
fn per_million(per_token: &str) -> Option<MicroUsd> {
    let price = per_token.parse::<UsdFigure>().ok()?.ceil_pico()?;
    Some(MicroUsd::new(price.pico()))
}

/// Returns the placeholder for missing statistics.
fn none() -> String {
    "–".to_owned()
}

/// Formats a number with separators between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_for_a_million_tokens() {
        let shown = |text: &str| per_million(text).map(|price| price.to_string());
        assert_eq!(shown("0.00000015").as_deref(), Some("$0.15"));
        assert_eq!(shown("0.000075").as_deref(), Some("$75.00"));
        assert_eq!(shown("0.000000000001").as_deref(), Some("$0.000001"));
        assert_eq!((shown("-1"), shown("much")), (None, None));
        assert_eq!((grouped(999), grouped(1_048_576)), ("999".to_owned(), "1,048,576".to_owned()));
    }

    #[test]
    fn what_is_not_known_comes_last_in_every_order() {
        let ranks = [None, Some(3), Some(1)];
        let mut sorted = ranks.to_vec();
        sorted.sort_by_key(|rank| Reverse(rank.map(Reverse)));
        assert_eq!(sorted, [Some(1), Some(3), None]);
    }
}
