-- How many extractions there are of each status, kept by the transactions that change it, so that the total of a list
-- need not be counted: at a million rows that takes longer than all the rest. A transaction adds to the rows of its
-- own session's slot, so that two seldom wait for each other.
CREATE TABLE extraction_totals (
    status     text   NOT NULL,
    leg_status text   NOT NULL, -- '' without a leg
    slot       int    NOT NULL,
    number     bigint NOT NULL,
    PRIMARY KEY (status, leg_status, slot)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE FUNCTION count_extraction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- In one order, so that two changes of one row seldom wait for each other in a circle. Transactions of one slot that
    -- change several rows still can: PostgreSQL ends one of them, and whoever called begins it again.
    INSERT INTO extraction_totals AS t (status, leg_status, slot, number)
    SELECT c.status, c.leg_status, pg_backend_pid() % 32, sum(c.number)
    FROM (SELECT OLD.status AS status, coalesce(OLD.post_processing->'bbox_refinement'->>'status', '') AS leg_status,
                 -1 AS number WHERE TG_OP <> 'INSERT'
          UNION ALL
          SELECT NEW.status, coalesce(NEW.post_processing->'bbox_refinement'->>'status', ''), 1 WHERE TG_OP <> 'DELETE') c
    GROUP BY c.status, c.leg_status HAVING sum(c.number) <> 0
    ORDER BY c.status, c.leg_status
    ON CONFLICT (status, leg_status, slot) DO UPDATE SET number = t.number + excluded.number;
    RETURN NULL;
END $$;

-- Making them locks the table against writers until the commit: what is counted below stays true.
CREATE TRIGGER count_in AFTER INSERT ON extractions FOR EACH ROW EXECUTE FUNCTION count_extraction();
CREATE TRIGGER count_out AFTER DELETE ON extractions FOR EACH ROW EXECUTE FUNCTION count_extraction();
CREATE TRIGGER count_change AFTER UPDATE OF status, post_processing ON extractions FOR EACH ROW
    WHEN (OLD.status <> NEW.status
          OR OLD.post_processing->'bbox_refinement'->>'status'
             IS DISTINCT FROM NEW.post_processing->'bbox_refinement'->>'status')
    EXECUTE FUNCTION count_extraction();

INSERT INTO extraction_totals (status, leg_status, slot, number)
SELECT status, coalesce(post_processing->'bbox_refinement'->>'status', ''), 0, count(*)
FROM extractions GROUP BY 1, 2;
