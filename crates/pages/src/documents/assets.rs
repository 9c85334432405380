//! Page assets: the stylesheet and the scripts. Pages load nothing from other hosts.

use std::sync::LazyLock;

use axum::body::Bytes;
use ep_site::{Document, Form, Site};

/// The name of the stylesheet.
const STYLE_NAME: &str = "style";

pub(super) const STYLE: Document = asset(
    STYLE_NAME,
    "The stylesheet of the pages.",
    |_| vec!["/assets/style.css".into()],
    &[Form::new("text/css; charset=utf-8", |_| Some(STYLESHEET.clone()))],
);

static STYLESHEET: LazyLock<Bytes> =
    LazyLock::new(|| slim(include_str!("../../../../assets/style.css")).into());

/// Removes comments and indentation, an eighth of the compressed stylesheet. Its strings contain neither.
fn slim(css: &str) -> String {
    let mut parts = css.split("/*");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once("*/").map_or("", |(_, rules)| rules));
    let rules: String = std::iter::once(first).chain(rest).collect();
    rules.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

pub(super) const SERIF: Document = asset(
    "serif_font",
    "The typeface of questions and answers (SIL Open Font License 1.1).",
    |_| vec!["/assets/newsreader.woff2".into()],
    &[Form::new(FONT, |_| {
        Some(Bytes::from_static(include_bytes!("../../../../assets/fonts/newsreader.woff2")))
    })],
);

pub(super) const SANS: Document = asset(
    "sans_font",
    "The typeface of all other texts (SIL Open Font License 1.1).",
    |_| vec!["/assets/figtree.woff2".into()],
    &[Form::new(FONT, |_| {
        Some(Bytes::from_static(include_bytes!("../../../../assets/fonts/figtree.woff2")))
    })],
);

pub(super) const THEME: Document = asset(
    "theme_script",
    "Script of the pages: colour scheme, copy buttons, local times.",
    |_| vec!["/assets/theme.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/theme.js"))))],
);

pub(super) const RESULT: Document = asset(
    "result_script",
    "Script of a result's page: follows a running poll.",
    |_| vec!["/assets/result.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/result.js"))))],
);

pub(super) const ASK: Document = asset(
    "ask_script",
    "Script of the start page: a field for each option, cost estimates.",
    |_| vec!["/assets/ask.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/ask.js"))))],
);

pub(super) const DOCS: Document = asset(
    "docs_script",
    "Script of the documentation: search as one types, and the language of examples.",
    |_| vec!["/assets/docs.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/docs.js"))))],
);

pub(super) const MODELS: Document = asset(
    "models_script",
    "Script of the models page: search.",
    |_| vec!["/assets/models.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/models.js"))))],
);

pub(super) const HOW_SURE: Document = asset(
    "how_sure_script",
    "Script of the page about confidence: a poll to try.",
    |_| vec!["/assets/how-sure.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/how-sure.js"))))],
);

pub(super) const ACCOUNT: Document = asset(
    "account_script",
    "Script of the account page: opens the payment page, submits each form once.",
    |_| vec!["/assets/account.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/account.js"))))],
);

pub(super) const BATCH: Document = asset(
    "batch_script",
    "Script of the page of a batch: its progress, and keys for the review.",
    |_| vec!["/assets/batch.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/batch.js"))))],
);

pub(super) const WALLET: Document = asset(
    "wallet_script",
    "Script for wallets: sign-in and payment.",
    |_| vec!["/assets/wallet.js".into()],
    &[Form::new(SCRIPT, |_| Some(Bytes::from_static(include_bytes!("../../../../assets/wallet.js"))))],
);

/// The media type of fonts (RFC 8081).
const FONT: &str = "font/woff2";
/// The media type of scripts (RFC 9239).
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Asset URLs contain a digest in the query, so a browser may cache them for a year.
const fn asset(
    name: &'static str,
    summary: &'static str,
    paths: fn(&Site) -> Vec<String>,
    forms: &'static [Form],
) -> Document {
    Document { max_age: 31_536_000, ..Document::new(name, summary, paths, forms) }.unlisted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slim_stylesheet_has_the_same_rules() {
        let css =
            "/* Title. */\n:root {\n  --ink: #000; /* Text. */\n}\n\n.a::before {\n  content: \"· \";\n}\n";
        assert_eq!(slim(css), ":root {\n--ink: #000;\n}\n.a::before {\ncontent: \"· \";\n}");
        let all = include_str!("../../../../assets/style.css");
        assert_eq!(slim(all).matches('{').count(), all.matches('{').count());
        assert_eq!(all.matches("/*").count(), all.matches("*/").count());
    }
}
