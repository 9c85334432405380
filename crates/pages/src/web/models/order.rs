//! Orders and filters of the table of models, and the query that selects them.

use ep_site::layout::own;

/// Maximum number of characters of a search that are used.
const MAX_SEARCH: usize = 200;

/// The order of the models.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The order of the upstream's list.
    #[default]
    Listed,
    Model,
    Family,
    Price,
    Input,
    Output,
    Context,
    Answers,
    Time,
    Majority,
}

/// A column of the table.
pub(super) struct Column {
    pub(super) order: Order,
    /// Value of the column in the query.
    pub(super) word: &'static str,
    pub(super) title: &'static str,
    /// Description of the order while it is in use.
    pub(super) sorted: &'static str,
    /// True if the figures come from polls.
    pub(super) of_polls: bool,
}

pub(super) const fn column(order: Order, word: &'static str, title: &'static str) -> Column {
    Column { order, word, title, sorted: "ascending", of_polls: false }
}

pub(super) const COLUMNS: [Column; 9] = [
    column(Order::Model, "model", "Model"),
    column(Order::Family, "family", "Family"),
    column(Order::Price, "price", "Price"),
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
#[derive(Default, Clone)]
pub(super) struct Query<'a> {
    pub(super) order: Order,
    /// Shows only the models of this preset.
    pub(super) preset: Option<&'a str>,
    /// Shows only the models with all of these words.
    pub(super) search: String,
}

impl<'a> Query<'a> {
    /// Parses a query; unknown parameters are ignored.
    pub(super) fn read(query: &str, presets: &[&'a str]) -> Self {
        let mut read = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "sort" => {
                    let known = COLUMNS.iter().find(|column| column.word == value);
                    read.order = known.map_or_else(Order::default, |column| column.order);
                }
                "preset" => read.preset = presets.iter().copied().find(|preset| *preset == value),
                "q" => read.search = value.trim().chars().take(MAX_SEARCH).collect(),
                _ => {}
            }
        }
        read
    }

    /// Returns the word of the order in the query; none for the order of the list.
    pub(super) fn sort(&self) -> Option<&'static str> {
        COLUMNS.iter().find(|column| column.order == self.order).map(|column| column.word)
    }

    /// Returns the URL of the page with this order, filter and search.
    pub(super) fn href(&self, address: &str) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if !self.search.is_empty() {
            query.append_pair("q", &self.search);
        }
        if let Some(word) = self.sort() {
            query.append_pair("sort", word);
        }
        if let Some(preset) = self.preset {
            query.append_pair("preset", preset);
        }
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{query}", own(address))
    }

    /// Returns a test for texts in lower case: true if a text has all words of the search.
    pub(super) fn finds(&self) -> impl Fn(&str) -> bool + use<> {
        let search = self.search.to_lowercase();
        let words: Vec<String> = search.split_whitespace().map(str::to_owned).collect();
        move |text| words.iter().all(|word| text.contains(word.as_str()))
    }
}
