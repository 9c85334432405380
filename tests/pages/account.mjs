// Walks through all account pages in a real browser. Arguments: the service's URL, then as JSON: `wallet`, the
// private key of a wallet with USDC; `chainId`, its chain; `others`, the origins of the identity provider and the
// card processor; `screenshots`, a folder.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { HtmlValidate } from 'html-validate'
import { assertFocusUncovered, browser, run, violations } from './browser.mjs'

const { generatePrivateKey, privateKeyToAccount } = createRequire(new URL('../counterparts/package.json', import.meta.url))('viem/accounts')

const mcp = createRequire(new URL('../mcp-clients/package.json', import.meta.url))
const { Client } = mcp('@modelcontextprotocol/sdk/client/index.js')
const { StreamableHTTPClientTransport } = mcp('@modelcontextprotocol/sdk/client/streamableHttp.js')

const [base, given] = process.argv.slice(2)
const { wallet: rich, chainId, others, screenshots } = JSON.parse(given)
const DECLINED = { code: 4001, message: 'User rejected the request.' }
const LABEL = '<img src=x onerror=alert(1)> laptop'
const AMOUNT = 'Enter an amount from $1 to $1,000'
const PROVIDER = /^Sign in at /


/** A person's browser. Its pages fail on errors and on requests to other origins. */
async function person(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const wrong = []
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`))
  const warned = []
  page.on('dialog', (dialog) => {
    if (dialog.type() === 'beforeunload') warned.push(page.url())
    else wrong.push(`dialog: ${dialog.message()}`)
    dialog.accept()
  })
  page.on('request', (request) => {
    const { origin } = new URL(request.url())
    // People may visit other sites; pages may not request them.
    if (origin !== base && !(others.includes(origin) && request.isNavigationRequest()) && !request.url().endsWith('/favicon.ico')) {
      wrong.push(`request to ${request.url()}`)
    }
  })
  page.on('console', (message) => {
    // The browser logs an explained rejection as an error. The favicon belongs to another service.
    const answered = /the server responded with a status of (400|401|402|403|404|429|503|504)|net::ERR_FAILED/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !answered) wrong.push(`console: ${message.text()}`)
  })
  return {
    context, page, warned,
    close: async () => {
      await context.close()
      assert.deepEqual(wrong, [])
    },
  }
}

/** Opens a page of the service and retries if the service is busy, as a person would on a loaded machine. */
async function open(page, path) {
  for (let tries = 3; ; tries -= 1) {
    const status = (await page.goto(base + path)).status()
    if (status === 200) return
    const busy = status === 503 || status === 504
    assert.ok(busy && tries > 1, `${path} answers ${status}: ${await page.locator('body').innerText()}`)
  }
}

/** A wallet in the page (EIP-1193, EIP-6963) that signs with viem. */
async function withWallet({ page }, privateKey, older = false) {
  const account = privateKeyToAccount(privateKey)
  const state = { chainId: 1, knows: [1], decline: false, asked: [], address: account.address }
  const methods = {
    eth_requestAccounts: () => [account.address],
    eth_chainId: () => `0x${state.chainId.toString(16)}`,
    personal_sign: ([raw, address]) => {
      assert.equal(address, account.address)
      return account.signMessage({ message: { raw } })
    },
    wallet_switchEthereumChain: ([{ chainId: wanted }]) => {
      if (!state.knows.includes(Number(wanted))) throw Object.assign(new Error('Unrecognized chain'), { code: 4902 })
      state.chainId = Number(wanted)
      return null
    },
    eth_signTypedData_v4: ([address, text]) => {
      assert.equal(address, account.address)
      const { types: { EIP712Domain: _, ...types }, ...typed } = JSON.parse(text)
      assert.equal(Number(typed.domain.chainId), state.chainId, 'as wallets demand')
      return account.signTypedData({ ...typed, types })
    },
  }
  await page.exposeFunction('testWallet', async ({ method, params }) => {
    state.asked.push(method)
    if (state.decline && /sign/i.test(method)) return { error: DECLINED }
    try {
      return { result: await methods[method](params) }
    } catch ({ code, message }) {
      return { error: { code, message } }
    }
  })
  await page.addInitScript((older) => {
    const provider = {
      async request(given) {
        const { result, error } = await window.testWallet(given)
        if (error) throw Object.assign(new Error(error.message), error)
        return result
      },
    }
    if (older) {
      window.ethereum = provider
      return
    }
    const other = { request: () => Promise.reject(Object.assign(new Error('Locked'), { code: -32002 })) }
    const announce = () => {
      for (const [name, wallet] of [['Test <b>Wallet</b>', provider], ['Other Wallet', other]]) {
        const detail = Object.freeze({ info: { uuid: name, name, icon: 'data:,', rdns: 'test' }, provider: wallet })
        dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
      }
    }
    addEventListener('eip6963:requestProvider', announce)
    announce()
  }, older)
  return state
}

/** Asserts that the page is accessible, fits the window and is valid HTML. */
async function holds({ page, context }, name) {
  const before = page.viewportSize()
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 320]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= width, `${name} is ${wide} wide at ${width}`)
      assert.deepEqual(await violations(page), [], `axe on ${name}, ${colorScheme}, ${width}`)
      if (screenshots) {
        await mkdir(screenshots, { recursive: true })
        await page.screenshot({ path: join(screenshots, `${name}-${colorScheme}-${width}.png`), fullPage: true })
      }
    }
  }
  // Text that is twice as large fits on a phone (WCAG 2.2, 1.4.4).
  await page.setViewportSize({ width: 375, height: 800 })
  const tooWide = await page.evaluate(() => {
    document.documentElement.style.fontSize = '200%'
    const width = document.documentElement.clientWidth
    const found = document.documentElement.scrollWidth <= width ? [] : [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > width + 1)
      .map((element) => element.outerHTML.slice(0, 80))
    document.documentElement.style.fontSize = ''
    return found
  })
  assert.deepEqual(tooWide, [], `${name} scrolls sideways with large text`)
  await page.emulateMedia({ colorScheme: null })
  await page.setViewportSize(before)
  const reply = await context.request.get(page.url(), { headers: { accept: 'text/html' } })
  await valid(await reply.text(), name)
}

async function valid(html, name) {
  const report = await new HtmlValidate({ root: true, extends: ['html-validate:standard', 'html-validate:a11y'] }).validateString(html, name)
  assert.deepEqual(report.results.flatMap(({ messages }) => messages.map((m) => `${m.line}: ${m.ruleId}: ${m.message}`)), [], name)
}

/** Asserts that Tab reaches every control and that the focus is visible. */
async function byKeyboard({ page }, name) {
  await page.reload()
  const wanted = await page.evaluate(() => [...document.querySelectorAll('a[href], button, select, input, textarea, summary, [tabindex="0"]')]
    .filter((element) => element.checkVisibility() && element.type !== 'hidden' && !element.matches(':disabled, [type=radio]:not(:checked)')).length)
  assert.ok(wanted >= 8, `${name}: ${wanted}`)
  for (let stop = 0; stop < wanted; stop++) {
    await page.keyboard.press('Tab')
    const [tag, outline] = await page.evaluate(() => [document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle])
    assert.ok(tag !== 'BODY' && outline !== 'none', `${name}: stop ${stop} of ${wanted} is ${tag}, outline ${outline}`)
  }
}

/** Asserts that the header is one row on phones, with all its parts. */
async function oneRow({ page }, name) {
  const before = page.viewportSize()
  for (const width of [375, 320]) {
    await page.setViewportSize({ width, height: 800 })
    const middles = await page.evaluate(() => [...document.querySelector('.top').children]
      .filter((element) => element.checkVisibility())
      .map((element) => element.getBoundingClientRect())
      .map(({ top, bottom, left, right }) => ({ middle: (top + bottom) / 2, inside: left >= 0 && right <= innerWidth })))
    assert.equal(middles.length, 4, `${name} at ${width}: brand, theme, account and menu`)
    for (const { middle, inside } of middles) assert.ok(inside && Math.abs(middle - middles[0].middle) < 2, `${name} at ${width}: ${JSON.stringify(middles)}`)
    await page.getByRole('button', { name: 'Menu' }).click()
    const link = page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name: 'Docs' })
    assert.ok(await link.isVisible(), `${name} at ${width}: the menu`)
    await page.keyboard.press('Escape')
    assert.ok(!await link.isVisible(), `${name} at ${width}: Escape`)
  }
  await page.setViewportSize(before)
}

/** Asserts that the account does not move while it loads, is read without colours, and is printed without controls. */
async function everywhere({ page }) {
  const before = page.viewportSize()
  for (const width of [1440, 375]) {
    await page.setViewportSize({ width, height: 812 })
    await page.reload()
    const shift = await page.evaluate(() => new Promise((resolve) => {
      let sum = 0
      new PerformanceObserver((list) => { for (const { value } of list.getEntries()) sum += value }).observe({ type: 'layout-shift', buffered: true })
      document.fonts.ready.then(() => setTimeout(() => resolve(sum), 300))
    }))
    assert.ok(shift <= 0.02, `the account moves by ${shift} at ${width}`)
  }
  await page.setViewportSize(before)
  await page.emulateMedia({ forcedColors: 'active' })
  const colours = await page.evaluate(() => [getComputedStyle(document.querySelector('.days rect')).fill, getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor])
  assert.equal(colours[0], colours[1], 'bars of the chart')
  assert.notEqual(colours[0], colours[2])
  await page.emulateMedia({ forcedColors: null, media: 'print' })
  assert.equal(await page.locator('button:visible, input:visible, nav:visible').count(), 0)
  for (const id of ['#balance', '#history tbody tr', '.days']) assert.ok(await page.locator(id).first().isVisible(), id)
  await page.emulateMedia({ media: null })
}

/** Opens the form of a new key. It is open already if there is no key. */
async function openNewKey(page) {
  const name = page.getByLabel('Name', { exact: true })
  if (!await name.isVisible()) await page.getByText('New key', { exact: true }).click()
  return name
}

const sign = (page) => page.locator('.sign')
const balance = ({ page }) => page.locator('#balance').innerText()
const sessionOf = async ({ context }) => (await context.cookies()).find(({ name }) => name === 'ep_session')

/** Waits for a balance that the script of the page is about to show. */
const balanceShown = ({ page }, wanted) => page.locator('#balance', { hasText: wanted }).waitFor()

async function balanceUntil(visitor, wanted) {
  for (let time = 0; time < 40; time++) {
    if (await balance(visitor) === wanted) return
    await visitor.page.waitForTimeout(250)
    await visitor.page.reload()
  }
  assert.equal(await balance(visitor), wanted)
}

const CHECKS = {
  async 'a person signs in at the provider, makes a key, pays by card, asks, revokes, and signs out'() {
    const visitor = await person()
    const { page } = visitor
    const read = []
    page.on('request', (request) => read.push(new URL(request.url()).pathname))
    await open(page, '/')
    assert.equal(await sign(page).innerText(), 'Sign in')
    await oneRow(visitor, 'start')
    await sign(page).click()
    await page.waitForURL(`${base}/login?return_to=%2Fdashboard`)
    await page.getByText('This browser has no wallet').waitFor()
    await holds(visitor, 'login')
    await oneRow(visitor, 'login')
    await byKeyboard(visitor, 'login')
    assert.ok(!read.includes('/api/balance') && !read.includes('/api/auth/me'), 'nobody has signed in here')
    await page.getByRole('link', { name: PROVIDER }).click()
    await page.waitForURL(`${base}/dashboard`)
    const { httpOnly, sameSite, path } = await sessionOf(visitor)
    assert.deepEqual([httpOnly, sameSite, path], [true, 'Lax', '/'])
    assert.equal(await balance(visitor), '$1.00')
    await holds(visitor, 'dashboard-new')
    await oneRow(visitor, 'dashboard')

    // A public page is the same for everyone. Its script names the visitor.
    const named = await sign(page).innerText()
    assert.match(named, /\$1\.00/)
    await page.evaluate(() => sessionStorage.clear())
    await open(page, '/about')
    await page.locator('.sign .number', { hasText: '$1.00' }).waitFor()
    assert.equal(await sign(page).innerText(), named)
    const shift = await page.evaluate(() => new Promise((resolve) => {
      let sum = 0
      new PerformanceObserver((list) => { for (const { value } of list.getEntries()) sum += value }).observe({ type: 'layout-shift', buffered: true })
      setTimeout(() => resolve(sum), 300)
    }))
    assert.ok(shift <= 0.02, `the name moves the page by ${shift}`)
    await oneRow(visitor, 'about, signed in')
    const html = await (await visitor.context.request.get(`${base}/about`, { headers: { accept: 'text/html' } })).text()
    assert.ok(html.includes('>Sign in</a>') && !html.includes('$1.00'))
    await open(page, '/dashboard')

    await (await openNewKey(page)).fill(LABEL)
    await page.getByLabel('It may').selectOption('all')
    await page.getByRole('button', { name: 'Create a key' }).click()
    const key = await page.locator('#key').innerText()
    await page.waitForFunction(() => document.activeElement.id === 'created')
    const box = await page.locator('#created').boundingBox()
    assert.ok(box.y >= 0 && box.y + box.height <= 900, `the box of the key is at ${box.y}`)
    assert.deepEqual(await violations(page, '#created'), [], 'axe on the box of a new key')
    await page.getByRole('button', { name: 'Copy the key' }).click()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key)
    const config = JSON.parse(await page.locator('pre', { hasText: 'mcpServers' }).textContent())
    assert.deepEqual(Object.keys(config.mcpServers), ['ensemble-poll'])
    const { url, headers } = config.mcpServers['ensemble-poll']
    assert.equal(headers.Authorization, `Bearer ${key}`)
    const client = new Client({ name: 'pages', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    const { structuredContent } = await client.callTool({ name: 'get_balance', arguments: {} })
    assert.equal(structuredContent.balance, '$1.00')
    await client.close()
    await page.getByRole('link', { name: 'Done' }).click()
    await page.waitForURL(`${base}/dashboard#keys`)
    assert.ok(!(await page.content()).includes(key))
    assert.ok((await page.locator('#active').innerText()).includes(LABEL))
    const byKey = async () => (await fetch(`${base}/api/balance`, { headers: { authorization: `Bearer ${key}` } })).status
    assert.equal(await byKey(), 200)

    await page.getByLabel(AMOUNT).fill('nothing')
    await page.getByRole('button', { name: 'Pay by card' }).click()
    await page.getByRole('alert').waitFor()
    await page.waitForFunction(() => document.activeElement.id === 'refused')
    assert.match(await page.getByRole('alert').innerText(), /Enter an amount from \$1 to \$1,000\./)
    assert.equal(await page.getByLabel(AMOUNT).inputValue(), 'nothing')
    assert.equal(await page.getByLabel(AMOUNT).getAttribute('aria-invalid'), 'true')
    await page.getByLabel(AMOUNT).fill('')
    // A preset is chosen by the keyboard.
    assert.ok(await page.getByLabel('$10', { exact: true }).isChecked())
    await page.getByLabel('$10', { exact: true }).focus()
    await page.keyboard.press('ArrowRight')
    assert.ok(await page.getByLabel('$25', { exact: true }).isChecked())
    await page.getByRole('button', { name: 'Pay by card' }).click()
    await page.waitForURL((url) => others.includes(url.origin))
    assert.equal(await page.locator('#amount').innerText(), '$25.00')
    // Only a payment of this account is thanked for, and only once it has arrived.
    const payment = new URL(page.url()).pathname.split('/').pop()
    const elsewhere = await visitor.context.newPage()
    for (const [funded, notice] of [
      [payment, 'Your payment of $25.00 has not arrived yet. It usually takes a few seconds. Check again'],
      ['cs_test_of_somebody_else', ''],
      ['no', 'You left the payment page. Nothing was charged.'],
    ]) {
      await elsewhere.goto(`${base}/dashboard?funded=${funded}`)
      assert.equal((await elsewhere.locator('.account > .notice').allInnerTexts()).join(), notice, funded)
    }
    await elsewhere.close()
    await page.getByRole('button', { name: 'Pay' }).click()
    await page.waitForURL(/\/dashboard\?funded=cs_test_/)
    await balanceUntil(visitor, '$26.00')
    assert.equal(await page.locator('.account > .notice').innerText(), 'Thank you. $25.00 is in your balance.')
    assert.deepEqual(await page.locator('#paid tbody th').allInnerTexts(), ['Paid by card', 'Starter credit'])

    for (const asked of ['Which drink suits a long meeting best? [Tea, Water]', 'Is a hot dog a sandwich? [Yes, No]']) {
      await open(page, '/')
      await page.fill('#question', asked)
      await page.locator('.voters summary').click()
      await page.getByLabel('Quick').check()
      await page.getByRole('button', { name: 'Ask', exact: true }).click()
      await page.waitForURL(/\/results\/EP-/)
      // The page loads itself again when the poll ends, which would interrupt the next navigation.
      await page.waitForFunction(() => !document.querySelector('[data-events]'))
      await page.waitForLoadState()
    }
    await open(page, '/dashboard')
    assert.equal(await page.locator('#history tbody tr').count(), 2)
    await page.getByRole('searchbox', { name: 'Search your polls' }).fill('SANDWICH')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.waitForURL(/search=SANDWICH/)
    assert.equal(await page.locator('#history tbody tr').count(), 1)
    await open(page, '/dashboard')
    await holds(visitor, 'dashboard')
    await everywhere(visitor)
    await byKeyboard(visitor, 'dashboard')
    await page.setViewportSize({ width: 375, height: 667 })
    await open(page, '/dashboard')
    await assertFocusUncovered(page, 'dashboard')
    await page.setViewportSize({ width: 1280, height: 900 })
    await open(page, '/dashboard')

    // A browser that has cached a result does not show it after the deletion.
    const deleted = page.locator('#history tbody tr', { hasText: 'sandwich' })
    const link = deleted.getByRole('link')
    const result = await link.evaluate(({ href }) => href)
    assert.equal((await page.goto(result)).status(), 200)
    await page.goto(`${base}/dashboard`)
    // A box asks first. It works by keyboard, and Escape closes it.
    const ask = deleted.getByRole('button', { name: /^Delete:/ })
    const question = deleted.getByRole('dialog')
    await ask.focus()
    await page.keyboard.press('Enter')
    await question.waitFor()
    await page.keyboard.press('Escape')
    assert.ok(!await question.isVisible())
    assert.match(await page.evaluate(() => document.activeElement.textContent), /Delete/)
    await ask.click()
    assert.deepEqual(await violations(page, '[popover]:popover-open'), [], 'axe on the box')
    await deleted.getByRole('button', { name: 'Delete the poll permanently' }).click()
    await page.waitForURL(/done=deleted/)
    await page.waitForFunction(() => document.activeElement !== document.body && document.activeElement.textContent.startsWith('The poll is deleted.'))
    const { y } = await page.getByText('The poll is deleted.').boundingBox()
    assert.ok(y > -1 && y < 900, `the notice is at ${y}`)
    assert.equal((await page.goto(result)).status(), 404)
    await page.goto(`${base}/dashboard`)

    const entry = page.locator('#active tbody tr', { hasText: 'laptop' })
    await entry.getByRole('button', { name: /^Revoke the key/ }).click()
    await entry.getByRole('button', { name: 'Revoke it permanently' }).click()
    await page.getByText('The key is revoked.').waitFor()
    assert.equal(await byKey(), 401)
    const session = await sessionOf(visitor)
    await page.getByRole('link', { name: 'Sign out' }).click()
    await page.waitForURL(`${base}/`)
    assert.equal(await sessionOf(visitor), undefined)
    assert.equal(await sign(page).innerText(), 'Sign in')
    assert.deepEqual(await page.evaluate(() => [localStorage.getItem('signed-in'), sessionStorage.getItem('visitor')]), [null, null])
    const old = await fetch(`${base}/dashboard`, { headers: { cookie: `ep_session=${session.value}` }, redirect: 'manual' })
    assert.equal(old.status, 303)
    await visitor.close()
  },
  async 'the same without a script, as far as that goes'() {
    const visitor = await person({ javaScriptEnabled: false })
    const { page } = visitor
    await open(page, '/login?return_to=/dashboard')
    await page.getByText('needs JavaScript').waitFor()
    await page.getByRole('link', { name: PROVIDER }).click()
    await page.waitForURL(`${base}/dashboard`)
    assert.equal(await page.getByRole('button', { name: /^Theme/ }).count(), 0)
    assert.match(await sign(page).innerText(), /\$/)
    await (await openNewKey(page)).fill('without a script')
    await page.getByRole('button', { name: 'Create a key' }).click()
    assert.match(await page.locator('#key').innerText(), /^ep_k_/)
    await open(page, '/dashboard')
    await page.getByLabel(AMOUNT).fill('5')
    await page.getByRole('button', { name: 'Pay by card' }).click()
    await page.getByRole('link', { name: 'Go to the payment page' }).click()
    await page.waitForURL((url) => others.includes(url.origin))
    await open(page, '/dashboard')
    for (const [form, fields] of [
      ['keys', { label: LABEL, nonce: '1' }], ['keys', { label: 'x'.repeat(65), nonce: '2' }], ['checkout', { amount: '7', nonce: '3' }],
      ['checkout', { amount: '<b>', nonce: '4' }], ['keys/revoke', { key_id: '<b>', nonce: '5' }], ['polls/cancel', { poll_id: '<b>', nonce: '6' }],
    ]) {
      const reply = await visitor.context.request.post(`${base}/dashboard/${form}`, { form: fields, headers: { origin: base } })
      await valid(await reply.text(), `${form} ${JSON.stringify(fields)}`)
    }
    // The session ends elsewhere while a form is open.
    // A box asks before a key is revoked.
    const entry = page.locator('#active tbody tr', { hasText: 'without a script' })
    await entry.getByRole('button', { name: /^Revoke the key/ }).click()
    await entry.getByRole('button', { name: 'Revoke it permanently' }).click()
    await page.getByText('The key is revoked.').waitFor()
    await (await openNewKey(page)).fill('typed before the sign-in')
    const other = await visitor.context.newPage()
    await other.goto(`${base}/api/auth/logout`)
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor()
    const ended = await fetch(`${base}/dashboard/keys`, { method: 'POST', body: new URLSearchParams({ label: LABEL, nonce: '7' }) })
    await valid(await ended.text(), 'an ended session')
    await other.goto(`${base}/login`)
    await other.getByRole('link', { name: PROVIDER }).click()
    await other.waitForURL(`${base}/dashboard`)
    await page.getByRole('button', { name: 'Submit it again' }).click()
    assert.match(await page.locator('#created').innerText(), /typed before the sign-in/)
    await visitor.close()
  },
  async 'a new wallet signs in, and gets its first key'() {
    const visitor = await person()
    const wallet = await withWallet(visitor, generatePrivateKey())
    const { page } = visitor
    await open(page, '/login?return_to=/')
    const button = page.getByRole('button', { name: 'Sign in with Test <b>Wallet</b>' })
    assert.equal(await page.locator('.wallets li').count(), 2, 'each wallet once')
    await page.getByRole('button', { name: 'Sign in with Other Wallet' }).click()
    await page.getByText('Your wallet is waiting for you').waitFor()
    wallet.decline = true
    await button.click()
    await page.getByText('You declined in your wallet').waitFor()
    wallet.decline = false
    // The message expires while the wallet waits.
    await page.route('**/api/wallet/verify', (route) => route.fulfill({ status: 401, json: { error: 'the message has expired: ask for another one' } }), { times: 1 })
    await button.click()
    await page.getByText('the message has expired').waitFor()
    await button.click()
    const key = await page.locator('#key').innerText()
    const reply = await fetch(`${base}/api/balance`, { headers: { authorization: `Bearer ${key}` } })
    assert.equal(reply.status, 200)
    assert.equal(await button.isVisible(), false, 'beside a key that is shown once')
    await page.getByRole('link', { name: 'Go on' }).click()
    await page.waitForURL(`${base}/`)
    await open(page, '/dashboard')
    assert.match(await page.locator('.page-head').innerText(), new RegExp(`wallet ${wallet.address.slice(0, 6)}…${wallet.address.slice(-4)}`, 'i'))
    await visitor.close()
  },
  async 'a wallet pays in USDC'() {
    const visitor = await person()
    const wallet = await withWallet(visitor, rich, true)
    const { page } = visitor
    await open(page, '/login')
    await page.getByRole('button', { name: 'Sign in with the wallet of this browser' }).click()
    await page.getByRole('link', { name: 'Go on' }).click()
    await page.waitForURL(`${base}/dashboard`)
    const before = await balance(visitor)
    assert.equal(before, '$1.00')
    const pay = page.getByRole('button', { name: 'Pay with' })
    await page.getByLabel(AMOUNT).fill('nothing')
    await pay.click()
    await page.getByRole('status').getByText(AMOUNT).waitFor()
    await page.getByLabel(AMOUNT).fill('5000')
    await pay.click()
    await page.getByRole('status').getByText(`${AMOUNT}.`).waitFor()
    assert.equal(wallet.asked.filter((method) => /Typed/.test(method)).length, 0)
    await page.getByLabel(AMOUNT).fill('12.50')
    await pay.click()
    await page.getByText(`does not know the network with the number ${chainId}`).waitFor()
    wallet.knows.push(chainId)
    wallet.decline = true
    await pay.click()
    await page.getByText('You declined in your wallet').waitFor()
    wallet.decline = false
    await pay.click()
    await page.getByText('Receipt: transaction 0x').waitFor()
    await balanceShown(visitor, '$13.50')
    assert.match(await sign(page).innerText(), /\$13\.50/)
    await page.reload()
    assert.equal(await balance(visitor), '$13.50')

    // Only status 402 means that a payment was rejected.
    const signatures = () => wallet.asked.filter((method) => /Typed/.test(method)).length
    const stored = () => page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('open payment')).length)
    const before402 = signatures()
    const sent = []
    const responses = []
    await page.route('**/api/deposit', async (route) => {
      const header = route.request().headers()['payment-signature']
      const respond = header && responses.shift()
      if (header) sent.push(header)
      await (respond ? respond(route) : route.continue())
    })
    const soon = { 'retry-after': '0' }
    responses.push((route) => route.fulfill({ status: 402, json: { error: 'insufficient funds' } }))
    await page.getByLabel(AMOUNT).fill('5')
    await pay.click()
    await page.getByText('The payment was refused, and nothing was taken: insufficient funds').waitFor()
    assert.deepEqual([await stored(), sent.length, signatures() - before402], [0, 1, 1])

    // The service is paid, but its response is lost.
    sent.length = 0
    responses.push(
      (route) => route.fulfill({ status: 400, json: { error: 'a proxy changed the request' } }),
      async (route) => {
        assert.equal((await route.fetch()).status(), 200)
        await route.fulfill({ status: 504, contentType: 'text/html', body: '<p>Gateway timeout', headers: soon })
      },
      (route) => route.fulfill({ status: 429, json: { error: 'too many requests' }, headers: soon }),
      (route) => route.abort(),
    )
    const unanswered = new Promise((resolve) => { responses.push(() => resolve()) })
    await pay.click()
    await page.getByText('It is not known yet whether you paid. Do not pay again.').waitFor()
    const again = page.getByRole('button', { name: 'Send the same payment again' })
    await again.waitFor()
    assert.deepEqual([await pay.isVisible(), await stored(), visitor.warned.length], [false, 1, 0])
    await holds(visitor, 'dashboard-open-payment')
    await again.click()
    await page.getByText('It is not known yet whether you paid. Do not pay again. The same payment is sent again').waitFor()
    // The last request gets no response: the person reloads the page, which repeats the request.
    await unanswered
    await page.reload()
    await page.getByText('Receipt: transaction 0x').waitFor()
    await balanceShown(visitor, '$18.50')
    assert.equal(visitor.warned.length, 1)
    assert.deepEqual([new Set(sent).size, signatures() - before402, await stored()], [1, 2, 0])
    assert.ok(sent.length >= 6, String(sent.length))
    await pay.waitFor()
    await page.getByText('Receipt: transaction 0x').waitFor()
    await page.reload()
    assert.equal(visitor.warned.length, 1)
    await visitor.close()
  },
}

await run(CHECKS)
