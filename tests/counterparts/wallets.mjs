import { answerLines, choose } from './json-lines.mjs'
import { createPublicClient, getAddress, http, verifyMessage } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage, parseSiweMessage } from 'viem/siwe'
import { serializeErc6492Signature } from 'viem/utils'
import { Wallet } from 'ethers'
import { SiweMessage as SpruceMessage } from 'siwe'
import { SiweMessage as EthIdMessage } from '@signinwithethereum/siwe'
import { counterfactualWallet } from './contract-wallet.mjs'

const DATES = ['issuedAt', 'expirationTime', 'notBefore']
const FIELDS = ['scheme', 'domain', 'address', 'statement', 'uri', 'version', 'chainId', 'nonce',
  ...DATES, 'requestId', 'resources']
const REQUIRED = ['domain', 'address', 'uri', 'version', 'chainId', 'nonce', 'issuedAt']

const signers = {
  viem: (privateKey, message) => privateKeyToAccount(privateKey).signMessage({ message }),
  ethers: (privateKey, message) => new Wallet(privateKey).signMessage(message),
}

const builders = {
  viem: (fields) => createSiweMessage(withDates(fields)),
  siwe: (fields) => new SpruceMessage(fields).prepareMessage(),
  signinwithethereum: (fields) => new EthIdMessage(fields).prepareMessage(),
}

const parsers = {
  viem: parseWithViem,
  siwe: (message) => pickFields(new SpruceMessage(message)),
  signinwithethereum: (message) => pickFields(new EthIdMessage(message)),
}

const operations = {
  account() {
    const privateKey = generatePrivateKey()
    return { privateKey, address: privateKeyToAccount(privateKey).address }
  },
  async sign({ library, privateKey, message }) {
    return { signature: await choose(signers, library)(privateKey, message) }
  },
  build({ library, fields }) {
    return { message: choose(builders, library)(fields) }
  },
  parse({ library, message }) {
    return choose(parsers, library)(message)
  },
  async sign1271({ ownerPrivateKey, message }) {
    return { signature: await signers.viem(ownerPrivateKey, message) }
  },
  async address6492(request) {
    return { address: (await undeployedWallet(request)).address }
  },
  async sign6492(request) {
    const { address, factoryCall } = await undeployedWallet(request)
    const signature = serializeErc6492Signature({
      address: request.factory.address,
      data: factoryCall,
      signature: await signers.viem(request.ownerPrivateKey, request.message),
    })
    return { address, signature }
  },
  async verify({ rpcUrl, address, message, signature }) {
    const check = rpcUrl ? chainClient(rpcUrl).verifyMessage : verifyMessage
    return { valid: await check({ address, message, signature }) }
  },
}

await answerLines(operations)

// Viem's parser accepts everything; its builder validates the parsed fields.
function parseWithViem(message) {
  const fields = parseSiweMessage(message)
  for (const name of REQUIRED) {
    if (fields[name] === undefined) throw new Error(`no ${name} in the message`)
  }
  createSiweMessage({ ...fields, address: getAddress(fields.address) })
  return fields
}

function withDates(fields) {
  const dates = DATES.filter((name) => fields[name]).map((name) => [name, new Date(fields[name])])
  return { ...fields, ...Object.fromEntries(dates) }
}

function pickFields(message) {
  return Object.fromEntries(FIELDS.map((name) => [name, message[name]]))
}

async function undeployedWallet({ rpcUrl, factory, ownerPrivateKey }) {
  const wallet = counterfactualWallet(factory, privateKeyToAccount(ownerPrivateKey).address)
  if (await chainClient(rpcUrl).getCode({ address: wallet.address })) {
    throw new Error('the wallet is already deployed')
  }
  return wallet
}

function chainClient(rpcUrl) {
  return createPublicClient({ transport: http(rpcUrl) })
}
