// A poll to try: computes the confidence as the service does (crates/polling/src/stopping) and draws it as
// crates/pages/src/documents/how_sure/sample.rs does.
const LEVEL_TOLERANCE = 1e-9
const ROUNDING = 1e-9
const logs = [0]

const lnFactorial = (n) => {
  while (logs.length <= n) logs.push(logs.at(-1) + Math.log(logs.length))
  return logs[n]
}
const lnChoose = (n, k) => lnFactorial(n) - lnFactorial(k) - lnFactorial(n - k)

/** Returns the probability that a dead heat of `votes` ever shows a lead as strong as x to y. */
const crossing = (votes, x, y) => {
  const leaders = Math.floor(votes / 2)
  const rivals = votes - leaders
  const level = (a, b) => lnChoose(votes, a + b) - lnChoose(leaders, a) - lnChoose(rivals, b) - Math.log(a + b + 1)
  const least = level(x, y) - LEVEL_TOLERANCE
  const mass = new Float64Array(leaders + 2)
  mass[0] = 1
  let crossed = 0
  for (let n = 1; n <= votes; n++) {
    const low = Math.max(0, n - rivals)
    const high = Math.min(n, leaders)
    for (let a = high; a >= low; a--) {
      const fromLeader = a > 0 ? mass[a - 1] * (leaders + 1 - a) : 0
      const fromRival = a < n ? mass[a] * (rivals + 1 + a - n) : 0
      mass[a] = (fromLeader + fromRival) / (votes - n + 1)
    }
    const cross = (a) => {
      crossed += mass[a]
      mass[a] = 0
    }
    for (let a = high; a >= low && 2 * a > n && level(a, n - a) >= least; a--) cross(a)
    // Of an even number of votes, each side can lead wrongly.
    if (leaders === rivals) for (let a = low; a <= high && 2 * a < n && level(n - a, a) >= least; a++) cross(a)
  }
  return Math.min(crossed, 1)
}

const greatest = new Map()

/** Returns 1 minus the confidence. */
export const pValue = (leader, rival, remaining) => {
  if (leader <= rival) return 1
  if (leader > rival + remaining) return 0
  const key = leader * 1000 + rival
  if (!greatest.has(key)) greatest.set(key, [])
  // The greatest value up to each number of votes, from twice the leader's votes on.
  const known = greatest.get(key)
  const last = rival + remaining - leader
  while (known.length <= last) {
    known.push(Math.max(known.at(-1) ?? 0, crossing(2 * leader + known.length, leader, rival)))
  }
  return known[last]
}

const QUIET_MS = 400
const [LEFT, RIGHT, TOP, BOTTOM] = [76, 624, 40, 260]

const start = () => {
  const show = (id, text) => { document.getElementById(id).textContent = text }
  const set = (id, values) => {
    for (const [name, value] of Object.entries(values)) document.getElementById(id).setAttribute(name, value)
  }
  const ids = ['panel', 'leader', 'runner_up', 'threshold']
  const inputs = ids.map((id) => document.getElementById(id))
  let values = inputs.map((input) => Number(input.value))
  let timer

  /** Keeps the numbers possible, in favour of the one that is moved. */
  const possible = ([panel, leader, rival, threshold], moved) => {
    if (moved === 'runner_up') {
      rival = Math.min(rival, Math.floor(panel / 2))
      leader = Math.max(rival, Math.min(leader, panel - rival))
    }
    leader = Math.min(leader, panel)
    return [panel, leader, Math.min(rival, leader, panel - leader), threshold]
  }

  const draw = () => {
    const [panel, leader, rival, threshold] = values
    const x = (votes) => (LEFT + ((RIGHT - LEFT) * votes) / panel).toFixed(1)
    const y = (share) => (BOTTOM - (BOTTOM - TOP) * share).toFixed(1)
    const p = (votes) => pValue(votes, rival, panel - votes - rival)
    const points = []
    for (let votes = rival; votes <= panel - rival; votes++) points.push(`${x(votes)},${y(1 - p(votes))}`)
    set('curve', { points: points.join(' ') })
    set('dot', { cx: x(leader), cy: y(1 - p(leader)) })
    set('stop', { y1: y(threshold / 100), y2: y(threshold / 100) })
    set('above', { y: y(threshold / 100) })
    const share = (votes) => `${((100 * votes) / panel).toFixed(2)}%`
    set('ahead', { width: share(leader) })
    set('behind', { x: share(leader), width: share(rival) })
    const marks = document.getElementById('marks')
    if (marks.dataset.panel !== String(panel)) {
      marks.dataset.panel = panel
      const step = [1, 2, 5, 10].find((step) => Math.floor(panel / step) <= 10) ?? 20
      const [tick, label] = [marks.querySelector('path'), marks.querySelector('text')]
      const drawn = []
      for (let votes = 0; votes <= panel; votes += step) {
        const [line, text] = [tick.cloneNode(), label.cloneNode()]
        line.setAttribute('d', `M${x(votes)} ${BOTTOM}v6`)
        text.setAttribute('x', x(votes))
        text.textContent = votes
        drawn.push(line, text)
      }
      marks.replaceChildren(...drawn)
    }
  }

  const say = () => {
    const [panel, leader, rival, threshold] = values
    const rest = panel - leader - rival
    const p = pValue(leader, rival, rest)
    const percent = p === 0 ? '100 %' : `${Math.min(99.9, Math.floor((1 - p) * 1000) / 10).toFixed(1)} %`
    let verdict = `The poll goes on until ${threshold} %.`
    if (leader === rival) verdict = rest ? 'Nobody leads, so the poll goes on.' : 'A tie: every model has voted.'
    else if (rest === 0) verdict = 'Settled: every model has voted.'
    else if (p === 0) verdict = `Settled: the other ${rest} could not change the winner.`
    else if (p <= ((100 - threshold) / 100) * (1 + ROUNDING)) verdict = `The poll stops here and does not ask the other ${rest}.`
    show('percent', percent)
    show('verdict', verdict)
    for (const [index, id] of ids.entries()) document.querySelector(`output[for="${id}"]`).value = values[index] + (id === 'threshold' ? ' %' : '')
    // Announced when dragging stops.
    clearTimeout(timer)
    timer = setTimeout(show, QUIET_MS, 'sentence', `In a panel of ${panel} models, ${leader} to ${rival} votes are ${percent} sure. ${verdict}`)
  }

  for (const input of inputs) {
    input.type = 'range'
    document.querySelector(`output[for="${input.id}"]`).hidden = false
    input.addEventListener('input', () => {
      values = possible(inputs.map((each) => Number(each.value)), input.id)
      for (const [index, each] of inputs.entries()) each.value = values[index]
      for (const each of [inputs[1], inputs[2]]) each.max = values[0]
      say()
      requestAnimationFrame(draw)
    })
  }
  for (const each of [inputs[1], inputs[2]]) each.max = values[0]
}

if (globalThis.document) start()
