// Asks questions in a real browser. Arguments: the service's URL, then as JSON: `provider`, the origin of the identity
// provider; `screenshots`, a folder.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { assertAccessible, open as openPage, run } from './browser.mjs'

const [base, given] = process.argv.slice(2)
const { provider, screenshots } = JSON.parse(given)
const PHONE = { viewport: { width: 375, height: 812 } }
const STILL = { javaScriptEnabled: false }


/** Opens a page in a new browser, with what a person uses on it. */
async function open(path, options = {}) {
  const opened = await openPage(base, path, { visited: [provider], ...options })
  const { page } = opened
  return {
    ...opened,
    question: page.getByLabel('Your question'),
    option: (key) => page.getByLabel(`Option ${key}`, { exact: true }),
    ask: page.getByRole('button', { name: 'Ask', exact: true }),
    panels: page.locator('.voters summary'),
    limit: page.locator('#limit'),
    focused: page.locator(':focus'),
  }
}

async function isIn(page, locator) {
  const { y, height } = await locator.boundingBox()
  return y >= 0 && y + height <= page.viewportSize().height && await page.evaluate(() => scrollY === 0)
}

async function accessible(page, name) {
  await assertAccessible(page, name)
  if (!screenshots) return
  await mkdir(screenshots, { recursive: true })
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true })
}

/** The page of a result, with this question. */
async function result(page, question) {
  await page.waitForURL(/\/results\/EP-/)
  assert.equal(await page.locator('h1').innerText(), question)
}

const CHECKS = {
  async 'the first screen of a phone asks'() {
    for (const options of [PHONE, { ...PHONE, ...STILL }]) {
      const { page, question, ask, focused, close } = await open('/', options)
      assert.ok(await isIn(page, ask), 'the button is on the first screen')
      let stops = 0
      await question.focus()
      for (; await focused.innerText().catch(() => '') !== 'Ask'; stops++) await page.keyboard.press('Tab')
      assert.ok(stops <= 2, `${stops} stops from the question to the button`)
      for (const example of await page.locator('.examples a').all()) assert.ok(await isIn(page, example))
      await close()
    }
  },
  async 'an example fills the form'() {
    const { page, question, option, ask, close } = await open('/', { ...PHONE, ...STILL })
    await page.getByRole('link', { name: 'Best first programming language?' }).click()
    assert.equal(await question.inputValue(), 'Which programming language should a beginner learn first?')
    assert.equal(await option('C').inputValue(), 'Scratch')
    assert.ok(await isIn(page, ask), 'the button is still on the first screen')
    await ask.click()
    await result(page, 'Which programming language should a beginner learn first?')
    await close()
  },
  async 'options appear as one types, up to the limit of the panel'() {
    for (const options of [{}, STILL]) {
      const { page, question, option, panels, close } = await open('/', options)
      const shown = () => page.locator('.options input:visible').count()
      assert.equal(await shown(), 0)
      await question.fill('Which letter is best?')
      assert.equal(await shown(), 2)
      for (const [count, key] of ['A', 'B', 'C', 'D', 'E'].entries()) {
        await option(key).fill(`Letter ${key}`)
        assert.equal(await shown(), Math.min(5, Math.max(2, count + 2)))
      }
      assert.ok(await page.getByText('2 to 5 options of up to 50 characters').isVisible())
      assert.match(await panels.innerText(), /^15 simulated models/)
      await panels.click()
      await page.getByLabel('Quick').check()
      assert.match(await panels.innerText(), /^Quick/)
      assert.equal(await shown(), 6)
      assert.ok(await page.getByText('2 to 10 options of up to 200 characters').isVisible())
      assert.match(await page.locator('.choice-of-panel').innerText(), /under 1 cent\s+\d+–\d+ models\. Fast and cheap\./)
      await close()
    }
  },
  async 'Ctrl+Enter and Cmd+Enter send the form, and Enter goes to the next option'() {
    const first = await open('/')
    await first.question.fill('Is it sent by keys? [Yes, No]')
    await first.question.press('Control+Enter')
    await result(first.page, 'Is it sent by keys?')
    await first.close()
    const { page, question, option, focused, close } = await open('/')
    await question.fill('Which key is best?')
    await option('A').fill('Enter')
    await option('A').press('Enter')
    assert.equal(await focused.getAttribute('aria-label'), 'Option B')
    await page.keyboard.type('Tab')
    await page.keyboard.press('Meta+Enter')
    await result(page, 'Which key is best?')
    // The page of a running poll changes when the poll ends, which would interrupt the way back.
    await page.getByText(/of \d+ simulated voters|^A tie/).first().waitFor()
    await page.waitForLoadState()
    await Promise.all([page.waitForURL((url) => url.pathname === '/'), page.evaluate(() => history.back())])
    assert.equal(await question.inputValue(), 'Which key is best?')
    assert.equal(await option('B').inputValue(), 'Tab')
    await close()
  },
  async 'a pasted list fills the options'() {
    const { page, question, option, limit, close } = await open('/')
    await question.fill('Which number is best?')
    await option('A').evaluate((input) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData('text', '- One\n- Two\n3. Three\nFour\nFive\nSix')
      input.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    })
    assert.equal(await option('C').inputValue(), 'Three')
    assert.equal(await option('E').inputValue(), 'Five')
    assert.match(await limit.innerText(), /^1 of the lines .* 5 options/)
    await close()
  },
  async 'the choice of a panel is in view as soon as it opens'() {
    for (const options of [{}, STILL]) {
      for (const [width, height] of [[1280, 720], [1280, 600], [375, 812], [375, 667], [320, 568]]) {
        const { page, panels, close } = await open('/', { ...options, viewport: { width, height } })
        await panels.click()
        const box = await page.locator('.choice-of-panel').boundingBox()
        assert.ok(box.y >= 0 && box.y + box.height <= height && box.height >= 150, `${width} by ${height}: ${JSON.stringify(box)}`)
        assert.ok(box.x >= 0 && box.x + box.width <= width, `${width} by ${height}: ${JSON.stringify(box)}`)
        // All panels are reached, by scrolling if there is less room.
        await page.getByLabel('Thorough').check()
        assert.match(await panels.innerText(), /^Thorough/)
        await close()
      }
    }
  },
  async 'limits are shown before they are exceeded'() {
    const { page, question, option, limit, panels, close } = await open('/')
    await question.fill('x'.repeat(900))
    assert.equal(await limit.innerText(), 'The question: 100 characters left.')
    await question.fill('x'.repeat(1001))
    assert.equal(await limit.innerText(), 'The question is 1 character too long.')
    assert.equal(await question.getAttribute('aria-invalid'), 'true')
    await question.fill('Which text is short?')
    assert.equal(await question.getAttribute('aria-invalid'), null)
    await option('A').fill('👍'.repeat(53))
    assert.equal(await limit.innerText(), 'Option A is 3 characters too long.')
    assert.equal(await option('A').getAttribute('aria-invalid'), 'true')
    await panels.click()
    await page.getByLabel('Quick').check()
    assert.equal(await limit.innerText(), '')
    assert.equal(await option('A').getAttribute('aria-invalid'), null)
    await page.keyboard.press('Escape')
    assert.ok(!await page.locator('.choice-of-panel').isVisible())
    await close()
  },
  async 'what is wrong is marked and focused, and nothing is lost'() {
    const cases = [
      [['Only one'], 'Option B', 'Add at least one more option.'],
      [['Tea', 'Tea'], 'Option B', 'Option B is the same as option A; change or remove one of them.'],
      [['Tea', 'x'.repeat(53)], 'Option B', 'Option B has 53 characters; shorten it to 50.'],
    ]
    for (const options of [{}, STILL]) {
      for (const [texts, name, message] of cases) {
        const { page, question, option, ask, focused, close } = await open('/', options)
        await question.fill('What is the best drink?')
        for (const [index, text] of texts.entries()) await option('ABC'[index]).fill(text)
        await ask.click()
        await page.getByText(message).waitFor()
        assert.match(await page.title(), /^Not asked: /)
        assert.equal(await focused.getAttribute('aria-label'), name, message)
        assert.equal(await focused.getAttribute('aria-invalid'), 'true')
        const described = await focused.getAttribute('aria-describedby')
        assert.equal(await page.locator(`#${described}`).innerText(), message)
        assert.equal(await question.inputValue(), 'What is the best drink?')
        for (const [index, text] of texts.entries()) assert.equal(await option('ABC'[index]).inputValue(), text)
        await close()
      }
    }
    const { page, question, ask, focused, close } = await open('/')
    await question.fill('\u200b')
    await ask.click()
    await page.getByText('The question is blank; write some text.').waitFor()
    assert.equal(await focused.getAttribute('id'), 'question')
    await accessible(page, 'start-refused')
    await close()
  },
  async 'an open question gets proposed options, which can be changed'() {
    for (const options of [{}, STILL]) {
      const { page, question, option, ask, close } = await open('/', options)
      await question.fill('What is the best drink?')
      await ask.click()
      await page.getByText(/^Proposed by .* and .*\./).waitFor()
      assert.match(await option('A').inputValue(), /^Simulated answer \d$/)
      assert.match(await option('B').inputValue(), /^Simulated answer \d$/)
      if (options !== STILL) await accessible(page, 'start-proposed')
      await option('A').fill('Tea')
      await ask.click()
      await result(page, 'What is the best drink?')
      assert.ok((await page.locator('main').innerText()).includes('Tea'))
      await close()
    }
  },
  async 'a panel that needs an account leads through a sign-in and back'() {
    for (const options of [{}, STILL]) {
      const { page, context, urls, question, option, ask, panels, close } = await open('/', options)
      await question.fill('Which tree suits a small garden?')
      await option('A').fill('Apple')
      await option('B').fill('Cherry; “sour”')
      await panels.click()
      await page.getByLabel('Quick').check()
      await page.locator('h1').click()
      await ask.click()
      await page.waitForURL(/\/login\?return_to=%2Fask$/)
      assert.ok(await page.getByText('Your question is saved').isVisible())
      await page.getByRole('link', { name: /^Sign in at / }).click()
      await page.waitForURL(`${base}/ask`)
      assert.equal(await question.inputValue(), 'Which tree suits a small garden?')
      assert.equal(await option('B').inputValue(), 'Cherry; “sour”')
      assert.match(await panels.innerText(), /^Quick/)
      await panels.click()
      assert.ok(await page.getByText(/^\$\d\.\d+ left$/).isVisible())
      await page.getByLabel('Private').check()
      if (!options.javaScriptEnabled) await panels.click()
      else await page.keyboard.press('Escape')
      await ask.click()
      await result(page, 'Which tree suits a small garden?')
      const stored = (await context.cookies(`${base}/ask`)).filter(({ name }) => name === 'ep_question')
      assert.deepEqual(stored, [], 'the question is forgotten once it is asked')
      assert.deepEqual(urls.filter((url) => /garden|Cherry|Z2FyZG/.test(url)), [], 'the question is in no URL')
      await close()
    }
  },
  async 'the form is accessible in every state'() {
    for (const colorScheme of ['light', 'dark']) {
      for (const width of [1280, 375, 320]) {
        const { page, question, option, panels, close } = await open('/', { colorScheme, viewport: { width, height: 812 } })
        await question.fill('Which text is short?')
        await option('A').fill('x'.repeat(60))
        await accessible(page, `start-typed-${colorScheme}-${width}`)
        await panels.click()
        await accessible(page, `start-panels-${colorScheme}-${width}`)
        await page.evaluate(() => { document.documentElement.style.fontSize = '200%' })
        await accessible(page, `start-large-${colorScheme}-${width}`)
        await close()
      }
    }
  },
}

await run(CHECKS)
