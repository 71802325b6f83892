-- Who wrote a submission, as whoever handed it in said; '' where nobody did, and of all that was graded before.
ALTER TABLE batch_items ADD COLUMN author VARCHAR DEFAULT '';
