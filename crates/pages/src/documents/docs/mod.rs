//! The documentation: guides, a page for each operation, their index and the search.

mod fields;
pub(super) mod guide_pages;
pub(super) mod guides;
pub(super) mod index;
mod literal;
mod markup;
mod navigation;
mod nouns;
mod operation;
pub(super) mod reference;
mod samples;
mod search;
mod search_page;

pub(super) use nouns::page_urls as operation_urls;
pub use operation::{find as find_operation, page as operation_page};
pub use search::SearchIndex;
pub use search_page::page as search_page;
