"""Every query and statement of the store, by name. Data comes in through parameters only."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["QUERIES", "STATEMENTS", "Query"]

_REVIEW_TABLES = ("reviews", "decisions", "gradings")
_STATE_TABLES = (*_REVIEW_TABLES, "submissions", "stages", "stage_links", "routes", "grades")
_RESULT_TABLES = (*_STATE_TABLES, "facts", "check_reports", "findings", "scores", "case_results")
_CALL_TABLES = ("calls", "call_ends")

#: What a line of costs adds up, of the view `costs` or of `criterion_costs`.
_SUMS = (
    "count(*), count(*) FILTER (WHERE outcome = 'answered'), count(*) FILTER (WHERE outcome = 'failed'),"
    " count(*) FILTER (WHERE outcome = 'lost'), count(*) FILTER (WHERE outcome = 'open'),"
    " sum(input_tokens)::BIGINT, sum(cache_read_tokens)::BIGINT, sum(cache_write_tokens)::BIGINT,"
    " sum(output_tokens)::BIGINT, sum(cost)::BIGINT,"
    " coalesce(sum(cost) FILTER (WHERE possibly_paid_twice), 0)::BIGINT"
)

#: The first author that each submission was declared to be of; restrictions go between the last two.
_FIRST = "first(i.author ORDER BY b.opened_at, i.created_at, i.position)"
_AUTHORS = f"SELECT i.submission_id, {_FIRST} AS author FROM batch_items i"  # noqa: S608
_DECLARED = "JOIN batches b ON b.id = i.batch_id WHERE i.author <> '' GROUP BY i.submission_id"


@dataclass(frozen=True, slots=True)
class Query:
    """One named query or statement."""

    sql: str
    tables: tuple[str, ...]
    """What it reads (or deletes from): rows still on their way there are committed first."""
    keyed: bool = False
    """Whether only rows whose first value is the first parameter matter."""


QUERIES = {
    "document": Query(
        "SELECT kind, id, version, sha256, text FROM documents WHERE sha256 = $1 ORDER BY kind, id",
        ("documents",),
        keyed=True,
    ),
    "finished": Query(
        "SELECT grading_id, state FROM gradings_current WHERE state IN ('graded', 'waiting', 'held')"
        " AND grading_id IN (SELECT unnest($1::VARCHAR[]))",
        _STATE_TABLES,
    ),
    "decided": Query(
        "SELECT r.grading_id FROM reviews r JOIN decisions d ON d.review_id = r.id"
        " JOIN gradings g ON g.id = r.grading_id"
        " WHERE NOT EXISTS (SELECT 1 FROM grades f WHERE f.grading_id = r.grading_id)"
        " AND r.kind = 'route'"
        " AND NOT EXISTS (SELECT 1 FROM reviews w WHERE w.grading_id = r.grading_id AND w.kind = 'route'"
        " AND NOT EXISTS (SELECT 1 FROM decisions e WHERE e.review_id = w.id))"
        " GROUP BY r.grading_id ORDER BY min(d.decided_at), r.grading_id",
        (*_REVIEW_TABLES, "grades"),
    ),
    "reviews_open": Query("SELECT body, NULL FROM reviews_current LIMIT $1", _REVIEW_TABLES),
    "reviews_all": Query(
        "SELECT r.body, d.body FROM reviews r LEFT JOIN decisions d ON d.review_id = r.id"
        " ORDER BY r.opened_at, r.id LIMIT $1",
        _REVIEW_TABLES,
    ),
    "reviews_of_grading": Query(
        "SELECT r.body, d.body FROM reviews r LEFT JOIN decisions d ON d.review_id = r.id"
        " WHERE r.grading_id = $1 ORDER BY r.opened_at, r.id",
        _REVIEW_TABLES,
    ),
    "batches": Query(
        "SELECT b.id, b.opened_at,"
        " (SELECT count(*) FROM batch_items i WHERE i.batch_id = b.id),"
        " (SELECT count(*) FROM rejections r WHERE r.batch_id = b.id)"
        " FROM batches b ORDER BY b.opened_at DESC, b.id LIMIT $1",
        ("batches", "batch_items", "rejections"),
    ),
    "summaries": Query(
        "SELECT c.grading_id, c.submission_id, c.task_id,"  # noqa: S608
        " (SELECT arg_max(i.origin, b.opened_at) FROM batch_items i JOIN batches b ON b.id = i.batch_id"
        " WHERE i.grading_id = c.grading_id),"
        f" (SELECT {_FIRST} FROM batch_items i JOIN batches b ON b.id = i.batch_id"
        " WHERE i.author <> '' AND i.submission_id = c.submission_id),"
        " c.state, c.verdict, c.overall, c.passed, c.destination, c.reason, c.review_id"
        " FROM gradings_current c ORDER BY c.created_at DESC, c.grading_id LIMIT $1",
        (*_STATE_TABLES, "batches", "batch_items"),
    ),
    "summaries_of_batch": Query(
        "SELECT i.grading_id, i.submission_id, c.task_id, i.origin, a.author,"  # noqa: S608
        " coalesce(c.state, 'open'), c.verdict, c.overall, c.passed, c.destination, c.reason, c.review_id"
        " FROM batch_items i LEFT JOIN gradings_current c ON c.grading_id = i.grading_id"
        f" LEFT JOIN ({_AUTHORS} {_DECLARED}) a ON a.submission_id = i.submission_id"
        " WHERE i.batch_id = $1 ORDER BY i.position LIMIT $2",
        (*_STATE_TABLES, "batches", "batch_items"),
    ),
    "summary": Query(
        "SELECT c.grading_id, c.submission_id, c.task_id,"  # noqa: S608
        " (SELECT arg_max(i.origin, b.opened_at) FROM batch_items i JOIN batches b ON b.id = i.batch_id"
        " WHERE i.grading_id = c.grading_id),"
        f" (SELECT {_FIRST} FROM batch_items i JOIN batches b ON b.id = i.batch_id"
        " WHERE i.author <> '' AND i.submission_id = c.submission_id),"
        " c.state, c.verdict, c.overall, c.passed, c.destination, c.reason, c.review_id"
        " FROM gradings_current c WHERE c.grading_id = $1",
        (*_STATE_TABLES, "batches", "batch_items"),
    ),
    "gradings_of_submission": Query(
        "SELECT id FROM gradings WHERE submission_id = $1 ORDER BY created_at DESC, id",
        ("gradings",),
    ),
    # By its index: a view over all links would be scanned for every page that shows a grading.
    "stages_of_grading": Query(
        "SELECT stage, key FROM stage_links WHERE grading_id = $1 ORDER BY seq",
        ("stage_links",),
        keyed=True,
    ),
    "stage_count": Query("SELECT count(*) FROM stages", ("stages",)),
    "ids": Query(
        "SELECT DISTINCT id FROM (SELECT id FROM gradings UNION ALL SELECT id FROM submissions"
        " UNION ALL SELECT id FROM reviews UNION ALL SELECT id FROM batches)"
        " WHERE starts_with(id, $1) ORDER BY id LIMIT 11",
        ("gradings", "submissions", "reviews", "batches"),
    ),
    "canonical": Query(
        "SELECT r.submission_id, r.fingerprint, sha256(to_json(r)::VARCHAR)"
        " FROM canonical_results r ORDER BY 1, 2",
        _RESULT_TABLES,
    ),
    "canonical_of_batch": Query(
        "SELECT r.submission_id, r.fingerprint, sha256(to_json(r)::VARCHAR) FROM canonical_results r"
        " WHERE r.grading_id IN (SELECT grading_id FROM batch_items WHERE batch_id = $1) ORDER BY 1, 2",
        (*_RESULT_TABLES, "batch_items"),
    ),
    "closing_of_batch": Query(
        "SELECT r.grading_id, r.state, sha256(to_json(r)::VARCHAR) FROM canonical_results r"
        " WHERE r.grading_id IN (SELECT grading_id FROM batch_items WHERE batch_id = $1) ORDER BY 1",
        (*_RESULT_TABLES, "batch_items"),
    ),
    "closing_of_gradings": Query(
        "SELECT r.grading_id, r.state, sha256(to_json(r)::VARCHAR) FROM canonical_results r"
        " WHERE r.grading_id IN (SELECT unnest($1::VARCHAR[]))",
        _RESULT_TABLES,
    ),
    # Rows per table that belong to a set of gradings; the names double as the labels in the journal.
    "counts": Query(
        "WITH wanted AS (SELECT unnest($1::VARCHAR[]) AS grading_id),"
        " linked AS (SELECT DISTINCT l.stage, l.key FROM stage_links l SEMI JOIN wanted USING (grading_id))"
        " SELECT 'gradings', count(*) FROM gradings g SEMI JOIN wanted w ON w.grading_id = g.id"
        " UNION ALL SELECT 'submissions', count(*) FROM submissions s SEMI JOIN"
        " (SELECT submission_id FROM gradings g SEMI JOIN wanted w ON w.grading_id = g.id) x"
        " ON x.submission_id = s.id"
        " UNION ALL SELECT 'stages', count(*) FROM stages SEMI JOIN linked USING (stage, key)"
        " UNION ALL SELECT 'facts', count(*) FROM facts SEMI JOIN linked USING (stage, key)"
        " UNION ALL SELECT 'check_reports', count(*) FROM check_reports SEMI JOIN linked USING (stage, key)"
        " UNION ALL SELECT 'findings', count(*) FROM findings SEMI JOIN linked USING (stage, key)"
        " UNION ALL SELECT 'scores', count(*) FROM scores SEMI JOIN linked USING (stage, key)"
        " UNION ALL SELECT 'case_results', count(*) FROM case_results SEMI JOIN linked USING (stage, key)"
        " UNION ALL SELECT 'reviews', count(*) FROM reviews SEMI JOIN wanted USING (grading_id)"
        " WHERE kind = 'route'"
        " UNION ALL SELECT 'routes', count(*) FROM routes_current SEMI JOIN wanted USING (grading_id)"
        " UNION ALL SELECT 'grades', count(*) FROM grades_current SEMI JOIN wanted USING (grading_id)",
        _RESULT_TABLES,
    ),
    "gradings_of_batch": Query(
        "SELECT DISTINCT grading_id FROM batch_items WHERE batch_id = $1 ORDER BY 1",
        ("batch_items",),
        keyed=True,
    ),
    "marks": Query("SELECT hash FROM journal_marks ORDER BY position", ("journal_marks",)),
    "closings": Query(
        "SELECT hash FROM journal_marks WHERE kind = 'batch' AND subject = $1", ("journal_marks",)
    ),
    "decisions_with_reviews": Query(
        "SELECT d.body, r.body FROM decisions d LEFT JOIN reviews r ON r.id = d.review_id"
        " ORDER BY d.decided_at, d.review_id",
        _REVIEW_TABLES,
    ),
    # Quotes inside a text of the output are escaped: only the fault itself reads like this.
    "unanswered": Query(
        "SELECT c.grading_id FROM stages_current c"
        " SEMI JOIN (SELECT unnest($1::VARCHAR[]) AS id) w ON w.id = c.grading_id"
        """ WHERE c.stage = 'judge' AND contains(c.output, '"fault":{"owner":"environment"')""",
        ("stages", "stage_links"),
    ),
    "draft_levels": Query(
        "SELECT c.grading_id, s.criterion, s.level, s.source FROM stages_current c"
        " SEMI JOIN (SELECT unnest($1::VARCHAR[]) AS id) w ON w.id = c.grading_id"
        " JOIN scores s ON s.stage = c.stage AND s.key = c.key WHERE c.stage = 'judge'"
        " ORDER BY c.grading_id, s.position",
        ("stages", "stage_links", "scores"),
    ),
    # Where outputs lie, so that they are read in that order: to join all of them by key takes hours.
    "draft_places": Query(
        "WITH linked AS (SELECT l.grading_id, l.stage, arg_max(s.rowid, l.seq) AS place"  # noqa: S608
        " FROM stage_links l"
        " JOIN stages s ON s.stage = l.stage AND s.key = l.key WHERE l.stage IN ('inspect', 'judge')"
        " GROUP BY l.grading_id, l.stage)"
        " SELECT g.id, g.submission_id, s.task_id, o.origin, a.author,"
        " json_extract(g.body, '$.fingerprint')::VARCHAR, i.place, j.place"
        " FROM gradings g JOIN submissions s ON s.id = g.submission_id"
        " LEFT JOIN (SELECT x.grading_id, arg_max(x.origin, b.opened_at) AS origin FROM batch_items x"
        " JOIN batches b ON b.id = x.batch_id GROUP BY x.grading_id) o ON o.grading_id = g.id"
        f" LEFT JOIN ({_AUTHORS} {_DECLARED}) a ON a.submission_id = g.submission_id"
        " LEFT JOIN linked i ON i.grading_id = g.id AND i.stage = 'inspect'"
        " LEFT JOIN linked j ON j.grading_id = g.id AND j.stage = 'judge' ORDER BY g.created_at, g.id",
        ("gradings", "submissions", "batches", "batch_items", "stages", "stage_links"),
    ),
    "submission_bodies": Query(
        "SELECT s.body FROM submissions s SEMI JOIN (SELECT unnest($1::VARCHAR[]) AS id) w ON w.id = s.id",
        ("submissions",),
    ),
    "stage_outputs": Query(
        "SELECT s.rowid, s.output FROM stages s SEMI JOIN (SELECT unnest($1::BIGINT[]) AS place) w"
        " ON w.place = s.rowid WHERE s.rowid BETWEEN $2 AND $3",
        ("stages",),
    ),
    "spent": Query(
        "SELECT coalesce(sum(coalesce(e.cost, c.estimated_cost)), 0)::BIGINT"
        " FROM calls c LEFT JOIN call_ends e ON e.call_id = c.id"
        " WHERE $1::TIMESTAMPTZ IS NULL OR c.started_at >= $1::TIMESTAMPTZ",
        _CALL_TABLES,
    ),
    "open_calls": Query(
        "SELECT c.body FROM calls c WHERE NOT EXISTS (SELECT 1 FROM call_ends e WHERE e.call_id = c.id)"
        " ORDER BY c.started_at, c.id",
        _CALL_TABLES,
    ),
    "calls_by_id": Query(
        "SELECT c.id, c.key, c.provider, c.model FROM calls c"
        " SEMI JOIN (SELECT unnest($1::VARCHAR[]) AS id) w ON w.id = c.id",
        ("calls",),
    ),
    "calls_of_provider_batch": Query("SELECT body FROM calls WHERE batch_id = $1", ("calls",)),
    # The calls of one key first, by one condition: else DuckDB scans all calls instead of using the index.
    "batch_ends": Query(
        "WITH asked AS MATERIALIZED (SELECT id, batch_id, started_at FROM calls WHERE key = $1)"
        " SELECT e.call_id, e.outcome, e.code, e.message, e.seconds, e.input_tokens, e.cache_read_tokens,"
        " e.cache_write_tokens, e.output_tokens, e.cost FROM asked c JOIN call_ends e ON e.call_id = c.id"
        " WHERE c.batch_id IS NOT NULL ORDER BY c.started_at, c.id",
        _CALL_TABLES,
    ),
    "doubtful_calls": Query(
        "SELECT call_id, submission_id, provider, model, role, outcome, started_at, cost FROM costs"
        " WHERE possibly_paid_twice ORDER BY started_at, call_id",
        _CALL_TABLES,
    ),
    "provider_batches": Query(
        "SELECT body FROM provider_batches ORDER BY opened_at, id", ("provider_batches",)
    ),
    # An event that was sent again to the next owner is there twice.
    "provider_batch_events": Query(
        "SELECT batch_id, event, provider_id, message, created_at FROM provider_batch_events"
        " QUALIFY row_number() OVER (PARTITION BY id ORDER BY seq) = 1 ORDER BY seq",
        ("provider_batch_events",),
    ),
    "costs": Query(
        "SELECT CASE $1 WHEN 'day' THEN day::VARCHAR WHEN 'provider' THEN provider WHEN 'model' THEN model"  # noqa: S608
        " WHEN 'role' THEN role WHEN 'submission' THEN submission_id ELSE grading_id END AS value,"
        f" {_SUMS} FROM costs GROUP BY value ORDER BY value",
        _CALL_TABLES,
    ),
    "costs_by_criterion": Query(
        f"SELECT criterion AS value, {_SUMS} FROM criterion_costs GROUP BY value ORDER BY value",  # noqa: S608
        _CALL_TABLES,
    ),
    # Queue and events are followed by their numbers: with nothing new, these cost next to nothing.
    "desk_items": Query(
        "WITH new AS MATERIALIZED (SELECT seq, id, grading_id, body"  # noqa: S608
        " FROM reviews WHERE seq > $1),"
        " sought AS MATERIALIZED (SELECT DISTINCT g.submission_id FROM gradings g"
        " JOIN new n ON n.grading_id = g.id)"
        " SELECT n.seq, n.body, g.submission_id, s.task_id, o.origin, a.author, t.destination,"
        " coalesce(v.verdict, s.refusal), json_extract_string(g.body, '$.fingerprint.rubric'),"
        " c.confidence, EXISTS (SELECT 1 FROM decisions d WHERE d.review_id = n.id)"
        " FROM new n JOIN gradings g ON g.id = n.grading_id JOIN submissions s ON s.id = g.submission_id"
        " LEFT JOIN (SELECT i.grading_id, arg_max(i.origin, b.opened_at) AS origin FROM batch_items i"
        " SEMI JOIN new USING (grading_id) JOIN batches b ON b.id = i.batch_id"
        " GROUP BY i.grading_id) o ON o.grading_id = n.grading_id"
        f" LEFT JOIN ({_AUTHORS} SEMI JOIN sought USING (submission_id) {_DECLARED}) a"
        " ON a.submission_id = g.submission_id"
        " LEFT JOIN (SELECT grading_id, arg_max(destination, seq) AS destination FROM routes"
        " SEMI JOIN new USING (grading_id) GROUP BY grading_id) t ON t.grading_id = n.grading_id"
        " LEFT JOIN (SELECT l.grading_id, arg_max(k.verdict, l.seq) AS verdict FROM stage_links l"
        " SEMI JOIN new USING (grading_id) JOIN stages k ON k.stage = l.stage AND k.key = l.key"
        " WHERE k.verdict IS NOT NULL GROUP BY l.grading_id) v ON v.grading_id = n.grading_id"
        " LEFT JOIN (SELECT l.grading_id, arg_max({'value': k.confidence}, l.seq).value AS confidence"
        " FROM stage_links l SEMI JOIN new USING (grading_id)"
        " JOIN stages k ON k.stage = l.stage AND k.key = l.key"
        " WHERE l.stage = 'assess' GROUP BY l.grading_id) c ON c.grading_id = n.grading_id"
        " ORDER BY n.seq",
        (*_REVIEW_TABLES, "submissions", "batches", "batch_items", "routes", "stages", "stage_links"),
    ),
    "declared_authors": Query(
        f"{_AUTHORS} SEMI JOIN (SELECT unnest($1::VARCHAR[]) AS id) w ON w.id = i.submission_id {_DECLARED}",
        ("batches", "batch_items"),
    ),
    "desk_accepted": Query(
        "WITH new AS MATERIALIZED (SELECT grading_id, max(seq) AS seq, arg_max(verdict, seq) AS verdict,"
        " arg_max({'value': overall}, seq).value AS overall, arg_max({'value': passed}, seq).value AS passed"
        " FROM grades WHERE seq > $1 AND NOT EXISTS"
        " (SELECT 1 FROM reviews r WHERE r.grading_id = grades.grading_id) GROUP BY grading_id)"
        " SELECT n.seq, n.grading_id, g.submission_id, s.task_id, o.origin, NULL, 'graded', n.verdict,"
        " n.overall, n.passed, t.destination, t.reason, NULL"
        " FROM new n JOIN gradings g ON g.id = n.grading_id LEFT JOIN submissions s ON s.id = g.submission_id"
        " LEFT JOIN (SELECT i.grading_id, arg_max(i.origin, b.opened_at) AS origin FROM batch_items i"
        " SEMI JOIN new USING (grading_id) JOIN batches b ON b.id = i.batch_id"
        " GROUP BY i.grading_id) o ON o.grading_id = n.grading_id"
        " LEFT JOIN (SELECT grading_id, arg_max(destination, seq) AS destination,"
        " arg_max(reason, seq) AS reason FROM routes"
        " SEMI JOIN new USING (grading_id) GROUP BY grading_id) t ON t.grading_id = n.grading_id"
        " ORDER BY n.seq",
        ("grades", "reviews", "gradings", "submissions", "batches", "batch_items", "routes"),
    ),
    "desk_decided": Query("SELECT review_id FROM decisions", ("decisions",)),
    "desk_events": Query("SELECT seq, body FROM desk_events WHERE seq > $1 ORDER BY seq", ("desk_events",)),
    "desk_events_of_review": Query(
        "SELECT body FROM desk_events WHERE review_id = $1 ORDER BY seq", ("desk_events",)
    ),
    "desk_events_with_reviews": Query(
        "SELECT e.body, r.body FROM desk_events e LEFT JOIN reviews r ON r.id = e.review_id ORDER BY e.seq",
        ("desk_events", "reviews"),
    ),
    "desk_activity": Query(
        "SELECT body FROM desk_activity WHERE ($1::VARCHAR IS NULL OR account = $1)"
        " AND ($2::TIMESTAMPTZ IS NULL OR started_at >= $2::TIMESTAMPTZ) ORDER BY started_at, id",
        ("desk_activity",),
    ),
    "desk_records": Query(
        "SELECT arg_max(body, seq) FROM desk_records WHERE kind = $1 GROUP BY key ORDER BY key",
        ("desk_records",),
        keyed=True,
    ),
    "vouched_records": Query(
        "SELECT kind, key, arg_max(body, seq) FROM desk_records"
        " WHERE key IN (SELECT subject FROM journal_marks WHERE kind = 'record') GROUP BY kind, key"
        " ORDER BY min(seq)",
        ("desk_records", "journal_marks"),
    ),
    # One condition and no LIMIT: with more of either DuckDB scans the table instead of using its index.
    # Threads have few checkpoints.
    "checkpoints_of_thread": Query(
        "SELECT thread_id, namespace, checkpoint_id, parent_id, checkpoint_type, checkpoint, metadata_type,"
        " metadata FROM checkpoints WHERE thread_id = $1 ORDER BY checkpoint_id DESC",
        ("checkpoints",),
        keyed=True,
    ),
    "writes_of_thread": Query(
        "SELECT namespace, checkpoint_id, task_id, channel, value_type, value FROM checkpoint_writes"
        " WHERE thread_id = $1 ORDER BY task_path, task_id, position",
        ("checkpoint_writes",),
        keyed=True,
    ),
    # A NULL parameter leaves that condition out.
    "checkpoint_list": Query(
        "SELECT thread_id, namespace, checkpoint_id, metadata_type, metadata FROM checkpoints"
        " WHERE ($1::VARCHAR IS NULL OR thread_id = $1) AND ($2::VARCHAR IS NULL OR namespace = $2)"
        " AND ($3::VARCHAR IS NULL OR checkpoint_id = $3) AND ($4::VARCHAR IS NULL OR checkpoint_id < $4)"
        " ORDER BY checkpoint_id DESC, thread_id, namespace",
        ("checkpoints",),
    ),
}

_CHECKPOINTS = ("checkpoints", "checkpoint_writes")

STATEMENTS = {
    "delete_thread_checkpoints": Query("DELETE FROM checkpoints WHERE thread_id = $1", _CHECKPOINTS),
    "delete_thread_writes": Query("DELETE FROM checkpoint_writes WHERE thread_id = $1", _CHECKPOINTS),
    "delete_run_writes": Query(
        "DELETE FROM checkpoint_writes w USING checkpoints c WHERE c.run_id = $1"
        " AND w.thread_id = c.thread_id AND w.namespace = c.namespace AND w.checkpoint_id = c.checkpoint_id",
        _CHECKPOINTS,
    ),
    "delete_run_checkpoints": Query("DELETE FROM checkpoints WHERE run_id = $1", _CHECKPOINTS),
    "prune_writes": Query(
        "DELETE FROM checkpoint_writes w WHERE w.thread_id = $1 AND w.checkpoint_id <>"
        " (SELECT max(c.checkpoint_id) FROM checkpoints c"
        " WHERE c.thread_id = w.thread_id AND c.namespace = w.namespace)",
        _CHECKPOINTS,
    ),
    "prune_checkpoints": Query(
        "DELETE FROM checkpoints c WHERE c.thread_id = $1 AND c.checkpoint_id <>"
        " (SELECT max(d.checkpoint_id) FROM checkpoints d"
        " WHERE d.thread_id = c.thread_id AND d.namespace = c.namespace)",
        _CHECKPOINTS,
    ),
    "copy_thread_checkpoints": Query(
        "INSERT OR REPLACE INTO checkpoints (thread_id, namespace, checkpoint_id, parent_id, run_id,"
        " checkpoint_type, checkpoint, metadata_type, metadata) SELECT $2, namespace, checkpoint_id,"
        " parent_id, run_id, checkpoint_type, checkpoint, metadata_type, metadata FROM checkpoints"
        " WHERE thread_id = $1",
        _CHECKPOINTS,
    ),
    "copy_thread_writes": Query(
        "INSERT OR REPLACE INTO checkpoint_writes (thread_id, namespace, checkpoint_id, task_id, position,"
        " task_path, channel, value_type, value) SELECT $2, namespace, checkpoint_id, task_id, position,"
        " task_path, channel, value_type, value FROM checkpoint_writes WHERE thread_id = $1",
        _CHECKPOINTS,
    ),
}
