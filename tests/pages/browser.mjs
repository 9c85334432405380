// A browser for the checks of pages, and the rules that hold for each of them.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import axe from 'axe-core'
import { chromium } from 'playwright-core'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
})

/**
 * Opens a page of the service in a new browser, or in this one, and fails on errors, dialogs and requests to others than
 * the service and the `visited` origins. `urls` lists all requests.
 */
export async function open(base, path, { context, before, visited = [], ...options } = {}) {
  const own = context ?? await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await own.newPage()
  const wrong = []
  const urls = []
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss() })
  page.on('request', (request) => {
    urls.push(request.url())
    if (![base, ...visited].includes(new URL(request.url()).origin)) wrong.push(`request to ${request.url()}`)
  })
  page.on('console', (message) => {
    const status = message.text().startsWith('Failed to load resource') && [base + path, page.url()].includes(message.location().url)
    if (['error', 'warning'].includes(message.type()) && !status) wrong.push(`console: ${message.text()}`)
  })
  await before?.(page)
  const response = await page.goto(base + path)
  return {
    page, context: own, response, urls,
    close: async () => {
      await (context ? page : own).close()
      assert.deepEqual(wrong, [], path)
    },
  }
}

/** Returns what axe finds in the page, or in a part of it. */
export async function violations(page, part) {
  await page.evaluate(axe.source)
  const found = await page.evaluate(([part, tags]) => axe.run(part ?? document, { runOnly: tags }), [part, RULES])
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`)
}

/** Fails if axe finds something, or if the page is wider than its window. */
export async function assertAccessible(page, label) {
  const { wide, width } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, width: innerWidth }))
  assert.ok(wide <= width, `${label} is ${wide} wide at ${width}`)
  assert.deepEqual(await violations(page), [], `axe on ${label}`)
}

/** The elements that are wider than the window, apart from those that scroll by themselves. */
export function tooWide() {
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= width) return []
  return [...document.querySelectorAll('body *')]
    .filter((element) => element.getBoundingClientRect().right > width + 1)
    .map((element) => element.outerHTML.slice(0, 80))
}

export const LARGEST_SHIFT = 0.02
const LATE_MS = 400

/** Collects the layout shifts of a page in `window.moves`. */
export const watchMoves = (page) => page.addInitScript(() => {
  window.moves = []
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) window.moves.push([value, ...sources.map(({ node }) => node?.outerHTML?.slice(0, 80) ?? node?.nodeName)])
  }).observe({ type: 'layout-shift', buffered: true })
})

/** Fails if a page has moved too far (layout shift). */
export async function assertUnmoved(page, label) {
  const moves = await page.evaluate(() => window.moves)
  const sum = moves.reduce((sum, [value]) => sum + value, 0)
  assert.ok(sum <= LARGEST_SHIFT, `${label} moves by ${sum}: ${JSON.stringify(moves)}`)
}

/** Fails if a page moves while it loads. Fonts and modules come late, so that the page is drawn without them. */
export async function assertStill(base, path, options) {
  const { page, close } = await open(base, '/robots.txt', options)
  await page.route(/\.(woff2|js)/, async (route) => {
    // The header has this script, without which nothing is drawn.
    if (!/theme[^/]*\.js/.test(route.request().url())) await sleep(LATE_MS)
    await route.continue()
  })
  await watchMoves(page)
  await page.goto(base + path)
  await page.evaluate(() => document.fonts.ready)
  await sleep(LATE_MS)
  await assertUnmoved(page, `${path} at ${options.viewport.width}`)
  await close().catch((error) => assert.match(error.message, /status of 4/))
}

/** Fails if something covers an element that gets the focus by the Tab key (WCAG 2.2, 2.4.11). */
export async function assertFocusUncovered(page, label) {
  const covered = () => {
    const focused = document.activeElement
    if (focused === document.body) return 'end'
    const { left, top, width, height } = focused.getClientRects()[0] ?? {}
    if (!width) return null
    const [x, y] = [left + width / 2, top + height / 2]
    // Taller than the window, or reached by its label.
    if (y < 0 || y > innerHeight || Number(getComputedStyle(focused).opacity) === 0) return null
    const shown = document.elementFromPoint(x, y)
    const belongs = !shown || focused.contains(shown) || shown.contains(focused)
    return belongs ? null : `${focused.outerHTML.slice(0, 80)} is covered by ${shown.outerHTML.slice(0, 80)}`
  }
  for (let stop = 0; stop < 200; stop++) {
    await page.keyboard.press('Tab')
    const found = await page.evaluate(covered)
    if (found === 'end') return
    assert.equal(found, null, label)
  }
}

/** Runs the checks in order, and says how long each took and how many hold. */
export async function run(checks) {
  let done = 0
  try {
    for (const [name, check] of Object.entries(checks)) {
      const begin = performance.now()
      try {
        await check()
        console.log(`${((performance.now() - begin) / 1000).toFixed(1)} s: ${name}`)
      } catch (error) {
        const pages = browser.contexts().flatMap((context) => context.pages())
        const shown = await Promise.all(pages.map(async (page) => `${page.url()}: ${await page.innerText('body').catch(String)}`))
        throw new Error(`${name}: ${error.message}\n${shown.join('\n').slice(0, 2000)}`, { cause: error })
      }
      done += 1
    }
    console.log(`${done} checks hold`)
  } finally {
    await browser.close()
  }
}
