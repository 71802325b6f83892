-- How far a draft can be trusted, beside the output it is part of: the queue's order asks for it again and again,
-- and to look into every output each time would take a hundred times as long.
DROP INDEX stages_by_key;
ALTER TABLE stages ADD COLUMN confidence DOUBLE;
UPDATE stages SET confidence = TRY_CAST(json_extract_string(output, '$.value') AS DOUBLE) WHERE stage = 'assess';
CREATE INDEX stages_by_key ON stages (key);

-- Again, for the new column: a view's are those its tables had when it was made.
CREATE OR REPLACE VIEW stages_current AS
SELECT l.grading_id, l.seq, s.*
FROM (
    SELECT * FROM stage_links
    QUALIFY row_number() OVER (PARTITION BY grading_id, stage ORDER BY seq DESC) = 1
) l
JOIN stages s ON s.stage = l.stage AND s.key = l.key;
