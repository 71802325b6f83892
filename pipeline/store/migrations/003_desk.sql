-- The review desk. All of it is append-only.

-- "seq" numbers reviews in the order they were kept, so that whoever follows the queue asks for new ones only.
-- "kind" is "route", or "audit" where the grade stands already and chance chose it to be looked at.
DROP INDEX reviews_of_grading;
ALTER TABLE reviews ADD COLUMN kind VARCHAR DEFAULT 'route';
ALTER TABLE reviews ADD COLUMN seq BIGINT DEFAULT nextval('row_order');
CREATE INDEX reviews_of_grading ON reviews (grading_id);

-- What happened to a place in the queue: a review and a slot. The first row of an id stays.
CREATE TABLE desk_events (
    id VARCHAR PRIMARY KEY,
    seq BIGINT NOT NULL DEFAULT nextval('row_order'),
    review_id VARCHAR NOT NULL,
    slot INTEGER NOT NULL,
    actor VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    happened_at TIMESTAMPTZ NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- What somebody has written so far; the newest row of a place counts: review/slot/account.
CREATE TABLE desk_drafts (
    seq BIGINT PRIMARY KEY DEFAULT nextval('row_order'),
    place VARCHAR NOT NULL,
    revision INTEGER NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Stretches of work without idle time; "id" is the hash of the body.
CREATE TABLE desk_activity (
    id VARCHAR PRIMARY KEY,
    account VARCHAR NOT NULL,
    review_id VARCHAR NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ NOT NULL,
    active_seconds DOUBLE NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Accounts, sessions, tokens, settings and the like; the newest row of a kind and key counts.
CREATE TABLE desk_records (
    seq BIGINT PRIMARY KEY DEFAULT nextval('row_order'),
    kind VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    body VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE INDEX desk_events_of_review ON desk_events (review_id);
CREATE INDEX desk_drafts_of_place ON desk_drafts (place);
CREATE INDEX desk_records_by_key ON desk_records (key);

-- Again, for the new columns: a view's are those its tables had when it was made.
CREATE OR REPLACE VIEW reviews_current AS
SELECT r.*, g.submission_id,
    min(r.opened_at) OVER (PARTITION BY coalesce(g.submission_id, r.grading_id)) AS waiting_since
FROM reviews r
LEFT JOIN gradings g ON g.id = r.grading_id
WHERE NOT EXISTS (SELECT 1 FROM decisions d WHERE d.review_id = r.id)
ORDER BY waiting_since, g.submission_id, r.opened_at DESC, r.id;

-- Again: an audit never changes where a grading stands.
CREATE OR REPLACE VIEW gradings_current AS
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
    WHERE v.kind = 'route'
    GROUP BY v.grading_id
) w ON w.grading_id = g.id
LEFT JOIN (
    SELECT grading_id,
        arg_max(verdict, seq) FILTER (WHERE verdict IS NOT NULL) AS verdict,
        arg_max(overall, seq) FILTER (WHERE overall IS NOT NULL) AS overall,
        arg_max(passed, seq) FILTER (WHERE passed IS NOT NULL) AS passed
    FROM stages_current GROUP BY grading_id
) t ON t.grading_id = g.id;

-- Again, without the decisions of audits: chance chose them, and no grade depends on them.
CREATE OR REPLACE VIEW canonical_results AS
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
    WHERE r.kind = 'route'
    GROUP BY r.grading_id
) d ON d.grading_id = c.grading_id;
