import { answerLines, choose } from './json-lines.mjs'
import { randomBytes } from 'node:crypto'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { getEvmChainIdV1 } from '@x402/evm/v1'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { wrapFetchWithPayment as wrapFetchWithPaymentV1 } from 'x402-fetch'
import { localChain } from './local-chain.mjs'

const MAX_AMOUNT = 1_000_000_000_000n
const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

const clients = {
  'x402-fetch-v2': (fetch, { privateKey, chainId }) => {
    const client = new x402Client()
      .register(`eip155:${chainId}`, new ExactEvmScheme(privateKeyToAccount(privateKey)))
      // The library does not know the test's token, and a deposit exceeds its limit of $1.
      .setSpendControls({ allowedAssets: true, maxAmountPerPayment: '$1000000' })
    return wrapFetchWithPayment(fetch, client)
  },
  'x402-fetch-v1': (fetch, { privateKey, chainId, rpcUrl }) => {
    const chain = localChain(chainId, rpcUrl)
    const wallet = createWalletClient({ account: privateKeyToAccount(privateKey), chain, transport: http() })
    return wrapFetchWithPaymentV1(fetch, wallet, MAX_AMOUNT)
  },
}

const operations = { pay, sign }

process.on('SIGTERM', () => process.exit(0))
await answerLines(operations)

async function pay(request) {
  const sent = []
  const recordingFetch = async (input, init) => {
    const asked = new Request(input, init)
    const response = await fetch(asked)
    const payment = ['payment-signature', 'x-payment'].find((name) => asked.headers.has(name))
    sent.push({
      status: response.status,
      payment: payment ? { name: payment, value: asked.headers.get(payment) } : null,
    })
    return response
  }
  const payingFetch = choose(clients, request.client)(recordingFetch, request)
  const response = await payingFetch(request.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...request.headers },
    body: JSON.stringify(request.body ?? {}),
  })
  const text = await response.text()
  return { status: response.status, headers: Object.fromEntries(response.headers), body: parsed(text), sent }
}

async function sign({ version, requirements, resource, privateKey, overrides = {} }) {
  const account = privateKeyToAccount(privateKey)
  const now = Math.floor(Date.now() / 1000)
  const { scheme, network } = requirements
  const authorization = {
    from: overrides.from ?? account.address,
    to: overrides.to ?? requirements.payTo,
    value: String(overrides.value ?? requirements.amount ?? requirements.maxAmountRequired),
    validAfter: String(overrides.validAfter ?? 0),
    validBefore: String(overrides.validBefore ?? now + requirements.maxTimeoutSeconds),
    nonce: overrides.nonce ?? `0x${randomBytes(32).toString('hex')}`,
  }
  const signature = await account.signTypedData({
    domain: {
      name: overrides.name ?? requirements.extra.name,
      version: requirements.extra.version,
      chainId: overrides.chainId ?? (version === 1 ? getEvmChainIdV1(network) : Number(network.split(':')[1])),
      verifyingContract: overrides.asset ?? requirements.asset,
    },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  })
  const transfer = { signature, authorization }
  const payload = version === 1
    ? { x402Version: 1, scheme, network, payload: transfer }
    : { x402Version: 2, payload: transfer, resource, accepted: requirements }
  return { header: Buffer.from(JSON.stringify(payload)).toString('base64'), payload }
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
