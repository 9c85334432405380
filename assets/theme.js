// Colours by choice: set before the first paint, stored in this browser only.
const stored = () => {
  try {
    return localStorage.getItem('theme') ?? ''
  } catch {
    return '' // Storage can be forbidden.
  }
}

const apply = (theme) => {
  if (theme) document.documentElement.dataset.theme = theme
  else delete document.documentElement.dataset.theme
}

apply(stored())

addEventListener('DOMContentLoaded', () => {
  const select = document.getElementById('theme')
  select.value = stored()
  select.closest('label').hidden = false
  select.addEventListener('change', () => {
    apply(select.value)
    try {
      localStorage.setItem('theme', select.value)
    } catch {
      // It lasts as long as this page.
    }
  })
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
  for (const time of document.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime)
    if (!Number.isNaN(at.valueOf())) {
      time.title = time.textContent
      time.textContent = at.toLocaleString('en', { dateStyle: 'long', timeStyle: 'short' })
    }
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
