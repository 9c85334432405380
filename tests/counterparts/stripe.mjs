import { onEnd, printLine } from './json-lines.mjs'
import { createServer } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { newId, openSession, Refusal } from './stripe-checkout.mjs'
import { makeControls } from './stripe-control.mjs'
import { API_VERSION, makeWebhooks } from './stripe-webhooks.mjs'

const CREATE = 'POST /v1/checkout/sessions'

const config = JSON.parse(process.argv[2])
if (!config.secretKey) throw new Error('secretKey is missing')
const payments = new Map()
const answersByKey = new Map()
const requests = []
const failNext = []
const webhooks = makeWebhooks(config.webhookUrl, config.webhookSecrets)
const canDeliver = Boolean(config.webhookUrl)
const controls = makeControls({ payments, webhooks, canDeliver, requests, failNext })

const server = createServer(handle)
await new Promise((resolve, reject) => {
  server.once('error', reject).listen(config.port ?? 0, '127.0.0.1', resolve)
})
const apiUrl = `http://127.0.0.1:${server.address().port}`

onEnd(() => server.closeAllConnections())
printLine({ apiUrl })

async function handle(request, response) {
  const { pathname, searchParams } = new URL(request.url, apiUrl)
  const route = `${request.method} ${pathname}`
  try {
    if (pathname.startsWith('/test/')) {
      const body = request.method === 'POST' ? await json(request) : {}
      sendJson(response, 200, await controls.run(route, body))
    } else if (pathname.startsWith('/pay/')) {
      await servePage(request, response, pathname.slice('/pay/'.length))
    } else {
      const pairs = [...searchParams, ...new URLSearchParams(await text(request))]
      serveApi(request, response, route, pathname, pairs)
    }
  } catch (error) {
    sendJson(response, 400, { error: error.message })
  }
}

function serveApi(request, response, route, path, pairs) {
  const seen = {
    method: request.method,
    path,
    params: Object.fromEntries(pairs),
    idempotency_key: request.headers['idempotency-key'] ?? null,
    status: null,
    replayed: false,
  }
  requests.push(seen)
  const failure = route === CREATE ? failNext.shift() : undefined
  if (failure === 'timeout') return
  if (failure === 'drop') return request.socket.destroy()

  const { status, body, replayed = false } = answerTo(request, route, pairs, failure)
  if (failure === 'drop-after') return request.socket.destroy()
  Object.assign(seen, { status, replayed })
  response.setHeader('request-id', newId('req_test'))
  if (replayed) response.setHeader('idempotent-replayed', 'true')
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

function answerTo(request, route, pairs, failure) {
  try {
    if (/^\d+$/.test(failure)) throw madeFailure(Number(failure))
    authorize(request.headers)
    if (route === CREATE) return createOnce(request.headers, pairs)
    const id = route.match(/^GET \/v1\/checkout\/sessions\/([^/]+)$/)?.[1]
    if (id) return retrieve(id, pairs)
    throw new Refusal(404, `Unrecognized request URL (${route}).`)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: error.status, body: JSON.stringify(error.body) }
  }
}

function madeFailure(status) {
  const message = 'the test asked for it'
  if (status >= 500) return new Refusal(status, message, { type: 'api_error' })
  if (status === 409) return new Refusal(status, message, { type: 'idempotency_error', code: 'idempotency_key_in_use' })
  if (status === 429) return new Refusal(status, message, { code: 'rate_limit' })
  return new Refusal(status, message)
}

function authorize(headers) {
  if (headers.authorization !== `Bearer ${config.secretKey}`) throw new Refusal(401, 'Invalid API Key provided')
  if (headers['stripe-version'] !== API_VERSION) {
    throw new Refusal(400, `Invalid Stripe API version: ${headers['stripe-version']}`)
  }
}

function createOnce(headers, pairs) {
  if (!/^application\/x-www-form-urlencoded\b/.test(headers['content-type'])) {
    throw new Refusal(400, 'The body must be a form: application/x-www-form-urlencoded')
  }
  const key = headers['idempotency-key']
  if (!key) throw new Refusal(400, 'Idempotency-Key is missing', { param: 'Idempotency-Key' })
  if (key.length > 255) throw new Refusal(400, 'Idempotency-Key is longer than 255 characters')
  const form = JSON.stringify(pairs.toSorted())
  const earlier = answersByKey.get(key)
  if (earlier && earlier.form !== form) {
    throw new Refusal(400, 'Keys for idempotent requests can only be used with the same parameters they were '
      + `first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
    { type: 'idempotency_error' })
  }
  if (earlier) return { ...earlier.answer, replayed: true }

  // Like Stripe, this stores no response for rejected parameters.
  const payment = openSession(pairs, apiUrl)
  payments.set(payment.session.id, payment)
  const answer = { status: 200, body: JSON.stringify(payment.session) }
  answersByKey.set(key, { form, answer })
  return answer
}

function retrieve(id, pairs) {
  for (const [param] of pairs) {
    throw new Refusal(400, `Received unknown parameter: ${param}`, { code: 'parameter_unknown', param })
  }
  const payment = payments.get(id)
  if (!payment) {
    throw new Refusal(404, `No such checkout.session: ${id}`, { code: 'resource_missing', param: 'session' })
  }
  return { status: 200, body: JSON.stringify(payment.session) }
}

async function servePage(request, response, id) {
  const payment = payments.get(id)
  if (!payment) return sendPage(response, 404, '<p>No such session.</p>')
  const { session } = payment
  if (session.status !== 'open') return sendPage(response, 410, `<p>This session is ${session.status}.</p>`)
  if (request.method === 'POST') {
    await controls.pay(payment)
    const location = session.success_url.replaceAll('{CHECKOUT_SESSION_ID}', id)
    return response.writeHead(303, { location }).end()
  }
  return sendPage(response, 200, `<h1>${escapeHtml(payment.productName)}</h1>
<p id="amount">$${(session.amount_total / 100).toFixed(2)}</p>
<form method="post" action="/pay/${id}"><button type="submit">Pay</button></form>
<p><a href="${escapeHtml(session.cancel_url)}">Back</a></p>`)
}

function sendPage(response, status, content) {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' })
    .end(`<!doctype html><html lang="en"><title>Checkout</title>${content}</html>`)
}

function sendJson(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function escapeHtml(value) {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
