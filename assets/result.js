// A running poll: answer, bars and seats follow the event stream; the finished page comes from the server.
const ENDED = 'a poll that ended while it was read'
const RETRY_MS = 5000
const SPEAK_MS = 5000
const article = document.querySelector('article[data-events]')
const answer = document.getElementById('answer')
const answerText = () => answer.textContent.replace(/\s+/g, ' ').trim()

if (article) {
  const bars = [...article.querySelectorAll('.bars > li')]
  const seats = [...article.querySelectorAll('.chamber > .seat')]
  // The answer of each option, in its size.
  const leads = [...article.querySelectorAll('.room > strong')]
  const count = article.querySelector('.rest text')
  const live = article.querySelector('.live')
  const progress = document.getElementById('progress')
  let source
  let waiting
  let spoken = -Infinity
  let spokenLater

  // The whole page comes from the server; who was at something stays there, and hears how it ended.
  const reload = () => {
    source?.close()
    try {
      const at = document.activeElement?.textContent
      sessionStorage.setItem(ENDED, JSON.stringify({ path: location.pathname, at }))
    } catch {
      // Storage can be forbidden.
    }
    location.reload()
  }

  const option = (place) => bars[place].className.match(/option-\d/)[0]

  // Seats keep the order of the options: a vote moves each border by one seat at most.
  const seat = (counts, answered) => {
    const seated = counts.flatMap((votes, place) => Array(votes).fill(place))
    seats.forEach((seat, index) => {
      const place = seated[index]
      const state = index < answered ? 'none' : 'pale'
      seat.setAttribute('class', `seat ${place === undefined ? state : option(place)}`)
      seat.querySelector('text').textContent = place === undefined ? '' : bars[place].querySelector('.key').textContent
    })
  }

  const show = (vote) => {
    const counts = bars.map((bar) => vote.tally[bar.querySelector('bdi').textContent] ?? 0)
    const all = counts.reduce((sum, votes) => sum + votes, 0)
    const votes = all === 1 ? '1 vote' : `${all} votes`
    const exact = counts.map((count) => (all ? (100 * count) / all : 0))
    const shares = exact.map(Math.floor)
    // By largest remainder, as on the finished page.
    const missing = all ? 100 - shares.reduce((sum, share) => sum + share, 0) : 0
    const byRemainder = exact.map((share, place) => place).sort((a, b) => exact[b] - shares[b] - (exact[a] - shares[a]) || a - b)
    for (const place of byRemainder.slice(0, missing)) shares[place] += 1
    bars.forEach((bar, place) => {
      bar.classList.toggle('zero', counts[place] === 0)
      bar.querySelector('.votes').textContent = counts[place]
      bar.querySelector('.share').textContent = `${shares[place]} %`
      bar.querySelector('.filled').setAttribute('width', `${shares[place]}%`)
    })
    seat(counts, vote.answered)
    if (count) count.textContent = votes
    const leader = bars.findIndex((bar) => bar.querySelector('bdi').textContent === vote.leader)
    const { voters } = article.dataset
    const even = all ? ['Even', `after ${votes}`] : ['Asking', `the ${voters}`]
    const [text, score] = leader < 0 ? even : [vote.leader, `leads with ${counts[leader]} of ${all} ${voters}`]
    answer.className = leader < 0 ? 'answer' : `answer ${option(leader)}`
    answer.querySelector('strong').className = leader < 0 ? '' : leads[leader].className
    answer.querySelector('bdi').textContent = text
    answer.querySelector('span').textContent = score
    say(`${answerText()}. ${vote.answered} of up to ${vote.roster_size} models have responded.`)
  }

  // A screen reader hears the same counts every few seconds, not at every vote.
  const say = (text) => {
    clearTimeout(spokenLater)
    const wait = Math.max(0, spoken + SPEAK_MS - performance.now())
    spokenLater = setTimeout(() => {
      spoken = performance.now()
      progress.textContent = text
    }, wait)
  }

  // Visible at once, and announced by screen readers.
  const setConnected = (connected) => {
    if (live.classList.contains('lost') !== connected) return
    live.classList.toggle('lost', !connected)
    live.textContent = connected ? 'Voting now' : 'Reconnecting…'
    if (!connected) {
      clearTimeout(spokenLater)
      progress.textContent = live.textContent
    } else say(`Connected again. ${answerText()}.`)
  }

  // A stream that was refused is not opened again by the browser. The page says whether the poll still runs.
  const retry = () => {
    clearTimeout(waiting)
    waiting = setTimeout(async () => {
      const { ok, status } = await fetch(location.pathname, { cache: 'no-store' }).catch(() => ({}))
      if (ok || status === 404) reload()
      else if (!document.hidden) retry()
    }, RETRY_MS)
  }

  const connect = () => {
    source = new EventSource(article.dataset.events)
    source.addEventListener('open', () => setConnected(true))
    source.addEventListener('vote', (event) => {
      setConnected(true)
      show(JSON.parse(event.data))
    })
    source.addEventListener('complete', reload)
    source.addEventListener('error', (event) => {
      // One with data is the poll's own end; without, the connection is lost.
      if (event.data) return reload()
      setConnected(false)
      if (source.readyState === EventSource.CLOSED) retry()
    })
  }

  // A hidden page needs no stream, of which a browser has six for a server: it is opened again when the page is seen.
  const follow = () => {
    source?.close()
    clearTimeout(waiting)
    if (!document.hidden) connect()
  }

  document.addEventListener('visibilitychange', follow)
  addEventListener('offline', () => setConnected(false))
  // The browser waits before it tries again; by then it knows better.
  addEventListener('online', follow)
  follow()
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
      status.textContent = answerText()
    }, 500)
  }
} catch {
  // Storage can be forbidden.
}

// Arrow keys move between the seats, which are one stop of the Tab key.
for (const chamber of document.querySelectorAll('.chamber')) {
  const seats = [...chamber.querySelectorAll('.seat[tabindex]')]
  chamber.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    const from = seats.indexOf(document.activeElement)
    if (!step || from < 0) return
    event.preventDefault()
    const to = seats[(from + step + seats.length) % seats.length]
    seats[from].setAttribute('tabindex', '-1')
    to.setAttribute('tabindex', '0')
    to.focus()
  })
}

// The menu of the system, where there is one; else the button opens the popover of the page.
const share = document.querySelector('[data-share]')
if (share && navigator.share) {
  share.addEventListener('click', async (event) => {
    event.preventDefault()
    try {
      await navigator.share({ title: share.dataset.share, url: document.getElementById('link').value })
    } catch (error) {
      // Closing the menu of the system is not a failure.
      if (error.name !== 'AbortError') document.getElementById('share').showPopover()
    }
  })
}
