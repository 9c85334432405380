// Wallets in the browser, without a library: found by EIP-6963 and as window.ethereum (EIP-1193); they sign a message to
// sign in (EIP-4361), or a transfer of USDC (EIP-3009, x402 version 2).
const SEARCH_MS = 400
// The attempts to learn the outcome of a payment before the person is asked to continue.
const REPEATS = 30
const CONFIRMING_MS = 5000
const RETRY_S = 2
const LONGEST_RETRY_S = 30
// Longer than the service takes to respond to a payment.
const REQUEST_MS = 100_000
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
  if (code === DECLINED) return 'You declined in your wallet, so nothing was signed. Try again when you are ready.'
  if (code === PENDING) return 'Your wallet is waiting for you. Open it to go on.'
  return `Your wallet reports: ${message ?? 'an unknown error'}`
}

function send(url, body, headers = {}) {
  const init = body && { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }
  return fetch(url, { ...init, headers: { accept: 'application/json', ...init?.headers }, signal: AbortSignal.timeout(REQUEST_MS) })
}

const call = (url, body) => send(url, body).catch(() => {
  throw new Words('The service cannot be reached. Nothing is lost: try again.')
})

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

// The first key of a new account is on the page.
let shown = false

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
  say(`Your account is ready. ${signedIn.notice ? `${signedIn.notice}. ` : ''}This is its first API key, shown only once:`)
  const key = Object.assign(document.createElement('pre'), { tabIndex: 0 })
  key.append(Object.assign(document.createElement('code'), { id: 'key', textContent: signedIn.api_key }))
  const copy = Object.assign(document.createElement('button'), { type: 'button', className: 'quiet', textContent: 'Copy the key' })
  copy.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(signedIn.api_key)
    copy.textContent = 'Copied'
  })
  const on = Object.assign(document.createElement('a'), { href: section.dataset.return, className: 'button', textContent: 'Go on' })
  const row = Object.assign(document.createElement('p'), { className: 'act' })
  row.append(copy, on)
  shown = true
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

// A signed payment whose outcome is unknown. It survives a reload, so that nobody signs a second one.
const STORED = `open payment of ${section.dataset.account}`

let open = section.dataset.deposit && storedJson('sessionStorage', STORED)

function setOpen(payment) {
  open = payment
  store('sessionStorage', STORED, open && JSON.stringify(open))
}

addEventListener('beforeunload', (event) => {
  if (open) event.preventDefault()
})

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

const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms) })
const UNKNOWN = 'It is not known yet whether you paid. Do not pay again.'

// A response after which the same request can succeed.
const isTemporary = ({ status }) => status === 408 || status === 429 || status >= 500

/** Sends the open payment until its outcome is known. Only the status 402 means that it was refused. */
async function settle() {
  const { amount, header } = open
  say('The payment is in progress. Do not close this page …')
  for (let attempt = 0; attempt < REPEATS; attempt++) {
    const reply = await send(section.dataset.deposit, { amount_usd: amount }, { 'payment-signature': header }).catch(() => undefined)
    const body = (await reply?.json().catch(() => undefined)) ?? {}
    if (reply?.status === 402) {
      setOpen(undefined)
      throw new Words(`The payment was refused, and nothing was taken: ${body.error ?? 'no reason was given'}`)
    }
    if (reply?.ok && body.status === 'settled') {
      setOpen(undefined)
      await receipt(body)
      return
    }
    if (reply?.ok && body.status === 'confirming') {
      say(`Your payment is on the chain and waits for confirmations. Transaction ${body.tx_hash} …`)
      await wait(CONFIRMING_MS)
      continue
    }
    if (reply && !reply.ok && !isTemporary(reply)) {
      throw new Words(`${UNKNOWN} Send the same payment again later. The service answered: ${body.error ?? reply.status}`)
    }
    say(`${UNKNOWN} The same payment is sent again …`)
    const seconds = Number(reply?.headers.get('retry-after') ?? RETRY_S)
    await wait(1000 * Math.min(LONGEST_RETRY_S, seconds >= 0 ? seconds : RETRY_S))
  }
  throw new Words(`${UNKNOWN} Send the same payment again later.`)
}

async function receipt({ amount_usd: amount, tx_hash: transaction }) {
  const paid = `$${amount.toFixed(2)} were added to your account`
  say(`${paid}. Receipt: transaction ${transaction}.`)
  const reply = await call(section.dataset.balance).catch(() => undefined)
  if (!reply?.ok) return
  const { balance } = await reply.json()
  for (const shown of document.querySelectorAll('#balance, .sign .number')) shown.textContent = balance
  say(`${paid}; it now has ${balance}. Receipt: transaction ${transaction}.`)
}

async function deposit(wallet) {
  const input = document.getElementById('amount')
  // The checked amount counts if no other is entered.
  const text = input.value.trim() || document.querySelector('[name=preset]:checked').value
  const amount = Number(text.replace(/^\$/, '').replace(/^(\d{1,3}),(\d{3})(?=\.|$)/, '$1$2'))
  input.removeAttribute('aria-invalid')
  const { least, most, rule } = section.dataset
  if (!(amount >= Number(least) && amount <= Number(most) && Number(amount.toFixed(2)) === amount)) {
    input.setAttribute('aria-invalid', 'true')
    input.focus()
    throw new Words(`${rule}.`)
  }
  setOpen(await signed(wallet, amount))
  await settle()
}

const act = section.dataset.deposit ? deposit : signIn
const label = (name) => (section.dataset.deposit ? `Pay with ${name}` : `Sign in with ${name}`)
const found = new Set()
// Browsers of phones have no extensions, but wallet apps have a browser.
const NO_WALLET = matchMedia('(pointer: coarse)').matches
  ? 'This browser has no wallet. Open this page in the browser of your wallet app.'
  : 'This browser has no wallet. Install one as an extension, and reload this page.'
const SEARCHING = 'Looking for wallets in this browser …'
// Replaces the text of the search, and no text about a payment.
const sayAfterSearch = (text) => { if (status.textContent === SEARCHING) say(text) }
let busy = false

// Repeats an open payment. While there is one, no wallet can sign another.
const again = Object.assign(document.createElement('button'), { type: 'button', className: 'button', textContent: 'Send the same payment again' })
again.hidden = true
status.after(again)

function showButtons() {
  again.hidden = busy || !open
  list.hidden = found.size === 0 || Boolean(open) || shown
  for (const button of list.querySelectorAll('button')) button.disabled = busy
}

async function run(action) {
  busy = true
  showButtons()
  try {
    await action()
  } catch (error) {
    say(error instanceof Words ? error.message : failure(error))
  }
  busy = false
  showButtons()
}

again.addEventListener('click', () => run(settle))

function offer(name, wallet) {
  if (found.has(wallet)) return
  found.add(wallet)
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'quiet', textContent: label(name) })
  button.addEventListener('click', () => run(() => act(wallet)))
  const item = document.createElement('li')
  item.append(button)
  list.append(item)
  sayAfterSearch('')
  showButtons()
}

if (open) run(settle)
else say(SEARCHING)
addEventListener('eip6963:announceProvider', ({ detail }) => offer(String(detail.info.name).slice(0, 40), detail.provider))
dispatchEvent(new Event('eip6963:requestProvider'))
setTimeout(() => {
  if (found.size === 0 && window.ethereum) offer('the wallet of this browser', window.ethereum)
  if (found.size === 0) sayAfterSearch(NO_WALLET)
}, SEARCH_MS)
