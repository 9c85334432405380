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

macro_rules! files {
    ($($document:ident $name:literal $type:ident $folder:literal $file:literal $summary:literal)*) => {$(
        pub(super) const $document: Document = asset(
            $name,
            $summary,
            |_| vec![concat!("/assets/", $file).into()],
            &[Form::new($type, |_| {
                Some(Bytes::from_static(include_bytes!(concat!("../../../../assets/", $folder, $file))))
            })],
        );
    )*};
}

files! {
    SERIF "serif_font" FONT "fonts/" "newsreader.woff2" "The typeface of questions and answers (SIL Open Font License 1.1)."
    SANS "sans_font" FONT "fonts/" "figtree.woff2" "The typeface of all other texts (SIL Open Font License 1.1)."
    THEME "theme_script" SCRIPT "" "theme.js" "Script of the pages: colour scheme, copy buttons, local times."
    RESULT "result_script" SCRIPT "" "result.js" "Script of a result's page: follows a running poll."
    ASK "ask_script" SCRIPT "" "ask.js" "Script of the start page: a field for each option, cost estimates."
    DOCS "docs_script" SCRIPT "" "docs.js" "Script of the documentation: search as one types, and the language of examples."
    MODELS "models_script" SCRIPT "" "models.js" "Script of the models page: search."
    HOW_SURE "how_sure_script" SCRIPT "" "how-sure.js" "Script of the page about confidence: a poll to try."
    ACCOUNT "account_script" SCRIPT "" "account.js" "Script of the account page: opens the payment page, submits each form once."
    BATCH "batch_script" SCRIPT "" "batch.js" "Script of the page of a batch: its progress, and keys for the review."
    WALLET "wallet_script" SCRIPT "" "wallet.js" "Script for wallets: sign-in and payment."
}

/// The media type of fonts.
const FONT: &str = "font/woff2";
/// The media type of scripts.
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
