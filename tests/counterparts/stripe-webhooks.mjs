import { randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import Stripe from 'stripe'
import { newId, seconds } from './stripe-checkout.mjs'

export const API_VERSION = '2026-10-28.endive'
const DELIVERY_TIMEOUT_MS = 20_000
const MAX_TIMES = 100

export function makeWebhooks(url, secrets = []) {
  if (url && !secrets[0]) throw new Error('webhookUrl needs webhookSecrets')
  const events = []

  function record(type, object, livemode = false) {
    const event = {
      id: newId('evt_test'),
      object: 'event',
      api_version: API_VERSION,
      created: seconds(),
      data: { object: structuredClone(object) },
      livemode,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type,
    }
    events.push(event)
    return event
  }

  /** Sends one event `times` times concurrently and returns each response. */
  function send(event, { times = 1, secret = secrets[0], signature = 'valid', timestamp_offset_s: shift = 0 } = {}) {
    if (!url) throw new Error('webhookUrl is missing')
    if (!Number.isInteger(times) || times < 1 || times > MAX_TIMES) throw new Error('times is not from 1 to 100')
    if (!Number.isInteger(shift)) throw new Error('timestamp_offset_s is not a whole number')
    const body = JSON.stringify(event)
    const header = signatureHeader(signature, { payload: body, secret, timestamp: seconds() + shift })
    return Promise.all(Array.from({ length: times }, () => post(url, body, header)))
  }

  return { events, record, send }
}

function signatureHeader(kind, signed) {
  const right = Stripe.webhooks.generateTestHeaderString(signed)
  const wrong = Stripe.webhooks.generateTestHeaderString({ ...signed, secret: newId('whsec') })
  // Stripe adds such a v0 value in test mode; a receiver must not accept it as a signature.
  const v0 = `,v0=${randomBytes(32).toString('hex')}`
  if (kind === 'valid') return right + v0
  if (kind === 'wrong') return wrong + v0
  if (kind === 'two') return `${wrong},${right.split(',')[1]}${v0}`
  if (kind === 'missing') return undefined
  throw new Error(`unknown signature ${kind}`)
}

// Not fetch, which would add browser headers.
function post(url, body, signature) {
  return new Promise((resolve) => {
    const fail = (error) => resolve({ error: error.message })
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
      ...(signature && { 'stripe-signature': signature }),
    }
    const signal = AbortSignal.timeout(DELIVERY_TIMEOUT_MS)
    httpRequest(url, { method: 'POST', headers, signal, agent: false }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode, body: answer }), fail)
    }).on('error', fail).end(body)
  })
}
