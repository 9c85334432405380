//! Content negotiation between HTML and Markdown.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// True if a request asks for Markdown: it names `text/markdown` and does not prefer HTML (RFC 9110 §12.5.1).
/// Browsers and clients that accept everything get HTML.
pub fn wants_markdown(headers: &HeaderMap) -> bool {
    let (mut markdown, mut html) = (0.0, None);
    let (mut any_text, mut any) = (None, None);
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for range in values.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let quality: f32 = quality.map_or(1.0, |quality| quality.trim().parse().unwrap_or(0.0));
        match media_type.as_str() {
            "text/markdown" => markdown = quality,
            "text/html" => html = Some(quality),
            "text/*" => any_text = Some(quality),
            "*/*" => any = Some(quality),
            _ => {}
        }
    }
    let html = html.or(any_text).or(any).unwrap_or(0.0);
    markdown > 0.0 && markdown >= html
}

/// True if a request comes from a browser: browsers accept `text/html`; programs accept JSON, event streams or
/// everything.
pub fn reads_html(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|accept| accept.contains("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(accept: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        wants_markdown(&headers)
    }

    #[test]
    fn markdown_requires_its_name_and_no_preference_for_html() {
        for accept in [
            "text/markdown",
            "Text/Markdown;q=0.5",
            "text/markdown, text/html",
            "text/html;q=0.8, text/markdown;q=0.9",
            "text/markdown;charset=utf-8, */*",
            "application/json, text/markdown; q=0.1",
        ] {
            assert!(matches(accept), "{accept}");
        }
        for accept in [
            "*/*",
            "text/*",
            "text/html",
            "text/html, text/markdown;q=0.9",
            "text/markdown;q=0.5, */*",
            "text/markdown;q=0",
            "text/markdown;q=x",
            "text/markdownish",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "",
        ] {
            assert!(!matches(accept), "{accept}");
        }
        assert!(!wants_markdown(&HeaderMap::new()));
    }
}
