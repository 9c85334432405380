// A browser for the checks of pages, and the rules that hold for each of them.
import assert from 'node:assert/strict'
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
