//! Chains for USDC, by chain id (EIP-155).

/// Default number of blocks after a transfer's block until it is final.
pub(super) const fn confirmations(chain_id: u64) -> u64 {
    match chain_id {
        // Base, OP Mainnet, Arbitrum One and their test networks: one sequencer orders the blocks.
        8453 | 84532 | 10 | 11_155_420 | 42161 | 421_614 => 12,
        // Avalanche and Fuji: a block is final once it is accepted.
        43114 | 43113 => 1,
        // Ethereum and its test networks finalize a block after two epochs.
        _ => 64,
    }
}

/// Returns true for a known test network, where USDC has no value. Unknown networks count as mainnets.
pub(super) const fn is_test_network(chain_id: u64) -> bool {
    matches!(
        chain_id,
        // Base, OP, Arbitrum, Ethereum (Sepolia, Hoodi), Polygon, Avalanche; local chains.
        84532 | 11_155_420 | 421_614 | 11_155_111 | 560_048 | 80002 | 43113 | 1337 | 31337
    )
}
