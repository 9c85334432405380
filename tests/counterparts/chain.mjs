import { answerLines, onEnd, printLine } from './json-lines.mjs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { createPublicClient, createTestClient, createWalletClient, http, pad, parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { counterfactualWallet } from './contract-wallet.mjs'
import { localChain } from './local-chain.mjs'
import { TOKEN_DECIMALS, TOKEN_NAME, TOKEN_VERSION, deployToken } from './token.mjs'

// The deterministic deployment proxy, present in anvil from the start: calldata is salt ++ creation code.
const FACTORY = { address: '0x4e59b44847b379578588920cA78FbF26c0B4956C', salt: pad('0x') }
// The all-platform package would also need the binaries for other platforms.
const ANVIL = createRequire(import.meta.url).resolve('@foundry-rs/anvil-linux-amd64/bin/anvil')
const START_TIMEOUT_MS = 20_000

// A background shell holds the other end of file descriptor 3, so anvil ends even if this process is killed.
const RUN_GUARDED = '(read -r _ <&3; kill $$) >/dev/null 2>&1 & exec "$@" 3<&-'

const chainId = Number(process.argv[2] ?? 84532)
if (!Number.isSafeInteger(chainId) || chainId < 1) throw new Error('the chain id must be a whole number')

const anvil = spawn('sh', ['-c', RUN_GUARDED, 'sh', ANVIL,
  '--host', '127.0.0.1', '--port', '0', '--chain-id', String(chainId),
  // Idle blocks advance the chain's clock; a transaction still gets its block at once.
  '--block-time', '2', '--mixed-mining',
], { stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
let stopping = false
anvil.once('exit', (code) => {
  if (!stopping) console.error(`anvil ended by itself with ${code}`)
  process.exit(stopping ? 0 : 1)
})
onEnd(() => {
  stopping = true
  anvil.kill()
  return once(anvil, 'exit')
})

const rpcUrl = await listeningUrl()
const chain = localChain(chainId, rpcUrl)
const client = createPublicClient({ chain, transport: http(), pollingInterval: 20 })
const sender = createWalletClient({ chain, transport: http() })
const control = createTestClient({ chain, mode: 'anvil', transport: http() })
// One account each, so that no two senders share a nonce.
const [deployer, minter, stranger] = await sender.getAddresses()

if (!await client.getCode({ address: FACTORY.address })) throw new Error('the chain has no CREATE2 factory')

const wallet1271 = await deployWallet()
const token = await deployToken({ client, sender, deployer, minter })

printLine({
  rpcUrl,
  chainId,
  wallet1271,
  factory: FACTORY,
  token: { address: token.address, name: TOKEN_NAME, version: TOKEN_VERSION, decimals: TOKEN_DECIMALS },
  payTo: privateKeyToAccount(generatePrivateKey()).address,
  facilitatorPrivateKey: await richPrivateKey(),
})
await answerLines({
  async fund({ address, amount }) {
    await token.mint(address, BigInt(amount))
    return {}
  },
  async balance({ address }) {
    return { amount: String(await token.balanceOf(address)) }
  },
  async transferWithAuthorization({ authorization, signature }) {
    return { txHash: await token.transferWithAuthorization(stranger, authorization, signature) }
  },
  /** Mines this many blocks, the first one this many seconds from now. */
  async mine({ blocks, seconds = 0 }) {
    if (seconds > 0) await control.increaseTime({ seconds })
    await control.mine({ blocks })
    return {}
  },
  /** Replaces the last blocks with empty ones, which removes their transactions. */
  async reorganize({ depth }) {
    await control.request({ method: 'anvil_reorg', params: [depth, []] })
    return {}
  },
  /** Submits the authorization through a contract that logs 200,000 bytes, for a large receipt. */
  async transferInLargeTransaction({ authorization, signature }) {
    const address = pad('0xb16', { size: 20 })
    // LOG0 of zeros, then a CALL of the token with the calldata; it reverts if the token does.
    const copied = '366000600037'
    const called = `600060003660006000 73${token.address.slice(2)} 5af1`
    const code = `0x 62030d406000a0 ${copied} ${called} 603557 60006000fd 5b00`
    await control.setCode({ address, bytecode: code.replaceAll(' ', '') })
    const data = token.transferWithAuthorizationData(authorization, signature)
    const hash = await sender.sendTransaction({ account: stranger, to: address, data })
    const { status } = await client.waitForTransactionReceipt({ hash })
    if (status !== 'success') throw new Error('the large transaction failed')
    return { txHash: hash }
  },
  async blocks() {
    return { number: Number(await client.getBlockNumber({ cacheTime: 0 })) }
  },
})

function listeningUrl() {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('anvil did not start in time')), START_TIMEOUT_MS)
    // The reader continues after the first match, so that anvil never blocks on a full pipe.
    createInterface({ input: anvil.stdout }).on('line', (line) => {
      const address = line.match(/^Listening on (\S+)/)?.[1]
      if (!address) return
      clearTimeout(timer)
      resolve(`http://${address}`)
    })
  })
}

async function deployWallet() {
  const ownerPrivateKey = generatePrivateKey()
  const { address, factoryCall } = counterfactualWallet(FACTORY, privateKeyToAccount(ownerPrivateKey).address)
  const hash = await sender.sendTransaction({ account: deployer, to: FACTORY.address, data: factoryCall })
  await client.waitForTransactionReceipt({ hash })
  if (!await client.getCode({ address })) throw new Error('the wallet was not deployed')
  return { address, ownerPrivateKey }
}

async function richPrivateKey() {
  const privateKey = generatePrivateKey()
  const { address } = privateKeyToAccount(privateKey)
  await control.setBalance({ address, value: parseEther('1000') })
  return privateKey
}
