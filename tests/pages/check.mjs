// Checks pages in a real browser. Arguments: the service's URL, then as JSON: `paths`, the pages; `live`, the id
// of a running poll; `hostile`, texts that pages must show literally; `searched`, pages with search words;
// `screenshots`, a folder.
import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { HtmlValidate } from 'html-validate'
import { chromium } from 'playwright-core'
import stylelint from 'stylelint'

const [base, given = '{}'] = process.argv.slice(2)
const { paths = [], live, hostile = [], searched = [], screenshots } = JSON.parse(given)
const LIVE_MS = 30_000
// Lines for the test that started this, which holds the votes of the running poll until it reads them.
const FOLLOWED = 'the running poll is followed'
const GROWN = 'the running poll has grown'
// A poll that has ended: its winner, or a tie.
const OUTCOME = /of \d+ simulated voters|^Tie/
const results = paths.find((path) => path.startsWith('/results/'))
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const here = (file) => fileURLToPath(new URL(file, import.meta.url))
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
})
const done = []

/** Opens a page in a new browser and fails on errors, dialogs and requests to other origins. */
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const wrong = []
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss() })
  page.on('request', (request) => { if (new URL(request.url()).origin !== base) wrong.push(`request to ${request.url()}`) })
  page.on('console', (message) => {
    const status = message.text().startsWith('Failed to load resource') && message.location().url === base + path
    if (['error', 'warning'].includes(message.type()) && !status) wrong.push(`console: ${message.text()}`)
  })
  const response = await page.goto(base + path)
  return {
    page, response,
    close: async () => {
      await context.close()
      assert.deepEqual(wrong, [], path)
    },
  }
}

async function each(path) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 320]) {
      const { page, close } = await open(path, { colorScheme, viewport: { width, height: 800 } })
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= width, `${path} is ${wide} wide at ${width}`)
      await page.evaluate(axe.source)
      const { violations } = await page.evaluate((tags) => axe.run({ runOnly: tags }), RULES)
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`)
      assert.deepEqual(found, [], `axe on ${path}, ${colorScheme}, ${width}`)
      if (screenshots) {
        await mkdir(screenshots, { recursive: true })
        const name = `${path.slice(1).replace(/\W+/g, '-') || 'start'}-${colorScheme}-${width}.png`
        await page.screenshot({ path: join(screenshots, name), fullPage: true })
      }
      await close()
    }
  }
}

/** Text that is twice as large fits on a phone (WCAG 2.2, 1.4.4). */
async function enlarged(path) {
  const { page, close } = await open(path, { viewport: { width: 375, height: 800 } })
  await page.evaluate(() => { document.documentElement.style.fontSize = '200%' })
  assert.deepEqual(await page.evaluate(tooWide), [], `${path} scrolls sideways`)
  await close()
}

/** The elements that are wider than the window, apart from those that scroll by themselves. */
function tooWide() {
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= width) return []
  return [...document.querySelectorAll('body *')]
    .filter((element) => element.getBoundingClientRect().right > width + 1)
    .map((element) => element.outerHTML.slice(0, 80))
}

async function valid(path) {
  const html = await (await fetch(base + path, { headers: { accept: 'text/html' } })).text()
  // Without a script, the page of a running poll reloads every few seconds.
  const config = { root: true, extends: ['html-validate:standard', 'html-validate:a11y'], rules: { 'meta-refresh': 'off' } }
  const report = await new HtmlValidate(config).validateString(html, path)
  assert.deepEqual(report.results.flatMap(({ messages }) => messages.map((m) => `${m.line}: ${m.ruleId}: ${m.message}`)), [], path)
}

/** Asserts that Tab reaches every control in order and that the focus is visible. */
async function byKeyboard(path) {
  const { page, close } = await open(path)
  const wanted = await page.evaluate(() => [...document.querySelectorAll('a[href], button, select, input, textarea, summary, [tabindex="0"]')]
    .filter((element) => element.checkVisibility() && !element.matches(':disabled') && !(element.type === 'radio' && !element.checked)).length)
  await page.keyboard.press('Tab')
  if (!path.startsWith('/embed/')) assert.equal(await page.evaluate(() => document.activeElement.className), 'skip', `${path}: the first stop`)
  await page.evaluate(() => {
    window.stops = new Map()
    addEventListener('focusin', ({ target }) => window.stops.set(target, getComputedStyle(target).outlineStyle))
  })
  for (let stop = 1; stop < wanted; stop++) await page.keyboard.press('Tab')
  const stops = await page.evaluate(() => [...window.stops].map(([element, outline]) => `${element.tagName} ${outline}`))
  // The first stop came before tracking started.
  assert.equal(stops.length, wanted - 1, `${path}: what can be used is reached`)
  assert.ok(!stops.some((stop) => stop.endsWith('none')), `${path}: ${stops}`)
  await close()
}

async function bars(page) {
  return (await page.locator('.votes').allTextContents()).map(Number).reduce((sum, count) => sum + count, 0)
}

const CHECKS = {
  async 'a running poll grows without a reload, and ends as the server shows it'() {
    const still = await open(`/results/${live}`, { javaScriptEnabled: false })
    assert.match(await still.page.content(), /http-equiv="refresh"/)
    const { page, close } = await open(`/results/${live}`)
    await page.evaluate(() => { window.loadedOnce = true })
    assert.equal(await bars(page), 0)
    console.log(FOLLOWED)
    await page.waitForFunction(() => window.loadedOnce
      && [...document.querySelectorAll('.votes')].some(({ textContent }) => textContent !== '0'), undefined, { timeout: LIVE_MS })
    console.log(GROWN)
    await page.waitForFunction(() => !window.loadedOnce && !document.querySelector('[data-events]'), undefined, { timeout: LIVE_MS })
    assert.match(await page.locator('#answer').innerText(), OUTCOME)
    await close()
    // Without a script, the page reloads.
    await still.page.locator('#answer', { hasText: OUTCOME }).waitFor({ timeout: LIVE_MS })
    await still.close()
  },
  async 'every page is accessible, whole and quiet, light and dark, wide and narrow'() {
    for (const path of paths) await each(path)
  },
  async 'no page with large text scrolls sideways'() {
    for (const path of paths) await enlarged(path)
  },
  async 'every page is valid HTML'() {
    for (const path of paths) await valid(path)
  },
  async 'every page is used by keyboard alone'() {
    for (const path of paths) await byKeyboard(path)
  },
  async 'the stylesheet is valid'() {
    const code = await readFile(here('../../assets/style.css'), 'utf8')
    const { results } = await stylelint.lint({ code, config: { extends: 'stylelint-config-standard' }, configBasedir: here('.') })
    assert.deepEqual(results[0].warnings.map(({ line, text }) => `${line}: ${text}`), [])
  },
  async 'colours are stored by choice'() {
    const { page, close } = await open(paths[0], { colorScheme: 'light' })
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await paper()
    await page.selectOption('#theme', 'dark')
    const dark = await paper()
    assert.notEqual(dark, light)
    await page.reload()
    assert.equal(await paper(), dark)
    await close()
  },
  async 'a poll is shown in a frame where it is meant to be'() {
    for (const path of paths.filter((path) => path.startsWith('/embed/'))) {
      const { page, close } = await open('/robots.txt')
      await page.evaluate((src) => document.body.append(Object.assign(document.createElement('iframe'), { src })), base + path)
      await page.frameLocator('iframe').locator('.bars > li').first().waitFor()
      await close()
    }
  },
  async 'a poll that is gone is one line in a frame'() {
    const path = '/embed/EP-20260101-0000000000'
    await valid(path)
    const { page, close } = await open('/robots.txt')
    await page.evaluate((src) => document.body.append(Object.assign(document.createElement('iframe'), { src })), base + path)
    await page.frameLocator('iframe').getByRole('heading', { name: 'find this poll' }).waitFor()
    // The status is reported as an error.
    await close().catch((error) => assert.match(error.message, /status of 404/))
  },
  async 'no other page is shown in a frame'() {
    const { page, close } = await open('/robots.txt')
    const blocked = page.waitForEvent('console', { predicate: (message) => /frame-ancestors/.test(message.text()) })
    await page.evaluate((src) => document.body.append(Object.assign(document.createElement('iframe'), { src })), base + paths[0])
    await blocked
    // The browser reports it as an error, as expected.
    await close().catch((error) => assert.match(error.message, /frame-ancestors/))
  },
  async 'hostile texts are shown as they are'() {
    for (const [path, text] of hostile) {
      const { page, close } = await open(path)
      assert.ok((await page.locator('main').innerText()).includes(text), `${path} does not show ${text}`)
      assert.equal(await page.evaluate(() => document.querySelectorAll('main script, main img').length), 0)
      await close()
    }
  },
  async 'votes are copied as Markdown'() {
    const { page, close } = await open(results)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('.menu summary').click()
    await page.getByRole('button', { name: 'Copy as Markdown' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.equal(copied, await (await fetch(`${base}${results}.md`)).text())
    await close()
  },
  async 'every model has a seat that says its vote'() {
    const { page, close } = await open(results)
    const votes = await page.locator('tbody tr').count()
    const seats = page.locator('.chamber > .seat[role="img"]')
    assert.equal(await seats.count(), votes)
    const counts = (await page.locator('.votes').allTextContents()).map(Number)
    assert.equal(await page.locator('.seat[class*="option-"]').count(), counts.reduce((sum, count) => sum + count, 0))
    const shares = (await page.locator('.share').allTextContents()).map((text) => Number.parseInt(text))
    assert.equal(shares.reduce((sum, share) => sum + share, 0), 100)
    // One stop of the Tab key; arrows move.
    assert.equal(await page.locator('.seat[tabindex="0"]').count(), 1)
    await seats.first().focus()
    await page.keyboard.press('ArrowRight')
    const label = await page.evaluate(() => document.activeElement.getAttribute('aria-label'))
    assert.equal(label, await seats.nth(1).getAttribute('aria-label'))
    const [model, vote] = label.split(': ')
    assert.ok(await page.locator('.who', { hasText: model }).filter({ hasText: vote }).first().isVisible())
    await close()
  },
  async 'votes are sorted and filtered without a script'() {
    const { page, close } = await open(results, { javaScriptEnabled: false })
    const models = () => page.locator('tbody th').allTextContents()
    const all = await models()
    await page.locator('#votes summary').click()
    await page.locator('thead a').first().click()
    assert.deepEqual(await models(), all.toSorted())
    assert.equal(await page.locator('th[aria-sort]').count(), 1)
    const some = page.locator('.filter a').nth(1)
    const key = (await some.innerText()).slice(0, 1)
    await some.click()
    const keys = await page.locator('tbody .key').allTextContents()
    assert.ok(keys.every((shown) => shown === key) && (await models()).length < all.length)
    await close()
  },
  async 'what a page lists is found by words, as one types'() {
    for (const [path, words] of searched) {
      const plain = await open(path, { javaScriptEnabled: false })
      const all = await plain.page.locator('[data-item]:visible').count()
      assert.equal(await plain.page.locator('input[type="search"]:visible').count(), 0)
      await plain.close()
      const { page, close } = await open(path)
      const shown = () => page.locator('[data-item]:visible').allTextContents()
      const said = (text) => page.waitForFunction((text) => document.querySelector('[role="status"]').textContent === text, text)
      const query = () => new URL(page.url()).searchParams.get('q')
      await page.getByRole('searchbox').fill(words)
      const found = await shown()
      assert.ok(found.length > 0 && found.length < all, `${found.length} of ${all}`)
      for (const text of found) for (const word of words.toLowerCase().split(' ')) assert.ok(text.toLowerCase().includes(word), `${word}: ${text}`)
      await said(`${found.length} of ${all} match`)
      assert.equal(query(), words)
      await page.reload()
      assert.deepEqual(await shown(), found)
      // A link leads to the hidden items.
      const hidden = await page.evaluate(() => document.querySelector('[data-group][hidden] [id]').id)
      await page.evaluate((id) => { location.hash = id }, hidden)
      await page.locator(`#${hidden}`).waitFor()
      await page.getByRole('searchbox').fill('nothing has these words')
      await said(`None of ${all} match`)
      assert.deepEqual(await shown(), [])
      await page.getByRole('searchbox').press('Escape')
      await said('')
      assert.deepEqual([(await shown()).length, query()], [all, null])
      await close()
    }
  },
}

try {
  for (const [name, check] of Object.entries(CHECKS)) {
    if ((name.startsWith('a running poll') && !live) || (name.startsWith('hostile') && !hostile.length)) continue
    if ((/^votes|^every model has/.test(name) && !results) || (name.startsWith('what a page lists') && !searched.length)) continue
    try {
      await check()
    } catch (error) {
      error.message = `${name}: ${error.message}`
      throw error
    }
    done.push(name)
  }
  console.log(`${done.length} checks hold`)
} finally {
  await browser.close()
}
