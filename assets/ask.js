// The form of a question: keys, limits before they are exceeded, lists that are pasted, and one press that asks once.
const form = document.querySelector('form.ask')
const { question } = form.elements
const options = [...form.querySelectorAll('.options input')]
const button = form.querySelector('button')
const limit = document.getElementById('limit')
const asking = document.getElementById('asking')

// Ctrl+Enter sends the form from every field. Enter goes to the next option.
form.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.isComposing) return
  const place = options.indexOf(event.target)
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault()
    form.requestSubmit(button)
  } else if (place >= 0) {
    event.preventDefault()
    const next = options[place + 1]
    if (next?.checkVisibility()) next.focus()
    else button.focus()
  }
})

// Limits of the chosen panel.
const chosen = () => form.querySelector('[name=who]:checked').dataset
const name = (field) => (field === question ? 'The question' : field.ariaLabel)

function check(field) {
  const most = Number(field === question ? chosen().question : chosen().chars)
  const left = most ? most - [...field.value.trim()].length : Infinity
  if (left < 0) field.setAttribute('aria-invalid', 'true')
  else field.removeAttribute('aria-invalid')
  const characters = `${Math.abs(left)} character${Math.abs(left) === 1 ? '' : 's'}`
  if (left < 0) return `${name(field)} is ${characters} too long.`
  return left <= most / 5 ? `${name(field)}: ${characters} left.` : ''
}

form.addEventListener('input', ({ target }) => {
  if (target !== question && !options.includes(target)) return
  // The message of a refused form is about the earlier text.
  if (target.ariaInvalid) document.getElementById(target.getAttribute('aria-describedby'))?.remove()
  limit.textContent = check(target)
})
form.addEventListener('change', ({ target }) => {
  if (target.name !== 'who') return
  const tooMany = options.filter(({ value }) => value.trim()).length - Number(chosen().options)
  limit.textContent = tooMany > 0 ? `Please remove ${tooMany} of the options.` : [question, ...options].map(check).find((text) => /long/.test(text)) ?? ''
})

// A list that is pasted into an option fills the options from there.
form.addEventListener('paste', (event) => {
  const place = options.indexOf(event.target)
  const lines = event.clipboardData.getData('text').split('\n').map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim()).filter(Boolean)
  if (place < 0 || lines.length < 2) return
  event.preventDefault()
  const rest = options.slice(place + 1).map(({ value }) => value.trim()).filter(Boolean)
  const most = Number(chosen().options)
  const values = [...lines, ...rest]
  options.slice(place, most).forEach((option, index) => { option.value = values[index] ?? '' })
  const left = place + values.length - most
  limit.textContent = left > 0 ? `${left} of the lines are left out: there can be ${most} options.` : ''
})

// A browser does not keep what was typed where pages are not stored: who comes back finds it again (theme.js stores it).
const DRAFT = 'draft of a question'
const isBack = performance.getEntriesByType('navigation')[0]?.type === 'back_forward'
const draft = isBack && storedJson('sessionStorage', DRAFT)
if (draft) {
  question.value = draft.question ?? ''
  options.forEach((option, place) => { option.value = draft.options?.[place] ?? '' })
}
addEventListener('pagehide', () => {
  store('sessionStorage', DRAFT, JSON.stringify({ question: question.value, options: options.map(({ value }) => value) }))
})

// One press asks once; coming back to the page allows another.
form.addEventListener('submit', () => {
  button.disabled = true
  asking.textContent = 'Asking …'
})
addEventListener('pageshow', () => {
  button.disabled = false
  asking.textContent = ''
})
