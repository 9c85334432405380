// The page of a batch: its figures follow the batch, and keys choose in the review.
const EVERY_MS = 2000
const LONGEST_MS = 30_000
const batch = document.querySelector('.batch')

const read = async (url, options) => {
  const reply = await fetch(url, options).catch(() => null)
  return reply?.ok ? new DOMParser().parseFromString(await reply.text(), 'text/html') : null
}

const take = (page, id) => {
  const [shown, fresh] = [document.getElementById(id), page.getElementById(id)]
  if (!shown || !fresh) return location.reload()
  shown.replaceWith(fresh)
}

// The state is small and tells when the page is worth reading.
const follow = async () => {
  let known = ''
  let wait = EVERY_MS
  for (;;) {
    await new Promise((done) => setTimeout(done, wait))
    if (document.hidden) continue
    const reply = await fetch(`${batch.dataset.state}?limit=1`).catch(() => null)
    wait = reply?.ok ? EVERY_MS : Math.min(2 * wait, LONGEST_MS)
    if (!reply?.ok) continue
    const { status, rows, answers } = await reply.json()
    if (!['validating', 'in_progress', 'cancelling'].includes(status)) return location.reload()
    const now = JSON.stringify([status, rows, answers])
    if (now === known) continue
    known = now
    const page = await read(location.href)
    if (!page) continue
    take(page, 'figures')
    // A row that somebody reads stays.
    if (!document.querySelector('#review .text')) take(page, 'review')
  }
}
if (batch?.dataset.state) follow()

// The next row replaces the reviewed one; without this, the form loads the whole page.
document.addEventListener('submit', async (event) => {
  const form = event.target
  if (!form.matches('.decide')) return
  event.preventDefault()
  if (form.dataset.sent) return
  form.dataset.sent = 'yes'
  const body = new URLSearchParams(new FormData(form, event.submitter))
  const page = await read(form.action, { method: 'POST', body })
  if (!page?.getElementById('review')) return location.reload()
  take(page, 'figures')
  take(page, 'review')
  document.getElementById('review').focus({ preventScroll: true })
})

document.addEventListener('keydown', (event) => {
  const busy = event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea, select')
  if (busy || document.querySelector(':popover-open')) return
  const wanted = event.key.toLowerCase()
  document.querySelector(`#review [aria-keyshortcuts="${CSS.escape(wanted)}"]`)?.click()
})
