// Lighthouse results of pages. Arguments: the service's URL, then the paths.
//
// A score needs one sufficient run: a busy machine makes fast pages look slow, but never slow pages fast.
import assert from 'node:assert/strict'
import { launch } from 'chrome-launcher'
import lighthouse, { desktopConfig } from 'lighthouse'

const [base, ...paths] = process.argv.slice(2)
const CATEGORIES = ['performance', 'accessibility', 'best-practices', 'seo']
const LEAST_SCORE = 0.98
const MOST_BYTES = 40 * 1024
const MOST_LCP_MS = 300
const RUNS = 5

const chrome = await launch({
  chromePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  chromeFlags: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
})

async function run(path, config) {
  const { lhr } = await lighthouse(base + path, { port: chrome.port, onlyCategories: CATEGORIES, logLevel: 'error' }, config)
  assert.equal(lhr.runtimeError, undefined, `${path}: ${lhr.runtimeError?.message}`)
  return lhr
}

/** Returns the best of a few runs by a measure; stops at the first sufficient run. */
async function best(path, config, measure, isEnough) {
  let found
  for (let turn = 0; turn < RUNS; turn++) {
    const report = await run(path, config)
    if (found === undefined || measure(report) > measure(found)) found = report
    if (isEnough(found)) break
  }
  return found
}

/** Lighthouse does not know the `Content-Usage` directive of robots.txt; other complaints count. */
function knowsRobots({ audits }) {
  const complaints = audits['robots-txt'].details?.items ?? []
  return complaints.every(({ line }) => line.startsWith('Content-Usage:'))
}

/** Returns the score of a category with Lighthouse's weights; robots.txt counts only valid complaints. */
function score(report, name) {
  const { auditRefs } = report.categories[name]
  const scored = auditRefs.map(({ id, weight }) => {
    const found = id === 'robots-txt' ? Number(knowsRobots(report)) : report.audits[id].score
    return { weight: report.audits[id].score === null ? 0 : weight, found }
  })
  const whole = scored.reduce((sum, { weight }) => sum + weight, 0)
  return scored.reduce((sum, { weight, found }) => sum + weight * found, 0) / whole
}

const least = (report) => Math.min(...CATEGORIES.map((name) => score(report, name)))
const lcp = ({ audits }) => audits['largest-contentful-paint'].numericValue

try {
  for (const path of paths) {
    const phone = await best(path, undefined, least, (report) => least(report) >= LEAST_SCORE)
    const failed = Object.values(phone.audits).filter(({ score }) => score !== null && score < 0.9).map(({ id, displayValue }) => `${id} ${displayValue ?? ''}`)
    const scores = CATEGORIES.map((name) => `${name} ${Math.round(score(phone, name) * 100)}`).join(', ')
    assert.ok(least(phone) >= LEAST_SCORE, `${path}: ${scores}: ${failed.join('; ')}`)

    const loaded = phone.audits['network-requests'].details.items.filter(({ resourceType }) => ['Document', 'Stylesheet', 'Script'].includes(resourceType))
    const bytes = loaded.reduce((sum, { transferSize }) => sum + transferSize, 0)
    assert.ok(loaded.length >= 3 && bytes <= MOST_BYTES, `${path} loads ${bytes} bytes in ${loaded.length} files`)

    const desktop = { ...desktopConfig, settings: { ...desktopConfig.settings, throttlingMethod: 'provided' } }
    const quick = await best(path, desktop, (report) => -lcp(report), (report) => lcp(report) <= MOST_LCP_MS)
    assert.ok(lcp(quick) <= MOST_LCP_MS, `${path}: largest contentful paint after ${lcp(quick)} ms`)
    console.log(`${path}: ${scores}; ${bytes} bytes; largest contentful paint ${Math.round(lcp(quick))} ms`)
  }
} finally {
  await chrome.kill()
}
