-- A statement that adds or removes many extractions counts them once and not one by one: every count is another version
-- of one row, and the next one has to step over them all until the commit, so that the time grew with the square.
CREATE FUNCTION count_extractions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO extraction_totals AS t (status, leg_status, slot, number)
    SELECT c.status, coalesce(c.post_processing->'bbox_refinement'->>'status', ''), pg_backend_pid() % 32,
           CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
    FROM changed c GROUP BY 1, 2 ORDER BY 1, 2 -- in one order, as above
    ON CONFLICT (status, leg_status, slot) DO UPDATE SET number = t.number + excluded.number;
    RETURN NULL;
END $$;

DROP TRIGGER count_in ON extractions;
DROP TRIGGER count_out ON extractions;
CREATE TRIGGER count_in AFTER INSERT ON extractions
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_extractions();
CREATE TRIGGER count_out AFTER DELETE ON extractions
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_extractions();
