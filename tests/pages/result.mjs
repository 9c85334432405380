// Checks the page of a poll in every state. Arguments: the service's URL, then as JSON: `states`, paths by name; `frames`,
// more paths of polls with long texts; `question`, the text of the long one; `cookie` of the private poll's owner;
// `simulated`, the URL of a simulated poll; `running`, paths of polls whose calls the test releases; `growing`, the path of
// one such poll; `screenshots`, a folder.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { assertAccessible, assertFocusUncovered, assertStill, assertUnmoved, browser, open, run, watchMoves } from './browser.mjs'

const [base, given = '{}'] = process.argv.slice(2)
const { states, frames, question, cookie, simulated, running, growing, screenshots } = JSON.parse(given)
const WAIT_MS = 30_000

const owned = { extraHTTPHeaders: cookie ? { cookie } : {} }
const state = (name, options = {}) => open(base, states[name], name === 'private' ? { ...owned, ...options } : options)
// A poll ends as soon as no vote could change it, so the number of votes varies.
const WON = /^TypeScript \d+ of \d+ AI models$/
const HEROES = {
  won: WON,
  close: /^Close: TypeScript 6 of 11 AI models$/,
  tie: /^A tie .?TypeScript.? and .?Go.?, 6 AI models each$/,
  none: /^No votes from 15 AI models$/,
  failures: /^Too few votes 5 from 18 AI models$/,
  ten: WON,
  many: WON,
  budget: /of \d+ AI models$/,
  private: WON,
  long: WON,
}

const answer = async (page) => (await page.locator('#answer').innerText()).replace(/\s+/g, ' ').trim()
const numbers = (texts) => texts.map((text) => Number.parseInt(text))
const sum = (list) => list.reduce((all, one) => all + one, 0)

/** Contrasts (WCAG 2.2) of every seat with the page, and of every letter with its seat. */
function contrasts() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const luminance = (colour) => {
    canvas.fillStyle = colour
    canvas.fillRect(0, 0, 1, 1)
    const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const paper = getComputedStyle(document.body).backgroundColor
  return [...document.querySelectorAll('.chamber > .seat')].map((seat) => {
    const shape = getComputedStyle(seat.querySelector('circle, rect'))
    const letter = seat.querySelector(':scope > text')
    return {
      seat: contrast(shape.stroke === 'none' ? shape.fill : shape.stroke, paper),
      letter: letter.textContent ? contrast(getComputedStyle(letter).fill, shape.fill) : null,
      pale: seat.classList.contains('pale'),
      name: seat.getAttribute('aria-label'),
    }
  })
}

async function picture(page, name) {
  if (!screenshots) return
  await mkdir(screenshots, { recursive: true })
  await page.screenshot({ path: join(screenshots, `result-${name}.png`), fullPage: true })
}

const FINISHED = {
  async 'every state has its headline, its counts and its seats'() {
    for (const [name, hero] of Object.entries(HEROES)) {
      const { page, close } = await state(name)
      assert.match(await answer(page), hero, name)
      const counts = numbers(await page.locator('.votes').allTextContents())
      const shares = numbers(await page.locator('.share').allTextContents())
      assert.equal(sum(shares), name === 'none' ? 0 : 100, name)
      const seats = (selector) => page.locator(`.chamber > .seat${selector}`).count()
      assert.equal(await seats('[class*="option-"]'), sum(counts), name)
      const label = await page.locator('.chamber').getAttribute('aria-label')
      const total = sum([...label.split(': ')[1].matchAll(/(?:^|, )(\d+) /g)].map(([, count]) => Number(count)))
      assert.equal(await seats(''), total, `${name}: ${label}`)
      // Every seat that answered says who sits there; one is a stop of the Tab key.
      assert.equal(await seats('[role="img"][aria-label*=": "]'), total - await seats('.pale'), name)
      assert.equal(await seats('[tabindex="0"]'), 1, name)
      await close()
    }
  },
  async 'every state is accessible, light and dark, on a screen, a phone and at 400 %'() {
    for (const name of Object.keys(states)) {
      for (const colorScheme of ['light', 'dark']) {
        for (const width of screenshots ? [1440, 375, 320] : [1440, 320]) {
          const { page, close } = await state(name, { colorScheme, viewport: { width, height: 812 } })
          await assertAccessible(page, `${name}, ${colorScheme}, ${width}`)
          for (const seat of await page.evaluate(contrasts)) {
            assert.ok(seat.pale || seat.seat >= 3, `${name}, ${colorScheme}: ${seat.name} is ${seat.seat}:1`)
            assert.ok(seat.letter === null || seat.letter >= 4.5, `${name}, ${colorScheme}: letter of ${seat.name} is ${seat.letter}:1`)
          }
          await picture(page, `${name}-${colorScheme}-${width}`)
          await close()
        }
      }
    }
  },
  async 'simulated voters are named and have square seats'() {
    const { origin, pathname } = new URL(simulated)
    const { page, close } = await open(origin, pathname)
    assert.match(await answer(page), /of \d+ simulated voters$/)
    assert.match(await page.title(), /^Simulated voters: /)
    assert.equal(await page.locator('.chamber > .seat circle').count(), 0)
    await picture(page, 'simulated')
    await close()
  },
  async 'a poll that stopped at its budget says so above the meter'() {
    const { page, close } = await state('budget')
    const lines = (await page.locator('.sure').innerText()).split('\n')
    assert.equal(lines[0], 'Stopped at the budget')
    await close()
  },
  async 'a private poll has a lock and its link, and no card'() {
    const { page, close } = await state('private')
    assert.ok(await page.locator('.kicker .lock').isVisible())
    assert.match(await page.locator('.kicker').innerText(), /Private/)
    await page.getByRole('button', { name: 'Copy link' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Share' }).count(), 0)
    assert.equal(await page.locator('main [href$=".png"], meta[content$=".png"]').count(), 0)
    await close()
  },
  async 'Share shows the card and the link, with a script and without one'() {
    for (const javaScriptEnabled of [true, false]) {
      const { page, close } = await state('won', { javaScriptEnabled })
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      const requested = []
      page.on('request', (request) => requested.push(new URL(request.url()).pathname))
      const dialog = page.getByRole('dialog', { name: 'Share this poll' })
      assert.equal(await dialog.isVisible(), false)
      await page.waitForTimeout(300)
      assert.ok(!requested.some((path) => path.endsWith('.png')), 'the card is loaded before it is seen')
      await page.getByRole('button', { name: 'Share' }).click()
      await dialog.waitFor()
      // Without scripts, browsers load all pictures at once.
      await page.waitForFunction(() => document.querySelector('.sharing img').naturalWidth === 1200)
      assert.equal(await page.getByLabel('Link').inputValue(), base + states.won)
      const copy = dialog.getByRole('button', { name: 'Copy link' })
      assert.equal(await copy.isVisible(), javaScriptEnabled)
      if (javaScriptEnabled) {
        await copy.click()
        await dialog.getByRole('button', { name: 'Copied' }).waitFor()
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), base + states.won)
        await assertAccessible(page, 'the share popover')
        await picture(page, 'shared')
      }
      await dialog.getByRole('button', { name: 'Close' }).click()
      assert.equal(await dialog.isVisible(), false)
      await close()
    }
  },
  async 'Share opens the menu of the system where there is one'() {
    const before = (page) => page.addInitScript(() => {
      navigator.share = async (shared) => { window.shared = shared; if (window.fails) throw new Error('no menu') }
    })
    const { page, close } = await state('won', { before })
    await page.getByRole('button', { name: 'Share' }).click()
    await page.waitForFunction(() => window.shared)
    const { title, url } = await page.evaluate(() => window.shared)
    assert.equal(title.replace(' · ', ' '), await answer(page))
    assert.equal(url, base + states.won)
    assert.equal(await page.getByRole('dialog').isVisible(), false)
    await page.evaluate(() => { window.fails = true })
    await page.getByRole('button', { name: 'Share' }).click()
    await page.getByRole('dialog').waitFor()
    await close()
  },
  async 'a long question is clamped until it is asked for, and always whole for assistive technology'() {
    for (const width of [1440, 375]) {
      const { page, close } = await state('long', { javaScriptEnabled: false, viewport: { width, height: 812 } })
      const heading = page.getByRole('heading', { level: 1 })
      assert.equal((await heading.textContent()).trim(), question)
      const hidden = () => heading.evaluate((heading) => heading.scrollHeight - heading.clientHeight)
      const lines = await heading.evaluate((heading) => heading.clientHeight / Number.parseFloat(getComputedStyle(heading).lineHeight))
      assert.ok(await hidden() > 10 && lines < 3.2, `${lines} lines at ${width}`)
      await page.getByText('Show all').click()
      assert.equal(await hidden(), 0)
      await page.getByText('Show less').waitFor()
      await close()
    }
    const { page, close } = await state('won')
    assert.equal(await page.getByText('Show all').count(), 0)
    await close()
  },
  async 'print is light, has the address and letters, and no buttons'() {
    for (const name of ['won', 'many', 'long']) {
      const { page, close } = await state(name, { colorScheme: 'dark', viewport: { width: 700, height: 1000 } })
      await page.emulateMedia({ media: 'print' })
      assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'light')
      assert.ok(await page.getByText(base + states[name], { exact: true }).isVisible())
      assert.equal(await page.locator('button:visible, summary.quiet:visible, nav:visible').count(), 0, name)
      assert.ok(await page.locator('.chamber > .seat > text').first().isVisible())
      assert.ok(await page.locator('tbody tr').first().isVisible(), 'the votes are printed')
      assert.equal(await page.locator('h1').evaluate((heading) => heading.scrollHeight - heading.clientHeight), 0)
      await picture(page, `${name}-print`)
      await close()
    }
  },
  async 'seats differ without colours'() {
    const { page, close } = await state('won', { forcedColors: 'active', reducedMotion: 'reduce' })
    const seats = await page.locator('.chamber > .seat').evaluateAll((seats) => seats.map((seat) => {
      const shape = getComputedStyle(seat.querySelector('circle'))
      const letter = seat.querySelector(':scope > text')
      return { won: seat.classList.contains('won'), key: letter.textContent, edge: shape.stroke, fill: shape.fill, ink: getComputedStyle(letter).fill }
    }))
    for (const { key, edge, fill, ink } of seats) assert.ok(edge !== 'none' && (!key || ink !== fill), JSON.stringify({ key, edge, fill, ink }))
    const fills = (won) => new Set(seats.filter((seat) => seat.won === won).map(({ fill }) => fill))
    assert.equal(new Set([...fills(true), ...fills(false)]).size, 2, 'the winner stands out')
    await picture(page, 'forced-colours')
    await close()
  },
  async 'every seat of a large panel has its letter on a phone'() {
    for (const name of ['many', 'ten', 'budget']) {
      for (const width of [375, 320]) {
        const { page, close } = await state(name, { viewport: { width, height: 812 } })
        const keys = await page.locator('.bars > li').evaluateAll((bars) => Object.fromEntries(bars.map((bar) => [bar.className.match(/option-\d+/)[0], bar.querySelector('.key').textContent])))
        const seats = await page.locator('.chamber > .seat[class*="option-"]').evaluateAll((seats) => seats.map((seat) => {
          const letter = seat.querySelector('text')
          const [shape, text] = [seat.querySelector('circle'), letter].map((part) => part.getBoundingClientRect())
          const middle = [(text.left + text.right) / 2 - (shape.left + shape.right) / 2, (text.top + text.bottom) / 2 - (shape.top + shape.bottom) / 2]
          return { option: seat.getAttribute('class').match(/option-\d+/)[0], key: letter.textContent, visible: letter.checkVisibility() && text.width > 0, size: text.height, off: Math.hypot(...middle) / shape.width }
        }))
        assert.ok(seats.length > 0, name)
        for (const { option, key, visible, size, off } of seats) {
          assert.ok(visible && key === keys[option] && size > 8 && off < 0.15, `${name} at ${width}: ${JSON.stringify({ option, key, visible, size, off })}`)
        }
        await close()
      }
    }
  },
  async 'the focus of a seat surrounds this seat alone'() {
    for (const name of ['won', 'many']) {
      const { page, close } = await state(name)
      await page.locator('.seat[tabindex="0"]').focus()
      await page.keyboard.press('ArrowRight')
      const { seat, focus, outline } = await page.evaluate(() => {
        const focused = document.activeElement
        const width = (element) => element.getBoundingClientRect().width
        return { seat: width(focused.querySelector('circle')), focus: width(focused), outline: getComputedStyle(focused).outlineStyle }
      })
      assert.notEqual(outline, 'none')
      assert.ok(focus <= 1.3 * seat, `${name}: the focus of a seat ${seat} wide is ${focus} wide`)
      await close()
    }
  },
  async 'a frame shows the whole poll'() {
    for (const [name, path] of Object.entries({ ...states, ...frames }).filter(([name]) => name !== 'private')) {
      for (const most of [undefined, 400, 320]) {
        const described = new URL('/oembed', base)
        described.searchParams.set('url', base + path)
        if (most) described.searchParams.set('maxwidth', most)
        const { width, height } = await (await fetch(described)).json()
        const { page, close } = await open(base, path.replace('/results/', '/embed/'), { viewport: { width, height } })
        await page.evaluate(() => document.fonts.ready)
        const [whole, end] = await page.evaluate(() => [document.documentElement.scrollHeight, document.querySelector('.result > :last-child').getBoundingClientRect().bottom])
        assert.ok(whole <= height, `${name}: a frame of ${width} by ${height} shows ${whole}`)
        assert.ok(end > 0.75 * height, `${name}: a frame of ${width} by ${height} is filled to ${end}`)
        await picture(page, `${name}-frame-${width}`)
        await close()
      }
    }
  },
  async 'a poll from right to left begins at the right'() {
    for (const width of [1280, 375]) {
      for (const path of [states.rtl, states.rtl.replace('/results/', '/embed/')]) {
        const { page, close } = await open(base, path, { viewport: { width, height: 900 } })
        const edges = await page.evaluate(() => {
          const right = (node) => {
            const range = document.createRange()
            range.selectNodeContents(node)
            return Math.round(range.getBoundingClientRect().right)
          }
          const [article, bars] = ['article', '.bars'].map((part) => Math.round(document.querySelector(part).getBoundingClientRect().right))
          return {
            headline: ['h1', '#answer', '.kicker'].map((part) => document.querySelector(part)).filter(Boolean).map((node) => right(node) - article),
            options: [...document.querySelectorAll('.bars bdi')].map((node) => right(node) - bars),
            score: getComputedStyle(document.querySelector('#answer > span')).direction,
          }
        })
        assert.ok([...edges.headline, ...edges.options].every((off) => Math.abs(off) <= 2), `${path} at ${width}: ${JSON.stringify(edges)}`)
        assert.equal(edges.score, 'ltr')
        await close()
      }
    }
  },
  async 'no state moves while it loads'() {
    for (const name of Object.keys(states)) {
      const options = name === 'private' ? owned : {}
      await Promise.all([[1440, 900], [375, 667], [320, 568]].map(([width, height]) => assertStill(base, states[name], { ...options, viewport: { width, height } })))
    }
  },
  async 'nothing covers the focus on a phone'() {
    for (const name of ['won', 'many', 'failures']) {
      const { page, close } = await state(name, { viewport: { width: 375, height: 667 } })
      await assertFocusUncovered(page, name)
      await close()
    }
  },
  async 'nothing moves for those who asked for less motion'() {
    const { page, close } = await state('won', { reducedMotion: 'reduce' })
    const moving = await page.evaluate(() => [...document.querySelectorAll('main *')]
      .filter((element) => { const style = getComputedStyle(element); return style.transitionDuration !== '0s' || style.animationName !== 'none' })
      .map((element) => element.outerHTML.slice(0, 60)))
    assert.deepEqual(moving, [])
    await close()
  },
}

/** Hides or shows a page, as the browser does when one changes tabs. */
const hide = (page, hidden) => page.evaluate((hidden) => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}, hidden)
const release = (calls) => console.log(`release ${calls}`)

/** Every count of a running page. They come from one vote, so they agree at any time. */
const live = (page) => page.evaluate(() => ({
  bars: [...document.querySelectorAll('.votes')].reduce((sum, { textContent }) => sum + Number(textContent), 0),
  middle: Number.parseInt(document.querySelector('.rest text').textContent),
  seats: document.querySelectorAll('.chamber > .seat[class*="option-"]').length,
  answer: Number((document.querySelector('#answer > span').textContent.match(/of (\d+)|after (\d+)/) ?? []).slice(1).find(Boolean) ?? 0),
  said: Number((document.getElementById('progress').textContent.match(/of (\d+) AI|after (\d+)/) ?? []).slice(1).find(Boolean) ?? 0),
}))

/** Lets calls of all polls through, in whatever order, until this page has more than `before` votes, or has ended. */
async function grow(page, before) {
  for (let left = 40; left > 0; left--) {
    release(10)
    const grown = await page.waitForFunction((before) => !document.querySelector('[data-events]')
      || [...document.querySelectorAll('.votes')].reduce((sum, { textContent }) => sum + Number(textContent), 0) > before, before, { timeout: 1000 })
      .catch((error) => { if (left === 1) throw error })
    if (grown) return
  }
}

const RUNNING = {
  async 'the counts of a running poll agree, wherever they are said'() {
    const { page, close } = await open(base, running[0])
    for (const text of ['will be', 'once the poll', 'later', 'at the end', 'when it ends']) {
      assert.ok(!(await page.locator('main').innerText()).toLowerCase().includes(text), text)
    }
    await grow(page, 0)
    await page.waitForFunction(() => /of \d+ AI models|after \d/.test(document.getElementById('progress').textContent), undefined, { timeout: WAIT_MS })
    // The status line follows every few seconds.
    await page.waitForTimeout(6000)
    const { bars, ...others } = await live(page)
    assert.ok(bars > 0)
    for (const [name, count] of Object.entries(others)) assert.equal(count, bars, `${name}: ${JSON.stringify({ bars, ...others })}`)
    await picture(page, 'running')
    await close()
  },
  async 'a lost connection is said at once, and comes back'() {
    const { page, close } = await open(base, running[1], {
      before: (page) => page.route('**/events', (route) => route.abort()),
    })
    await page.locator('.live', { hasText: 'Reconnecting…' }).waitFor({ timeout: 2000 })
    assert.equal(await page.locator('#progress').textContent(), 'Reconnecting…')
    await picture(page, 'reconnecting')
    await page.unroute('**/events')
    await page.locator('.live', { hasText: 'Voting now' }).waitFor({ timeout: WAIT_MS })
    await page.context().setOffline(true)
    await page.locator('.live', { hasText: 'Reconnecting…' }).waitFor({ timeout: 2000 })
    await page.context().setOffline(false)
    await page.locator('.live', { hasText: 'Voting now' }).waitFor({ timeout: WAIT_MS })
    // A stream that is refused is opened again, too.
    await page.route('**/events', (route) => route.fulfill({ status: 502 }))
    await hide(page, false)
    await page.locator('.live', { hasText: 'Reconnecting…' }).waitFor({ timeout: 2000 })
    await page.unroute('**/events')
    await page.waitForEvent('load', { timeout: WAIT_MS })
    await page.locator('.live', { hasText: 'Voting now' }).waitFor()
    await close().catch((error) => assert.match(error.message, /Failed to load resource|ERR_/))
  },
  async 'seven tabs with running polls are followed, each while it is seen'() {
    const context = await browser.newContext()
    const tabs = []
    for (const path of running) {
      const tab = await open(base, path, { context })
      await tab.page.waitForFunction(() => document.querySelector('.live').textContent === 'Voting now')
      await hide(tab.page, true)
      tabs.push(tab)
    }
    const [first, last] = [tabs[0].page, tabs.at(-1).page]
    const counted = async (page) => (await live(page)).bars
    const before = await counted(first)
    await hide(last, false)
    await grow(last, await counted(last))
    assert.equal(await counted(first), before, 'a hidden page is still')
    await hide(first, false)
    await grow(first, before)
    release(10_000)
    for (const { page } of tabs) {
      await hide(page, false).catch(() => {})
      await page.waitForFunction(() => !document.querySelector('[data-events]'), undefined, { timeout: WAIT_MS })
      assert.match(await answer(page), /^A tie/)
    }
    await context.close()
  },
}

/** A page that follows a poll at this width. */
async function followed(width) {
  const opened = await open(base, growing, { before: watchMoves, viewport: { width, height: 667 } })
  await opened.page.waitForFunction(() => document.querySelector('.live').textContent === 'Voting now')
  return { ...opened, width }
}

const GROWING = {
  async 'a running poll does not move while it grows'() {
    const pages = await Promise.all([1280, 375, 320].map(followed))
    for (let turn = 0; turn < 3; turn++) {
      const before = (await live(pages[0].page)).bars
      release(3)
      for (const { page } of pages) {
        await page.waitForFunction((before) => [...document.querySelectorAll('.votes')].reduce((sum, { textContent }) => sum + Number(textContent), 0) > before, before, { timeout: WAIT_MS })
      }
    }
    for (const { page, width, close } of pages) {
      await assertUnmoved(page, `the running poll at ${width}`)
      await close()
    }
  },
}

await run(growing ? GROWING : running ? RUNNING : FINISHED)
