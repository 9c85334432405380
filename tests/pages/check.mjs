// Checks pages in a real browser. Arguments: the service's URL, then as JSON: `paths`, the pages; `live`, the id
// of a running poll; `hostile`, texts that pages must show literally; `screenshots`, a folder.
import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HtmlValidate } from 'html-validate'
import stylelint from 'stylelint'
import { assertAccessible, assertFocusUncovered, assertStill, open as opened, run, tooWide } from './browser.mjs'

const [base, given = '{}'] = process.argv.slice(2)
const { paths = [], live, hostile = [], screenshots } = JSON.parse(given)
const LIVE_MS = 30_000
// Lines for the test that started this, which holds the votes of the running poll until it reads them.
const FOLLOWED = 'the running poll is followed'
const GROWN = 'the running poll has grown'
// A poll that has ended: its winner, or a tie.
const OUTCOME = /of \d+ simulated voters|^A tie/
const results = paths.find((path) => path.startsWith('/results/'))

const here = (file) => fileURLToPath(new URL(file, import.meta.url))
const open = (path, options) => opened(base, path, options)

// Each colour and each width once: no rule depends on both.
const LOOKS = screenshots
  ? ['light', 'dark'].flatMap((colorScheme) => [1280, 320].map((width) => [colorScheme, width]))
  : [['light', 1280], ['dark', 320]]

async function each(path) {
  for (const [colorScheme, width] of LOOKS) {
    const { page, close } = await open(path, { colorScheme, viewport: { width, height: 800 } })
    await assertAccessible(page, `${path}, ${colorScheme}, ${width}`)
    if (screenshots) {
      await mkdir(screenshots, { recursive: true })
      const name = `${path.slice(1).replace(/\W+/g, '-') || 'start'}-${colorScheme}-${width}.png`
      await page.screenshot({ path: join(screenshots, name), fullPage: true })
    }
    await close()
  }
}

/** Text that is twice as large fits on a phone (WCAG 2.2, 1.4.4). */
async function enlarged(path) {
  const { page, close } = await open(path, { viewport: { width: 375, height: 800 } })
  await page.evaluate(() => { document.documentElement.style.fontSize = '200%' })
  assert.deepEqual(await page.evaluate(tooWide), [], `${path} scrolls sideways`)
  await close()
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
  async 'no page moves while it loads'() {
    for (const path of paths) {
      // At the same time: most of it is waiting.
      await Promise.all([1440, 375].map((width) => assertStill(base, path, { viewport: { width, height: 812 } })))
    }
  },
  async 'models are found by words, with a script and without one'() {
    const shown = (page) => page.locator('tbody tr:visible').evaluateAll((rows) => rows.map((row) => row.querySelector('code').textContent))
    const still = await open('/models?sort=price', { javaScriptEnabled: false })
    const all = await shown(still.page)
    await still.page.getByRole('searchbox').fill('Free')
    await still.page.getByRole('button', { name: 'Search' }).click()
    assert.match(still.page.url(), /q=Free&sort=price$/)
    const free = await shown(still.page)
    assert.ok(free.length > 0 && free.length < all.length, `${free.length} of ${all.length}`)
    await still.page.locator('thead a', { hasText: 'Family' }).click()
    assert.deepEqual((await shown(still.page)).toSorted(), free.toSorted())
    await still.close()

    const { page, close } = await open('/models?q=free&sort=price')
    const found = (text) => page.waitForFunction((text) => document.querySelector('#found').textContent === text, text)
    assert.deepEqual(await shown(page), free)
    await page.getByRole('searchbox').fill(all.at(-1))
    assert.deepEqual(await shown(page), [all.at(-1)])
    await found(`1 of ${all.length} models match.`)
    await page.getByRole('searchbox').fill('nothing has these words')
    await found('No model matches.')
    await page.getByRole('searchbox').press('Escape')
    await found('')
    assert.deepEqual(await shown(page), all)
    assert.equal(new URL(page.url()).searchParams.get('q'), null)
    await page.getByRole('searchbox').fill('free')
    await found(`${free.length} of ${all.length} models match.`)
    await page.locator('.chip', { hasText: 'Budget' }).click()
    const chosen = Object.fromEntries(new URL(page.url()).searchParams)
    assert.deepEqual(chosen, { q: 'free', sort: 'price', preset: 'budget' })
    await close()
  },
  async 'models are cards on a phone'() {
    const { page, close } = await open('/models', { viewport: { width: 375, height: 812 } })
    const row = page.locator('tbody tr').first()
    const labels = await row.locator('td').evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell, '::before').content))
    assert.ok(labels.every((label) => label.length > 2) && labels.includes('"Price"'), String(labels))
    const { width } = await row.boundingBox()
    assert.ok(width <= 335, `a card is ${width} wide`)
    assert.equal(await page.evaluate(() => document.querySelector('.scroll').scrollWidth <= document.querySelector('.scroll').clientWidth), true)
    await close()
  },
  async 'a poll to try is moved by keyboard, and equals the page without a script'() {
    const facts = (page) => page.evaluate(() => ({
      texts: ['#percent', '#verdict'].map((id) => document.querySelector(id).textContent),
      drawn: [...document.querySelectorAll('#curve, #dot, #stop, #above, #ahead, #behind, #marks path, #marks text')]
        .map((element) => [element.textContent, ...['points', 'cx', 'cy', 'y1', 'x', 'y', 'd', 'width'].map((name) => element.getAttribute(name))]),
      values: [...document.querySelectorAll('.trial input')].map((input) => input.value),
    }))
    const { page, close } = await open('/how-sure')
    const press = async (label, key, times) => {
      await page.getByRole('slider', { name: label }).focus()
      for (let time = 0; time < times; time++) await page.keyboard.press(key)
    }
    const before = await facts(page)
    assert.match(before.texts[1], /goes on until 95 %/)
    await press('Votes for the leader', 'ArrowRight', 3)
    assert.match((await facts(page)).texts[1], /stops here/)
    await page.locator('#sentence', { hasText: 'In a panel of 50 models, 14 to 3 votes are' }).waitFor({ state: 'attached' })
    await press('Votes for the runner-up', 'End', 1)
    assert.deepEqual((await facts(page)).values, ['50', '25', '25', '95'])
    await press('Votes for the runner-up', 'ArrowLeft', 22)
    await press('Models in the panel', 'ArrowLeft', 30)
    await press('Votes for the leader', 'ArrowLeft', 8)
    await press('Stop when this sure', 'Home', 1)
    await page.evaluate(() => new Promise(requestAnimationFrame))
    const after = await facts(page)
    await close()
    const [panel, leader, runnerUp, threshold] = after.values
    const still = await open(`/how-sure?panel=${panel}&leader=${leader}&runner_up=${runnerUp}&threshold=${threshold}`, { javaScriptEnabled: false })
    assert.deepEqual(await facts(still.page), after)
    await still.page.getByRole('spinbutton', { name: 'Votes for the leader' }).fill('19')
    await still.page.getByRole('button', { name: 'Compute' }).click()
    assert.match((await facts(still.page)).texts[1], /^Settled/)
    await still.close()
  },
  async 'a result is opened by its link'() {
    const { page, close } = await open('/results', { javaScriptEnabled: false })
    await page.getByLabel('Link or id').fill('my poll')
    await page.getByRole('button', { name: 'Open' }).click()
    assert.match(await page.getByRole('alert').innerText(), /names no poll/)
    await page.getByLabel('Link or id').fill(` ${base}${results}?option=0 `)
    await page.getByRole('button', { name: 'Open' }).click()
    assert.equal(page.url(), base + results)
    await close().catch((error) => assert.match(error.message, /status of 404/))
  },
  async 'every page is valid HTML'() {
    for (const path of paths) await valid(path)
  },
  async 'every page is used by keyboard alone'() {
    for (const path of paths) await byKeyboard(path)
  },
  async 'nothing covers the focus on a phone'() {
    for (const path of paths) {
      const { page, close } = await open(path, { viewport: { width: 375, height: 667 } })
      await assertFocusUncovered(page, path)
      await close().catch((error) => assert.match(error.message, /status of 404/))
    }
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
    const button = page.getByRole('button', { name: 'Theme: System' })
    await button.focus()
    await page.keyboard.press('Enter')
    const dark = await paper()
    assert.notEqual(dark, light)
    await page.reload()
    assert.equal(await paper(), dark)
    await page.getByRole('button', { name: 'Theme: Dark' }).click()
    assert.equal(await paper(), light)
    await page.getByRole('button', { name: 'Theme: Light' }).click()
    assert.deepEqual([await button.count(), await paper()], [1, light])
    await close()
  },
  async 'the header is one row on phones, and its menu needs no script'() {
    for (const path of paths.filter((path) => !path.startsWith('/embed/')).slice(0, 2)) {
      for (const [width, javaScriptEnabled] of [[375, true], [320, true], [320, false]]) {
        const { page, close } = await open(path, { viewport: { width, height: 800 }, javaScriptEnabled })
        const parts = await page.locator('.top > *:visible').all()
        const boxes = await Promise.all(parts.map((part) => part.boundingBox()))
        // Without a script, there is no button for the theme.
        assert.equal(boxes.length, javaScriptEnabled ? 4 : 3, `${path} at ${width}`)
        const middles = boxes.map(({ y, height }) => y + height / 2)
        assert.ok(Math.max(...middles) - Math.min(...middles) < 2, `${path} at ${width}: ${middles}`)
        await page.getByRole('button', { name: 'Menu' }).click()
        await page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name: 'Models' }).waitFor()
        await close()
      }
    }
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
      assert.equal(await page.evaluate(() => document.querySelectorAll('main script, main img:not(.sharing img)').length), 0)
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
}

const isSkipped = (name) =>
  (name.startsWith('a running poll') && !live) || (name.startsWith('hostile') && !hostile.length)
  || (/^votes|^every model has/.test(name) && !results)
  || (/^models are|to try|opened by its link/.test(name) && !paths.includes('/models'))

await run(Object.fromEntries(Object.entries(CHECKS).filter(([name]) => !isSkipped(name))))
