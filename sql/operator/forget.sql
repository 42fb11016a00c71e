DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.forget(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Deletes the record of a key: the next claim is a first one, and the action may be carried out again.
Also for an event when in_biz_type names a consumer. Leaves a row in idem.audit with what was forgotten.
Errors: 52001 also when there is no such record.

Example: CALL idem.forget(''payment'', ''order-42'');
'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_detail LONGTEXT CHARACTER SET utf8mb4 DEFAULT NULL;
    DECLARE v_day DATE;
    DECLARE v_created_at DATETIME(6);
    DECLARE v_scope VARBINARY(64);
    DECLARE v_left INT;

    SET v_checked = idem_check('forget', @@character_set_results, in_biz_type, in_key);
    -- A KILL can make MariaDB answer with no row, and go on; a COUNT is never lost so.
    REPEAT
        SELECT r.scope, r.created_on, r.created_at,
               JSON_OBJECT('status', r.status, 'attempt', r.attempt, 'token', r.token, 'created_at',
                           r.created_at, 'result', JSON_COMPACT(r.result), 'error', JSON_COMPACT(r.error))
          INTO v_scope, v_day, v_created_at, v_detail
          FROM idem.record r
         WHERE r.scope IN ('', in_biz_type) AND r.idem_key = in_key AND r.biz_type = in_biz_type
         ORDER BY r.scope LIMIT 1;
        IF v_detail IS NULL THEN
            SELECT COUNT(*) INTO v_left FROM idem.record r
             WHERE r.scope IN ('', in_biz_type) AND r.idem_key = in_key AND r.biz_type = in_biz_type;
            IF v_left = 0 THEN
                SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                    MESSAGE_TEXT = 'idem.forget: there is no record of this key and biz_type';
            END IF;
        END IF;
    UNTIL v_detail IS NOT NULL END REPEAT;
    CALL idem._audit('forget', in_biz_type, in_key, v_detail);
    -- A KILL can make MariaDB answer that nothing matched, and go on: gone is what a locking look does not
    -- find. created_at never changes, so this is never a claim that was made meanwhile.
    REPEAT
        DELETE FROM idem.record
         WHERE scope = v_scope AND idem_key = in_key AND created_on = v_day AND biz_type = in_biz_type
           AND created_at = v_created_at;
        SET v_left = ROW_COUNT() = 0;
        IF v_left THEN
            SELECT COUNT(*) INTO v_left FROM idem.record r
             WHERE r.scope = v_scope AND r.idem_key = in_key AND r.created_on = v_day
               AND r.biz_type = in_biz_type AND r.created_at = v_created_at
               FOR UPDATE;
        END IF;
    UNTIL NOT v_left END REPEAT;
END$$
DELIMITER ;
