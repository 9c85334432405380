// Results of the tools poll_question and get_poll_result, as the service gives them.

export const HOSTILE = '</script><img src=x onerror="window.parent.postMessage(\'broken out\',\'*\')"><b>bold</b>'
export const ARABIC = 'هل النموذج الأول أفضل من النموذج الثاني في الإجابة عن الأسئلة الطويلة؟'
const ID = 'EP-20261121-K4E0R5CZ1W'
const URL = `https://polls.example.com/api/results/${ID}`

/** A tool result with this structured content. */
export const toolResult = (structuredContent, text = 'text for the model') =>
  ({ content: [{ type: 'text', text }], structuredContent, isError: 'error' in structuredContent })

export function finished(changes = {}) {
  return {
    poll_id: ID, status: 'partial', outcome: 'Coffee', question: 'Which drink suits a long meeting best?',
    options: ['Tea', 'Water', 'Coffee'], poll_type: 'fptp', winning_option: 'Coffee', is_tie: false,
    confidence_threshold: 0.95, max_cost_usd: 1, early_terminated: true, termination_reason: 'confidence',
    models_skipped: 33, models_unused: 0, tally: { Tea: 2, Water: 0, Coffee: 14 }, models_requested: 17,
    models_succeeded: 16, models_failed: 1, timing: { gather_ms: 380, total_ms: 412 },
    created_at: '2026-11-21T12:00:00.000Z', confidence: 0.98894, families: { with_votes: 8, effective: 6.74 },
    preset: 'frontier_generalist', simulated: false,
    notices: ['1 of the 17 models that counted gave no vote (1 timeout)'], result_url: URL, ...changes,
  }
}

export const COSTS = { total_estimated_cost: 0.000511, unused_calls_cost: 0, unknown_cost_calls: 0 }

/** What poll_question answers: nothing that its caller has sent. */
export const brief = (changes) => ({
  poll_id: ID, status: 'success', is_tie: false, termination_reason: 'confidence', models_skipped: 0, costs: COSTS,
  confidence: 0.97, simulated: false, notices: [], result_url: URL, caveat: 'Agreement among models, not truth.', ...changes,
})

export function votes() {
  const vote = (model_id, chosen_option) => ({
    model_id, success: chosen_option !== null, chosen_option, transition: 'vote', latency_ms: 210,
    error: chosen_option ? null : 'no answer in time', error_code: chosen_option ? null : 'timeout',
    family: model_id.split('/')[0], option_order: [0, 1, 2],
  })
  const majority = Array.from({ length: 14 }, (_, index) => vote(`maker-${index % 6}/model-${index}`, 'Coffee'))
  return [...majority, vote('other/first-dissenter', 'Tea'), vote('other/second-dissenter', 'Tea'), vote('slow/model', null)]
}

export const TIE = finished({
  status: 'success', outcome: 'tie', winning_option: null, is_tie: true, tally: { Tea: 6, Water: 2, Coffee: 6 },
  termination_reason: 'roster_exhausted', models_skipped: 0, models_requested: 14, models_succeeded: 14, models_failed: 0,
  confidence: 1, simulated: true, early_terminated: false, notices: [],
})

export const NO_VOTES = finished({
  status: 'failed', outcome: 'no_votes', winning_option: null, tally: { Tea: 0, Water: 0, Coffee: 0 },
  models_requested: 5, models_succeeded: 0, models_failed: 5, models_skipped: 0, confidence: 0,
  termination_reason: 'roster_exhausted', families: { with_votes: 0, effective: 0 },
  notices: ['none of 5 models gave a vote (5 rejected)'],
})

/** What poll_question answers before the poll has ended. */
export function running(changes = {}) {
  return {
    poll_id: ID, status: 'running', question: 'Which drink suits a long meeting best?',
    tally: { Tea: 1, Water: 0, Coffee: 4 }, leader: 'Coffee', confidence: 0.61, answered: 6, roster_size: 50,
    notices: [], poll_after_ms: 700, result_url: URL, ...changes,
  }
}

export const ERROR = {
  error: {
    type: 'https://polls.example.com/api/errors/catalog#invalid_input', title: 'The input is invalid', status: 400,
    detail: 'options is missing', code: 'invalid_input', retryable: false,
    recovery_actions: [{ action: 'fix_input', description: 'Change what the message names, then send the request again.' }],
  },
}

export const DRY_RUN = {
  dry_run: true, valid: false, errors: ['max_cost_usd is too small: the first calls could cost $0.20'],
  estimates: {
    preset: null, models: 25, calls_at_least: 8, calls_at_most: 25, cost_usd_at_least: 0.01,
    cost_usd_typical_full_roster: 0.08, cost_usd_at_most: 0.9, simulated: false, notices: ['one model has no price'],
  },
}

export function longAndRightToLeft() {
  const options = [
    ARABIC, 'x'.repeat(200), 'A rather long option, which says in many words what others would say in a few of them, and then goes on',
    '42', '7', 'constructor', HOSTILE,
  ]
  const tally = JSON.parse(`{${options.map((option, index) => `${JSON.stringify(option)}: ${8 - index}`)}}`)
  return finished({
    question: `${ARABIC}\n${'A long question goes on and on. '.repeat(40)}`, options, tally, outcome: ARABIC,
    winning_option: ARABIC, notices: [HOSTILE, 'y'.repeat(300)], models_requested: 36, models_succeeded: 36,
  })
}
