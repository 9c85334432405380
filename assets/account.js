// An account's page: each form but a download is sent once, and a payment by card goes straight on to where the card is entered.
const once = (form) => {
  const press = () => form.querySelector('[type=submit]')
  addEventListener('pageshow', () => { press().disabled = false })
  form.addEventListener('submit', () => { press().disabled = true })
}
for (const form of document.querySelectorAll('form[method=post]:not([data-repeatable])')) once(form)

// A form may not lead to another website, so the page with the link to it is read here.
const card = document.getElementById('card')
card?.addEventListener('submit', async (event) => {
  event.preventDefault()
  const reply = await fetch(card.action, { method: 'POST', body: new URLSearchParams(new FormData(card)) }).catch(() => null)
  const page = reply?.ok && new DOMParser().parseFromString(await reply.text(), 'text/html')
  const link = page && page.getElementById('checkout')
  if (link) location.assign(link.href)
  // Sent again, it is answered as before: the answer says what is wrong.
  else card.submit()
})

// Days in a table, in the reader's time zone.
const midnight = (at) => new Date(at).setHours(0, 0, 0, 0)
for (const time of document.querySelectorAll('time[title]')) {
  const at = new Date(time.dateTime)
  const days = Math.round((midnight(Date.now()) - midnight(at)) / 86_400_000)
  const clock = at.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hour12: false })
  if (days === 0) time.textContent = `Today, ${clock}`
  else if (days === 1) time.textContent = 'Yesterday'
}

// After the browser has gone to the fragment of the address, which takes the focus away.
const news = document.querySelector('.refused, #created, .done')
addEventListener('pageshow', () => setTimeout(() => {
  news?.scrollIntoView({ block: 'center' })
  news?.focus()
}))
