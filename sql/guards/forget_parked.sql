DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.forget_parked(
    IN in_projection LONGBLOB,
    IN in_id LONGBLOB,
    IN in_version BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Deletes parked events: one that cannot be applied, or all of a row (in_version NULL), or of the projection
(in_id NULL too). Each leaves a row in idem.audit with its content. in_id: as show_parked() shows it.
Errors: 52001 also when there is none.

Example: CALL idem.forget_parked(''balance'', 7, 12);
'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_left INT;

    SET v_checked = idem_check('forget_parked', @@character_set_results, in_projection, 'guard');
    INSERT INTO idem.audit (at, account, action, biz_type, idem_key, detail)
    SELECT TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND, USER(), 'forget_parked',
           e.projection, LEFT(e.id, 255),
           JSON_OBJECT('version', e.version, 'set_json', JSON_COMPACT(CONVERT(e.set_json USING utf8mb4)))
      FROM idem.parked_event e
     WHERE e.projection = in_projection AND (in_id IS NULL OR e.id = in_id)
       AND (in_version IS NULL OR (in_id IS NOT NULL AND e.version = in_version));
    IF ROW_COUNT() = 0 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.forget_parked: there is no such parked event';
    END IF;
    -- A KILL can make MariaDB answer that nothing matched, and go on: gone is what a locking look does not
    -- find.
    REPEAT
        DELETE FROM idem.parked_event
         WHERE projection = in_projection AND (in_id IS NULL OR id = in_id)
           AND (in_version IS NULL OR (in_id IS NOT NULL AND version = in_version));
        SET v_left = ROW_COUNT() = 0;
        IF v_left THEN
            SELECT COUNT(*) INTO v_left FROM idem.parked_event e
             WHERE e.projection = in_projection AND (in_id IS NULL OR e.id = in_id)
               AND (in_version IS NULL OR (in_id IS NOT NULL AND e.version = in_version))
               FOR UPDATE;
        END IF;
    UNTIL NOT v_left END REPEAT;
END$$
DELIMITER ;
