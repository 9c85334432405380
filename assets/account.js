// An account's page: each form but a download is sent once, and a payment by card goes straight on to where the card is entered.
const once = (form) => {
  const press = () => form.querySelector('button')
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

// After the browser has gone to the fragment of the address, which takes the focus away.
const news = document.querySelector('.refused, #created, .done')
addEventListener('pageshow', () => setTimeout(() => {
  news?.scrollIntoView()
  news?.focus()
}))
