DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.drop_machine(
    IN in_name LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Forgets a state machine; the table and its rows stay as they are.
Errors: 52001 if there is none; 1205 when transactions that use it stay open.

Example: CALL idem.drop_machine(''order'');
'
BEGIN
    DECLARE v_checked BOOLEAN;

    SET v_checked = idem_check('drop_machine', @@character_set_results, in_name, 'guard');
    -- A KILL can make MariaDB answer that nothing matched, and go on: look again (in IF with a lock, so never
    -- at an old snapshot).
    REPEAT
        IF NOT EXISTS (SELECT 1 FROM idem.machine m WHERE m.name = in_name) THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                MESSAGE_TEXT = 'idem.drop_machine: there is no machine of this name';
        END IF;
        DELETE FROM idem.machine WHERE name = in_name;
    UNTIL ROW_COUNT() = 1 END REPEAT;
    CALL idem._audit('drop_machine', in_name, NULL, NULL);
END$$
DELIMITER ;
