-- The ledger of model calls. All of it is append-only.
-- Money is in micro-dollars, whole numbers, so that sums are exact.

-- Calls that are about to be sent: a row is on the disk before its request leaves.
CREATE TABLE calls (
    id VARCHAR PRIMARY KEY,
    key VARCHAR NOT NULL,
    grading_id VARCHAR NOT NULL,
    submission_id VARCHAR NOT NULL,
    criteria VARCHAR[] NOT NULL,
    role VARCHAR NOT NULL,
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    batch_id VARCHAR,
    started_at TIMESTAMPTZ NOT NULL,
    estimated_cost BIGINT NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- What became of a call. One without a row here was in flight when its process died, or still is.
CREATE TABLE call_ends (
    call_id VARCHAR PRIMARY KEY,
    outcome VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL,
    input_tokens BIGINT NOT NULL,
    cache_read_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- The response memo: the first answer to a request, under a key made of all that shapes it.
CREATE TABLE answers (
    key VARCHAR PRIMARY KEY,
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    call_id VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Calls that are about to be handed to a provider together.
CREATE TABLE provider_batches (
    id VARCHAR PRIMARY KEY,
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    opened_at TIMESTAMPTZ NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- "id" tells an event that was written again, after its owner died, from one that happened again.
CREATE TABLE provider_batch_events (
    seq BIGINT PRIMARY KEY DEFAULT nextval('row_order'),
    id VARCHAR NOT NULL,
    batch_id VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    provider_id VARCHAR,
    message VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE INDEX calls_by_key ON calls (key);

-- One row per call. An open call costs what was set aside for it.
-- A call is possibly paid twice when nobody knows whether it was paid and it was, or will be, asked again:
-- it was lost, or it has no end and a later call asked the same.
CREATE VIEW costs AS
SELECT
    c.id AS call_id,
    c.key,
    (c.started_at AT TIME ZONE 'UTC')::DATE AS day,
    c.started_at,
    c.provider,
    c.model,
    c.role,
    CASE WHEN c.batch_id IS NULL THEN 'live' ELSE 'batch' END AS mode,
    c.batch_id,
    c.grading_id,
    c.submission_id,
    c.criteria,
    coalesce(e.outcome, 'open') AS outcome,
    coalesce(e.code, '') AS code,
    e.seconds,
    coalesce(e.input_tokens, 0) AS input_tokens,
    coalesce(e.cache_read_tokens, 0) AS cache_read_tokens,
    coalesce(e.cache_write_tokens, 0) AS cache_write_tokens,
    coalesce(e.output_tokens, 0) AS output_tokens,
    coalesce(e.cost, c.estimated_cost) AS cost,
    coalesce(e.outcome = 'lost', {'at': c.started_at, 'id': c.id} < n.newest) AS possibly_paid_twice
FROM calls c
LEFT JOIN call_ends e ON e.call_id = c.id
JOIN (SELECT key, max({'at': started_at, 'id': id}) AS newest FROM calls GROUP BY key) n ON n.key = c.key;

-- One row per call and criterion. Each amount is split evenly; what does not divide goes, one by one, to the
-- criteria that the call names first. So the sum over criteria is the sum over calls, to the micro-dollar.
-- A call that names no criterion has one row, with the criterion ''.
CREATE VIEW criterion_costs AS
SELECT
    p.call_id,
    p.criterion,
    p.day,
    p.provider,
    p.model,
    p.role,
    p.mode,
    p.grading_id,
    p.submission_id,
    p.outcome,
    p.input_tokens // p.among + (p.place <= p.input_tokens % p.among)::BIGINT AS input_tokens,
    p.cache_read_tokens // p.among + (p.place <= p.cache_read_tokens % p.among)::BIGINT AS cache_read_tokens,
    p.cache_write_tokens // p.among + (p.place <= p.cache_write_tokens % p.among)::BIGINT
        AS cache_write_tokens,
    p.output_tokens // p.among + (p.place <= p.output_tokens % p.among)::BIGINT AS output_tokens,
    p.cost // p.among + (p.place <= p.cost % p.among)::BIGINT AS cost,
    p.possibly_paid_twice
FROM (
    SELECT c.*, greatest(len(c.criteria), 1) AS among,
        unnest(CASE WHEN len(c.criteria) = 0 THEN [''] ELSE c.criteria END) AS criterion,
        unnest(range(1, greatest(len(c.criteria), 1) + 1)) AS place
    FROM costs c
) p;

-- One row per submission that a model was asked about.
CREATE VIEW submission_costs AS
SELECT
    submission_id,
    count(DISTINCT grading_id) AS gradings,
    count(*) AS calls,
    count(*) FILTER (WHERE outcome = 'answered') AS answered,
    count(*) FILTER (WHERE outcome = 'failed') AS failed,
    count(*) FILTER (WHERE outcome = 'lost') AS lost,
    count(*) FILTER (WHERE outcome = 'open') AS open,
    sum(input_tokens)::BIGINT AS input_tokens,
    sum(cache_read_tokens)::BIGINT AS cache_read_tokens,
    sum(cache_write_tokens)::BIGINT AS cache_write_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    sum(cost)::BIGINT AS cost,
    coalesce(sum(cost) FILTER (WHERE possibly_paid_twice), 0)::BIGINT AS possibly_twice_cost
FROM costs
GROUP BY submission_id;
