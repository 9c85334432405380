import { onEnd, printLine } from './json-lines.mjs'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import * as schemas from '@x402/core/schemas'
import { makeFacilitator } from './settling.mjs'

const SOME_ADDRESS = '0x00000000000000000000000000000000DeaDBeef'
const ANYWHERE = ['ok', 'timeout', 'drop', 'drop-after', 'garbage', 'slow', 'slow-after']
const MODES = {
  supported: ANYWHERE,
  verify: [...ANYWHERE, 'reject', 'lie-payer'],
  settle: [...ANYWHERE, 'reject', 'lie-payer', 'lie-tx', 'pending', 'lost-receipt'],
}

const config = JSON.parse(process.argv[2])
const facilitator = makeFacilitator(config)
const requests = []
const failures = { supported: [], verify: [], settle: [] }

const routes = {
  'GET /supported': (request, response) => answer('supported', request, response),
  'POST /verify': (request, response) => answer('verify', request, response),
  'POST /settle': (request, response) => answer('settle', request, response),
  'POST /test/fail': async (request, response) => sendJson(response, 200, planFailures(await json(request))),
  'GET /test/requests': (_request, response) => sendJson(response, 200, { requests }),
}

const server = createServer(handle)
await new Promise((resolve, reject) => {
  server.once('error', reject).listen(config.port ?? 0, '127.0.0.1', resolve)
})

onEnd(() => server.closeAllConnections())
printLine({ url: `http://127.0.0.1:${server.address().port}` })

async function handle(request, response) {
  const { pathname } = new URL(request.url, 'http://localhost')
  try {
    const route = routes[`${request.method} ${pathname}`]
    if (route) await route(request, response)
    else sendJson(response, 404, { error: 'no such path' })
  } catch (error) {
    sendJson(response, 400, { error: error.message })
  }
}

async function answer(operation, request, response) {
  const mode = failures[operation].shift() ?? 'ok'
  const seen = { path: `/${operation}`, headers: request.headers, body: null, mode, status: null }
  requests.push(seen)
  if (request.method === 'POST') seen.body = await json(request)

  const [name, argument] = mode.split(':')
  if (name === 'timeout') return
  if (name === 'drop') return request.socket.destroy()
  if (name === 'slow') await sleep(Number(argument))

  let [status, value] = [200, null]
  if (name === 'garbage') {
    seen.status = status
    return response.writeHead(status, { 'content-type': 'text/plain' }).end('not what you asked for')
  } else if (/^\d+$/.test(name)) {
    [status, value] = [Number(name), { error: 'the test asked for it' }]
  } else if (name === 'reject') {
    [status, value] = [Number(argument ?? 200), refusal(operation, seen.body)]
  } else {
    [status, value] = await perform(operation, seen.body, name)
  }

  if (name === 'slow-after') await sleep(Number(argument))
  if (name === 'drop-after') return request.socket.destroy()
  seen.status = status
  sendJson(response, status, value)
}

async function perform(operation, body, name) {
  if (operation === 'supported') return [200, facilitator.supported()]
  const complaint = complaintAbout(body)
  if (complaint) return [400, { error: complaint }]
  try {
    return [200, await act(operation, body, name)]
  } catch (error) {
    return [500, { error: error.message }]
  }
}

async function act(operation, body, name) {
  if (name === 'lie-tx') {
    const { from: payer } = body.paymentPayload.payload.authorization
    const { network } = body.paymentRequirements
    return { success: true, payer, transaction: `0x${randomBytes(32).toString('hex')}`, network }
  }
  if (name === 'pending' || name === 'lost-receipt') {
    const { result, transaction } = await facilitator.settleWithoutReceipt(body)
    // Version 1 of the library omits the hash; other facilitators return it in both versions.
    const reported = name === 'pending' && transaction
    return reported ? { ...result, errorReason: 'settlement_pending', transaction } : result
  }
  const result = await facilitator[operation](body)
  return name === 'lie-payer' ? { ...result, payer: SOME_ADDRESS } : result
}

function refusal(operation, body) {
  const reason = 'the_test_asked_for_it'
  if (operation === 'verify') return { isValid: false, invalidReason: reason }
  return { success: false, errorReason: reason, transaction: '', network: body.paymentRequirements.network }
}

// The library itself does not check this.
function complaintAbout(body) {
  const version = body.x402Version
  if (version !== 1 && version !== 2) return 'x402Version is neither 1 nor 2'
  for (const [member, kind] of [['paymentPayload', 'Payload'], ['paymentRequirements', 'Requirements']]) {
    const { success, error } = schemas[`Payment${kind}V${version}Schema`].safeParse(body[member])
    if (!success) return `${member}: ${error.message}`
  }
  return null
}

function planFailures(plan) {
  for (const [operation, modes] of Object.entries(plan)) {
    if (!MODES[operation]) throw new Error(`no such operation: ${operation}`)
    for (const mode of modes) {
      const [name, argument] = mode.split(':')
      if (!MODES[operation].includes(name) && !/^[45]\d\d$/.test(name)) throw new Error(`no such mode: ${mode}`)
      const needsNumber = name.startsWith('slow')
      if ((needsNumber || argument !== undefined) && !/^\d+$/.test(argument)) throw new Error(`no number in ${mode}`)
    }
  }
  for (const [operation, modes] of Object.entries(plan)) failures[operation] = [...modes]
  return failures
}

function sendJson(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
