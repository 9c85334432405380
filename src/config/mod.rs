//! Settings: defaults, then `ep.toml`, then the environment, then flags. Their types are in [`ep_site::config`].

mod checks;
mod expected;
mod layers;
mod networks;
mod secret;
mod secret_variables;
mod spelling;
mod unknown_variables;
mod usdc;

pub use checks::{check_base_url, check_database_url};
pub use expected::ADDRESS;
pub use layers::load;
pub use secret::{create_secret_key, key_file, secret_key, secret_key_missing};
pub use secret_variables::read_variable;
pub use spelling::nearest;
pub use unknown_variables::unknown_variables;
pub use usdc::{check_chain_node, deposits};
