DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.peek(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB
)
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Looks at a key and claims nothing. What another transaction has not committed is not seen, so the answer
is for people and reports, never a reason to go ahead.

Answers one row. state FREE: no record, or released, or its lease ran out: a claim would get it (or the
policy would settle it). DONE, FAILED, IN_PROGRESS, UNKNOWN as in claim(). Errors: 52001, 52002, 52005,
52007.

Example: CALL idem.peek(''payment'', ''order-42'');
'
BEGIN
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
    DECLARE v_admitted INT UNSIGNED;
    DECLARE v_holder VARBINARY(64) DEFAULT NULL;

    SET v_admitted = idem_admit('peek', @@character_set_results, USER(), in_biz_type, in_key, FALSE);
    SELECT r.biz_type INTO v_holder FROM idem.record r
     WHERE r.scope = '' AND r.idem_key = in_key LIMIT 1;
    IF v_holder <> in_biz_type THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52002,
            MESSAGE_TEXT = 'idem: the key is held by another biz_type';
    END IF;
    SELECT CASE WHEN r.status IS NULL OR r.status = 4 OR r.lease_until <= v_now THEN 'FREE'
                ELSE ELT(r.status + 1, 'IN_PROGRESS', 'DONE', 'FAILED', 'UNKNOWN') END AS state,
           r.attempt, IF(r.status = 1, r.result, NULL) AS result,
           IF(r.status = 2, r.error, NULL) AS error, r.checkpoint,
           IF(r.status IN (0, 4), r.error, NULL) AS last_error, r.created_at AS first_seen,
           r.finished_at, IF(r.status = 0, r.owner_account, NULL) AS owner,
           IF(r.status = 0, r.updated_at, NULL) AS owner_since, r.lease_until
      FROM idem.meta m
      LEFT JOIN idem.record r ON r.scope = '' AND r.idem_key = in_key
     WHERE m.name = 'version'
     LIMIT 1;
END$$
DELIMITER ;
