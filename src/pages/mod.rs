//! Pages for people, as HTML and Markdown (`templates/`). Pages are views: their data comes from operations,
//! through the surfaces.

mod account;
mod article;
#[cfg(test)]
mod colours;
mod fault;
mod kept;
mod layout;
mod login;
mod markdown;
mod models;
mod pictures;
mod result;
mod start;

pub use account::{AccountData, AccountGonePage, AccountPage, AccountView, CheckoutPage, SignedOutPage};
pub use article::Article;
pub use fault::{FaultPage, return_to};
pub use kept::{KeptPages, PageKey};
pub use layout::{Layout, Renders, own, protect, protect_embedded, protection};
pub use login::LoginPage;
pub use markdown::{Section, below, one_line, text, title};
pub use models::{ModelsAddresses, ModelsPage};
pub use pictures::Pictures;
pub use result::{Addresses, ResultPage, Shape};
pub use start::{Asked, Bundle, Example, StartPage, Visit, example_request};
