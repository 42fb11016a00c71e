DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.resolve(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_verdict VARCHAR(255) CHARACTER SET utf8mb4,
    IN in_json LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Ends an unfinished or UNKNOWN claim by a person''s decision, after the outside world was asked.

in_verdict: done (in_json is the result), failed (in_json is the error) or retry (the next claim is
RECLAIMED; only when no lease runs, so that a verdict that comes late or twice sets nobody to work beside
an owner). The token moves on, so a late owner is refused. Leaves a row in idem.audit.
Errors: 52001 also when there is no such record, it is finished already, or a lease is in the way.

Example: CALL idem.resolve(''payment'', ''order-42'', ''done'', ''{"receipt":7}'');
'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
    DECLARE v_json LONGTEXT CHARACTER SET utf8mb4 DEFAULT NULL;
    DECLARE v_day DATE DEFAULT NULL;
    DECLARE v_status TINYINT UNSIGNED;
    DECLARE v_lease_until DATETIME(6);

    SET v_checked = idem_check('resolve', @@character_set_results, in_biz_type, in_key);
    IF in_verdict IS NULL OR in_verdict NOT IN ('done', 'failed', 'retry') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.resolve: verdict must be done, failed or retry';
    END IF;
    SET in_json = COALESCE(in_json, 'null');
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1300 SET v_json = NULL; -- not UTF-8: refused below
        SET v_json = CONVERT(in_json USING utf8mb4);
    END;
    IF NOT (CAST(v_json AS BINARY) <=> in_json) OR NOT JSON_VALID(v_json) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.resolve: the last argument is not JSON in UTF-8';
    END IF;
    SELECT r.created_on INTO v_day FROM idem.record r
     WHERE r.scope = '' AND r.idem_key = in_key AND r.biz_type = in_biz_type LIMIT 1;
    -- A KILL can make MariaDB 11 answer that nothing matched, and go on. So the row itself says whether there
    -- is something to resolve. The token moves: a match is a change under every client flag.
    REPEAT
        SET v_status = NULL;
        SELECT r.status, r.lease_until INTO v_status, v_lease_until FROM idem.record r
         WHERE r.scope = '' AND r.idem_key = in_key AND r.created_on = v_day
           AND r.biz_type = in_biz_type AND r.status IN (0, 3, 4)
           FOR UPDATE;
        IF v_status IS NULL THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                MESSAGE_TEXT = 'idem.resolve: there is no unfinished record of this key and biz_type';
        END IF;
        IF in_verdict = 'retry' AND v_lease_until > v_now THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                MESSAGE_TEXT = 'idem.resolve: its lease still runs; retry later, or end it as done or failed';
        END IF;
        UPDATE idem.record r
           SET r.status = ELT(FIELD(in_verdict, 'done', 'failed', 'retry'), 1, 2, 4),
               r.result = IF(in_verdict = 'done', v_json, NULL),
               r.error = CASE in_verdict WHEN 'failed' THEN v_json WHEN 'done' THEN NULL ELSE r.error END,
               r.token = GREATEST(idem_token(), r.token + 1), r.lease_until = NULL, r.updated_at = v_now,
               r.finished_at = IF(in_verdict = 'retry', NULL, v_now)
         WHERE r.scope = '' AND r.idem_key = in_key AND r.created_on = v_day
           AND r.biz_type = in_biz_type AND r.status IN (0, 3, 4);
    UNTIL ROW_COUNT() = 1 END REPEAT;
    CALL idem._audit('resolve', in_biz_type, in_key,
                     JSON_OBJECT('verdict', in_verdict, 'json', JSON_COMPACT(v_json)));
END$$
DELIMITER ;
