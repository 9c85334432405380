import { newId, seconds } from './stripe-checkout.mjs'

const FAILURE = /^(timeout|drop|drop-after|[45]\d\d)$/
const SENDING = ['deliver', 'times']

/** The controls of the fake: the fields of each and its effect. */
export function makeControls({ payments, webhooks, canDeliver, requests, failNext }) {
  const controls = {
    'POST /test/pay': [['session', 'async', ...SENDING], (body) => pay(find(body), body)],
    'POST /test/async-succeeded': [['session', ...SENDING], (body) => finishAsync(body, true)],
    'POST /test/async-failed': [['session', ...SENDING], (body) => finishAsync(body, false)],
    'POST /test/expire': [['session', ...SENDING], expire],
    'POST /test/refund': [['session', 'amount_cents', ...SENDING], refund],
    'POST /test/refund-failed': [['session', 'refund', ...SENDING], failRefund],
    'POST /test/dispute': [['session', 'amount_cents', ...SENDING], dispute],
    'POST /test/dispute-closed': [['session', 'status', ...SENDING], closeDispute],
    'POST /test/deliver': [[
      'event', 'type', 'object', 'livemode', 'times', 'secret', 'timestamp_offset_s', 'signature',
    ], deliver],
    'POST /test/fail': [['next'], fail],
    'GET /test/events': [[], () => ({ events: webhooks.events })],
    'GET /test/requests': [[], () => ({ requests })],
  }

  async function run(route, body) {
    const [takes, act] = controls[route] ?? []
    if (!act) throw new Error(`unknown control ${route}`)
    for (const name of Object.keys(body)) need(takes.includes(name), `unknown member ${name}`)
    return act(body)
  }

  function find(body) {
    const payment = payments.get(body.session)
    need(payment, 'no such session')
    return payment
  }

  function findPaid(body) {
    const payment = find(body)
    need(payment.session.payment_status === 'paid', 'the session is not paid')
    return payment
  }

  async function emit(type, object, payment, { deliver: wanted = canDeliver, times }) {
    const event = webhooks.record(type, object)
    const deliveries = wanted ? await webhooks.send(event, { times }) : []
    const { session, charge = null, dispute: claim = null, refunds = [] } = payment
    return { session, charge, dispute: claim, refund: refunds.at(-1) ?? null, event, deliveries }
  }

  function pay(payment, body = {}) {
    const { session, paymentMetadata } = payment
    need(session.status === 'open', `the session is ${session.status}`)
    const paid = !body.async
    Object.assign(session, {
      payment_intent: newId('pi_test'),
      payment_status: paid ? 'paid' : 'unpaid',
      status: 'complete',
      url: null,
    })
    payment.charge = {
      id: newId('ch_test'),
      object: 'charge',
      amount: session.amount_total,
      amount_captured: paid ? session.amount_total : 0,
      amount_refunded: 0,
      captured: paid,
      created: seconds(),
      currency: session.currency,
      disputed: false,
      livemode: false,
      metadata: paymentMetadata,
      paid,
      payment_intent: session.payment_intent,
      refunded: false,
      status: paid ? 'succeeded' : 'pending',
    }
    return emit('checkout.session.completed', session, payment, body)
  }

  function finishAsync(body, succeeded) {
    const payment = find(body)
    const { session, charge } = payment
    need(charge?.status === 'pending', 'no payment is under way')
    charge.status = succeeded ? 'succeeded' : 'failed'
    if (succeeded) {
      session.payment_status = 'paid'
      Object.assign(charge, { amount_captured: charge.amount, captured: true, paid: true })
    }
    const outcome = succeeded ? 'succeeded' : 'failed'
    return emit(`checkout.session.async_payment_${outcome}`, session, payment, body)
  }

  function expire(body) {
    const payment = find(body)
    need(payment.session.status === 'open', `the session is ${payment.session.status}`)
    Object.assign(payment.session, { status: 'expired', url: null })
    return emit('checkout.session.expired', payment.session, payment, body)
  }

  function refund(body) {
    const payment = findPaid(body)
    const { charge } = payment
    const amount = amountOf(body.amount_cents)
    const total = charge.amount_refunded + amount
    need(total <= charge.amount, 'the refund is above what is left')
    Object.assign(charge, { amount_refunded: total, refunded: total === charge.amount })
    payment.refunds = [...payment.refunds ?? [], {
      id: newId('re_test'),
      object: 'refund',
      amount,
      charge: charge.id,
      created: seconds(),
      currency: charge.currency,
      failure_reason: null,
      metadata: {},
      payment_intent: charge.payment_intent,
      status: 'succeeded',
    }]
    return emit('charge.refunded', charge, payment, body)
  }

  /** The bank returns the money: the charge no longer counts the refund. */
  function failRefund(body) {
    const payment = findPaid(body)
    const failed = payment.refunds?.find((made) => made.id === body.refund)
    need(failed?.status === 'succeeded', 'no such refund has succeeded')
    Object.assign(failed, { failure_reason: 'expired_or_canceled_card', status: 'failed' })
    payment.charge.amount_refunded -= failed.amount
    payment.charge.refunded = false
    return emit('refund.failed', failed, payment, body)
  }

  function dispute(body) {
    const payment = findPaid(body)
    const { charge } = payment
    const amount = amountOf(body.amount_cents ?? charge.amount)
    need(amount <= charge.amount, 'the dispute is above the amount')
    charge.disputed = true
    payment.dispute = {
      id: newId('dp_test'),
      object: 'dispute',
      amount,
      charge: charge.id,
      created: seconds(),
      currency: charge.currency,
      livemode: false,
      metadata: {},
      payment_intent: charge.payment_intent,
      reason: 'fraudulent',
      status: 'needs_response',
    }
    return emit('charge.dispute.created', payment.dispute, payment, body)
  }

  function closeDispute(body) {
    const payment = findPaid(body)
    need(payment.dispute?.status === 'needs_response', 'no dispute is open')
    need(['won', 'lost'].includes(body.status), 'status is neither won nor lost')
    payment.dispute.status = body.status
    return emit('charge.dispute.closed', payment.dispute, payment, body)
  }

  /** Resends a stored event unchanged; with another type, object or livemode it becomes a new event. */
  async function deliver({ event: id, type, object, livemode, ...sending }) {
    const stored = webhooks.events.find((event) => event.id === id)
    need(stored || id === undefined, 'no such event')
    need(stored || type, 'event or type is missing')
    let event = stored
    if (!stored || type !== undefined || object !== undefined || livemode !== undefined) {
      const live = livemode ?? stored?.livemode ?? false
      const made = { ...stored?.data.object, livemode: live, ...object }
      event = webhooks.record(type ?? stored.type, made, live)
    }
    return { event, deliveries: await webhooks.send(event, sending) }
  }

  function fail({ next }) {
    need(Array.isArray(next) && next.every((kind) => FAILURE.test(kind)), 'next names an unknown failure')
    failNext.splice(0, failNext.length, ...next)
    return { next }
  }

  return { run, pay }
}

function amountOf(cents) {
  need(Number.isInteger(cents) && cents > 0, 'amount_cents is not a whole number above 0')
  return cents
}

function need(condition, message) {
  if (!condition) throw new Error(message)
}
