//! Pages for people: what they show, and their HTML and Markdown (`templates/`). They are views: what they show comes from
//! the operations, through the surfaces.

mod article;
mod fault;
mod layout;
mod markdown;
mod pictures;
mod result;

pub use article::Article;
pub use fault::FaultPage;
pub use layout::{Layout, own, protect, protect_embedded};
pub use markdown::{Section, below, text, title};
pub use pictures::Pictures;
pub use result::{Addresses, ResultPage, Shape};
