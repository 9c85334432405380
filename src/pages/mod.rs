//! Pages for people: what they show, and their HTML and Markdown (`templates/`). They are views: what they show comes from
//! the operations, through the surfaces.

mod account;
mod fault;
mod layout;
mod login;
mod pictures;
mod result;
mod start;

pub use account::{AccountData, AccountPage, AccountView, CheckoutPage, SignedOutPage};
pub use fault::{FaultPage, return_to};
pub use layout::{Layout, Renders, own, protect, protect_embedded};
pub use login::LoginPage;
pub use pictures::Pictures;
pub use result::{Addresses, ResultPage, Shape};
pub use start::{Asked, Bundle, Example, StartPage, Visit, example_request};
