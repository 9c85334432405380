import { AsyncLocalStorage } from 'node:async_hooks'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/facilitator'
import { EVM_NETWORK_CHAIN_ID_MAP } from '@x402/evm/v1'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { localChain } from './local-chain.mjs'

const CONFIRMATION_TIMEOUT_MS = 30_000

/** The library's facilitator for both versions, with an optional failure while it waits for a receipt. */
export function makeFacilitator({ rpcUrl, chainId, privateKey }) {
  const networkV1 = Object.keys(EVM_NETWORK_CHAIN_ID_MAP).find((name) => EVM_NETWORK_CHAIN_ID_MAP[name] === chainId)
  if (!networkV1) throw new Error(`version 1 has no name for chain ${chainId}`)

  const account = privateKeyToAccount(privateKey)
  const chain = localChain(chainId, rpcUrl)
  const wallet = createWalletClient({ account, chain, transport: http(), pollingInterval: 20 }).extend(publicActions)
  const lostReceipt = new AsyncLocalStorage()
  const oneAtATime = makeQueue()

  const signer = toFacilitatorEvmSigner({
    address: account.address,
    getCode: wallet.getCode,
    readContract: wallet.readContract,
    verifyTypedData: wallet.verifyTypedData,
    // Two concurrent transactions would use the same nonce.
    writeContract: (call) => oneAtATime(() => wallet.writeContract(call)),
    sendTransaction: (call) => oneAtATime(() => wallet.sendTransaction(call)),
    async waitForTransactionReceipt(wanted) {
      const lost = lostReceipt.getStore()
      if (!lost) return wallet.waitForTransactionReceipt(wanted)
      lost.transaction = wanted.hash
      throw new Error('the test asked for a lost receipt')
    },
  }, { confirmationTimeoutMs: CONFIRMATION_TIMEOUT_MS })

  const facilitator = new x402Facilitator()
    .register(`eip155:${chainId}`, new ExactEvmScheme(signer))
    .registerV1(networkV1, new ExactEvmSchemeV1(signer))

  return {
    supported: () => facilitator.getSupported(),
    verify: ({ paymentPayload, paymentRequirements }) => facilitator.verify(paymentPayload, paymentRequirements),
    settle: ({ paymentPayload, paymentRequirements }) => facilitator.settle(paymentPayload, paymentRequirements),
    /** Sends the transaction but does not learn its outcome. */
    async settleWithoutReceipt({ paymentPayload, paymentRequirements }) {
      const lost = { transaction: '' }
      const result = await lostReceipt.run(lost, () => facilitator.settle(paymentPayload, paymentRequirements))
      return { result, transaction: lost.transaction }
    },
  }
}

function makeQueue() {
  let last = Promise.resolve()
  return (action) => {
    const next = last.then(action)
    last = next.catch(() => {})
    return next
  }
}
