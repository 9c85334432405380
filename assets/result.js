// A running poll: its bars follow the event stream; the finished page comes from the server.
const article = document.querySelector('article[data-events]')

if (article) {
  const bars = [...article.querySelectorAll('.bars > li')]
  const progress = document.getElementById('progress')
  const source = new EventSource(article.dataset.events)
  let spoken = 0

  const show = (vote) => {
    const counts = Object.values(vote.tally)
    const all = counts.reduce((sum, count) => sum + count, 0)
    bars.forEach((bar, place) => {
      const share = all ? Math.round((100 * counts[place]) / all) : 0
      bar.querySelector('.votes').textContent = counts[place]
      bar.querySelector('.share').textContent = `${share} %`
      bar.querySelector('.filled').setAttribute('width', `${share}%`)
    })
    // A screen reader hears about it every few seconds, not at every vote.
    if (performance.now() - spoken > 4000) {
      spoken = performance.now()
      progress.textContent = `${vote.answered} of up to ${vote.roster_size} models have answered.`
    }
  }

  source.addEventListener('vote', (event) => show(JSON.parse(event.data)))
  source.addEventListener('complete', () => {
    source.close()
    location.reload()
  })
  source.addEventListener('error', (event) => {
    // One with data is the poll's own end; without, the browser reconnects by itself.
    if (event.data) {
      source.close()
      location.reload()
    }
  })
}
