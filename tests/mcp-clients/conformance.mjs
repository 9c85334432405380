// Runs the official conformance suites against `ep serve`, built with the feature conformance-fixtures.
//
//   node conformance.mjs <path of ep>
//
// The suites send no credential: a proxy adds it.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const [ep] = process.argv.slice(2)
if (!ep) {
  console.error('usage: node conformance.mjs <path of ep>')
  process.exit(2)
}
const data = mkdtempSync(join(tmpdir(), 'ep-conformance-'))
const env = {
  EP_CONFIG: '/dev/null', EP_DATA_DIR: data, EP_DEMO_PACE: '0', EP_RATE_LIMIT_PER_MINUTE: '0', EP_LOG_FORMAT: 'json',
}
const user = ['admin', 'create-user', '--email', 'suite@example.com', '--credit-usd', '5', '--json']
const key = JSON.parse(execFileSync(ep, user, { env, encoding: 'utf8' })).api_key
const server = spawn(ep, ['serve', '--listen', '127.0.0.1:0'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
process.on('exit', () => {
  server.kill()
  rmSync(data, { recursive: true, force: true })
})

/** The address that the server logs. */
async function address() {
  for await (const line of createInterface(server.stderr)) {
    if (!line.startsWith('{')) continue
    const { fields } = JSON.parse(line)
    if (fields.message === 'listening') return `http://${fields.address}`
  }
  throw new Error('the server does not listen')
}
const target = await address()
server.stderr.resume()

const local = (name) => fileURLToPath(new URL(name, import.meta.url))
const CURRENT = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
const BASELINE = ['--expected-failures', local('baseline-2025-11-25.yml')]
const SUITES = [
  ['2026-07-28', CURRENT, ['--requirements', '2026-07-28']],
  ['2025-11-25', CURRENT, ['--requirements', '2025-11-25', ...BASELINE]],
  ['0.1.16', 'node_modules/conformance-2025/dist/index.js', ['--suite', 'active', ...BASELINE]],
]

const proxy = createServer((incoming, response) => {
  const headers = { ...incoming.headers, authorization: `Bearer ${key}` }
  const outgoing = request(new URL(incoming.url, target), { method: incoming.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers)
    answer.pipe(response)
  })
  outgoing.on('error', () => response.destroy())
  response.on('close', () => outgoing.destroy())
  incoming.pipe(outgoing)
}).listen(0, '127.0.0.1')
await once(proxy, 'listening')
const url = `http://127.0.0.1:${proxy.address().port}/api/mcp`

let failed = false
for (const [name, suite, options] of SUITES) {
  const child = spawn(process.execPath, [local(suite), 'server', '--url', url, ...options])
  let output = ''
  child.stdout.on('data', (text) => { output += text })
  child.stderr.on('data', (text) => { output += text })
  const [code] = await once(child, 'exit')
  const lines = output.split('\n').filter((line) => /^\s*[✓✗~]|^Total|Not scored|baseline|stale|expected/i.test(line))
  console.log(`== ${name}: exit code ${code}\n${lines.join('\n')}`)
  if (code !== 0) console.log(output.slice(-6000))
  failed ||= code !== 0
}
process.exit(failed ? 1 : 0)
