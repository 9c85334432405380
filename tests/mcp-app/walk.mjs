// The checks of an app, each in a new page of a host.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import {
  brief,  ARABIC, COSTS, DRY_RUN, ERROR, HOSTILE, NO_VOTES, TIE, finished, longAndRightToLeft, running, toolResult, votes,
} from './results.mjs'

const CSP = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
const HOST = '<!doctype html><html lang="en"><title>Host</title><link rel="icon" href="data:,"><body style="margin:0"><script src="/host.js"></script>'
const MOST_BYTES = 30 * 1024
const WAIT_MS = 4_000
const QUIET_MS = 1_500
const CAPABILITIES = { serverTools: {}, openLinks: {} }
const QUERY = { poll_id: finished().poll_id }

export const startBrowser = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'],
})

let bundle
async function hostScript() {
  bundle ??= build({
    entryPoints: [fileURLToPath(new URL('host.mjs', import.meta.url))],
    bundle: true, format: 'iife', platform: 'browser', write: false, logLevel: 'error',
  })
  return (await bundle).outputFiles[0].text
}

/** Walks all checks, or only one; the names of those that hold. */
export async function checkApp(browser, html, { only, screenshots } = {}) {
  assert.ok(Buffer.byteLength(html) <= MOST_BYTES, `the app has ${Buffer.byteLength(html)} bytes`)
  const files = { '/': ['text/html', HOST], '/host.js': ['text/javascript', await hostScript()], '/app.html': ['text/html', html] }
  const server = createServer(({ url }, response) => {
    const [type, content] = files[url] ?? []
    if (!type) return response.writeHead(404).end()
    const policy = url === '/app.html' ? { 'content-security-policy': CSP } : {}
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, ...policy }).end(content)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${server.address().port}`
  const done = []
  try {
    for (const [name, check] of Object.entries(CHECKS)) {
      if (only && name !== only) continue
      const shoot = async (page, shot) => screenshots && page.locator('iframe').screenshot({ path: join(screenshots, `${shot}.png`) })
      await inHost(browser, { origin, paths: Object.keys(files), shoot }, check).catch((error) => {
        throw new Error(`${name}: ${error.message}`, { cause: error })
      })
      done.push(name)
    }
  } finally {
    server.close()
    server.closeAllConnections()
  }
  assert.ok(done.length)
  return done
}

async function inHost(browser, { origin, paths, shoot }, check) {
  const context = await browser.newContext({ viewport: { width: 760, height: 2400 }, reducedMotion: 'reduce' })
  const faults = []
  context.on('request', (request) => {
    const { origin: target, pathname, protocol } = new URL(request.url())
    if (protocol === 'data:' || request.url() === 'about:srcdoc') return
    if (target !== origin || !paths.includes(pathname)) faults.push(`a request to ${request.url()}`)
  })
  const page = await context.newPage()
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(error.stack))
  let answer = () => { throw new Error('no call was expected') }
  await page.exposeFunction('callTool', (params) => answer(params))
  await page.goto(origin)
  const app = page.frameLocator('iframe')
  const host = {
    page, app, shoot,
    do: (what, params) => page.evaluate(([name, value]) => window.host[name](value), [what, params]),
    start: ({ width = 700, capabilities = CAPABILITIES, hostContext = {} } = {}) => host.do('start', { width, capabilities, hostContext }),
    seen: () => page.evaluate(() => window.host.seen),
    onCall(handler) { answer = handler },
    async show(content) {
      await host.do('input', { arguments: QUERY })
      await host.do('result', toolResult(content))
    },
    text: (id) => app.locator(`#${id}`).innerText(),
    async expect(id, words) {
      await until(async () => {
        const text = await app.locator(`#${id}`).innerText({ timeout: WAIT_MS })
        return words instanceof RegExp ? words.test(text) : text === words
      }, async () => `#${id} is ${JSON.stringify(await host.text(id))}, not ${words}`)
    },
    async hidden(...ids) {
      for (const id of ids) assert.equal(await app.locator(`#${id}`).isVisible(), false, `${id} is visible`)
    },
    async noOverflow() {
      const widths = await app.locator('html').evaluate((root) => [root.scrollWidth, root.clientWidth])
      assert.ok(widths[0] <= widths[1], `the app is ${widths[0]} px wide in ${widths[1]} px`)
    },
    async inside(expression) {
      return app.locator('html').evaluate(expression)
    },
  }
  try {
    await check(host)
    faults.push(...(await host.seen()).errors)
    assert.ok(!faults.length, faults.join('; '))
  } finally {
    await context.close()
  }
}

async function until(holds, explain) {
  const end = Date.now() + WAIT_MS
  while (!await holds()) {
    if (Date.now() > end) assert.fail(await explain())
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const CHECKS = {
  async handshake(host) {
    await host.start()
    const { initialized, app } = await host.seen()
    assert.equal(initialized, 1)
    assert.equal(app.info.name, 'ensemble-poll-result')
    assert.deepEqual(app.capabilities, { availableDisplayModes: ['inline'] })
    await host.expect('outcome', 'Waiting for the result')
    await host.do('input', { arguments: { question: 'Which drink suits a long meeting best?', options: ['Tea', 'Coffee'] } })
    await host.expect('question', 'Which drink suits a long meeting best?')
    await host.shoot(host.page, 'waiting-700')
  },

  async finished(host) {
    await host.start()
    await host.show(finished({ costs: COSTS }))
    await host.expect('outcome', 'Coffee')
    await host.expect('status', 'Finished')
    await host.expect('explanation', 'Most models agree: it won 14 of 16 votes; 2 went to other options.')
    await host.expect('caveat', 'Agreement is not proof.')
    await host.expect('tally', /Coffee\s+most votes:\s+14 votes · 88%\s+Tea\s+2 votes · 12%\s+Water\s+0 votes · 0%/)
    const facts = await host.text('facts')
    for (const words of [
      '98.8% (threshold 95%)', 'That the whole roster of 50 models would give this outcome, not that it is right.',
      'The confidence reached the threshold', '16 voted, 1 gave no vote, 33 not needed',
      '16 votes from 8 families', '$0.000511 of at most $1.00', '0.4 s', 'frontier_generalist',
    ]) assert.ok(facts.includes(words), `${words} is not in ${facts}`)
    await host.expect('notices', /1 of the 17 models that counted gave no vote/)
    await host.expect('source', 'EP-20261121-K4E0R5CZ1W · Nov 21, 2026')
    await host.expect('announcement', 'Winner. Coffee. Most models agree: it won 14 of 16 votes; 2 went to other options.')
    await host.hidden('simulated', 'progress', 'trouble', 'singles')
    assert.deepEqual((await host.seen()).calls, [])
    await host.shoot(host.page, 'finished-700')
    await host.do('resize', 280)
    await host.noOverflow()
    await host.shoot(host.page, 'finished-280')
  },

  async brief(host) {
    await host.start()
    const options = ['Keep the service and rewrite its slowest part', 'Keep the service and buy a larger machine', 'Rewrite it all']
    const question = 'Which of the three plans should be run?'
    await host.do('input', { arguments: { question, options, preset: 'budget', confidence_threshold: 0.9, max_cost_usd: 2 } })
    const tally = { '1. Keep the service and rew…': 1, '2. Keep the service and buy…': 1, '3. Rewrite it all': 1 }
    await host.do('result', toolResult(brief({ tally, outcome: 'tie', is_tie: true })))
    await host.expect('question', question)
    await host.expect('outcome', 'Tie')
    await host.expect('tally', /larger machine\s+most votes:\s+1 vote · 33%/)
    const percents = (await host.text('tally')).match(/\d+(?=%)/g).map(Number)
    assert.equal(percents.reduce((sum, percent) => sum + percent, 0), 100)
    await host.do('result', toolResult(brief({ tally: { ...tally, '2. Keep the service and buy…': 5 }, outcome: options[1] })))
    await host.expect('outcome', options[1])
    await host.expect('explanation', 'Most models agree: it won 5 of 7 votes; 2 went to other options.')
    const shown = await host.app.locator('.option').allInnerTexts()
    assert.deepEqual(shown.toSorted(), options.toSorted())
    const facts = await host.text('facts')
    for (const words of ['(threshold 90%)', 'of at most $2.00', 'budget']) assert.ok(facts.includes(words), `${words} is not in ${facts}`)
  },

  async outcomes(host) {
    await host.start()
    const win = (tally, changes) => finished({ tally, status: 'success', ...changes })
    const cases = [
      [win({ Tea: 0, Water: 0, Coffee: 9 }), 'The models agree: all 9 that voted chose it.'],
      [win({ Tea: 3, Water: 2, Coffee: 4 }), 'The models do not agree: it leads with 4 of 9 votes, which is no majority.'],
      [win({ Tea: 0, Water: 0, Coffee: 1 }), 'The only model that voted chose it.'],
      [win({ Tea: 0, Water: 0, Coffee: 1 }, { no_answer: 'unsupported' }), 'Missing votes could decide.'],
      [NO_VOTES, 'No model gave a vote.'],
      [TIE, 'The models do not agree: 2 options have 6 of 14 votes each.'],
    ]
    for (const [content, words] of cases) {
      await host.show(content)
      await host.expect('explanation', words)
    }
    await host.expect('outcome', 'Tie')
    await host.expect('simulated', 'Simulated voters')
    await host.expect('caveat', 'The voters are simulated: this says nothing about any real model.')
    await host.expect('facts', /Every model was asked/)
    assert.equal(await host.app.locator('.first').count(), 2)
    await host.shoot(host.page, 'tie-700')
    // Models that were asked but not counted are no models without a vote.
    await host.show(finished({ models_requested: 40, models_unused: 23, models_skipped: 10 }))
    await host.expect('facts', /16 voted, 1 gave no vote, 33 not needed/)
    await host.show(finished({ termination_reason: 'budget', models_requested: 40, models_unused: 23, models_skipped: 10 }))
    await host.expect('facts', /16 voted, 1 gave no vote, 23 not needed, 10 not asked/)
    await host.show(finished({ termination_reason: null }))
    await host.expect('status', 'Cancelled')
    await host.expect('facts', /cancelled, or interrupted/)
  },

  async refreshing(host) {
    await host.start()
    const steps = [
      toolResult(running({ answered: 9, tally: { Tea: 2, Water: 0, Coffee: 6 }, simulated: true })),
      { content: [{ type: 'text', text: 'too many requests' }], isError: true },
      toolResult(finished()),
    ]
    host.onCall(() => steps.shift() ?? assert.fail('a call too many'))
    await host.show(running())
    const shownAt = await host.page.evaluate(() => performance.now())
    await host.expect('status', 'Running')
    await host.expect('label', 'Leads so far')
    await host.expect('explanation', '4 of 5 votes so far. 6 of up to 50 models have answered.')
    assert.equal(await host.app.locator('#progress').evaluate((bar) => bar.position), 6 / 50)
    await host.shoot(host.page, 'running-700')
    await host.expect('explanation', '6 of 8 votes so far. 9 of up to 50 models have answered.')
    await host.expect('simulated', 'Simulated voters')
    await host.expect('trouble', 'Could not read the result again: too many requests')
    await host.expect('label', 'Winner')
    await host.hidden('trouble', 'progress')
    await pause(QUIET_MS)
    const { calls } = await host.seen()
    assert.deepEqual(calls.map(({ name, arguments: query }) => [name, query]), Array(3).fill(['get_poll_result', QUERY]))
    assert.ok(calls[0].at - shownAt > 500 && calls[1].at - calls[0].at >= 700, 'it asked too early')
    assert.ok(calls[2].at - calls[1].at >= 1_400, 'it did not wait longer after a failure')
  },

  async 'refreshing ends'(host) {
    await host.start()
    host.onCall(() => toolResult(ERROR))
    await host.show(running())
    await host.expect('trouble', 'Could not read the result again: options is missing')
    await host.expect('retry', 'Refresh')
    await pause(QUIET_MS)
    assert.equal((await host.seen()).calls.length, 1)
    host.onCall(() => toolResult(finished()))
    await host.app.locator('#retry').click()
    await host.expect('label', 'Winner')
    await host.hidden('retry', 'trouble')
  },

  async 'no server tools'(host) {
    await host.start({ capabilities: {} })
    await host.show(running())
    await host.expect('source', /This view cannot refresh itself here/)
    await host.expect('source', /https:\/\/polls\.example\.com\/api\/results\//)
    await pause(QUIET_MS)
    assert.deepEqual((await host.seen()).calls, [])
    await host.hidden('show-votes', 'open-link')
  },

  async queued(host) {
    await host.start()
    host.onCall(() => toolResult(running()))
    await host.show(running({ status: 'queued', queue_position: 3, tally: { Tea: 0, Water: 0, Coffee: 0 }, leader: null, answered: 0, confidence: 0 }))
    await host.expect('outcome', 'Waiting for its turn')
    await host.expect('explanation', 'Number 3 in line.')
    await host.expect('status', 'Running')
  },

  async teardown(host) {
    await host.start()
    host.onCall(() => toolResult(running()))
    await host.show(running())
    assert.deepEqual(await host.do('teardown'), {})
    await pause(QUIET_MS)
    assert.deepEqual((await host.seen()).calls, [])
  },

  async 'single votes'(host) {
    await host.start()
    host.onCall(({ arguments: query }) => toolResult(finished(query.include ? { votes: votes() } : {})))
    await host.show(finished({ costs: COSTS }))
    await host.app.locator('#show-votes').focus()
    await host.page.keyboard.press('Enter')
    await host.expect('singles-title', '2 models voted otherwise')
    assert.equal(await host.inside(() => document.activeElement.id), 'singles-title')
    const groups = await host.text('groups')
    for (const words of ['Tea · 2 votes', 'other/first-dissenter', 'Coffee · 14 votes', 'No vote · 1 model', 'slow/model: timeout']) {
      assert.ok(groups.includes(words), `${words} is not in ${groups}`)
    }
    await host.hidden('show-votes')
    assert.equal(await host.app.locator('details').evaluate((details) => details.open), false)
    await host.app.locator('summary').focus()
    await host.page.keyboard.press('Enter')
    await host.expect('groups', /maker-5\/model-11/)
    assert.match(await host.text('facts'), /\$0\.000511/)
    assert.deepEqual((await host.seen()).calls[0].arguments, { ...QUERY, include: ['votes'] })
    await host.shoot(host.page, 'votes-700')
    await host.do('resize', 280)
    await host.noOverflow()
    await host.shoot(host.page, 'votes-280')
  },

  async 'votes during a refresh'(host) {
    await host.start()
    host.onCall(async ({ arguments: query }) => {
      await pause(400)
      return toolResult(finished(query.include ? { votes: votes() } : {}))
    })
    await host.show(running())
    await until(async () => (await host.seen()).calls.length === 1, () => 'no call was made')
    await host.app.locator('#show-votes').click()
    await host.expect('singles-title', '2 models voted otherwise')
    const { calls } = await host.seen()
    assert.deepEqual(calls.map((call) => call.arguments.include), [undefined, ['votes']])
  },

  async link(host) {
    await host.start()
    await host.show(finished({ result_url: 'javascript:alert(1)' }))
    await host.expect('outcome', 'Coffee')
    await host.hidden('open-link')
    await host.show(finished())
    await host.app.locator('#open-link').click()
    await until(async () => (await host.seen()).links.length === 1, () => 'no link was opened')
    assert.deepEqual((await host.seen()).links, [finished().result_url])
  },

  async errors(host) {
    await host.start()
    await host.show(ERROR)
    await host.expect('outcome', 'The input is invalid')
    await host.expect('explanation', 'options is missing')
    await host.expect('notices', 'Change what the message names, then send the request again.')
    await host.hidden('certificate', 'votes', 'show-votes', 'open-link')
    await host.shoot(host.page, 'error-700')
    await host.show(DRY_RUN)
    await host.expect('outcome', 'The poll would be refused')
    await host.expect('facts', /\$0\.01 to \$0\.90/)
    await host.do('result', { content: [{ type: 'text', text: 'only words' }] })
    await host.expect('explanation', 'only words')
    await host.do('result', { content: [{ type: 'text', text: 'the server is away' }], isError: true })
    await host.expect('explanation', 'the server is away')
    await host.do('cancelled', { reason: 'the user stopped it' })
    await host.expect('explanation', 'the user stopped it')
  },

  async 'hostile texts'(host) {
    await host.start()
    const options = [HOSTILE, 'Other']
    await host.show(finished({
      question: HOSTILE, options, tally: { [HOSTILE]: 3, Other: 1 }, winning_option: HOSTILE, outcome: HOSTILE, preset: HOSTILE,
      notices: [HOSTILE], poll_id: HOSTILE, votes: [{ model_id: HOSTILE, success: true, chosen_option: HOSTILE }],
    }))
    for (const id of ['question', 'outcome', 'notices']) await host.expect(id, HOSTILE)
    await host.expect('tally', /<\/script><img src=x/)
    assert.equal(await host.inside((root) => root.querySelectorAll('img, b').length), 0)
    await host.show({ error: { title: HOSTILE, detail: HOSTILE, recovery_actions: [{ description: HOSTILE }] } })
    await host.expect('explanation', HOSTILE)
    assert.equal(await host.inside((root) => root.querySelectorAll('img, b').length), 0)
  },

  async 'long texts'(host) {
    await host.start({ width: 280 })
    await host.show(longAndRightToLeft())
    await host.expect('outcome', ARABIC)
    await host.noOverflow()
    assert.equal(await host.app.locator('#outcome').evaluate((shown) => getComputedStyle(shown).direction), 'rtl')
    const shown = await host.app.locator('.option').allInnerTexts()
    assert.deepEqual(shown, longAndRightToLeft().options)
    assert.match(await host.text('tally'), /7\s+4 votes · 11%\s+constructor\s+3 votes · 9%/)
    await host.shoot(host.page, 'long-280')
    await host.app.locator('#more').click()
    await host.expect('more', 'Show less')
    await host.noOverflow()
    await host.do('resize', 700)
    await host.app.locator('#more').click()
    await host.shoot(host.page, 'long-700')
  },

  async theme(host) {
    const variables = { '--color-background-primary': 'light-dark(rgb(1, 2, 3), rgb(4, 5, 6))', '--color-text-primary': 'rgb(250, 250, 250)' }
    const colour = () => host.app.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor)
    await host.start({ hostContext: { theme: 'dark', locale: 'de-DE' } })
    await host.show(finished({ costs: COSTS }))
    await host.expect('facts', /98,8\s%/)
    assert.equal(await colour(), 'rgb(28, 28, 31)')
    await host.shoot(host.page, 'dark-700')
    await host.do('resize', 280)
    await host.shoot(host.page, 'dark-280')
    await host.do('context', { styles: { variables } })
    await until(async () => await colour() === 'rgb(4, 5, 6)', async () => `the colour is ${await colour()}`)
    await host.do('context', { theme: 'light', locale: 'not a locale' })
    await until(async () => await colour() === 'rgb(1, 2, 3)', async () => `the colour is ${await colour()}`)
    await host.expect('facts', /98,8\s%/)
  },

  async size(host) {
    await host.start({ width: 500 })
    await host.show(finished())
    const height = () => host.inside((root) => root.getBoundingClientRect().height)
    const fits = async () => Math.abs((await host.seen()).sizes.at(-1)?.height - await height()) < 1
    await until(fits, async () => JSON.stringify((await host.seen()).sizes))
    const before = await height()
    await host.show(ERROR)
    await until(async () => await height() < before && await fits(), async () => JSON.stringify((await host.seen()).sizes))
    assert.equal((await host.seen()).sizes.at(-1).width, 500)
    const count = (await host.seen()).sizes.length
    await pause(500)
    assert.equal((await host.seen()).sizes.length, count, 'it tells its size again and again')
  },

  async 'malformed messages'(host) {
    await host.start()
    const method = 'ui/notifications/tool-result'
    const odd = [
      null, 'text', 7, [], {}, { jsonrpc: '1.0', method, params: toolResult(finished()) }, { jsonrpc: '2.0' }, { jsonrpc: '2.0', id: 99, result: {} },
      { jsonrpc: '2.0', method: 'unknown/notification' }, { jsonrpc: '2.0', method: 'constructor', params: 3 },
      { jsonrpc: '2.0', method, params: 'text' }, { jsonrpc: '2.0', method, params: { structuredContent: [1], content: [null, 3, {}] } },
      { jsonrpc: '2.0', method, params: { structuredContent: { status: 'success', tally: { a: 'x', b: -1e400 }, options: 7, votes: [3, {}], notices: [{}], families: 1, costs: 2, timing: null, created_at: {}, result_url: 5 } } },
      { jsonrpc: '2.0', method: 'ui/notifications/host-context-changed', params: { theme: 'pink', styles: { variables: { color: 'red', '--x': 3 } }, locale: 5 } },
    ]
    for (const message of odd) await host.do('raw', message)
    await host.show(finished())
    await host.expect('outcome', 'Coffee')
  },

  async 'other windows'(host) {
    await host.start()
    await host.show(finished())
    const params = toolResult(finished({ winning_option: 'Tea', outcome: 'Tea' }))
    await host.do('beside', { jsonrpc: '2.0', method: 'ui/notifications/tool-result', params })
    await pause(300)
    await host.expect('outcome', 'Coffee')
  },
}
