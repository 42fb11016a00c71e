DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.stuck(
    IN in_limit INT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Lists claims that nobody finishes: committed, in progress and past their lease, or UNKNOWN; oldest first.

in_limit: most rows, NULL for 100. owner_conn is the connection that claimed (see the process list).

Example: CALL idem.stuck(20);
'
BEGIN
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;

    SET in_limit = COALESCE(in_limit, 100);
    SELECT CONVERT(r.biz_type USING utf8mb4) AS biz_type, CONVERT(r.idem_key USING utf8mb4) AS idem_key,
           ELT(r.status + 1, 'in progress', 'done', 'failed', 'unknown') AS status, r.attempt, r.token,
           r.owner_conn, r.owner_account, r.lease_until, r.created_at, r.updated_at
      FROM idem.record r FORCE INDEX (lease)
     WHERE r.lease_until <= v_now OR (r.lease_until IS NULL AND r.status = 3)
     ORDER BY r.updated_at
     LIMIT in_limit;
END$$
DELIMITER ;
