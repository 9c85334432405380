// Shows of what a page lists ([data-item]) only what has all the words that are written into its search.
const input = document.getElementById('search')
const found = document.getElementById('found')
const items = [...document.querySelectorAll('[data-item]')].map((element) => [element, element.textContent.toLowerCase()])
const groups = [...document.querySelectorAll('[data-group]')]
const contents = document.querySelector('[data-contents]')
const QUIET_MS = 300
let timer

const show = () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  let count = 0
  for (const [element, text] of items) {
    element.hidden = !words.every((word) => text.includes(word))
    if (!element.hidden) count += 1
  }
  for (const group of groups) group.hidden = !group.querySelector('[data-item]:not([hidden])')
  if (contents) contents.hidden = words.length > 0
  // Announced when typing stops, because screen readers would read a count for each letter.
  clearTimeout(timer)
  timer = setTimeout(() => {
    found.textContent = words.length ? `${count || 'None'} of ${items.length} match` : ''
    const url = new URL(location)
    if (words.length) url.searchParams.set('q', input.value)
    else url.searchParams.delete('q')
    if (url.href !== location.href) history.replaceState(null, '', url)
  }, QUIET_MS)
}

const clear = () => {
  input.value = ''
  show()
}

// A link within the page may lead to what is not shown.
const follow = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!target?.closest('[hidden]')) return
  clear()
  target.scrollIntoView()
}

input.closest('search').hidden = false
input.addEventListener('input', show)
input.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') clear()
})
addEventListener('hashchange', follow)

input.value = new URL(location).searchParams.get('q') ?? ''
if (input.value) {
  show()
  follow()
}
