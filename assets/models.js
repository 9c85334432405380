// Shows the models with all words of the search, as one types. Without this script, the server searches.
const input = document.getElementById('search')
const found = document.getElementById('found')
const words = (row) => [...row.querySelectorAll('[data-words]')].map((cell) => cell.textContent).join(' ').toLowerCase()
const rows = [...document.querySelectorAll('tbody tr')].map((row) => [row, words(row)])
const links = document.querySelectorAll('.chip, .sort')
const QUIET_MS = 300
let timer

const address = (url) => {
  if (input.value.trim()) url.searchParams.set('q', input.value.trim())
  else url.searchParams.delete('q')
  return url
}

// Announced when typing stops, because screen readers would read a count for each letter.
const announce = (count) => {
  if (!input.value.trim()) found.textContent = ''
  else found.textContent = count ? `${count} of ${rows.length} models match.` : 'No model matches.'
  history.replaceState(null, '', address(new URL(location)))
  for (const link of links) link.href = address(new URL(link.href))
}

const show = () => {
  const search = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  let count = 0
  for (const [row, text] of rows) {
    row.hidden = !search.every((word) => text.includes(word))
    if (!row.hidden) count += 1
  }
  clearTimeout(timer)
  timer = setTimeout(announce, QUIET_MS, count)
}

input.addEventListener('input', show)
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return
  input.value = ''
  show()
})
input.form.addEventListener('submit', (event) => {
  event.preventDefault()
  show()
})
// A browser may fill in the search again after going back.
if (input.value !== input.defaultValue) show()
