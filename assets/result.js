// A running poll: its bars follow the event stream; the finished page comes from the server.
const ENDED = 'a poll that ended while it was read'
const RETRY_MS = 5000
const article = document.querySelector('article[data-events]')

if (article) {
  const bars = [...article.querySelectorAll('.bars > li')]
  const progress = document.getElementById('progress')
  const sentence = document.getElementById('sentence')
  const source = new EventSource(article.dataset.events)
  let spoken = -Infinity

  // The whole page comes from the server; who was at something stays there, and hears how it ended.
  const reload = () => {
    try {
      const at = document.activeElement?.textContent
      sessionStorage.setItem(ENDED, JSON.stringify({ path: location.pathname, at }))
    } catch {
      // Storage can be forbidden.
    }
    location.reload()
  }

  const show = (vote) => {
    const counts = Object.values(vote.tally)
    const all = counts.reduce((sum, count) => sum + count, 0)
    bars.forEach((bar, place) => {
      const share = all ? Math.round((100 * counts[place]) / all) : 0
      bar.querySelector('.votes').textContent = counts[place]
      bar.querySelector('.share').textContent = `${share} %`
      bar.querySelector('.filled').setAttribute('width', `${share}%`)
    })
    const votes = all === 1 ? '1 vote' : `${all} votes`
    if (vote.leader) sentence.textContent = `“\u2068${vote.leader}\u2069” leads with ${vote.tally[vote.leader]} of ${votes}.`
    else if (all) sentence.textContent = `There is no leader after ${votes}.`
    // A screen reader hears about it every few seconds, not at every vote.
    if (performance.now() - spoken > 4000) {
      spoken = performance.now()
      progress.textContent = `${vote.answered} of up to ${vote.roster_size} models have responded.`
    }
  }

  source.addEventListener('vote', (event) => show(JSON.parse(event.data)))
  source.addEventListener('complete', () => {
    source.close()
    reload()
  })
  source.addEventListener('error', (event) => {
    // One with data is the poll's own end; without, the browser reconnects by itself.
    if (event.data) {
      source.close()
      reload()
    } else if (source.readyState === EventSource.CLOSED) {
      // It was refused, after which browsers do not try again.
      setTimeout(reload, RETRY_MS)
    }
  })
}

try {
  const ended = JSON.parse(sessionStorage.getItem(ENDED) ?? 'null')
  sessionStorage.removeItem(ENDED)
  if (ended?.path === location.pathname) {
    const stops = [...document.querySelectorAll('main a[href], main button, main summary')]
    stops.find(({ textContent }) => ended.at && textContent === ended.at)?.focus()
    const status = document.getElementById('progress')
    // Set after the page has loaded: a live region announces changes only.
    setTimeout(() => {
      if (article) return
      status.className = 'unseen'
      status.textContent = document.getElementById('sentence').textContent
    }, 500)
  }
} catch {
  // Storage can be forbidden.
}
