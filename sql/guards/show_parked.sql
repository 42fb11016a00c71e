DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.show_parked(
    IN in_older_than_seconds BIGINT UNSIGNED,
    IN in_limit INT UNSIGNED
)
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Lists parked events that wait for their predecessors since in_older_than_seconds or longer (NULL: all),
oldest first; at most in_limit (NULL: 100). waits_for is the version that is missing first, as far as it
can be told from what is parked: ask its producer to send it again.

Example: CALL idem.show_parked(3600, 20);
'
BEGIN
    SET in_limit = COALESCE(in_limit, 100);
    SELECT CONVERT(e.projection USING utf8mb4) AS projection, e.id, e.version,
           (SELECT MIN(f.version) - 1 FROM idem.parked_event f
             WHERE f.projection = e.projection AND f.id_hash = e.id_hash) AS waits_for,
           CONVERT(e.set_json USING utf8mb4) AS set_json, e.parked_at, e.parked_by
      FROM idem.parked_event e
     WHERE e.parked_at <= TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND
                          - INTERVAL COALESCE(in_older_than_seconds, 0) SECOND
     ORDER BY e.parked_at, e.projection, e.id_hash, e.version
     LIMIT in_limit;
END$$
DELIMITER ;
