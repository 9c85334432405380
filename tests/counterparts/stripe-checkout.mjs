import { randomBytes } from 'node:crypto'

const HALF_AN_HOUR_S = 30 * 60
const DAY_S = 24 * 60 * 60
const MIN_CENTS = 50
const MAX_CENTS = 99_999_999
const PRICE = 'line_items[0][price_data]'
const PAYMENT_METADATA = 'payment_intent_data[metadata]'

const REQUIRED = {
  mode: only('payment'),
  success_url: webAddress,
  cancel_url: webAddress,
  'line_items[0][quantity]': only('1'),
  [`${PRICE}[currency]`]: only('usd'),
  [`${PRICE}[unit_amount]`]: cents,
  [`${PRICE}[product_data][name]`]: atMost(5000),
}
const OPTIONAL = {
  client_reference_id: atMost(200),
  'payment_method_types[0]': only('card'),
  customer_email: emailAddress,
  expires_at: expiry,
}
const RULES = { ...REQUIRED, ...OPTIONAL }

/** Stripe's response to a rejected request. */
export class Refusal extends Error {
  constructor(status, message, { type = 'invalid_request_error', ...rest } = {}) {
    super(message)
    this.status = status
    this.body = { error: { type, message, ...rest } }
  }
}

export const newId = (prefix, bytes = 12) => `${prefix}_${randomBytes(bytes).toString('hex')}`
export const seconds = () => Math.floor(Date.now() / 1000)

/** Creates a session and its payment objects from the name and value pairs of a form. */
export function openSession(pairs, apiUrl) {
  const given = check(pairs)
  // As long as Stripe's real ids, to detect columns that are too short.
  const id = newId('cs_test', 29)
  const amount = Number(given[`${PRICE}[unit_amount]`])
  const created = seconds()
  const session = {
    id,
    object: 'checkout.session',
    amount_subtotal: amount,
    amount_total: amount,
    cancel_url: given.cancel_url,
    client_reference_id: given.client_reference_id ?? null,
    created,
    currency: given[`${PRICE}[currency]`],
    customer: null,
    customer_email: given.customer_email ?? null,
    expires_at: Number(given.expires_at ?? created + DAY_S),
    livemode: false,
    metadata: members(given, 'metadata'),
    mode: given.mode,
    payment_intent: null,
    payment_method_types: ['card'],
    payment_status: 'unpaid',
    status: 'open',
    success_url: given.success_url,
    ui_mode: 'hosted',
    url: `${apiUrl}/pay/${id}`,
  }
  return {
    session,
    productName: given[`${PRICE}[product_data][name]`],
    paymentMetadata: members(given, PAYMENT_METADATA),
  }
}

function check(pairs) {
  const given = Object.fromEntries(pairs)
  const known = (name) => Object.hasOwn(RULES, name) || metadataOf(name)
  for (const name of Object.keys(given)) {
    if (known(name)) continue
    throw new Refusal(400, `Received unknown parameter: ${name}`, { code: 'parameter_unknown', param: name })
  }
  if (Object.keys(given).length !== pairs.length) throw new Refusal(400, 'A parameter was given twice')
  for (const name of Object.keys(REQUIRED)) {
    if (Object.hasOwn(given, name)) continue
    throw new Refusal(400, `Missing required param: ${name}.`, { code: 'parameter_missing', param: name })
  }
  for (const [name, value] of pairs) {
    const refuse = (code, message) => { throw new Refusal(400, message, { code, param: name }) }
    if (!value) refuse('parameter_invalid_empty', `You passed an empty string for '${name}'.`)
    const rule = RULES[name] ?? atMost(500)
    rule(value, refuse)
  }
  for (const prefix of ['metadata', PAYMENT_METADATA]) {
    if (Object.keys(members(given, prefix)).length <= 50) continue
    throw new Refusal(400, 'Metadata can have up to 50 keys', { param: prefix })
  }
  return given
}

function metadataOf(name) {
  const [, prefix, key] = name.match(/^(metadata|payment_intent_data\[metadata\])\[([^[\]]{1,40})\]$/) ?? []
  return key && { prefix, key }
}

function members(given, wanted) {
  const found = Object.entries(given).filter(([name]) => metadataOf(name)?.prefix === wanted)
  return Object.fromEntries(found.map(([name, value]) => [metadataOf(name).key, value]))
}

function only(allowed) {
  return (value, refuse) => {
    if (value !== allowed) refuse('parameter_invalid', `Invalid value: must be ${allowed}`)
  }
}

function atMost(length) {
  return (value, refuse) => {
    if ([...value].length > length) refuse('parameter_invalid_string_too_long', `Must be at most ${length} characters`)
  }
}

function webAddress(value, refuse) {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value)) refuse('url_invalid', 'Not a valid URL')
}

function cents(value, refuse) {
  if (!/^\d+$/.test(value)) refuse('parameter_invalid_integer', `Invalid integer: ${value}`)
  if (Number(value) < MIN_CENTS) refuse('amount_too_small', 'The total must be at least $0.50 usd')
  if (Number(value) > MAX_CENTS) refuse('amount_too_large', 'The total must be no more than $999,999.99')
}

function emailAddress(value, refuse) {
  if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value)) refuse('email_invalid', `Invalid email address: ${value}`)
}

function expiry(value, refuse) {
  if (!/^\d+$/.test(value)) refuse('parameter_invalid_integer', `Invalid integer: ${value}`)
  const ahead = Number(value) - seconds()
  if (ahead >= HALF_AN_HOUR_S && ahead <= DAY_S) return
  refuse('parameter_invalid', 'The `expires_at` timestamp must be from 30 minutes to 24 hours from now.')
}
