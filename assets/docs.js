// Searches the documentation as one types, and remembers the language of examples (`stored` and `store` are in theme.js).
const form = document.querySelector('.side form')
const input = form.elements.q
const button = document.querySelector('.to-side')
const article = document.querySelector('.docs article')
const results = document.createElement('article')
const QUIET_MS = 200
let timer
let latest = 0

results.className = 'prose'
results.hidden = true
article.after(results)

const show = async () => {
  // On a phone the list covers the page: Enter sends the form.
  if (button.checkVisibility()) return
  const words = input.value.trim()
  const turn = ++latest
  if (!words) {
    results.hidden = true
    article.hidden = false
    return
  }
  const url = new URL(form.action)
  url.searchParams.set('q', words)
  try {
    const response = await fetch(url, { headers: { accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    const found = page.getElementById('results')
    // A later letter has its own results.
    if (turn !== latest || !found) return
    results.replaceChildren(...found.childNodes)
    results.hidden = false
    article.hidden = true
  } catch {
    // Enter sends the form.
  }
}

input.addEventListener('input', () => {
  clearTimeout(timer)
  timer = setTimeout(show, QUIET_MS)
})
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !input.value) return
  event.preventDefault()
  input.value = ''
  show()
})

const languages = [...document.querySelectorAll('[name="language"]')]
const known = languages.find(({ value }) => value === stored('localStorage', 'language'))
if (known) known.checked = true
for (const language of languages) language.addEventListener('change', () => store('localStorage', 'language', language.value))
