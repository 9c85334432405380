// Checks the documentation in a real browser. Arguments: the service's URL, then as JSON: `docs`, its start; `operations`,
// pages of operations.
import assert from 'node:assert/strict'
import { open as openPage, run } from './browser.mjs'

const [base, given] = process.argv.slice(2)
const { docs, operations } = JSON.parse(given)
/** Maximum height of a page that is 1280 pixels wide. */
const HIGHEST = 15_000
const WORDS = ['confidence', 'embed', 'privacy']


/** Opens a page of the service, which must exist. */
async function open(path, options) {
  const opened = await openPage(base, path, options)
  assert.equal(opened.response.status(), 200, path)
  return opened
}

/** The parts of the texts of a search that are marked. */
const marked = (page) => page.locator('.hits mark').allTextContents()

const CHECKS = {
  async 'a search without a script finds words of titles and texts'() {
    for (const word of WORDS) {
      const { page, close } = await open(docs, { javaScriptEnabled: false })
      await page.getByRole('searchbox').fill(word)
      await page.getByRole('button', { name: 'Search', exact: true }).click()
      assert.equal(new URL(page.url()).searchParams.get('q'), word)
      assert.ok((await page.locator('.hits > li').count()) > 0, word)
      const found = await marked(page)
      assert.ok(found.length > 0 && found.every((text) => text.toLowerCase() === word), `${word}: ${found}`)
      await page.locator('.hits a').first().click()
      const { hash } = new URL(page.url())
      if (hash) assert.equal(await page.locator(`[id="${hash.slice(1)}"]`).count(), 1, page.url())
      assert.ok((await page.locator('main').textContent()).toLowerCase().includes(word), page.url())
      await close()
    }
  },
  async 'a search shows its results as one types'() {
    const { page, close } = await open(operations[0])
    const title = await page.locator('h1:visible').innerText()
    await page.getByRole('searchbox').fill('private poll')
    await page.locator('.hits > li').first().waitFor()
    assert.equal(await page.locator('h1:visible').innerText(), 'Search')
    await page.getByRole('searchbox').fill('nothing has zzzz')
    await page.getByText('Nothing found').waitFor()
    await page.getByRole('searchbox').press('Escape')
    assert.equal(await page.locator('h1:visible').innerText(), title)
    await close()
  },
  async 'texts of a search are shown as they are'() {
    const { page, close } = await open(`${docs}?q=${encodeURIComponent('"><img src=x>')}`)
    assert.equal(await page.getByRole('searchbox').inputValue(), '"><img src=x>')
    assert.equal(await page.locator('main img').count(), 0)
    await close()
  },
  async 'the language of an example is chosen by keyboard and remembered'() {
    const still = await open(operations[0], { javaScriptEnabled: false })
    const shown = (page) => page.locator('.sample:visible').evaluateAll((all) => all.map(({ className }) => className))
    assert.deepEqual(await shown(still.page), ['sample curl'])
    await still.page.getByText('MCP', { exact: true }).click()
    assert.deepEqual(await shown(still.page), ['sample mcp'])
    await still.close()

    const { page, close } = await open(operations[0])
    await page.getByRole('radio', { name: 'curl' }).focus()
    await page.keyboard.press('ArrowRight')
    assert.deepEqual(await shown(page), ['sample python'])
    assert.ok(await page.getByRole('radio', { name: 'Python' }).evaluate((radio) => radio.matches(':focus-visible')))
    await page.goto(base + operations[1])
    assert.deepEqual(await shown(page), ['sample python'])
    await close()
  },
  async 'code is copied'() {
    const { page, close } = await open(operations[0])
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('.sample:visible').getByRole('button').click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.equal(copied, await page.locator('.sample:visible pre').textContent())
    await close()
  },
  async 'a phone has the list of pages behind a button, without a script, too'() {
    const { page, close } = await open(operations[0], { viewport: { width: 320, height: 700 }, javaScriptEnabled: false })
    const list = page.getByRole('navigation', { name: 'Documentation' })
    assert.ok(!(await list.isVisible()))
    await page.getByRole('button', { name: 'Search and all pages' }).click()
    assert.ok((await list.isVisible()) && (await page.getByRole('searchbox').isVisible()))
    await page.keyboard.press('Escape')
    assert.ok(!(await list.isVisible()))
    await close()
  },
  async 'every page is in the list, of bounded height, with a way on'() {
    const { page, close } = await open(docs)
    const paths = await page.locator('.side a').evaluateAll((links) => [...new Set(links.map(({ pathname }) => pathname))])
    assert.ok(paths.length > 40, `${paths.length}`)
    const inside = paths.filter((path) => path.startsWith('/docs') || path.startsWith('/api/docs'))
    const ends = { prev: 0, next: 0 }
    for (const path of [docs, ...inside]) {
      await page.goto(base + path)
      const height = await page.evaluate(() => document.documentElement.scrollHeight)
      assert.ok(height <= HIGHEST, `${path} is ${height} high`)
      if (path === docs) continue
      assert.equal(await page.locator('.side [aria-current="page"]').count(), 1, path)
      for (const rel of Object.keys(ends)) ends[rel] += await page.locator(`.turn [rel="${rel}"]`).count()
      const headings = page.locator('article h2')
      assert.equal(await page.locator('article h2 > a.anchor').count(), await headings.count(), path)
    }
    // All but the first page and the last one.
    assert.deepEqual(ends, { prev: inside.length - 1, next: inside.length - 1 })
    await close()
  },
  async 'a heading shows its link'() {
    const { page, close } = await open(operations[0])
    const anchor = page.locator('h2 > .anchor').first()
    const opacity = () => anchor.evaluate((link) => getComputedStyle(link, '::after').opacity)
    assert.equal(await opacity(), '0')
    await anchor.hover()
    assert.equal(await opacity(), '1')
    await close()
  },
}

await run(CHECKS)
