DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.drop_projection(
    IN in_name LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Forgets a projection; the table and its rows stay as they are. Errors: 52001 if there is none, or while
events are parked for it (see forget_parked); 1205 when transactions that use it stay open.

Example: CALL idem.drop_projection(''balance'');
'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_count INT;

    SET v_checked = idem_check('drop_projection', @@character_set_results, in_name, 'guard');
    -- First the lock of the definition, with nothing in hand: transactions that use it may still park. A KILL
    -- can make MariaDB answer that the DELETE matched nothing, and go on: look again.
    REPEAT
        SELECT COUNT(*) INTO v_count FROM idem.projection p WHERE p.name = in_name FOR UPDATE;
        IF v_count = 0 THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                MESSAGE_TEXT = 'idem.drop_projection: there is no projection of this name';
        END IF;
        IF EXISTS (SELECT 1 FROM idem.parked_event e WHERE e.projection = in_name) THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT =
                'idem.drop_projection: events are parked; see show_parked() and forget_parked()';
        END IF;
        DELETE FROM idem.projection WHERE name = in_name;
    UNTIL ROW_COUNT() = 1 END REPEAT;
    CALL idem._audit('drop_projection', in_name, NULL, NULL);
END$$
DELIMITER ;
