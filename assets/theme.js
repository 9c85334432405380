// For every page. Nothing here leaves this browser but the requests for the visitor's own name and balance.
const stored = (area, key) => {
  try {
    return window[area].getItem(key) ?? ''
  } catch {
    return '' // Storage can be forbidden.
  }
}

const storedJson = (area, key) => {
  try {
    return JSON.parse(stored(area, key))
  } catch {
    return null // There is none, or it is unreadable.
  }
}

const store = (area, key, value) => {
  try {
    if (value) window[area].setItem(key, value)
    else window[area].removeItem(key)
  } catch {
    // It lasts as long as this page.
  }
}

// Colours by choice: set before the first paint.
const THEMES = { '': 'System', light: 'Light', dark: 'Dark' }
let theme = stored('localStorage', 'theme')

const apply = () => {
  if (theme) document.documentElement.dataset.theme = theme
  else delete document.documentElement.dataset.theme
}

apply()

function chooseTheme(button) {
  const label = () => {
    button.title = `Theme: ${THEMES[theme] ?? THEMES['']}`
    button.setAttribute('aria-label', button.title)
  }
  label()
  button.addEventListener('click', () => {
    // The first press changes what is seen.
    const names = matchMedia('(prefers-color-scheme: dark)').matches ? ['', 'light', 'dark'] : ['', 'dark', 'light']
    theme = names[(names.indexOf(theme) + 1) % names.length]
    apply()
    label()
    store('localStorage', 'theme', theme)
  })
}

// The account in the header. Public pages are the same for everyone and cached, so they say "Sign in". Pages cannot read
// the session's cookie. A mark in this browser says that somebody has signed in here: without it, nothing is requested.
const MARK = 'signed-in'
const VISITOR = 'visitor'
const FRESH_MS = 10_000

function name(sign, visitor) {
  const part = (tag, textContent, className = '') => Object.assign(document.createElement(tag), { textContent, className })
  const balance = visitor.balance ? [' ', part('span', visitor.balance, 'number')] : []
  sign.replaceChildren(part('span', 'Your account: ', 'unseen'), part('bdi', visitor.name), ...balance)
}

function forget() {
  store('localStorage', MARK)
  store('sessionStorage', VISITOR)
}

async function read(url) {
  const reply = await fetch(url, { headers: { accept: 'application/json' } })
  if (reply.status === 401) forget()
  return reply.ok ? reply.json() : {}
}

async function showVisitor(sign) {
  const { user, balance } = sign.dataset
  const remember = (visitor) => {
    store('localStorage', MARK, '1')
    store('sessionStorage', VISITOR, JSON.stringify({ ...visitor, at: Date.now() }))
  }
  if (!user) { // The service has named the visitor.
    remember({ name: sign.querySelector('bdi').textContent, balance: sign.querySelector('.number')?.textContent })
    return
  }
  // Nobody sees the sign-in page with a session.
  const way = document.querySelectorAll('[data-sign-in]')
  if (way.length > 0) forget()
  for (const link of way) link.addEventListener('click', () => store('localStorage', MARK, '1'))
  if (!stored('localStorage', MARK)) return
  const text = sign.textContent
  sign.textContent = 'Account'
  const known = storedJson('sessionStorage', VISITOR) ?? {}
  if (known.name) name(sign, known)
  if (Date.now() - known.at < FRESH_MS) return
  const [who, money] = await Promise.all([
    known.name ? { email: known.name } : read(user),
    balance ? read(balance) : known.name ? read(user) : {},
  ])
  if (!stored('localStorage', MARK)) {
    sign.textContent = text
    return
  }
  const visitor = { name: who.email?.split('@')[0], balance: money.balance ?? known.balance }
  if (!visitor.name) return
  name(sign, visitor)
  remember(visitor)
}

addEventListener('DOMContentLoaded', () => {
  const button = document.getElementById('theme')
  if (button) chooseTheme(button)
  const sign = document.querySelector('.sign')
  if (sign) showVisitor(sign).catch(() => {}) // Offline, for example: the link still leads to the account.
  for (const link of document.querySelectorAll('[data-sign-out]')) link.addEventListener('click', forget)
  for (const button of document.querySelectorAll('button[data-copy], button[data-copy-from]')) {
    if (!navigator.clipboard) break
    button.hidden = false
    const text = button.textContent
    button.addEventListener('click', async () => {
      const { copy, copyFrom } = button.dataset
      try {
        // Without a text of its own it copies what it stands behind.
        const copied = copyFrom ? await (await fetch(copyFrom)).text() : copy || button.previousElementSibling.textContent
        await navigator.clipboard.writeText(copied)
        button.textContent = 'Copied'
      } catch {
        button.textContent = 'It could not be copied'
      }
      setTimeout(() => {
        button.textContent = text
      }, 2000)
    })
  }
  // The text of a time stays the day: another one could wrap, and move the page.
  for (const time of document.querySelectorAll('time[title]')) {
    const at = new Date(time.dateTime)
    if (!Number.isNaN(at.valueOf())) time.title = at.toLocaleString('en-GB', { dateStyle: 'long', timeStyle: 'short' })
  }
  // One menu is open at a time.
  const menus = [...document.querySelectorAll('details.menu, details.voters')]
  addEventListener('click', ({ target }) => {
    for (const menu of menus) if (!menu.contains(target)) menu.open = false
  })
  for (const menu of menus) {
    menu.addEventListener('keydown', ({ key }) => {
      if (key !== 'Escape' || !menu.open) return
      menu.open = false
      menu.querySelector('summary').focus()
    })
  }
  const countdown = document.getElementById('countdown')
  if (countdown) {
    // By the clock: a tab in the background ticks less often.
    const until = Date.now() + 1000 * Number(countdown.dataset.seconds)
    const timer = setInterval(() => {
      const left = Math.max(0, Math.ceil((until - Date.now()) / 1000))
      countdown.querySelector('strong').textContent = String(left)
      if (left > 0) return
      clearInterval(timer)
      countdown.hidden = true
      document.getElementById('again').textContent = 'You can try again now.'
    }, 1000)
  }
})
