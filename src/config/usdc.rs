//! The settings of USDC deposits.

use ep_outside::payments::X402Config;
use ep_site::config::{Config, ConfigError, X402, is_http_url};

use super::networks;

/// Settings of USDC deposits, if configured; `resource` is the URL that is paid for.
pub fn deposits(config: &Config, resource: String) -> Result<Option<X402Config>, ConfigError> {
    let X402 { facilitator_url, pay_to, asset, asset_name, asset_version, confirmations } = &config.x402;
    let refused = |variable, expected| config.refused(variable, expected);
    if facilitator_url.is_empty() {
        let unused = refused("EP_X402_PAY_TO", "empty if EP_X402_FACILITATOR_URL is empty");
        return if pay_to.is_empty() { Ok(None) } else { Err(unused) };
    }
    if !is_http_url(facilitator_url) {
        return Err(refused("EP_X402_FACILITATOR_URL", "a URL that begins with https://"));
    }
    let chain_id = config.chain_id()?;
    // Circle's contracts and their EIP-712 domain names.
    let (known_asset, known_name) = match chain_id {
        8453 => ("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin"),
        84532 => ("0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC"),
        _ => ("", ""),
    };
    let or = |given: &str, known: &str| if given.is_empty() { known.to_owned() } else { given.to_owned() };
    let asset_name = or(asset_name, if asset.is_empty() { known_name } else { "" });
    if asset_name.is_empty() {
        return Err(refused("EP_X402_ASSET_NAME", "set if EP_X402_ASSET is set"));
    }
    let address = "an address: 0x and 40 hexadecimal digits";
    let confirmations = match *confirmations {
        -1 => networks::confirmations(chain_id),
        given => u64::try_from(given).map_err(|_| {
            refused("EP_X402_CONFIRMATIONS", "a number of blocks, or -1 for the network's default")
        })?,
    };
    Ok(Some(X402Config {
        facilitator_url: facilitator_url.clone(),
        chain_id,
        asset: or(asset, known_asset).parse().map_err(|_| refused("EP_X402_ASSET", address))?,
        asset_name,
        asset_version: asset_version.clone(),
        pay_to: pay_to.parse().map_err(|_| refused("EP_X402_PAY_TO", address))?,
        resource,
        confirmations,
    }))
}

/// Requires a chain node if USDC is accepted. Without one, a settlement with a lost response can never be
/// decided. A missing node is an error on a mainnet, and a warning on a known test network.
pub fn check_chain_node(config: &Config) -> Result<(), ConfigError> {
    if config.x402.facilitator_url.is_empty() || config.rpc_url()?.is_some() {
        return Ok(());
    }
    if networks::is_test_network(config.chain_id()?) {
        tracing::warn!(
            network = config.chain.network,
            "USDC is accepted without a chain node: lost settlements cannot be decided and transfers are not \
             confirmed; set EP_X402_RPC_URL"
        );
        return Ok(());
    }
    let expected = "set if EP_X402_FACILITATOR_URL is set: real USDC requires a node of its chain, which decides \
                    whether a payment was made (test networks work without)";
    Err(config.refused("EP_X402_RPC_URL", expected))
}
