--
-- PostgreSQL database dump
--

\restrict 8ezbHhrMmDhu7COevjb4azUM2MyDu4Cm5udgygYZEKiONnuOd6etB71N7OUKQrV

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: count_ended_poll(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.count_ended_poll() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN INSERT INTO reputation_polls (poll_id) VALUES (NEW.id); RETURN NULL; END $$;


--
-- Name: refuse_change(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN RAISE EXCEPTION '% are append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation'; END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: _sqlx_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);


--
-- Name: a2a_pushes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.a2a_pushes (
    id text NOT NULL,
    task_id text NOT NULL,
    config_id text NOT NULL,
    user_id text NOT NULL,
    url text NOT NULL,
    version text NOT NULL,
    secrets text NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    next_at bigint NOT NULL,
    last_error text,
    CONSTRAINT a2a_pushes_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT a2a_pushes_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text])))
);


--
-- Name: a2a_tasks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.a2a_tasks (
    id text NOT NULL,
    owner text NOT NULL,
    context_id text NOT NULL,
    client_id text,
    opened_by text,
    poll_id text,
    batch_id text,
    state text NOT NULL,
    status_at bigint NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    content text NOT NULL,
    CONSTRAINT a2a_tasks_check CHECK (((poll_id IS NULL) OR (batch_id IS NULL))),
    CONSTRAINT a2a_tasks_check1 CHECK (((poll_id IS NOT NULL) OR (batch_id IS NOT NULL) OR (state = ANY (ARRAY['input-required'::text, 'canceled'::text])))),
    CONSTRAINT a2a_tasks_state_check CHECK ((state = ANY (ARRAY['input-required'::text, 'working'::text, 'completed'::text, 'failed'::text, 'canceled'::text])))
);


--
-- Name: accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.accounts (
    id text NOT NULL,
    posted bigint DEFAULT 0 NOT NULL,
    held bigint DEFAULT 0 NOT NULL,
    frozen bigint DEFAULT 0 NOT NULL,
    funder text,
    confirm_above bigint,
    deleted_at bigint,
    CONSTRAINT accounts_check CHECK ((funder <> id)),
    CONSTRAINT accounts_check1 CHECK ((posted >= held)),
    CONSTRAINT accounts_confirm_above_check CHECK ((confirm_above > 0)),
    CONSTRAINT accounts_frozen_check CHECK ((frozen = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT accounts_held_check CHECK ((held >= 0)),
    CONSTRAINT accounts_posted_check CHECK ((posted <= '1000000000000000000'::bigint))
);


--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_keys (
    id text NOT NULL,
    user_id text NOT NULL,
    hash text NOT NULL,
    prefix text NOT NULL,
    label text NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    revoked_at bigint,
    expires_at bigint,
    scope text DEFAULT 'all'::text NOT NULL,
    cap bigint,
    daily_cap bigint,
    CONSTRAINT api_keys_cap_check CHECK ((cap >= 0)),
    CONSTRAINT api_keys_daily_cap_check CHECK ((daily_cap >= 0)),
    CONSTRAINT api_keys_scope_check CHECK ((scope = ANY (ARRAY['all'::text, 'polls'::text, 'read'::text])))
);


--
-- Name: batch_answers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.batch_answers (
    batch text NOT NULL,
    number bigint NOT NULL,
    answer text,
    agreement bigint NOT NULL,
    contested bigint NOT NULL,
    reviewed text,
    reviewed_at bigint,
    CONSTRAINT batch_answers_agreement_check CHECK (((agreement >= 0) AND (agreement <= 1002000))),
    CONSTRAINT batch_answers_check CHECK (((answer IS NULL) = (agreement = 0))),
    CONSTRAINT batch_answers_check1 CHECK (((reviewed IS NULL) = (reviewed_at IS NULL))),
    CONSTRAINT batch_answers_contested_check CHECK ((contested = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT batch_answers_number_check CHECK ((number > 0))
);


--
-- Name: batch_notifications; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.batch_notifications (
    batch text NOT NULL,
    user_id text NOT NULL,
    url text NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    next_at bigint NOT NULL,
    last_error text,
    CONSTRAINT batch_notifications_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT batch_notifications_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text])))
);


--
-- Name: batch_rows; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.batch_rows (
    batch text NOT NULL,
    number bigint NOT NULL,
    lease_worker text NOT NULL,
    lease_until bigint NOT NULL,
    outcome bigint,
    response text,
    cost bigint,
    prompt_tokens bigint,
    completion_tokens bigint,
    CONSTRAINT batch_rows_check CHECK (((response IS NULL) = ((outcome IS NULL) OR (outcome = 2)))),
    CONSTRAINT batch_rows_outcome_check CHECK (((outcome >= 0) AND (outcome <= 2)))
);


--
-- Name: batches; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.batches (
    id text NOT NULL,
    user_id text NOT NULL,
    file text NOT NULL,
    terms text NOT NULL,
    status text NOT NULL,
    lines bigint DEFAULT 0 NOT NULL,
    total bigint DEFAULT 0 NOT NULL,
    leased bigint DEFAULT 0 NOT NULL,
    is_cut bigint DEFAULT 0 NOT NULL,
    held bigint DEFAULT 0 NOT NULL,
    budget bigint,
    key_id text,
    day bigint,
    errors text,
    request_ref text,
    lease_worker text DEFAULT ''::text NOT NULL,
    lease_until bigint DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    started_at bigint,
    cancelling_at bigint,
    ended_at bigint,
    expires_at bigint NOT NULL,
    keep_ms bigint NOT NULL,
    shared bigint DEFAULT 0 NOT NULL,
    model text,
    prompt_tokens bigint,
    completion_tokens bigint,
    output_bytes bigint,
    error_bytes bigint,
    CONSTRAINT batches_check CHECK (((total >= 0) AND (total <= lines))),
    CONSTRAINT batches_check1 CHECK (((leased >= 0) AND (leased <= lines))),
    CONSTRAINT batches_check2 CHECK (((ended_at IS NULL) = (status = ANY (ARRAY['validating'::text, 'in_progress'::text, 'cancelling'::text])))),
    CONSTRAINT batches_check3 CHECK (((ended_at IS NULL) OR (held = 0))),
    CONSTRAINT batches_held_check CHECK ((held >= 0)),
    CONSTRAINT batches_is_cut_check CHECK ((is_cut = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT batches_lines_check CHECK ((lines >= 0)),
    CONSTRAINT batches_shared_check CHECK ((shared = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT batches_status_check CHECK ((status = ANY (ARRAY['validating'::text, 'in_progress'::text, 'cancelling'::text, 'completed'::text, 'failed'::text, 'cancelled'::text, 'expired'::text])))
);


--
-- Name: calibration; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.calibration (
    panel text NOT NULL,
    level text NOT NULL,
    stored bigint NOT NULL,
    judged bigint NOT NULL,
    correct bigint NOT NULL,
    CONSTRAINT calibration_level_check CHECK ((level = ANY (ARRAY['unanimous'::text, 'two_thirds'::text, 'below_two_thirds'::text]))),
    CONSTRAINT calibration_stored_check CHECK ((stored = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);


--
-- Name: cancellations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.cancellations (
    poll_id text NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: card_refund_failures; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.card_refund_failures (
    refund_id text NOT NULL,
    reversal text NOT NULL,
    amount bigint NOT NULL,
    failed_at bigint NOT NULL,
    CONSTRAINT card_refund_failures_amount_check CHECK ((amount > 0))
);


--
-- Name: card_reversals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.card_reversals (
    ref text NOT NULL,
    checkout_id text,
    payment_id text,
    amount bigint NOT NULL,
    lifted bigint NOT NULL,
    applied bigint DEFAULT 0 NOT NULL,
    bad_debt bigint DEFAULT 0 NOT NULL,
    reported_at bigint DEFAULT 0 NOT NULL,
    changes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT card_reversals_amount_check CHECK ((amount >= 0)),
    CONSTRAINT card_reversals_applied_check CHECK ((applied >= 0)),
    CONSTRAINT card_reversals_changes_check CHECK ((changes >= 0)),
    CONSTRAINT card_reversals_check CHECK (((bad_debt >= 0) AND (bad_debt <= applied))),
    CONSTRAINT card_reversals_lifted_check CHECK ((lifted = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);


--
-- Name: card_reversal_targets; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.card_reversal_targets AS
 SELECT reported.ref,
    reported.checkout_id,
    reported.payment_id,
    reported.applied,
    reported.bad_debt,
    reported.changes,
        CASE
            WHEN ((reported.lifted = 1) OR (reported.failed > reported.amount)) THEN (0)::bigint
            ELSE (reported.amount - reported.failed)
        END AS target
   FROM ( SELECT card_reversals.ref,
            card_reversals.checkout_id,
            card_reversals.payment_id,
            card_reversals.amount,
            card_reversals.lifted,
            card_reversals.applied,
            card_reversals.bad_debt,
            card_reversals.reported_at,
            card_reversals.changes,
            ( SELECT (COALESCE(sum(card_refund_failures.amount), (0)::numeric))::bigint AS "coalesce"
                   FROM public.card_refund_failures
                  WHERE ((card_refund_failures.reversal = card_reversals.ref) AND (card_refund_failures.failed_at >= card_reversals.reported_at))) AS failed
           FROM public.card_reversals) reported;


--
-- Name: checkouts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.checkouts (
    id text NOT NULL,
    user_id text NOT NULL,
    amount bigint NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    session_id text,
    payment_id text,
    created_at bigint NOT NULL,
    CONSTRAINT checkouts_amount_check CHECK ((amount > 0)),
    CONSTRAINT checkouts_check CHECK (((status <> 'paid'::text) OR (session_id IS NOT NULL))),
    CONSTRAINT checkouts_status_check CHECK ((status = ANY (ARRAY['open'::text, 'paid'::text, 'closed'::text])))
);


--
-- Name: clock; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.clock AS
 SELECT ((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint AS now;


--
-- Name: deposits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deposits (
    ref text NOT NULL,
    id text NOT NULL,
    payer text NOT NULL,
    user_id text,
    amount bigint NOT NULL,
    status text DEFAULT 'settling'::text NOT NULL,
    payment text NOT NULL,
    valid_before bigint NOT NULL,
    since bigint NOT NULL,
    tx_hash text,
    created_at bigint NOT NULL,
    block bigint,
    look_at bigint DEFAULT 0,
    looks bigint DEFAULT 0 NOT NULL,
    CONSTRAINT deposits_amount_check CHECK ((amount > 0)),
    CONSTRAINT deposits_check CHECK (((status <> ALL (ARRAY['confirming'::text, 'settled'::text, 'vanished'::text])) OR ((tx_hash IS NOT NULL) AND (user_id IS NOT NULL)))),
    CONSTRAINT deposits_status_check CHECK ((status = ANY (ARRAY['settling'::text, 'unknown'::text, 'confirming'::text, 'settled'::text, 'vanished'::text, 'failed'::text])))
);


--
-- Name: erased_batches; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.erased_batches (
    batch text NOT NULL,
    at bigint DEFAULT 0 NOT NULL,
    poll text DEFAULT ''::text NOT NULL
);


--
-- Name: evaluations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.evaluations (
    id text NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL,
    report text NOT NULL,
    shared bigint DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT evaluations_shared_check CHECK ((shared = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);


--
-- Name: feedback; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.feedback (
    id text NOT NULL,
    poll_id text NOT NULL,
    user_id text NOT NULL,
    outcome_correct bigint,
    confidence double precision,
    notes text,
    created_at bigint NOT NULL,
    CONSTRAINT feedback_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT feedback_outcome_correct_check CHECK ((outcome_correct = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);


--
-- Name: file_chunks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.file_chunks (
    file text NOT NULL,
    first bigint NOT NULL,
    lines bigint NOT NULL,
    content text NOT NULL,
    CONSTRAINT file_chunks_first_check CHECK ((first > 0)),
    CONSTRAINT file_chunks_lines_check CHECK ((lines > 0))
);


--
-- Name: files; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.files (
    id text NOT NULL,
    user_id text NOT NULL,
    name text NOT NULL,
    bytes bigint,
    lines bigint,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    received bigint DEFAULT 0 NOT NULL,
    quota bigint DEFAULT 0 NOT NULL,
    stored_at bigint DEFAULT 0 NOT NULL,
    request_ref text,
    sha256 text,
    CONSTRAINT files_bytes_check CHECK ((bytes >= 0)),
    CONSTRAINT files_check CHECK (((bytes IS NULL) = (lines IS NULL))),
    CONSTRAINT files_lines_check CHECK ((lines >= 0)),
    CONSTRAINT files_received_check CHECK ((received >= 0))
);


--
-- Name: heartbeats; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.heartbeats (
    minute bigint NOT NULL
);


--
-- Name: holds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.holds (
    ref text NOT NULL,
    account text NOT NULL,
    amount bigint NOT NULL,
    captured bigint DEFAULT 0 NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    key_id text,
    day bigint,
    batch text,
    CONSTRAINT holds_amount_check CHECK ((amount > 0)),
    CONSTRAINT holds_captured_check CHECK ((captured >= 0)),
    CONSTRAINT holds_check CHECK ((captured <= amount)),
    CONSTRAINT holds_check1 CHECK (((status = 'captured'::text) = (captured > 0))),
    CONSTRAINT holds_status_check CHECK ((status = ANY (ARRAY['open'::text, 'captured'::text, 'released'::text])))
);


--
-- Name: identities; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.identities (
    kind text NOT NULL,
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id text NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT identities_kind_check CHECK ((kind = ANY (ARRAY['wallet'::text, 'oidc'::text])))
);


--
-- Name: key_spending; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.key_spending (
    key_id text NOT NULL,
    day bigint NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT key_spending_amount_check CHECK ((amount >= 0))
);


--
-- Name: notifications; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.notifications (
    poll_id text NOT NULL,
    user_id text NOT NULL,
    url text NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    next_at bigint NOT NULL,
    last_error text,
    created_at bigint NOT NULL,
    CONSTRAINT notifications_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT notifications_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text])))
);


--
-- Name: panels; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.panels (
    user_id text NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL,
    definition text NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT panels_version_check CHECK ((version > 0))
);


--
-- Name: plans; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.plans (
    number bigint NOT NULL,
    roster bigint NOT NULL,
    seed bytea NOT NULL,
    question text NOT NULL,
    options text NOT NULL,
    rules text NOT NULL,
    CONSTRAINT plans_seed_check CHECK ((length(seed) = 32))
);


--
-- Name: plans_number_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.plans ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.plans_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: polls; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.polls (
    id text NOT NULL,
    owner text,
    created_at bigint NOT NULL,
    form bigint NOT NULL,
    number bigint,
    billed bigint NOT NULL,
    settled bigint DEFAULT 0 NOT NULL,
    lease_until bigint NOT NULL,
    lease_worker text NOT NULL,
    lease_epoch bigint DEFAULT 0 NOT NULL,
    deadline_at bigint,
    unused_cost bigint,
    request_ref text,
    decided text,
    closing text,
    explanations text,
    deleted_at bigint,
    CONSTRAINT polls_billed_check CHECK ((billed = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT polls_check CHECK (((settled = 0) OR (closing IS NOT NULL))),
    CONSTRAINT polls_check1 CHECK (((number IS NULL) = (deleted_at IS NOT NULL))),
    CONSTRAINT polls_settled_check CHECK ((settled = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT polls_unused_cost_check CHECK ((unused_cost >= 0))
)
WITH (fillfactor='80');


--
-- Name: rate_limits; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.rate_limits (
    policy text NOT NULL,
    key text NOT NULL,
    full_at bigint NOT NULL
)
WITH (fillfactor='70');


--
-- Name: replays; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.replays (
    scope text NOT NULL,
    fingerprint text NOT NULL,
    lease_until bigint NOT NULL,
    expires_at bigint NOT NULL,
    reply text,
    epoch bigint DEFAULT 0 NOT NULL
);


--
-- Name: reputation_models; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reputation_models (
    model text NOT NULL,
    stored bigint NOT NULL,
    calls bigint NOT NULL,
    votes bigint NOT NULL,
    refused bigint NOT NULL,
    unreadable bigint NOT NULL,
    latency_ms bigint NOT NULL,
    priced bigint NOT NULL,
    cost bigint NOT NULL,
    decided bigint NOT NULL,
    with_outcome bigint NOT NULL,
    judged bigint NOT NULL,
    agreed bigint NOT NULL,
    CONSTRAINT reputation_models_stored_check CHECK ((stored = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);


--
-- Name: reputation_polls; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reputation_polls (
    poll_id text NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    counted_revision bigint DEFAULT 0 NOT NULL,
    correct bigint DEFAULT 0 NOT NULL,
    incorrect bigint DEFAULT 0 NOT NULL
);


--
-- Name: reputation_readers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reputation_readers (
    reader bigint NOT NULL,
    stored bigint NOT NULL,
    polls bigint NOT NULL,
    CONSTRAINT reputation_readers_stored_check CHECK ((stored = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);


--
-- Name: reputation_service; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reputation_service (
    stored bigint NOT NULL,
    polls bigint DEFAULT 0 NOT NULL,
    cancelled bigint DEFAULT 0 NOT NULL,
    free bigint DEFAULT 0 NOT NULL,
    answered bigint DEFAULT 0 NOT NULL,
    total_ms bigint DEFAULT 0 NOT NULL,
    cost bigint DEFAULT 0 NOT NULL,
    CONSTRAINT reputation_service_stored_check CHECK ((stored = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);


--
-- Name: reputation_slots; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reputation_slots (
    model text NOT NULL,
    options bigint NOT NULL,
    slot bigint NOT NULL,
    stored bigint NOT NULL,
    votes bigint NOT NULL,
    CONSTRAINT reputation_slots_stored_check CHECK ((stored = ANY (ARRAY[(0)::bigint, (1)::bigint])))
);


--
-- Name: rosters; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.rosters (
    id bigint NOT NULL,
    hash bytea NOT NULL,
    members text NOT NULL
);


--
-- Name: rosters_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.rosters ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.rosters_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    hash text NOT NULL,
    user_id text NOT NULL,
    created_at bigint NOT NULL,
    used_at bigint NOT NULL,
    provider_token text
);


--
-- Name: starter_credits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.starter_credits (
    day bigint NOT NULL,
    scope text NOT NULL,
    given bigint NOT NULL,
    CONSTRAINT starter_credits_given_check CHECK ((given > 0))
);


--
-- Name: transfers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.transfers (
    id bigint NOT NULL,
    ref text NOT NULL,
    debit_account text NOT NULL,
    credit_account text NOT NULL,
    amount bigint NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT transfers_amount_check CHECK ((amount > 0)),
    CONSTRAINT transfers_check CHECK ((debit_account <> credit_account))
);


--
-- Name: transfers_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.transfers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.transfers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: upstream_registries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.upstream_registries (
    upstream text NOT NULL,
    fetched_at bigint NOT NULL,
    body text NOT NULL
);


--
-- Name: upstream_rungs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.upstream_rungs (
    upstream text NOT NULL,
    model text NOT NULL,
    rung bigint NOT NULL,
    saved_at bigint DEFAULT 0 NOT NULL,
    parameters bigint DEFAULT 0 NOT NULL,
    needs bigint DEFAULT 0 NOT NULL,
    CONSTRAINT upstream_rungs_rung_check CHECK (((rung >= 0) AND (rung <= 255)))
);


--
-- Name: used_nonces; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.used_nonces (
    nonce text NOT NULL,
    expires_at bigint NOT NULL
);


--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id text NOT NULL,
    email text NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: votes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.votes (
    poll bigint NOT NULL,
    cost bigint NOT NULL,
    latency_ms bigint NOT NULL,
    at_ms bigint NOT NULL,
    prompt_tokens integer,
    completion_tokens integer,
    "position" smallint NOT NULL,
    seq smallint NOT NULL,
    choice smallint,
    basis smallint NOT NULL,
    mode smallint,
    reasoned smallint,
    asked_again smallint,
    reason text,
    detail text,
    answered_by text,
    probabilities text,
    CONSTRAINT votes_asked_again_check CHECK ((asked_again = 1)),
    CONSTRAINT votes_check CHECK (((choice IS NULL) = (reason IS NOT NULL))),
    CONSTRAINT votes_check1 CHECK (((reason IS NULL) = (detail IS NULL))),
    CONSTRAINT votes_choice_check CHECK ((choice >= 0)),
    CONSTRAINT votes_cost_check CHECK ((cost >= 0)),
    CONSTRAINT votes_position_check CHECK (("position" >= 0)),
    CONSTRAINT votes_reasoned_check CHECK ((reasoned = ANY (ARRAY[0, 1]))),
    CONSTRAINT votes_seq_check CHECK ((seq > 0))
);


--
-- Name: webhooks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhooks (
    user_id text NOT NULL,
    url text,
    secret_number bigint DEFAULT 0 NOT NULL,
    secret_replaced_at bigint
);


--
-- Data for Name: _sqlx_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public._sqlx_migrations VALUES (1, 'schema', '2026-11-30 05:17:09.158715+00', true, '\x5951c978275effccde409d7b259eb4a894d10a6f7d662b75c335b4366cd589c5bbd2d62cce671f8b413e2fea9eb359b4', 144137146);


--
-- Data for Name: a2a_pushes; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: a2a_tasks; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.accounts VALUES ('3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 998677, 0, 0, NULL, NULL, NULL);


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_keys VALUES ('adf21c03-41a4-4fca-b200-c2668f4b0412', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', '9a99714bc9d48fcb7e87709a03778c038b65a6af0f9b383505f7d9cd9b2d48fd', 'ep_k_BipRJ', 'test', 1795262400000, NULL, NULL, NULL, 'all', NULL, NULL);
INSERT INTO public.api_keys VALUES ('41d5e9cb-a290-42b5-8485-8e886a01ca64', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'a77fb901e6a5df367aab41005de0e30eb2477fce5f487473fad9c09e79d68d90', 'ep_k_qN5L1', 'test', 1795262400000, NULL, NULL, NULL, 'all', NULL, NULL);


--
-- Data for Name: batch_answers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.batch_answers VALUES ('batch_041e8f57b5eb444cb2b58b7c5633a0eb', 1, 'fail', 801600, 0, NULL, NULL);
INSERT INTO public.batch_answers VALUES ('batch_041e8f57b5eb444cb2b58b7c5633a0eb', 2, 'fail', 1002000, 0, NULL, NULL);
INSERT INTO public.batch_answers VALUES ('batch_041e8f57b5eb444cb2b58b7c5633a0eb', 3, 'fail', 801600, 0, NULL, NULL);


--
-- Data for Name: batch_notifications; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: batch_rows; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.batch_rows VALUES ('batch_041e8f57b5eb444cb2b58b7c5633a0eb', 1, '532deabf88729cb43995ab5a9cd49bf9', 1796015859700, 0, '{"id":"batch_req_041e8f57b5eb444cb2b58b7c5633a0eb_1","custom_id":"row-0","response":{"status_code":200,"request_id":"75b9822e-6e0d-4de6-b1b2-2d5da84a81a6","body":{"id":"chatcmpl-EP-20261121-PK8V98Y345","object":"chat.completion","created":1795262400,"model":"poll","choices":[{"index":0,"message":{"role":"assistant","content":"{\"grade\":\"fail\"}","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":600,"completion_tokens":60,"total_tokens":660},"poll":{"poll_id":"EP-20261121-PK8V98Y345","field":"grade","outcome":"decided","votes":5,"panel":5,"shares":[{"value":"pass","votes":1,"share":0.25},{"value":"fail","votes":4,"share":0.75}],"confidence":1.0,"contested":false,"termination_reason":"roster_exhausted","cost_usd":0.000135,"simulated":false,"result_url":"https://polls.example/api/results/EP-20261121-PK8V98Y345","notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}}},"error":null}', NULL, 600, 60);
INSERT INTO public.batch_rows VALUES ('batch_041e8f57b5eb444cb2b58b7c5633a0eb', 2, '532deabf88729cb43995ab5a9cd49bf9', 1796015859700, 0, '{"id":"batch_req_041e8f57b5eb444cb2b58b7c5633a0eb_2","custom_id":"row-1","response":{"status_code":200,"request_id":"640ea3bf-75c4-4c88-b848-21c6ded873de","body":{"id":"chatcmpl-EP-20261121-6FWSCS5NKS","object":"chat.completion","created":1795262400,"model":"poll","choices":[{"index":0,"message":{"role":"assistant","content":"{\"grade\":\"fail\"}","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":360,"completion_tokens":36,"total_tokens":396},"poll":{"poll_id":"EP-20261121-6FWSCS5NKS","field":"grade","outcome":"decided","votes":3,"panel":5,"shares":[{"value":"pass","votes":0,"share":0.125},{"value":"fail","votes":3,"share":0.875}],"confidence":1.0,"contested":false,"termination_reason":"mathematical_lock","cost_usd":0.000081,"simulated":false,"result_url":"https://polls.example/api/results/EP-20261121-6FWSCS5NKS","notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}}},"error":null}', NULL, 360, 36);
INSERT INTO public.batch_rows VALUES ('batch_041e8f57b5eb444cb2b58b7c5633a0eb', 3, '532deabf88729cb43995ab5a9cd49bf9', 1796015859700, 0, '{"id":"batch_req_041e8f57b5eb444cb2b58b7c5633a0eb_3","custom_id":"row-2","response":{"status_code":200,"request_id":"b3aa6330-920a-414d-9849-7bb96416d4c7","body":{"id":"chatcmpl-EP-20261121-NMNJYF9CTY","object":"chat.completion","created":1795262400,"model":"poll","choices":[{"index":0,"message":{"role":"assistant","content":"{\"grade\":\"fail\"}","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":600,"completion_tokens":60,"total_tokens":660},"poll":{"poll_id":"EP-20261121-NMNJYF9CTY","field":"grade","outcome":"decided","votes":5,"panel":5,"shares":[{"value":"pass","votes":1,"share":0.25},{"value":"fail","votes":4,"share":0.75}],"confidence":1.0,"contested":false,"termination_reason":"roster_exhausted","cost_usd":0.000135,"simulated":false,"result_url":"https://polls.example/api/results/EP-20261121-NMNJYF9CTY","notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}}},"error":null}', NULL, 600, 60);


--
-- Data for Name: batches; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.batches VALUES ('batch_041e8f57b5eb444cb2b58b7c5633a0eb', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'file-754ca30e47ed453485740d96b015e741', '{"endpoint":"/v1/chat/completions","defaults":{"private":true}}', 'completed', 3, 3, 3, 0, 0, NULL, NULL, NULL, NULL, NULL, '', 0, 1795262400000, 1795262400000, NULL, 1795262400000, 1795348800000, 2592000000, 0, NULL, 1560, 156, 2868, 0);


--
-- Data for Name: calibration; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: cancellations; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: card_refund_failures; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: card_reversals; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: checkouts; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: deposits; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: erased_batches; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: evaluations; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: feedback; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.feedback VALUES ('914b1f50-b719-4f43-8794-26cbb4d8ab9a', 'EP-20261121-2VK505XMFW', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1, NULL, NULL, 1795262400000);


--
-- Data for Name: file_chunks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.file_chunks VALUES ('file-754ca30e47ed453485740d96b015e741', 1, 3, '{"custom_id":"row-0","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Grade the answer row-0."}],"response_format":{"type":"json_schema","json_schema":{"name":"grade","schema":{"type":"object","properties":{"grade":{"enum":["pass","fail"]}},"required":["grade"]}}}}}
{"custom_id":"row-1","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Grade the answer row-1."}],"response_format":{"type":"json_schema","json_schema":{"name":"grade","schema":{"type":"object","properties":{"grade":{"enum":["pass","fail"]}},"required":["grade"]}}}}}
{"custom_id":"row-2","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Grade the answer row-2."}],"response_format":{"type":"json_schema","json_schema":{"name":"grade","schema":{"type":"object","properties":{"grade":{"enum":["pass","fail"]}},"required":["grade"]}}}}}
');


--
-- Data for Name: files; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.files VALUES ('file-754ca30e47ed453485740d96b015e741', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'rows.jsonl', 927, 3, 1795262400000, 1797854400000, 0, 8388608, 1795262400000, NULL, NULL);


--
-- Data for Name: heartbeats; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.heartbeats VALUES (29921040);


--
-- Data for Name: holds; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.holds VALUES ('EP-20261121-2VK505XMFW', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 3085, 135, 'captured', NULL, NULL, NULL);
INSERT INTO public.holds VALUES ('EP-20261121-RSNX5X3X9K', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 4319, 189, 'captured', NULL, NULL, NULL);
INSERT INTO public.holds VALUES ('EP-20261121-NZ09N19RQ0', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1234, 54, 'captured', NULL, NULL, NULL);
INSERT INTO public.holds VALUES ('EP-20261121-DXJA73V7G9', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 3085, 135, 'captured', NULL, NULL, NULL);
INSERT INTO public.holds VALUES ('EP-20261121-WSRBP2YBNG', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 3140, 135, 'captured', NULL, NULL, NULL);
INSERT INTO public.holds VALUES ('EP-20261121-5EK4DS6TKY', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 3140, 135, 'captured', NULL, NULL, NULL);
INSERT INTO public.holds VALUES ('EP-20261121-9C69SBR867', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 3085, 135, 'captured', NULL, NULL, NULL);
INSERT INTO public.holds VALUES ('EP-20261121-PK8V98Y345', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 3115, 135, 'captured', NULL, NULL, 'batch_041e8f57b5eb444cb2b58b7c5633a0eb');
INSERT INTO public.holds VALUES ('EP-20261121-NMNJYF9CTY', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 3115, 135, 'captured', NULL, NULL, 'batch_041e8f57b5eb444cb2b58b7c5633a0eb');
INSERT INTO public.holds VALUES ('EP-20261121-6FWSCS5NKS', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 3115, 135, 'captured', NULL, NULL, 'batch_041e8f57b5eb444cb2b58b7c5633a0eb');


--
-- Data for Name: identities; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: key_spending; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: notifications; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: panels; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.panels VALUES ('3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'pair', 1, '{"models":["maker0/line-0","maker1/line-1"],"order":"given"}', 1795262400000);


--
-- Data for Name: plans; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (1, 1, '\x37c02559b74fdab168e5d2d3fc4355733b4447f9a56d8445d6c94017d63a667e', 'Which of the two is the better one?', '["Alpha","Beta"]', '{"preset":"fast_and_cheap","threshold":0.95,"pace":"balanced","notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}');
INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (2, 1, '\x591aa31cec30cc6701846d677da04f1cf61dbf738b7456a9275f8baa16854050', 'Which of the two is the better one?', '["Alpha","Beta"]', '{"preset":"fast_and_cheap","threshold":0.95,"pace":"balanced","explanations":1,"complete":true,"notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}');
INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (3, 2, '\xb8c9c02b928abcf37a5af402262579596d062bf1247165845ba51050c25da048', 'Which of the two is the better one?', '["Alpha","Beta"]', '{"panel":{"name":"pair","version":1},"threshold":0.95,"pace":"balanced","on_tie":"strongest","ranked":true}');
INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (4, 1, '\xe14562c3357b64f7b3a0aac08dfc8857e151cae0ed9a02aae27eea5457b89d6a', 'Which of the two is the better one?', '["Alpha","Beta"]', '{"preset":"fast_and_cheap","threshold":0.95,"pace":"balanced","private":true,"notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}');
INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (5, 1, '\x957b273b655952f71220194a80242cc1f453790efc44ea8785b2c2bafa093d0a', 'How good is the answer “42”?', '["1","2","3"]', '{"preset":"fast_and_cheap","threshold":0.95,"pace":"balanced","kind":{"pass_mark":1},"notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}');
INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (6, 1, '\xe20bd75fcd7df7e27ae4a700242d41696bdd2dd253570d06c2a564c282fad2a7', 'How good is the answer “43”?', '["1","2","3"]', '{"preset":"fast_and_cheap","threshold":0.95,"pace":"balanced","kind":"levels","complete":true,"notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}');
INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (8, 1, '\x319976465c4c6923e796471fa7b54a1dce994960ea1ebba9ed929381475b132a', 'Grade the answer row-0.

Choose the value of "grade".', '["pass","fail"]', '{"preset":"fast_and_cheap","threshold":0.95,"pace":"balanced","private":true,"notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}');
INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (9, 1, '\xeed6755e86c6079f326af24bff50ee3683028ed87703f86a36586e69eca4cba2', 'Grade the answer row-2.

Choose the value of "grade".', '["pass","fail"]', '{"preset":"fast_and_cheap","threshold":0.95,"pace":"balanced","private":true,"notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}');
INSERT INTO public.plans OVERRIDING SYSTEM VALUE VALUES (10, 1, '\xef64a6c1b8e726dff3bf15a4c639f41a6441dfc9f4a53ced95695f626bd7e012', 'Grade the answer row-1.

Choose the value of "grade".', '["pass","fail"]', '{"preset":"fast_and_cheap","threshold":0.95,"pace":"balanced","private":true,"notices":["preset fast_and_cheap asks for 50 models; the registry has 5 that fit"]}');


--
-- Data for Name: polls; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.polls VALUES ('EP-20261121-NMNJYF9CTY', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 9, 1, 1, 0, '', 1, NULL, 0, 'batch_041e8f57b5eb444cb2b58b7c5633a0eb-3', NULL, '{"reason":"roster_exhausted","gather_ms":5,"upstream_us":5699,"total_ms":5,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', NULL, NULL);
INSERT INTO public.polls VALUES ('EP-20261121-RSNX5X3X9K', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 2, 1, 1, 0, '', 1, NULL, 0, NULL, NULL, '{"reason":"roster_exhausted","gather_ms":7,"upstream_us":7166,"total_ms":7,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', '[{"position":3,"text":"Because it fits best.","spend":{"amount":27,"basis":"priced"}},{"position":2,"text":"Because it fits best.","spend":{"amount":27,"basis":"priced"}}]', NULL);
INSERT INTO public.polls VALUES ('EP-20261121-NZ09N19RQ0', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 3, 1, 1, 0, '', 1, NULL, 0, NULL, NULL, '{"reason":"roster_exhausted","gather_ms":2,"upstream_us":2462,"total_ms":2,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', NULL, NULL);
INSERT INTO public.polls VALUES ('EP-20261121-DXJA73V7G9', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 4, 1, 1, 0, '', 1, NULL, 0, NULL, NULL, '{"reason":"roster_exhausted","gather_ms":4,"upstream_us":4258,"total_ms":4,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', NULL, NULL);
INSERT INTO public.polls VALUES ('EP-20261121-WSRBP2YBNG', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 5, 1, 1, 0, '', 1, NULL, 0, NULL, NULL, '{"reason":"roster_exhausted","gather_ms":4,"upstream_us":4216,"total_ms":4,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', NULL, NULL);
INSERT INTO public.polls VALUES ('EP-20261121-5EK4DS6TKY', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 6, 1, 1, 0, '', 1, NULL, 0, NULL, NULL, '{"reason":"roster_exhausted","gather_ms":6,"upstream_us":6472,"total_ms":6,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', NULL, NULL);
INSERT INTO public.polls VALUES ('EP-20261121-6FWSCS5NKS', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 10, 1, 1, 0, '', 1, NULL, 54, 'batch_041e8f57b5eb444cb2b58b7c5633a0eb-2', NULL, '{"reason":"mathematical_lock","gather_ms":3,"upstream_us":3560,"total_ms":3,"closed_at":"2026-11-21T12:00:00.000Z","reader":2,"unused_calls":2,"unused_calls_estimate":452}', NULL, NULL);
INSERT INTO public.polls VALUES ('EP-20261121-9C69SBR867', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, NULL, 1, 1, 0, '', 1, NULL, 0, NULL, NULL, '{"reason":"roster_exhausted","gather_ms":3,"upstream_us":3377,"total_ms":3,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', NULL, 1795262400000);
INSERT INTO public.polls VALUES ('EP-20261121-2VK505XMFW', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 1, 1, 1, 0, '', 1, NULL, 0, NULL, NULL, '{"reason":"roster_exhausted","gather_ms":4,"upstream_us":4893,"total_ms":4,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', NULL, NULL);
INSERT INTO public.polls VALUES ('EP-20261121-PK8V98Y345', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1795262400000, 1, 8, 1, 1, 0, '', 1, NULL, 0, 'batch_041e8f57b5eb444cb2b58b7c5633a0eb-1', NULL, '{"reason":"roster_exhausted","gather_ms":4,"upstream_us":4161,"total_ms":4,"closed_at":"2026-11-21T12:00:00.000Z","reader":2}', NULL, NULL);


--
-- Data for Name: rate_limits; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: replays; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: reputation_models; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.reputation_models VALUES ('maker0/line-0', 0, 1, 1, 0, 0, 3, 1, 27, 1, 1, 0, 0);
INSERT INTO public.reputation_models VALUES ('maker1/line-1', 0, 1, 1, 0, 0, 2, 1, 27, 1, 1, 0, 0);
INSERT INTO public.reputation_models VALUES ('maker2/line-2', 0, 1, 1, 0, 0, 2, 1, 27, 1, 1, 0, 0);
INSERT INTO public.reputation_models VALUES ('maker3/line-3', 0, 1, 1, 0, 0, 2, 1, 27, 1, 0, 0, 0);
INSERT INTO public.reputation_models VALUES ('maker4/line-4', 0, 1, 1, 0, 0, 3, 1, 27, 1, 1, 0, 0);


--
-- Data for Name: reputation_polls; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.reputation_polls VALUES ('EP-20261121-RSNX5X3X9K', 1, 0, 0, 0);
INSERT INTO public.reputation_polls VALUES ('EP-20261121-NZ09N19RQ0', 1, 0, 0, 0);
INSERT INTO public.reputation_polls VALUES ('EP-20261121-DXJA73V7G9', 1, 0, 0, 0);
INSERT INTO public.reputation_polls VALUES ('EP-20261121-WSRBP2YBNG', 1, 0, 0, 0);
INSERT INTO public.reputation_polls VALUES ('EP-20261121-5EK4DS6TKY', 1, 0, 0, 0);
INSERT INTO public.reputation_polls VALUES ('EP-20261121-2VK505XMFW', 2, 0, 0, 0);
INSERT INTO public.reputation_polls VALUES ('EP-20261121-PK8V98Y345', 1, 0, 0, 0);
INSERT INTO public.reputation_polls VALUES ('EP-20261121-NMNJYF9CTY', 1, 0, 0, 0);
INSERT INTO public.reputation_polls VALUES ('EP-20261121-6FWSCS5NKS', 1, 0, 0, 0);


--
-- Data for Name: reputation_readers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.reputation_readers VALUES (2, 0, 1);


--
-- Data for Name: reputation_service; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.reputation_service VALUES (1, 0, 0, 0, 0, 0, 0);
INSERT INTO public.reputation_service VALUES (0, 1, 0, 0, 1, 3, 135);


--
-- Data for Name: reputation_slots; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.reputation_slots VALUES ('maker0/line-0', 2, 0, 0, 1);
INSERT INTO public.reputation_slots VALUES ('maker1/line-1', 2, 0, 0, 1);
INSERT INTO public.reputation_slots VALUES ('maker2/line-2', 2, 1, 0, 1);
INSERT INTO public.reputation_slots VALUES ('maker3/line-3', 2, 1, 0, 1);
INSERT INTO public.reputation_slots VALUES ('maker4/line-4', 2, 1, 0, 1);


--
-- Data for Name: rosters; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.rosters OVERRIDING SYSTEM VALUE VALUES (1, '\xb4fbd2d79442a81ce9c90093de40af5bf30cec1be4c64e8193a9206f1b5493e7', '[{"model":"maker0/line-0","family":"maker0/line","price":{"prompt":200000,"completion":200000,"request":0},"output_tokens":256},{"model":"maker1/line-1","family":"maker1/line","price":{"prompt":200000,"completion":200000,"request":0},"output_tokens":256},{"model":"maker2/line-2","family":"maker2/line","price":{"prompt":200000,"completion":200000,"request":0},"output_tokens":256},{"model":"maker3/line-3","family":"maker3/line","price":{"prompt":200000,"completion":200000,"request":0},"output_tokens":256},{"model":"maker4/line-4","family":"maker4/line","price":{"prompt":200000,"completion":200000,"request":0},"output_tokens":256}]');
INSERT INTO public.rosters OVERRIDING SYSTEM VALUE VALUES (2, '\x41968ade049d40451e1833a84868abf03b0a7dab70049c4dcc79b97c3ad578e8', '[{"model":"maker0/line-0","family":"maker0/line","price":{"prompt":200000,"completion":200000,"request":0},"output_tokens":256},{"model":"maker1/line-1","family":"maker1/line","price":{"prompt":200000,"completion":200000,"request":0},"output_tokens":256}]');


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: starter_credits; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: transfers; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (1, 'starter:3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:credits', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 1000000, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (2, 'hold:EP-20261121-2VK505XMFW', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 135, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (3, 'hold:EP-20261121-RSNX5X3X9K', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 189, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (4, 'hold:EP-20261121-NZ09N19RQ0', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 54, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (5, 'hold:EP-20261121-DXJA73V7G9', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 135, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (6, 'hold:EP-20261121-WSRBP2YBNG', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 135, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (7, 'hold:EP-20261121-5EK4DS6TKY', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 135, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (8, 'hold:EP-20261121-9C69SBR867', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 135, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (9, 'hold:EP-20261121-PK8V98Y345', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 135, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (10, 'hold:EP-20261121-NMNJYF9CTY', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 135, 1795262400000);
INSERT INTO public.transfers OVERRIDING SYSTEM VALUE VALUES (11, 'hold:EP-20261121-6FWSCS5NKS', '3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', 'sys:revenue', 135, 1795262400000);


--
-- Data for Name: upstream_registries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.upstream_registries VALUES ('http://127.0.0.1:35009/v1', 1795262400000, '{"object":"list","data":[{"id":"maker0/line-0","name":"maker0/line-0","created":1767225600,"context_length":131072,"architecture":{"input_modalities":["text"],"output_modalities":["text"]},"pricing":{"prompt":"0.0000002","completion":"0.0000002","request":"0"},"supported_parameters":["tools","tool_choice","max_tokens","response_format","structured_outputs"]},{"id":"maker1/line-1","name":"maker1/line-1","created":1767225600,"context_length":131072,"architecture":{"input_modalities":["text"],"output_modalities":["text"]},"pricing":{"prompt":"0.0000002","completion":"0.0000002","request":"0"},"supported_parameters":["tools","tool_choice","max_tokens","response_format","structured_outputs"]},{"id":"maker2/line-2","name":"maker2/line-2","created":1767225600,"context_length":131072,"architecture":{"input_modalities":["text"],"output_modalities":["text"]},"pricing":{"prompt":"0.0000002","completion":"0.0000002","request":"0"},"supported_parameters":["tools","tool_choice","max_tokens","response_format","structured_outputs"]},{"id":"maker3/line-3","name":"maker3/line-3","created":1767225600,"context_length":131072,"architecture":{"input_modalities":["text"],"output_modalities":["text"]},"pricing":{"prompt":"0.0000002","completion":"0.0000002","request":"0"},"supported_parameters":["tools","tool_choice","max_tokens","response_format","structured_outputs"]},{"id":"maker4/line-4","name":"maker4/line-4","created":1767225600,"context_length":131072,"architecture":{"input_modalities":["text"],"output_modalities":["text"]},"pricing":{"prompt":"0.0000002","completion":"0.0000002","request":"0"},"supported_parameters":["tools","tool_choice","max_tokens","response_format","structured_outputs"]}]}');


--
-- Data for Name: upstream_rungs; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: used_nonces; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES ('3ed2b061-1e97-4a9c-be87-c83e7ed97c2d', '8c7654ecfd7b0b62@example.com', 1795262400000);


--
-- Data for Name: votes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.votes VALUES (1, 27, 4, 4, 120, 12, 2, 1, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (1, 27, 4, 4, 120, 12, 4, 2, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (1, 27, 4, 4, 120, 12, 0, 3, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (1, 27, 4, 4, 120, 12, 1, 4, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (1, 27, 4, 4, 120, 12, 3, 5, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (2, 27, 2, 2, 120, 12, 0, 1, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (2, 27, 3, 3, 120, 12, 1, 2, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (2, 27, 5, 5, 120, 12, 3, 3, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (2, 27, 5, 5, 120, 12, 2, 4, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (2, 27, 7, 7, 120, 12, 4, 5, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (3, 27, 1, 2, 120, 12, 1, 1, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (3, 27, 2, 2, 120, 12, 0, 2, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (4, 27, 3, 3, 120, 12, 0, 1, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (4, 27, 3, 3, 120, 12, 1, 2, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (4, 27, 3, 3, 120, 12, 4, 3, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (4, 27, 4, 4, 120, 12, 2, 4, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (4, 27, 4, 4, 120, 12, 3, 5, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (5, 27, 3, 3, 120, 12, 3, 1, 2, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (5, 27, 3, 3, 120, 12, 1, 2, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (5, 27, 3, 3, 120, 12, 0, 3, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (5, 27, 4, 4, 120, 12, 4, 4, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (5, 27, 4, 4, 120, 12, 2, 5, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (6, 27, 1, 1, 120, 12, 0, 1, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (6, 27, 2, 3, 120, 12, 1, 2, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (6, 27, 4, 4, 120, 12, 2, 3, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (6, 27, 5, 5, 120, 12, 3, 4, 2, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (6, 27, 6, 6, 120, 12, 4, 5, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (8, 27, 3, 3, 120, 12, 0, 1, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (8, 27, 3, 3, 120, 12, 4, 2, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (8, 27, 3, 3, 120, 12, 2, 3, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (8, 27, 4, 4, 120, 12, 3, 4, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (8, 27, 4, 4, 120, 12, 1, 5, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (9, 27, 4, 4, 120, 12, 3, 1, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (9, 27, 4, 4, 120, 12, 4, 2, 0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (9, 27, 4, 4, 120, 12, 1, 3, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (9, 27, 5, 5, 120, 12, 2, 4, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (9, 27, 5, 5, 120, 12, 0, 5, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (10, 27, 2, 2, 120, 12, 4, 1, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (10, 27, 3, 3, 120, 12, 0, 2, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.votes VALUES (10, 27, 3, 3, 120, 12, 3, 3, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL);


--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Name: plans_number_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.plans_number_seq', 10, true);


--
-- Name: rosters_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.rosters_id_seq', 2, true);


--
-- Name: transfers_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.transfers_id_seq', 11, true);


--
-- Name: _sqlx_migrations _sqlx_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);


--
-- Name: a2a_pushes a2a_pushes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.a2a_pushes
    ADD CONSTRAINT a2a_pushes_pkey PRIMARY KEY (id);


--
-- Name: a2a_pushes a2a_pushes_task_id_config_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.a2a_pushes
    ADD CONSTRAINT a2a_pushes_task_id_config_id_key UNIQUE (task_id, config_id);


--
-- Name: a2a_tasks a2a_tasks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.a2a_tasks
    ADD CONSTRAINT a2a_tasks_pkey PRIMARY KEY (id);


--
-- Name: accounts accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);


--
-- Name: api_keys api_keys_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_hash_key UNIQUE (hash);


--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);


--
-- Name: batch_answers batch_answers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batch_answers
    ADD CONSTRAINT batch_answers_pkey PRIMARY KEY (batch, number);


--
-- Name: batch_notifications batch_notifications_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batch_notifications
    ADD CONSTRAINT batch_notifications_pkey PRIMARY KEY (batch);


--
-- Name: batch_rows batch_rows_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batch_rows
    ADD CONSTRAINT batch_rows_pkey PRIMARY KEY (batch, number);


--
-- Name: batches batches_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (id);


--
-- Name: batches batches_request_ref_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_request_ref_key UNIQUE (request_ref);


--
-- Name: calibration calibration_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.calibration
    ADD CONSTRAINT calibration_pkey PRIMARY KEY (panel, level, stored);


--
-- Name: cancellations cancellations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.cancellations
    ADD CONSTRAINT cancellations_pkey PRIMARY KEY (poll_id);


--
-- Name: card_refund_failures card_refund_failures_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.card_refund_failures
    ADD CONSTRAINT card_refund_failures_pkey PRIMARY KEY (refund_id);


--
-- Name: card_reversals card_reversals_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.card_reversals
    ADD CONSTRAINT card_reversals_pkey PRIMARY KEY (ref);


--
-- Name: checkouts checkouts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkouts
    ADD CONSTRAINT checkouts_pkey PRIMARY KEY (id);


--
-- Name: checkouts checkouts_session_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkouts
    ADD CONSTRAINT checkouts_session_id_key UNIQUE (session_id);


--
-- Name: deposits deposits_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deposits
    ADD CONSTRAINT deposits_id_key UNIQUE (id);


--
-- Name: deposits deposits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deposits
    ADD CONSTRAINT deposits_pkey PRIMARY KEY (ref);


--
-- Name: erased_batches erased_batches_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.erased_batches
    ADD CONSTRAINT erased_batches_pkey PRIMARY KEY (batch);


--
-- Name: evaluations evaluations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluations
    ADD CONSTRAINT evaluations_pkey PRIMARY KEY (id);


--
-- Name: feedback feedback_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feedback
    ADD CONSTRAINT feedback_id_key UNIQUE (id);


--
-- Name: feedback feedback_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feedback
    ADD CONSTRAINT feedback_pkey PRIMARY KEY (poll_id, user_id);


--
-- Name: file_chunks file_chunks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.file_chunks
    ADD CONSTRAINT file_chunks_pkey PRIMARY KEY (file, first);


--
-- Name: files files_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (id);


--
-- Name: heartbeats heartbeats_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.heartbeats
    ADD CONSTRAINT heartbeats_pkey PRIMARY KEY (minute);


--
-- Name: holds holds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.holds
    ADD CONSTRAINT holds_pkey PRIMARY KEY (ref);


--
-- Name: identities identities_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (kind, issuer, subject);


--
-- Name: key_spending key_spending_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.key_spending
    ADD CONSTRAINT key_spending_pkey PRIMARY KEY (key_id, day);


--
-- Name: notifications notifications_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (poll_id);


--
-- Name: panels panels_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.panels
    ADD CONSTRAINT panels_pkey PRIMARY KEY (user_id, name, version);


--
-- Name: plans plans_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.plans
    ADD CONSTRAINT plans_pkey PRIMARY KEY (number);


--
-- Name: polls polls_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.polls
    ADD CONSTRAINT polls_pkey PRIMARY KEY (id);


--
-- Name: rate_limits rate_limits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rate_limits
    ADD CONSTRAINT rate_limits_pkey PRIMARY KEY (policy, key);


--
-- Name: replays replays_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.replays
    ADD CONSTRAINT replays_pkey PRIMARY KEY (scope);


--
-- Name: reputation_models reputation_models_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reputation_models
    ADD CONSTRAINT reputation_models_pkey PRIMARY KEY (model, stored);


--
-- Name: reputation_polls reputation_polls_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reputation_polls
    ADD CONSTRAINT reputation_polls_pkey PRIMARY KEY (poll_id);


--
-- Name: reputation_readers reputation_readers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reputation_readers
    ADD CONSTRAINT reputation_readers_pkey PRIMARY KEY (reader, stored);


--
-- Name: reputation_service reputation_service_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reputation_service
    ADD CONSTRAINT reputation_service_pkey PRIMARY KEY (stored);


--
-- Name: reputation_slots reputation_slots_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reputation_slots
    ADD CONSTRAINT reputation_slots_pkey PRIMARY KEY (model, options, slot, stored);


--
-- Name: rosters rosters_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rosters
    ADD CONSTRAINT rosters_hash_key UNIQUE (hash);


--
-- Name: rosters rosters_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rosters
    ADD CONSTRAINT rosters_pkey PRIMARY KEY (id);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (hash);


--
-- Name: starter_credits starter_credits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.starter_credits
    ADD CONSTRAINT starter_credits_pkey PRIMARY KEY (day, scope);


--
-- Name: transfers transfers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_pkey PRIMARY KEY (id);


--
-- Name: transfers transfers_ref_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.transfers
    ADD CONSTRAINT transfers_ref_key UNIQUE (ref);


--
-- Name: upstream_registries upstream_registries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.upstream_registries
    ADD CONSTRAINT upstream_registries_pkey PRIMARY KEY (upstream);


--
-- Name: upstream_rungs upstream_rungs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.upstream_rungs
    ADD CONSTRAINT upstream_rungs_pkey PRIMARY KEY (upstream, model);


--
-- Name: used_nonces used_nonces_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.used_nonces
    ADD CONSTRAINT used_nonces_pkey PRIMARY KEY (nonce);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);


--
-- Name: votes votes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.votes
    ADD CONSTRAINT votes_pkey PRIMARY KEY (poll, "position");


--
-- Name: webhooks webhooks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (user_id);


--
-- Name: a2a_pushes_by_task; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX a2a_pushes_by_task ON public.a2a_pushes USING btree (user_id, task_id, config_id);


--
-- Name: a2a_pushes_waiting; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX a2a_pushes_waiting ON public.a2a_pushes USING btree (next_at) WHERE (state = 'waiting'::text);


--
-- Name: a2a_tasks_by_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX a2a_tasks_by_id ON public.a2a_tasks USING btree (owner, id);


--
-- Name: a2a_tasks_client_id; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX a2a_tasks_client_id ON public.a2a_tasks USING btree (owner, client_id) WHERE (client_id IS NOT NULL);


--
-- Name: a2a_tasks_of_batch; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX a2a_tasks_of_batch ON public.a2a_tasks USING btree (batch_id) WHERE (batch_id IS NOT NULL);


--
-- Name: a2a_tasks_of_owner; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX a2a_tasks_of_owner ON public.a2a_tasks USING btree (owner, status_at, id);


--
-- Name: a2a_tasks_of_poll; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX a2a_tasks_of_poll ON public.a2a_tasks USING btree (poll_id) WHERE (poll_id IS NOT NULL);


--
-- Name: a2a_tasks_opened_by; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX a2a_tasks_opened_by ON public.a2a_tasks USING btree (owner, opened_by) WHERE (opened_by IS NOT NULL);


--
-- Name: a2a_tasks_waiting; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX a2a_tasks_waiting ON public.a2a_tasks USING btree (owner, status_at, id) WHERE ((poll_id IS NULL) AND (batch_id IS NULL));


--
-- Name: a2a_tasks_without_work; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX a2a_tasks_without_work ON public.a2a_tasks USING btree (status_at) WHERE ((poll_id IS NULL) AND (batch_id IS NULL));


--
-- Name: accounts_of_funder; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX accounts_of_funder ON public.accounts USING btree (funder) WHERE (funder IS NOT NULL);


--
-- Name: api_keys_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_keys_of_user ON public.api_keys USING btree (user_id);


--
-- Name: batch_answers_to_review; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batch_answers_to_review ON public.batch_answers USING btree (batch, agreement, number) WHERE (reviewed IS NULL);


--
-- Name: batch_notifications_waiting; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batch_notifications_waiting ON public.batch_notifications USING btree (next_at) WHERE (state = 'waiting'::text);


--
-- Name: batch_rows_asked; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batch_rows_asked ON public.batch_rows USING btree (lease_worker) WHERE (outcome IS NULL);


--
-- Name: batch_rows_by_outcome; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batch_rows_by_outcome ON public.batch_rows USING btree (batch, outcome, number);


--
-- Name: batch_rows_costs; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batch_rows_costs ON public.batch_rows USING btree (batch, outcome, cost) WHERE (cost IS NOT NULL);


--
-- Name: batches_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batches_ended ON public.batches USING btree (ended_at) WHERE (ended_at IS NOT NULL);


--
-- Name: batches_failed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batches_failed ON public.batches USING btree (user_id, created_at, id) WHERE (status = 'failed'::text);


--
-- Name: batches_of_file; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batches_of_file ON public.batches USING btree (file);


--
-- Name: batches_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batches_of_user ON public.batches USING btree (user_id, created_at, id);


--
-- Name: batches_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batches_open ON public.batches USING btree (created_at) WHERE (ended_at IS NULL);


--
-- Name: batches_with_results; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX batches_with_results ON public.batches USING btree (user_id, created_at, id) WHERE ((ended_at IS NOT NULL) AND (status <> 'failed'::text) AND ((output_bytes IS NULL) OR (error_bytes IS NULL) OR ((output_bytes + error_bytes) > 0)));


--
-- Name: card_refund_failures_of_reversal; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX card_refund_failures_of_reversal ON public.card_refund_failures USING btree (reversal);


--
-- Name: checkouts_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX checkouts_of_user ON public.checkouts USING btree (user_id, created_at, id);


--
-- Name: checkouts_open; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX checkouts_open ON public.checkouts USING btree (created_at) WHERE (status = 'open'::text);


--
-- Name: checkouts_payment; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX checkouts_payment ON public.checkouts USING btree (payment_id) WHERE (payment_id IS NOT NULL);


--
-- Name: deposits_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deposits_due ON public.deposits USING btree (look_at) WHERE (status <> 'settled'::text);


--
-- Name: deposits_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deposits_of_user ON public.deposits USING btree (user_id, created_at, id);


--
-- Name: deposits_settled; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deposits_settled ON public.deposits USING btree (created_at, ref) WHERE (status = 'settled'::text);


--
-- Name: evaluations_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX evaluations_of_user ON public.evaluations USING btree (user_id, created_at, id);


--
-- Name: feedback_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feedback_by_user ON public.feedback USING btree (user_id, poll_id);


--
-- Name: feedback_newest; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feedback_newest ON public.feedback USING btree (poll_id, created_at, id);


--
-- Name: files_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX files_expiry ON public.files USING btree (expires_at);


--
-- Name: files_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX files_of_user ON public.files USING btree (user_id, created_at, id);


--
-- Name: files_requests; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX files_requests ON public.files USING btree (request_ref);


--
-- Name: files_sizes; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX files_sizes ON public.files USING btree (user_id, bytes, received);


--
-- Name: holds_of_batch; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX holds_of_batch ON public.holds USING btree (batch, status, captured, amount) WHERE (batch IS NOT NULL);


--
-- Name: identities_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX identities_of_user ON public.identities USING btree (user_id);


--
-- Name: notifications_by_poll; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX notifications_by_poll ON public.notifications USING btree (user_id, poll_id);


--
-- Name: notifications_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX notifications_of_user ON public.notifications USING btree (user_id, created_at);


--
-- Name: notifications_old; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX notifications_old ON public.notifications USING btree (created_at) WHERE (state <> 'waiting'::text);


--
-- Name: notifications_waiting; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX notifications_waiting ON public.notifications USING btree (next_at) WHERE (state = 'waiting'::text);


--
-- Name: plans_of_roster; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX plans_of_roster ON public.plans USING btree (roster);


--
-- Name: polls_anonymous; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX polls_anonymous ON public.polls USING btree (created_at) WHERE (owner IS NULL);


--
-- Name: polls_asked; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX polls_asked ON public.polls USING btree (owner, created_at, id) WHERE ((owner IS NOT NULL) AND (COALESCE(substr(request_ref, 1, 6), ''::text) <> 'batch_'::text));


--
-- Name: polls_by_owner; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX polls_by_owner ON public.polls USING btree (owner, created_at, id) WHERE (owner IS NOT NULL);


--
-- Name: polls_of_batches; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX polls_of_batches ON public.polls USING btree (substr(request_ref, 1, 38), created_at, id) WHERE (substr(request_ref, 1, 6) = 'batch_'::text);


--
-- Name: polls_request; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX polls_request ON public.polls USING btree (request_ref) WHERE (request_ref IS NOT NULL);


--
-- Name: polls_unsettled; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX polls_unsettled ON public.polls USING btree (lease_worker) WHERE (settled = 0);


--
-- Name: replays_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX replays_expiry ON public.replays USING btree (expires_at);


--
-- Name: reputation_polls_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX reputation_polls_due ON public.reputation_polls USING btree (poll_id) WHERE (revision <> counted_revision);


--
-- Name: sessions_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_of_user ON public.sessions USING btree (user_id);


--
-- Name: sessions_used; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_used ON public.sessions USING btree (used_at);


--
-- Name: transfers_by_credit; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_by_credit ON public.transfers USING btree (credit_account, id) WHERE (credit_account <> 'sys:revenue'::text);


--
-- Name: transfers_by_debit; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_by_debit ON public.transfers USING btree (debit_account, id);


--
-- Name: transfers_out_of; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_out_of ON public.transfers USING btree (debit_account, amount) WHERE (credit_account <> 'sys:revenue'::text);


--
-- Name: transfers_to_users; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX transfers_to_users ON public.transfers USING btree (credit_account, amount) WHERE ((debit_account <> 'sys:revenue'::text) AND (credit_account <> 'sys:revenue'::text));


--
-- Name: used_nonces_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX used_nonces_expiry ON public.used_nonces USING btree (expires_at);


--
-- Name: users_email; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_email ON public.users USING btree (email);


--
-- Name: polls polls_that_end_are_counted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER polls_that_end_are_counted AFTER UPDATE OF closing ON public.polls FOR EACH ROW WHEN (((old.closing IS NULL) AND (new.closing IS NOT NULL))) EXECUTE FUNCTION public.count_ended_poll();


--
-- Name: transfers transfers_are_never_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER transfers_are_never_changed BEFORE DELETE OR UPDATE OR TRUNCATE ON public.transfers FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();


--
-- Name: a2a_pushes a2a_pushes_task_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.a2a_pushes
    ADD CONSTRAINT a2a_pushes_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.a2a_tasks(id) ON DELETE CASCADE;


--
-- Name: a2a_pushes a2a_pushes_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.a2a_pushes
    ADD CONSTRAINT a2a_pushes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: a2a_tasks a2a_tasks_batch_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.a2a_tasks
    ADD CONSTRAINT a2a_tasks_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.batches(id) ON DELETE CASCADE;


--
-- Name: a2a_tasks a2a_tasks_owner_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.a2a_tasks
    ADD CONSTRAINT a2a_tasks_owner_fkey FOREIGN KEY (owner) REFERENCES public.users(id);


--
-- Name: a2a_tasks a2a_tasks_poll_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.a2a_tasks
    ADD CONSTRAINT a2a_tasks_poll_id_fkey FOREIGN KEY (poll_id) REFERENCES public.polls(id) ON DELETE CASCADE;


--
-- Name: accounts accounts_funder_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_funder_fkey FOREIGN KEY (funder) REFERENCES public.users(id);


--
-- Name: accounts accounts_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_id_fkey FOREIGN KEY (id) REFERENCES public.users(id);


--
-- Name: api_keys api_keys_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: batch_answers batch_answers_batch_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batch_answers
    ADD CONSTRAINT batch_answers_batch_fkey FOREIGN KEY (batch) REFERENCES public.batches(id) ON DELETE CASCADE;


--
-- Name: batch_notifications batch_notifications_batch_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batch_notifications
    ADD CONSTRAINT batch_notifications_batch_fkey FOREIGN KEY (batch) REFERENCES public.batches(id);


--
-- Name: batch_notifications batch_notifications_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batch_notifications
    ADD CONSTRAINT batch_notifications_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: batch_rows batch_rows_batch_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batch_rows
    ADD CONSTRAINT batch_rows_batch_fkey FOREIGN KEY (batch) REFERENCES public.batches(id);


--
-- Name: batches batches_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: cancellations cancellations_poll_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.cancellations
    ADD CONSTRAINT cancellations_poll_id_fkey FOREIGN KEY (poll_id) REFERENCES public.polls(id);


--
-- Name: checkouts checkouts_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.checkouts
    ADD CONSTRAINT checkouts_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: deposits deposits_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deposits
    ADD CONSTRAINT deposits_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: evaluations evaluations_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.evaluations
    ADD CONSTRAINT evaluations_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: feedback feedback_poll_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feedback
    ADD CONSTRAINT feedback_poll_id_fkey FOREIGN KEY (poll_id) REFERENCES public.polls(id) ON DELETE CASCADE;


--
-- Name: feedback feedback_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feedback
    ADD CONSTRAINT feedback_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: file_chunks file_chunks_file_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.file_chunks
    ADD CONSTRAINT file_chunks_file_fkey FOREIGN KEY (file) REFERENCES public.files(id);


--
-- Name: files files_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: holds holds_account_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.holds
    ADD CONSTRAINT holds_account_fkey FOREIGN KEY (account) REFERENCES public.accounts(id);


--
-- Name: holds holds_ref_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.holds
    ADD CONSTRAINT holds_ref_fkey FOREIGN KEY (ref) REFERENCES public.polls(id);


--
-- Name: identities identities_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) DEFERRABLE INITIALLY DEFERRED;


--
-- Name: key_spending key_spending_key_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.key_spending
    ADD CONSTRAINT key_spending_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);


--
-- Name: notifications notifications_poll_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_poll_id_fkey FOREIGN KEY (poll_id) REFERENCES public.polls(id);


--
-- Name: notifications notifications_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: panels panels_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.panels
    ADD CONSTRAINT panels_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: plans plans_roster_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.plans
    ADD CONSTRAINT plans_roster_fkey FOREIGN KEY (roster) REFERENCES public.rosters(id);


--
-- Name: polls polls_owner_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.polls
    ADD CONSTRAINT polls_owner_fkey FOREIGN KEY (owner) REFERENCES public.users(id);


--
-- Name: reputation_polls reputation_polls_poll_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reputation_polls
    ADD CONSTRAINT reputation_polls_poll_id_fkey FOREIGN KEY (poll_id) REFERENCES public.polls(id);


--
-- Name: sessions sessions_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- Name: votes votes_poll_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.votes
    ADD CONSTRAINT votes_poll_fkey FOREIGN KEY (poll) REFERENCES public.plans(number);


--
-- Name: webhooks webhooks_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);


--
-- PostgreSQL database dump complete
--

\unrestrict 8ezbHhrMmDhu7COevjb4azUM2MyDu4Cm5udgygYZEKiONnuOd6etB71N7OUKQrV

