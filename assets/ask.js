// The form of a question: one field for each option, estimates of what is chosen, one press that asks once.
const form = document.querySelector('form.ask')
const lines = document.getElementById('options')
const MOST = 10

// Options: the list of lines stays the field that is sent.
const list = document.createElement('ol')
list.className = 'options'
const add = document.createElement('button')
add.type = 'button'
add.textContent = 'Add an option'

const inputs = () => [...list.querySelectorAll('input')]

const keep = () => {
  lines.value = inputs().map(({ value }) => value.replaceAll('\n', ' ')).join('\n').trimEnd()
}

const number = () => {
  inputs().forEach((input, place) => {
    const key = String.fromCharCode(65 + place)
    input.closest('li').className = `option-${place}`
    input.previousElementSibling.textContent = key
    input.setAttribute('aria-label', `Option ${key}`)
    input.nextElementSibling.setAttribute('aria-label', `Remove option ${key}`)
    input.nextElementSibling.hidden = inputs().length <= 2
  })
  add.hidden = inputs().length >= MOST
  keep()
}

const insert = (value = '', after = null) => {
  const item = document.createElement('li')
  const key = Object.assign(document.createElement('span'), { className: 'key' })
  key.setAttribute('aria-hidden', 'true')
  const input = Object.assign(document.createElement('input'), { value, dir: 'auto', autocomplete: 'off' })
  const remove = Object.assign(document.createElement('button'), { type: 'button', textContent: '×' })
  item.append(key, input, remove)
  input.addEventListener('input', keep)
  input.addEventListener('paste', (event) => {
    const pasted = event.clipboardData.getData('text').split('\n').map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim()).filter(Boolean)
    if (pasted.length < 2) return
    event.preventDefault()
    input.value = pasted[0]
    let last = item
    for (const other of inputs()) if (other !== input && !other.value) other.closest('li').remove()
    const fitting = pasted.slice(1, MOST - inputs().length + 1)
    for (const line of fitting) last = insert(line, last)
    const left = pasted.length - 1 - fitting.length
    document.getElementById('asking').textContent = left ? `${left} of the pasted lines are left out: there can be ${MOST} options.` : ''
    number()
  })
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return
    // Enter goes to the next option; with a modifier it sends the form.
    event.preventDefault()
    if (event.ctrlKey || event.metaKey) {
      form.requestSubmit()
      return
    }
    const next = item.nextElementSibling ?? (input.value && inputs().length < MOST ? insert('', item) : item)
    number()
    next.querySelector('input').focus()
  })
  remove.addEventListener('click', () => {
    const next = item.nextElementSibling ?? item.previousElementSibling
    item.remove()
    number()
    next.querySelector('input').focus()
    estimate()
  })
  if (after) after.after(item)
  else list.append(item)
  return item
}

// Who comes back finds what was typed: a browser does not keep it where pages are not stored.
const question = document.getElementById('question')
const DRAFT = 'draft of a question'
const isBack = performance.getEntriesByType('navigation')[0]?.type === 'back_forward'
try {
  const draft = JSON.parse(sessionStorage.getItem(DRAFT) ?? 'null')
  if (isBack && draft && !document.querySelector('.refused')) {
    question.value = draft.question
    lines.value = draft.options
  }
} catch {
  // Storage can be forbidden.
}
addEventListener('pagehide', () => {
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify({ question: question.value, options: lines.value }))
  } catch {
    // Then it is lost.
  }
})

const fields = lines.value.split('\n').filter(Boolean)
for (const value of [...fields, '', ''].slice(0, Math.max(2, fields.length))) insert(value)
add.addEventListener('click', () => {
  const item = insert()
  number()
  item.querySelector('input').focus()
  estimate()
})
lines.hidden = true
const title = Object.assign(document.createElement('span'), { id: 'options-title', textContent: 'The options' })
lines.previousElementSibling.replaceWith(title)
list.setAttribute('aria-labelledby', title.id)
// A list may not stand in a paragraph.
document.getElementById('options-field').before(list, add)
list.before(title)
number()

// What a panel costs and how long it takes, from the operation that estimates.
const dollars = (amount) => (amount === 0 ? '$0' : amount < 0.01 ? 'less than $0.01' : `$${amount.toFixed(2)}`)
let asked = 0
// What was estimated on this visit is not asked again.
const estimates = new Map()

async function estimateOf(query) {
  if (!estimates.has(query)) {
    const response = await fetch(`${form.dataset.estimates}?${query}`, { headers: { accept: 'application/json' } }).catch(() => null)
    if (!response?.ok) return null
    estimates.set(query, await response.json())
  }
  return estimates.get(query)
}

async function estimate() {
  const chosen = form.querySelector('input[name=who]:checked')
  if (!chosen) return
  document.getElementById('paid').disabled = chosen.value === 'free' && !form.dataset.account
  const query = new URLSearchParams(chosen.dataset.query)
  query.set('options', String(Math.min(MOST, Math.max(2, inputs().filter(({ value }) => value.trim()).length))))
  const confidence = document.getElementById('confidence').value
  if (confidence && chosen.value !== 'free') query.set('confidence_threshold', confidence)
  const turn = ++asked
  const known = await estimateOf(query.toString())
  if (turn !== asked) return
  // Not before: leaving a field must not move what is being pressed.
  for (const place of form.querySelectorAll('[data-estimate]')) place.textContent = ''
  if (!known) return
  const time = known.typical_vote_ms ? ` A vote takes about ${(known.typical_vote_ms / 1000).toFixed(1)} s.` : ''
  const cost = known.cost_usd_typical_full_roster === 0
    ? 'at no cost'
    : `for ${dollars(known.cost_usd_at_least)} to ${dollars(known.cost_usd_typical_full_roster)}`
  chosen.parentElement.querySelector('[data-estimate]').textContent
    = `Now: ${known.calls_at_least} to ${known.calls_at_most} models, ${cost}.${time}`
}

form.addEventListener('change', estimate)
estimate()

// One press asks once; coming back to the page allows another.
form.addEventListener('submit', () => {
  form.querySelector('button.primary').disabled = true
  document.getElementById('asking').textContent = 'Asking …'
})
addEventListener('pageshow', () => {
  form.querySelector('button.primary').disabled = false
  document.getElementById('asking').textContent = ''
})
document.querySelector('.refused')?.focus()
