// Wallets in the browser, without a library: found by EIP-6963 and as window.ethereum (EIP-1193); they sign a message to
// sign in (EIP-4361), or a transfer of USDC (EIP-3009, x402 version 2).
const SEARCH_MS = 400
const REPEATS = 30
// How long a payment that waits for confirmations is left alone.
const CONFIRMING_MS = 5000
const DECLINED = 4001
const PENDING = -32002
const UNKNOWN_CHAIN = 4902

const section = document.querySelector('.wallets')
const list = section.querySelector('ul')
const status = section.querySelector('[role=status]')
const say = (text) => { status.textContent = text }

class Words extends Error {}

/** A request to the wallet. */
const ask = (wallet, method, params = []) => wallet.request({ method, params })

const failure = ({ code, message } = {}) => {
  if (code === DECLINED) return 'You declined in your wallet. Nothing was signed.'
  if (code === PENDING) return 'Your wallet is waiting for you already: open it.'
  return `Your wallet reports: ${message ?? 'an unknown error'}`
}

async function call(url, body, headers = {}) {
  const init = body && { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }
  return fetch(url, { ...init, headers: { accept: 'application/json', ...init?.headers } }).catch(() => {
    throw new Words('The service cannot be reached. Nothing is lost: try again.')
  })
}

async function json(reply) {
  const body = await reply.json().catch(() => ({}))
  if (!reply.ok) throw new Words(`${body.error ?? `The service answered ${reply.status}`}. Try again.`)
  return body
}

async function account(wallet) {
  const [address] = await ask(wallet, 'eth_requestAccounts')
  if (!address) throw new Words('Your wallet gave no account. Unlock it, and try again.')
  return address
}

const bytes = (text) => new TextEncoder().encode(text)
const hex = (given) => `0x${[...given].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`

async function signIn(wallet) {
  say('Your wallet asks you which account to use …')
  const address = await account(wallet)
  const { message } = await json(await call(`${section.dataset.challenge}?${new URLSearchParams({ address })}`))
  say('Your wallet asks you to sign a message …')
  const signature = await ask(wallet, 'personal_sign', [hex(bytes(message)), address])
  const signedIn = await json(await call(section.dataset.verify, { message, signature }))
  if (!signedIn.api_key) {
    location.assign(section.dataset.return)
    return
  }
  // A new account's first key is in this answer alone.
  say(`Your account is ready. ${signedIn.notice ? `${signedIn.notice}. ` : ''}This is its first API key, which is shown this once:`)
  const key = Object.assign(document.createElement('pre'), { tabIndex: 0 })
  key.append(Object.assign(document.createElement('code'), { id: 'key', textContent: signedIn.api_key }))
  const copy = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Copy the key' })
  copy.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(signedIn.api_key)
    copy.textContent = 'Copied'
  })
  const on = Object.assign(document.createElement('a'), { href: section.dataset.return, className: 'primary', textContent: 'Go on' })
  const row = Object.assign(document.createElement('p'), { className: 'row' })
  row.append(copy, on)
  list.hidden = true
  status.after(key, row)
}

async function onChain(wallet, id) {
  const wanted = `0x${id.toString(16)}`
  const now = await ask(wallet, 'eth_chainId')
  if (Number(now) === id) return
  say('Your wallet asks you to change its network …')
  try {
    await ask(wallet, 'wallet_switchEthereumChain', [{ chainId: wanted }])
  } catch (error) {
    if (error?.code !== UNKNOWN_CHAIN) throw error
    throw new Words(`Your wallet does not know the network with the number ${id}. Add it there, and try again.`)
  }
  if (Number(await ask(wallet, 'eth_chainId')) !== id) {
    throw new Words(`Your wallet is on another network. Choose the one with the number ${id} there, and try again.`)
  }
}

const fields = (text) => text.split(', ').map((field) => {
  const [type, name] = field.split(' ')
  return { name, type }
})
const TYPES = {
  EIP712Domain: fields('string name, string version, uint256 chainId, address verifyingContract'),
  TransferWithAuthorization: fields('address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce'),
}

// A signed payment that is not final: it is sent again, and no other one is signed.
let open

async function signed(wallet, amount) {
  const offer = await call(section.dataset.deposit, { amount_usd: amount })
  if (offer.status !== 402) await json(offer)
  const { resource, accepts: [accepted] } = JSON.parse(new TextDecoder().decode(
    Uint8Array.from(atob(offer.headers.get('payment-required')), (char) => char.charCodeAt(0))))
  say('Your wallet asks you which account to use …')
  const from = await account(wallet)
  const chainId = Number(accepted.network.split(':')[1])
  await onChain(wallet, chainId)
  const message = {
    from,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds),
    nonce: hex(crypto.getRandomValues(new Uint8Array(32))),
  }
  const typed = {
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    domain: { ...accepted.extra, chainId, verifyingContract: accepted.asset },
    message,
  }
  say(`Your wallet asks you to sign a transfer of $${amount} in USDC …`)
  const signature = await ask(wallet, 'eth_signTypedData_v4', [from, JSON.stringify(typed)])
  const payment = JSON.stringify({ x402Version: 2, payload: { signature, authorization: message }, resource, accepted })
  return { amount, header: btoa(String.fromCharCode(...bytes(payment))) }
}

async function deposit(wallet) {
  const input = section.querySelector('input')
  const amount = Number(input.value.trim().replace(/^\$/, ''))
  input.removeAttribute('aria-invalid')
  const { least, most } = section.dataset
  if (!(amount >= Number(least) && amount <= Number(most) && Number(amount.toFixed(2)) === amount)) {
    input.setAttribute('aria-invalid', 'true')
    input.focus()
    throw new Words(`Write an amount from ${least} to ${most} US dollars, for example 10 or 12.50.`)
  }
  open ??= await signed(wallet, amount)
  for (let time = 0; time < REPEATS; time++) {
    say('The payment is being carried out. Do not close this page …')
    const reply = await call(section.dataset.deposit, { amount_usd: open.amount }, { 'payment-signature': open.header })
    if (reply.status === 503) {
      const seconds = Number(reply.headers.get('retry-after') ?? 2)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
      continue
    }
    const body = await reply.json().catch(() => ({}))
    if (body.status === 'confirming') {
      say(`Your payment is on the chain and waits for confirmations. Transaction ${body.tx_hash} …`)
      await new Promise((resolve) => setTimeout(resolve, CONFIRMING_MS))
      continue
    }
    open = undefined
    if (!reply.ok) throw new Words(`The payment was refused, and nothing was taken: ${body.error ?? reply.status}`)
    const { balance } = await json(await call(section.dataset.balance))
    document.getElementById('balance').textContent = balance
    say(`$${body.amount_usd.toFixed(2)} were added to your account; it now has ${balance}. Receipt: transaction ${body.tx_hash}.`)
    return
  }
  throw new Words('The payment is not final yet. Press again later: the same payment is sent again, and you do not pay twice.')
}

const act = section.dataset.deposit ? deposit : signIn
const label = (name) => (section.dataset.deposit ? `Pay with ${name}` : `Sign in with ${name}`)
const found = new Set()

function offer(name, wallet) {
  if (found.has(wallet)) return
  found.add(wallet)
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: label(name) })
  button.addEventListener('click', async () => {
    const buttons = list.querySelectorAll('button')
    for (const other of buttons) other.disabled = true
    try {
      await act(wallet)
    } catch (error) {
      say(error instanceof Words ? error.message : failure(error))
    }
    for (const other of buttons) other.disabled = false
  })
  const item = document.createElement('li')
  item.append(button)
  list.append(item)
  list.hidden = false
  say('')
}

say('Looking for wallets in this browser …')
addEventListener('eip6963:announceProvider', ({ detail }) => offer(String(detail.info.name).slice(0, 40), detail.provider))
dispatchEvent(new Event('eip6963:requestProvider'))
setTimeout(() => {
  if (found.size === 0 && window.ethereum) offer('the wallet of this browser', window.ethereum)
  if (found.size === 0) say('No wallet was found in this browser. Install one, for example as an extension, and open this page again.')
}, SEARCH_MS)
