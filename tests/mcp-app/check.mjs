// Shows poll results in the app of the service as a host does, in Chromium, and checks what is shown.
//
//   node check.mjs <path of the app's HTML> [folder for screenshots] [--faults]
//
// With --faults, apps that are broken in several ways are checked, too: each has to be noticed.
// CHROMIUM names the browser; it is /usr/bin/chromium-headless-shell otherwise.
import { mkdir, readFile } from 'node:fs/promises'
import { checkApp, startBrowser } from './walk.mjs'

const withFaults = process.argv.includes('--faults')
const [path, screenshots] = process.argv.slice(2).filter((argument) => argument !== '--faults')
if (!path) {
  console.error('usage: node check.mjs <path of the app> [folder for screenshots]')
  process.exit(2)
}
const html = await readFile(path, 'utf8')
if (screenshots) await mkdir(screenshots, { recursive: true })
const browser = await startBrowser()
try {
  const checks = await checkApp(browser, html, { screenshots })
  console.log(`${checks.length} checks hold: ${checks.join(', ')}`)
  if (withFaults) await checkThatFaultsAreFound(browser, html)
} finally {
  await browser.close()
}

/** Breaks the app in several ways; each has to be noticed. */
async function checkThatFaultsAreFound(browser, html) {
  const script = '<script type="module">'
  const faults = [
    ['fetches from the network', script, `${script}fetch('https://example.com/').catch(() => {});`, 'finished'],
    ['loads an image', '<main id="card">', '<main id="card"><img src="https://example.com/x.png" alt="">', 'finished'],
    ['throws', script, `${script}setTimeout(() => { throw new Error('broken') }, 50);`, 'finished'],
    ['listens to every window', 'source !== window.parent || closed', 'closed', 'other windows'],
    ['sets text as HTML', 'made.append(...children)', "made.innerHTML = children.map((child) => child.outerHTML ?? child).join('')", 'hostile texts'],
    ['never refreshes', "{ name: 'get_poll_result'", "{ name: 'other_tool'", 'refreshing'],
    ['refreshes too early', 'number(poll.poll_after_ms)', '0', 'refreshing'],
    ['refreshes after its end', 'send(handler ? { id, result', 'closed = false; schedule(); send(handler ? { id, result', 'teardown'],
    ['calls it a proof', 'is not proof', 'is proof', 'finished'],
    ['overflows', 'overflow-wrap: anywhere', 'overflow-wrap: normal', 'long texts'],
    ['is always light', 'style.colorScheme = theme', "style.colorScheme = 'light'", 'theme'],
    ['does not tell its size', "'ui/notifications/size-changed'", "'notifications/message'", 'size'],
  ]
  for (const [fault, from, to, only] of faults) {
    if (!html.includes(from)) throw new Error(`the app has no ${from}: change this fault`)
    const found = await checkApp(browser, html.replace(from, () => to), { only }).then(() => null, (error) => error)
    if (!found) throw new Error(`nobody noticed an app that ${fault}`)
    console.log(`an app that ${fault}: ${found.message.split('\n', 1)[0].slice(0, 160)}`)
  }
}
