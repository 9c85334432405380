import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import Stripe from 'stripe'

const SECRET_KEY = 'sk_test_of_the_check'
const SECRETS = ['whsec_first', 'whsec_second']
const VERSION = '2026-10-28.endive'
const ORDER = {
  mode: 'payment',
  success_url: 'http://127.0.0.1:1/paid?session={CHECKOUT_SESSION_ID}',
  cancel_url: 'http://127.0.0.1:1/back',
  client_reference_id: 'user_1',
  customer_email: 'a@example.com',
  payment_method_types: ['card'],
  metadata: { deposit_id: 'dep_1' },
  payment_intent_data: { metadata: { deposit_id: 'dep_1' } },
  line_items: [{
    quantity: 1,
    price_data: { currency: 'usd', unit_amount: 2500, product_data: { name: 'Credit <1>' } },
  }],
}

/** Tests stripe.mjs with the official library and uses every control once. */
export async function checkStripe(start) {
  const receiver = await startReceiver()
  try {
    await walk(start, receiver)
  } finally {
    receiver.close()
  }
}

async function walk(start, receiver) {
  const script = await start('stripe.mjs', JSON.stringify({
    secretKey: SECRET_KEY, webhookUrl: receiver.url, webhookSecrets: SECRETS,
  }))
  const { apiUrl } = await script.nextLine()
  console.log(`stripe.mjs was ready after ${script.age()} ms`)
  const client = (settings = {}) => new Stripe(settings.key ?? SECRET_KEY, {
    host: '127.0.0.1', port: new URL(apiUrl).port, protocol: 'http', telemetry: false, maxNetworkRetries: 0,
    apiVersion: settings.apiVersion ?? VERSION,
  })
  const { sessions } = client().checkout
  let lastKey = 0
  const create = (changes = {}, idempotencyKey = `key-${++lastKey}`) => (
    sessions.create({ ...ORDER, ...changes }, { idempotencyKey }))
  const control = async (name, body, status = 200) => {
    const answer = await fetch(`${apiUrl}/test/${name}`, body && { method: 'POST', body: JSON.stringify(body) })
    const value = await answer.json()
    assert.equal(answer.status, status, `${name}: ${JSON.stringify(value)}`)
    return value
  }
  const refused = (given, code, param) => assert.rejects(given, (error) => {
    assert.deepEqual([error.statusCode, error.code, error.param], [400, code, param])
    return true
  })

  await checkApi()
  await checkPayment()
  await checkAsync()
  await checkDelivery()
  await checkFailures()

  async function checkApi() {
    const session = await create({}, 'same')
    assert.match(session.id, /^cs_test_/)
    assert.equal(session.url, `${apiUrl}/pay/${session.id}`)
    assert.deepEqual(
      [session.status, session.payment_status, session.amount_total, session.currency, session.payment_intent],
      ['open', 'unpaid', 2500, 'usd', null],
    )
    assert.deepEqual(session.metadata, ORDER.metadata)
    assert.equal(session.lastResponse.headers['idempotent-replayed'], undefined)

    const replay = await create({}, 'same')
    assert.equal(replay.lastResponse.headers['idempotent-replayed'], 'true')
    assert.deepEqual({ ...replay }, { ...session })
    await assert.rejects(create({ client_reference_id: 'user_2' }, 'same'), { type: 'StripeIdempotencyError' })

    assert.deepEqual({ ...await sessions.retrieve(session.id) }, { ...session })
    await assert.rejects(sessions.retrieve('cs_test_none'), { statusCode: 404, code: 'resource_missing' })
    await assert.rejects(client({ key: 'sk_test_other' }).checkout.sessions.retrieve(session.id), { statusCode: 401 })
    await refused(client({ apiVersion: '2025-01-27.acacia' }).checkout.sessions.retrieve(session.id))

    const amount = 'line_items[0][price_data][unit_amount]'
    const priced = (unit_amount) => create({
      line_items: [{ quantity: 1, price_data: { ...ORDER.line_items[0].price_data, unit_amount } }],
    })
    await refused(priced(49), 'amount_too_small', amount)
    await refused(priced('10.5'), 'parameter_invalid_integer', amount)
    await refused(create({ locale: 'en' }), 'parameter_unknown', 'locale')
    await refused(create({ cancel_url: undefined }), 'parameter_missing', 'cancel_url')
    await refused(create({ cancel_url: '/back' }), 'url_invalid', 'cancel_url')
    await refused(create({ mode: 'setup' }), 'parameter_invalid', 'mode')
    await refused(create({ expires_at: 1 }), 'parameter_invalid', 'expires_at')

    const keyless = await fetch(`${apiUrl}/v1/checkout/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET_KEY}`, 'stripe-version': VERSION },
      body: new URLSearchParams({ mode: 'payment' }),
    })
    assert.equal(keyless.status, 400)
    assert.equal((await keyless.json()).error.param, 'Idempotency-Key')

    const { requests } = await control('requests')
    assert.deepEqual([requests[0].method, requests[0].path], ['POST', '/v1/checkout/sessions'])
    assert.equal(requests[0].params['metadata[deposit_id]'], 'dep_1')
    assert.deepEqual(requests.slice(0, 3).map((seen) => [seen.idempotency_key, seen.status, seen.replayed]), [
      ['same', 200, false], ['same', 200, true], ['same', 400, false],
    ])
  }

  async function checkPayment() {
    const { id: session } = await create()
    const paid = await control('pay', { session, times: 3 })
    assert.deepEqual(paid.deliveries, Array(3).fill({ status: 200, body: 'accepted' }))
    const received = receiver.take(3, 'checkout.session.completed')
    assert.deepEqual(received, Array(3).fill(paid.event))
    assert.deepEqual([paid.session.status, paid.session.payment_status], ['complete', 'paid'])
    assert.deepEqual(received[0].data.object, { ...await sessions.retrieve(session) })
    await control('pay', { session }, 400)
    await control('expire', { session }, 400)

    const refund = (cents, status) => control('refund', { session, amount_cents: cents }, status)
    await refund(1000)
    const [{ data: { object: charge } }] = receiver.take(1, 'charge.refunded')
    assert.deepEqual(
      [charge.amount, charge.amount_captured, charge.amount_refunded, charge.refunded, charge.metadata],
      [2500, 2500, 1000, false, ORDER.metadata],
    )
    assert.equal(charge.payment_intent, paid.session.payment_intent)
    await refund(1501, 400)
    const { refund: last } = await refund(1500)
    assert.equal(receiver.take(1, 'charge.refunded')[0].data.object.refunded, true)

    const { charge: left } = await control('refund-failed', { session, refund: last.id })
    assert.deepEqual([left.amount_refunded, left.refunded], [1000, false])
    const [{ data: { object: failed } }] = receiver.take(1, 'refund.failed')
    assert.deepEqual([failed.id, failed.amount, failed.charge, failed.status], [last.id, 1500, charge.id, 'failed'])
    await control('refund-failed', { session, refund: last.id }, 400)

    for (const status of ['won', 'lost']) {
      await control('dispute', { session, amount_cents: 700 })
      const [{ data: { object: dispute } }] = receiver.take(1, 'charge.dispute.created')
      assert.deepEqual([dispute.amount, dispute.charge, dispute.status], [700, charge.id, 'needs_response'])
      await control('dispute-closed', { session, status })
      const [{ data: { object: closed } }] = receiver.take(1, 'charge.dispute.closed')
      assert.deepEqual(closed, { ...dispute, status })
    }

    const { id, url } = await create()
    const page = await (await fetch(url)).text()
    assert.match(page, /\$25\.00/)
    assert.match(page, /Credit &#60;1&#62;/)
    const answer = await fetch(url, { method: 'POST', redirect: 'manual' })
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, `http://127.0.0.1:1/paid?session=${id}`])
    assert.equal(receiver.take(1, 'checkout.session.completed')[0].data.object.id, id)
  }

  async function checkAsync() {
    for (const outcome of ['succeeded', 'failed']) {
      const { id: session } = await create()
      await control(`async-${outcome}`, { session }, 400)
      await control('pay', { session, async: true })
      assert.equal(receiver.take(1, 'checkout.session.completed')[0].data.object.payment_status, 'unpaid')
      await control(`async-${outcome}`, { session })
      const [event] = receiver.take(1, `checkout.session.async_payment_${outcome}`)
      assert.equal(event.data.object.payment_status, outcome === 'succeeded' ? 'paid' : 'unpaid')
    }

    const { id: session } = await create()
    await control('expire', { session })
    assert.equal(receiver.take(1, 'checkout.session.expired')[0].data.object.status, 'expired')
    assert.equal((await sessions.retrieve(session)).status, 'expired')
  }

  async function checkDelivery() {
    const { id: session } = await create()
    const { event, deliveries } = await control('pay', { session, deliver: false })
    assert.deepEqual(deliveries, [])
    const answers = async (how) => (await control('deliver', how)).deliveries.map(({ status }) => status)

    const again = { event: event.id }
    assert.deepEqual(await answers({ ...again, times: 2 }), [200, 200])
    assert.deepEqual(receiver.take(2, event.type), [event, event])
    for (const how of [{ signature: 'two' }, { secret: SECRETS[1] }, { timestamp_offset_s: -290 }]) {
      assert.deepEqual(await answers({ ...again, ...how }), [200], JSON.stringify(how))
      receiver.take(1, event.type)
    }
    const bad = [
      { signature: 'wrong' }, { signature: 'missing' }, { timestamp_offset_s: -310 }, { secret: 'whsec_third' },
    ]
    for (const how of bad) assert.deepEqual(await answers({ ...again, ...how }), [400], JSON.stringify(how))

    const changed = await control('deliver', { ...again, object: { amount_total: 1 }, livemode: true })
    assert.notEqual(changed.event.id, event.id)
    assert.deepEqual(receiver.take(1, event.type), [changed.event])
    assert.deepEqual(changed.event.data.object, { ...event.data.object, amount_total: 1, livemode: true })
    await control('deliver', { type: 'customer.created', object: { id: 'cus_test_1' } })
    receiver.take(1, 'customer.created')
    await control('deliver', { event: 'evt_test_none' }, 400)
    await control('deliver', { ...again, unknown: 1 }, 400)

    const { events } = await control('events')
    assert.deepEqual(events.find(({ id }) => id === event.id), event)
    assert.equal(new Set(events.map(({ id }) => id)).size, events.length)
  }

  async function checkFailures() {
    await control('fail', { next: ['500', '409', 'timeout'] })
    await assert.rejects(create({}, 'failing'), { statusCode: 500 })
    await assert.rejects(create({}, 'failing'), { statusCode: 409 })
    await assert.rejects(
      sessions.create(ORDER, { idempotencyKey: 'failing', timeout: 100 }),
      { type: 'StripeConnectionError' },
    )
    const session = await create({}, 'failing')
    assert.equal(session.lastResponse.headers['idempotent-replayed'], undefined)

    // The library retries once after a closed connection.
    for (const [failure, replayed] of [['drop', undefined], ['drop-after', 'true']]) {
      await control('fail', { next: [failure] })
      const { lastResponse } = await create({}, failure)
      assert.equal(lastResponse.headers['idempotent-replayed'], replayed, failure)
      const { requests } = await control('requests')
      const tries = requests.filter((seen) => seen.idempotency_key === failure)
      assert.deepEqual(tries.map(({ status }) => status), [null, 200], failure)
    }
    await control('fail', { next: ['nonsense'] }, 400)
  }
}

/** Receives webhooks like a service: verifies them with either secret and the official library. */
async function startReceiver() {
  const events = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const header = request.headers['stripe-signature']
    const event = SECRETS.map((secret) => accepted(body, header, secret)).find(Boolean)
    if (event) events.push(event)
    response.writeHead(event ? 200 : 400).end(event ? 'accepted' : 'refused')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}/api/webhooks/stripe`,
    close: () => server.close(),
    take(count, type) {
      const taken = events.splice(0)
      assert.deepEqual(taken.map((event) => event.type), Array(count).fill(type))
      return taken
    },
  }
}

function accepted(body, header, secret) {
  try {
    return Stripe.webhooks.constructEvent(body, header, secret)
  } catch (error) {
    if (error.type === 'StripeSignatureVerificationError') return undefined
    throw error
  }
}
