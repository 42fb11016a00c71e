DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.set_projection(
    IN in_name LONGBLOB,
    IN in_first_version BIGINT,
    IN in_park BOOLEAN,
    IN in_max_parked BIGINT
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Says how a delta projection begins and what becomes of events that come too early. NULL: the default.

in_first_version: the version that creates a row, 0 or more; default 1. in_park: keep an early event and
apply it when the gap closes (PARKED instead of GAP); default FALSE. in_max_parked: 1-10000, about how many
are kept for one row, then it is GAP again; default 100. Errors: 52001 also when in_park goes while events
are parked: nothing would ever apply them; 1205 when transactions that use the projection stay open.

Example: CALL idem.set_projection(''balance'', NULL, TRUE, 1000);
'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_count INT;

    SET v_checked = idem_check('set_projection', @@character_set_results, in_name, 'guard');
    IF in_first_version < 0 OR in_max_parked NOT BETWEEN 1 AND 10000 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT =
            'idem.set_projection: first_version takes 0 or more, max_parked 1 to 10000';
    END IF;
    -- First the lock of the definition, with nothing in hand: transactions that use it may still park. A KILL
    -- can make MariaDB 11 answer that the UPDATE matched nothing, and go on: look again. updated_at moves, so
    -- a match is a change under every client flag.
    REPEAT
        SELECT COUNT(*) INTO v_count FROM idem.projection p
         WHERE p.name = in_name AND p.kind = 'delta'
           FOR UPDATE;
        IF v_count = 0 THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                MESSAGE_TEXT = 'idem.set_projection: there is no delta projection of this name';
        END IF;
        IF NOT COALESCE(in_park, FALSE)
           AND EXISTS (SELECT 1 FROM idem.parked_event e WHERE e.projection = in_name) THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT =
                'idem.set_projection: events are parked; see show_parked() and forget_parked()';
        END IF;
        UPDATE idem.projection p
           SET p.first_version = COALESCE(in_first_version, 1), p.park = COALESCE(in_park, FALSE),
               p.max_parked = COALESCE(in_max_parked, 100), p.updated_by = USER(),
               p.updated_at = GREATEST(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND,
                                       p.updated_at + INTERVAL 1 MICROSECOND)
         WHERE p.name = in_name;
    UNTIL ROW_COUNT() = 1 END REPEAT;
    CALL idem._audit('set_projection', in_name, NULL,
                     JSON_OBJECT('first_version', in_first_version, 'park', in_park, 'max_parked',
                                 in_max_parked));
END$$
DELIMITER ;
