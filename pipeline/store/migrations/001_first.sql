-- Every table is append-only; checkpoints alone, a cache, are also deleted from.
-- "seq" orders rows of one key; the *_current views show the newest.
CREATE SEQUENCE row_order;

-- Full texts of whatever shaped a grade.
CREATE TABLE documents (
    sha256 VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (sha256, kind, id, version)
);

-- "body" is the whole model as JSON text (VARCHAR, since JSON has no NaN and a model may).
CREATE TABLE submissions (
    id VARCHAR PRIMARY KEY,
    task_id VARCHAR NOT NULL,
    refusal VARCHAR,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE gradings (
    id VARCHAR PRIMARY KEY,
    submission_id VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE batches (
    id VARCHAR PRIMARY KEY,
    opened_at TIMESTAMPTZ NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE batch_items (
    batch_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    grading_id VARCHAR NOT NULL,
    submission_id VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (batch_id, position)
);

CREATE TABLE rejections (
    batch_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    origin VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (batch_id, position)
);

-- The stage memo: what a stage produced, under a key made of all that it depends on.
CREATE TABLE stages (
    stage VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    output VARCHAR NOT NULL,
    details VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL,
    verdict VARCHAR,
    overall DOUBLE,
    passed BOOLEAN,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (stage, key)
);

CREATE TABLE stage_links (
    seq BIGINT PRIMARY KEY DEFAULT nextval('row_order'),
    grading_id VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- What stages established, one row per item, for analysts.
CREATE TABLE facts (
    stage VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    fact VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    number DOUBLE,
    unit VARCHAR NOT NULL,
    provenance VARCHAR NOT NULL,
    case_name VARCHAR,
    label VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (stage, key, position)
);

CREATE TABLE check_reports (
    stage VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    check_id VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (stage, key, position)
);

CREATE TABLE findings (
    stage VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    check_id VARCHAR NOT NULL,
    severity VARCHAR NOT NULL,
    owner VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    lines INTEGER[] NOT NULL,
    facts VARCHAR[] NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (stage, key, position)
);

-- "level" is NULL when unscored: a state, never 0.
CREATE TABLE scores (
    stage VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    criterion VARCHAR NOT NULL,
    level INTEGER,
    source VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    confidence DOUBLE,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (stage, key, position)
);

CREATE TABLE case_results (
    stage VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    case_name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    seed INTEGER NOT NULL,
    verdict VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    worst_rel_l2 DOUBLE,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (stage, key, position)
);

CREATE TABLE artifacts (
    sha256 VARCHAR PRIMARY KEY,
    media_type VARCHAR NOT NULL,
    size BIGINT NOT NULL,
    data BLOB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE reviews (
    id VARCHAR PRIMARY KEY,
    grading_id VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    opened_at TIMESTAMPTZ NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE decisions (
    review_id VARCHAR PRIMARY KEY,
    reviewer VARCHAR NOT NULL,
    passed BOOLEAN,
    levels VARCHAR NOT NULL,
    comment VARCHAR NOT NULL,
    decided_at TIMESTAMPTZ NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE routes (
    seq BIGINT PRIMARY KEY DEFAULT nextval('row_order'),
    grading_id VARCHAR NOT NULL,
    destination VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    policy VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE grades (
    seq BIGINT PRIMARY KEY DEFAULT nextval('row_order'),
    grading_id VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL,
    overall DOUBLE,
    passed BOOLEAN,
    scores VARCHAR NOT NULL,
    feedback VARCHAR NOT NULL,
    decided_by VARCHAR NOT NULL,
    comment VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Journal entries whose rows are known to be here: a mark is committed after everything its entry counts.
-- "subject" is the batch or the review that the entry is about.
CREATE TABLE journal_marks (
    hash VARCHAR PRIMARY KEY,
    position INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    subject VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE checkpoints (
    thread_id VARCHAR NOT NULL,
    namespace VARCHAR NOT NULL,
    checkpoint_id VARCHAR NOT NULL,
    parent_id VARCHAR,
    run_id VARCHAR,
    checkpoint_type VARCHAR NOT NULL,
    checkpoint BLOB NOT NULL,
    metadata_type VARCHAR NOT NULL,
    metadata BLOB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (thread_id, namespace, checkpoint_id)
);

CREATE TABLE checkpoint_writes (
    thread_id VARCHAR NOT NULL,
    namespace VARCHAR NOT NULL,
    checkpoint_id VARCHAR NOT NULL,
    task_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    task_path VARCHAR NOT NULL,
    channel VARCHAR NOT NULL,
    value_type VARCHAR NOT NULL,
    value BLOB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (thread_id, namespace, checkpoint_id, task_id, position)
);

-- DuckDB looks up one column in an index, never the several of a primary key.
CREATE INDEX documents_by_hash ON documents (sha256);
CREATE INDEX stages_by_key ON stages (key);
CREATE INDEX checkpoints_of_thread ON checkpoints (thread_id);
CREATE INDEX writes_of_thread ON checkpoint_writes (thread_id);
CREATE INDEX gradings_of_submission ON gradings (submission_id);
CREATE INDEX links_of_grading ON stage_links (grading_id);
CREATE INDEX reviews_of_grading ON reviews (grading_id);
CREATE INDEX routes_of_grading ON routes (grading_id);
CREATE INDEX grades_of_grading ON grades (grading_id);

CREATE VIEW stages_current AS
SELECT l.grading_id, l.seq, s.*
FROM (
    SELECT * FROM stage_links
    QUALIFY row_number() OVER (PARTITION BY grading_id, stage ORDER BY seq DESC) = 1
) l
JOIN stages s ON s.stage = l.stage AND s.key = l.key;

CREATE VIEW routes_current AS
SELECT * FROM routes QUALIFY row_number() OVER (PARTITION BY grading_id ORDER BY seq DESC) = 1;

CREATE VIEW grades_current AS
SELECT * FROM grades QUALIFY row_number() OVER (PARTITION BY grading_id ORDER BY seq DESC) = 1;

-- Open reviews, oldest wait first, but of one submission the newest grading first.
CREATE VIEW reviews_current AS
SELECT r.*, g.submission_id,
    min(r.opened_at) OVER (PARTITION BY coalesce(g.submission_id, r.grading_id)) AS waiting_since
FROM reviews r
LEFT JOIN gradings g ON g.id = r.grading_id
WHERE NOT EXISTS (SELECT 1 FROM decisions d WHERE d.review_id = r.id)
ORDER BY waiting_since, g.submission_id, r.opened_at DESC, r.id;

-- Where every grading stands. Until there is a grade, verdict and overall are what the latest stage says.
CREATE VIEW gradings_current AS
SELECT
    g.id AS grading_id,
    g.submission_id,
    s.task_id,
    g.fingerprint,
    CASE
        WHEN f.grading_id IS NOT NULL THEN 'graded'
        WHEN r.destination = 'hold' THEN 'held'
        WHEN w.open > 0 THEN 'waiting'
        WHEN w.reviews > 0 THEN 'decided'
        ELSE 'open'
    END AS state,
    coalesce(f.verdict, t.verdict, s.refusal) AS verdict,
    CASE WHEN f.grading_id IS NULL THEN t.overall ELSE f.overall END AS overall,
    CASE WHEN f.grading_id IS NULL THEN t.passed ELSE f.passed END AS passed,
    r.destination,
    r.reason,
    r.policy,
    w.review_id,
    f.decided_by,
    f.comment,
    f.scores,
    f.feedback,
    g.created_at
FROM gradings g
LEFT JOIN submissions s ON s.id = g.submission_id
LEFT JOIN grades_current f ON f.grading_id = g.id
LEFT JOIN routes_current r ON r.grading_id = g.id
LEFT JOIN (
    SELECT v.grading_id, count(*) AS reviews,
        count(*) FILTER (WHERE d.review_id IS NULL) AS open,
        arg_max(v.id, v.opened_at) FILTER (WHERE d.review_id IS NULL) AS review_id
    FROM reviews v LEFT JOIN decisions d ON d.review_id = v.id
    GROUP BY v.grading_id
) w ON w.grading_id = g.id
LEFT JOIN (
    SELECT grading_id,
        arg_max(verdict, seq) FILTER (WHERE verdict IS NOT NULL) AS verdict,
        arg_max(overall, seq) FILTER (WHERE overall IS NOT NULL) AS overall,
        arg_max(passed, seq) FILTER (WHERE passed IS NOT NULL) AS passed
    FROM stages_current GROUP BY grading_id
) t ON t.grading_id = g.id;

-- What grading came to, without anything that may differ between two runs of the same work: no times, costs,
-- attempts, and no ids derived from times. Measured facts differ by nature and are left out.
CREATE VIEW canonical_results AS
SELECT
    c.grading_id,
    c.submission_id,
    c.task_id,
    c.fingerprint,
    c.state,
    c.verdict,
    c.overall,
    c.passed,
    c.destination,
    c.reason,
    c.policy,
    c.decided_by,
    c.comment,
    c.scores,
    c.feedback,
    f.facts,
    k.reports,
    n.findings,
    o.levels,
    e.cases,
    d.decisions
FROM gradings_current c
LEFT JOIN (
    SELECT s.grading_id, list({'stage': x.stage, 'fact': x.fact, 'value': x.value, 'unit': x.unit,
        'provenance': x.provenance, 'case': x.case_name} ORDER BY x.stage, x.position) AS facts
    FROM stages_current s JOIN facts x ON x.stage = s.stage AND x.key = s.key
    WHERE x.provenance NOT LIKE 'measured%'
    GROUP BY s.grading_id
) f ON f.grading_id = c.grading_id
LEFT JOIN (
    SELECT s.grading_id, list({'stage': x.stage, 'check': x.check_id, 'status': x.status, 'reason': x.reason}
        ORDER BY x.stage, x.position) AS reports
    FROM stages_current s JOIN check_reports x ON x.stage = s.stage AND x.key = s.key
    GROUP BY s.grading_id
) k ON k.grading_id = c.grading_id
LEFT JOIN (
    SELECT s.grading_id, list({'stage': x.stage, 'check': x.check_id, 'severity': x.severity,
        'owner': x.owner, 'message': x.message, 'lines': x.lines, 'facts': x.facts}
        ORDER BY x.stage, x.position) AS findings
    FROM stages_current s JOIN findings x ON x.stage = s.stage AND x.key = s.key
    GROUP BY s.grading_id
) n ON n.grading_id = c.grading_id
LEFT JOIN (
    SELECT s.grading_id, list({'stage': x.stage, 'criterion': x.criterion, 'level': x.level,
        'source': x.source, 'reason': x.reason, 'confidence': x.confidence::VARCHAR}
        ORDER BY x.stage, x.position) AS levels
    FROM stages_current s JOIN scores x ON x.stage = s.stage AND x.key = s.key
    GROUP BY s.grading_id
) o ON o.grading_id = c.grading_id
LEFT JOIN (
    SELECT s.grading_id, list({'case': x.case_name, 'seed': x.seed, 'verdict': x.verdict,
        'message': x.message, 'worst_rel_l2': x.worst_rel_l2::VARCHAR}
        ORDER BY x.stage, x.position) AS cases
    FROM stages_current s JOIN case_results x ON x.stage = s.stage AND x.key = s.key
    GROUP BY s.grading_id
) e ON e.grading_id = c.grading_id
LEFT JOIN (
    SELECT r.grading_id, list({'reviewer': x.reviewer, 'levels': x.levels, 'passed': x.passed,
        'comment': x.comment} ORDER BY x.reviewer, x.comment, x.levels) AS decisions
    FROM reviews r JOIN decisions x ON x.review_id = r.id
    GROUP BY r.grading_id
) d ON d.grading_id = c.grading_id;
