// Reviews a batch, and reads an evaluation, in a real browser. Arguments: the service's URL, then as JSON: `session`, the cookie of
// the owner; `ended`, the page of a batch that has ended; `open`, the page of one that runs; `evaluation`, the page of an
// evaluation; `screenshots`, a folder.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { HtmlValidate } from 'html-validate'
import { assertAccessible, browser, open as openPage, run } from './browser.mjs'

const [base, given] = process.argv.slice(2)
const { session, ended, open: running, evaluation, screenshots } = JSON.parse(given)
const [cookie, value] = session.split('=')
const PHONE = { viewport: { width: 375, height: 812 } }
const SMALL = { viewport: { width: 320, height: 640 } }

async function owner(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  await context.addCookies([{ name: cookie, value, url: base }])
  const opened = await openPage(base, path, { context })
  return { ...opened, close: async () => { await opened.close(); await context.close() } }
}

async function holds(page, name) {
  const report = await new HtmlValidate({ extends: ['html-validate:standard'] }).validateString(await page.content())
  assert.deepEqual(report.results.flatMap(({ messages }) => messages.map(({ message, line }) => `${line}: ${message}`)), [], name)
  await assertAccessible(page, name)
  if (!screenshots) return
  await mkdir(screenshots, { recursive: true })
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true })
}

const reviewed = (page) => page.locator('.tile', { hasText: 'Reviewed' }).locator('dd').innerText().then(parseInt)
const row = (page) => page.locator('#review .small bdi').innerText()

const CHECKS = {
  async 'its figures follow a running batch, which can be cancelled'() {
    const { page, close } = await owner(running)
    const done = () => page.locator('.so-far b').innerText().then(Number)
    await page.locator('.so-far b').waitFor()
    await holds(page, 'batch-running')
    const before = await done()
    await page.waitForFunction((before) => Number(document.querySelector('.so-far b').textContent) > before, before)
    assert.match(await page.locator('.tile', { hasText: 'Spent' }).innerText(), /set aside until the end/)
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Keep it')
    await page.getByRole('button', { name: 'Cancel the batch' }).click()
    await page.locator('.kicker', { hasText: 'Cancelled' }).waitFor()
    await page.locator('.live').waitFor({ state: 'detached' })
    await close()
  },
  async 'a person reviews with keys'() {
    const { page, close } = await owner(ended)
    await holds(page, 'batch')
    const first = await row(page)
    await page.keyboard.press('s')
    await page.waitForFunction((first) => document.querySelector('#review .small bdi').textContent !== first, first)
    const second = await row(page)
    await page.keyboard.press('1')
    await page.waitForFunction((second) => document.querySelector('#review .small bdi').textContent !== second, second)
    assert.equal(await reviewed(page), 1)
    assert.equal(await page.evaluate(() => document.activeElement.id), 'review')
    assert.notEqual(await row(page), first, 'a skipped row stays skipped')
    await page.getByRole('link', { name: 'Back to the first row' }).click()
    assert.equal(await row(page), first)
    // A key with a modifier belongs to the browser.
    await page.keyboard.press('Control+1')
    assert.equal(await row(page), first)
    await close()
  },
  async 'it works without a script, and on a phone'() {
    for (const options of [{ ...PHONE, javaScriptEnabled: false }, SMALL]) {
      const { page, close } = await owner(ended, options)
      const before = await reviewed(page)
      if (options === SMALL) await holds(page, 'batch-small')
      else assert.ok((await page.locator('.decide button').first().boundingBox()).y < 700, 'the first screen has an option')
      await page.locator('.decide button').first().click()
      await page.locator('.tile', { hasText: 'Reviewed' }).locator('dd', { hasText: String(before + 1) }).waitFor()
      await close()
    }
  },
  async 'it is printed with its options and votes'() {
    const { page, close } = await owner(ended)
    await page.emulateMedia({ media: 'print' })
    await page.locator('.decide .votes').first().waitFor()
    await page.locator('.printed', { hasText: ended }).waitFor()
    for (const hidden of ['.page-head .row', '#skip', '.decide kbd', '#sharing form']) {
      assert.equal(await page.locator(hidden).first().isVisible(), false, hidden)
    }
    if (screenshots) await page.screenshot({ path: join(screenshots, 'batch-print.png'), fullPage: true })
    await close()
  },
  async 'the owner downloads the answers'() {
    const { page, close } = await owner(ended, { acceptDownloads: true })
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Answers (CSV)' }).click()])
    assert.match(download.suggestedFilename(), /^batch_[0-9a-f]{32}\.csv$/)
    await close()
  },
  async 'it is shared, and private again'() {
    const stranger = await openPage(base, ended)
    assert.equal(new URL(stranger.page.url()).pathname, '/login')
    await stranger.close()
    const { page, close } = await owner(ended)
    await page.getByRole('button', { name: /^Share/ }).click()
    await page.getByRole('heading', { name: 'Shared' }).waitFor()
    await page.getByRole('button', { name: 'Copy link' }).waitFor()
    const reader = await openPage(base, ended)
    await reader.page.getByRole('heading', { name: 'Where the models disagree most' }).waitFor()
    await holds(reader.page, 'batch-shared')
    assert.equal(await reader.page.getByRole('button', { name: /Share|Cancel|private/ }).count(), 0)
    assert.equal(await reader.page.locator('.decide button, [download]').count(), 0)
    assert.doesNotMatch(await reader.page.innerText('main'), /Spent|\$/)
    await page.getByRole('button', { name: 'Make it private' }).click()
    await page.getByRole('heading', { name: 'Private' }).waitFor()
    await reader.page.reload()
    assert.equal(new URL(reader.page.url()).pathname, '/login')
    await reader.close()
    await close()
  },
  async 'an evaluation is read, shared and deleted'() {
    const stranger = await openPage(base, evaluation)
    assert.equal(new URL(stranger.page.url()).pathname, '/login')
    await stranger.close()
    for (const [name, options] of [['evaluation', {}], ['evaluation-dark', { colorScheme: 'dark' }], ['evaluation-small', SMALL]]) {
      const { page, close } = await owner(evaluation, options)
      await holds(page, name)
      await close()
    }
    const { page, close } = await owner(evaluation, { javaScriptEnabled: false })
    await page.getByRole('button', { name: 'Share by link' }).click()
    await page.getByRole('heading', { name: 'Shared' }).waitFor()
    const reader = await openPage(base, evaluation)
    assert.equal(await reader.page.getByRole('button', { name: /Share|Delete|private/ }).count(), 0)
    await holds(reader.page, 'evaluation-shared')
    await reader.close()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete it permanently' }).click()
    await page.waitForURL(`${base}/dashboard`)
    assert.equal((await page.goto(base + evaluation)).status(), 404)
    await close()
  },
  async 'the account page lists batches'() {
    for (const options of [{}, PHONE]) {
      const { page, close } = await owner('/dashboard', options)
      await holds(page, options === PHONE ? 'dashboard-batches-phone' : 'dashboard-batches')
      await page.getByRole('link', { name: 'Reviews of a shop' }).first().click()
      await page.getByRole('heading', { name: 'Reviews of a shop' }).waitFor()
      await close()
    }
  },
}

await run(CHECKS)
