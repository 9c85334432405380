// What each official client does with the service: the same steps, and what came of them, as one line of JSON.

const QUESTION = { question: 'Which of the two is the better one?', options: ['Alpha', 'Beta'], confidence_threshold: 1 }

/** `client` lists tools and calls them: `call(name, arguments, onProgress)`. */
export async function walk({ listTools, call }) {
  const progress = []
  const structured = async (name, input, onProgress) => (await call(name, input, onProgress)).structuredContent
  const said = ({ isError, content }) => (isError ? content[0].text : 'no error')
  const tools = await listTools()
  const poll = await structured('poll_question', QUESTION, ({ progress: done, total, message }) => progress.push([done, total, message]))
  const { poll_id } = poll
  const read = await structured('get_poll_result', { poll_id, include: ['votes'] })
  const { balance } = await structured('get_balance', {})
  const running = await structured('poll_question', { ...QUESTION, wait_ms: 0, pace: 'thrifty' })
  const { cancelled } = await structured('cancel_poll', { poll_id: running.poll_id })
  const { polls } = await structured('list_polls', {})
  const errors = {
    input: said(await call('poll_question', { ...QUESTION, options: ['one'] })),
    missing: said(await call('get_poll_result', { poll_id: 'EP-20260131-7KQ2M4X9TB' })),
    tool: await call('no_such_tool', {}).then(said, (error) => error.message),
  }
  const listed = polls.map((listed) => listed.poll_id)
  return {
    tools, outcome: poll.outcome, progress, votes: read.votes.length, balance, running: running.status, cancelled,
    listed: listed.includes(poll_id) && listed.includes(running.poll_id), errors,
  }
}
