-- Removes the routines, functions and the plugin of idem, and keeps the records. To remove them too:
-- SET @idem_drop_data = 1 before this file. Run it on each replica first, as install.sql; on a Galera
-- cluster on every node, one after the other.
SET @idem_sql_mode = @@SESSION.sql_mode, SESSION sql_mode = 'STRICT_TRANS_TABLES';
DROP EVENT IF EXISTS idem.ensure_partitions;
DROP EVENT IF EXISTS idem.reap;
DROP EVENT IF EXISTS idem.seal_days;
DROP EVENT IF EXISTS idem.drop_expired;
DELIMITER $$
BEGIN NOT ATOMIC
    DECLARE v_done BOOLEAN DEFAULT FALSE;
    DECLARE v_name VARCHAR(100);
    DECLARE v_routines CURSOR FOR SELECT CONCAT(routine_type, ' IF EXISTS idem.`', routine_name, '`')
                                    FROM information_schema.routines WHERE routine_schema = 'idem';
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = TRUE;

    OPEN v_routines;
    FETCH v_routines INTO v_name;
    WHILE NOT v_done DO
        EXECUTE IMMEDIATE CONCAT('DROP ', v_name);
        FETCH v_routines INTO v_name;
    END WHILE;
    CLOSE v_routines;
    IF EXISTS (SELECT 1 FROM information_schema.tables
                WHERE table_schema = 'idem' AND table_name = 'meta') THEN
        REPEAT -- a KILL can make MariaDB answer that nothing matched, and go on
            DELETE FROM idem.meta WHERE name = 'version';
        UNTIL NOT EXISTS (SELECT 1 FROM idem.meta WHERE name = 'version') END REPEAT;
    END IF;
    IF COALESCE(@idem_drop_data, 0) THEN
        DROP DATABASE IF EXISTS idem;
        DROP USER IF EXISTS idem@localhost;
        DROP ROLE IF EXISTS idem_app;
        DROP ROLE IF EXISTS idem_operator;
    END IF;
END$$
DELIMITER ;
COMMIT; -- autocommit may be off
START TRANSACTION WITH CONSISTENT SNAPSHOT; -- see library.sql
COMMIT;
SET @idem_log_bin = @@SESSION.sql_log_bin, SESSION sql_log_bin = 0;
SET @idem_wsrep_on = @@SESSION.wsrep_on AND @@wsrep_provider NOT IN ('', 'none'), SESSION wsrep_on = 0;
@IDEM_DROP_FUNCTIONS@UNINSTALL PLUGIN IF EXISTS idem;
SET SESSION wsrep_on = @idem_wsrep_on, SESSION sql_log_bin = @idem_log_bin;
SELECT CONCAT(IF(COALESCE(@idem_drop_data, 0), 'idem is removed, with its records',
                 'idem is removed; schema idem keeps its records'),
              IF(EXISTS (SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'idem'),
                 '; the library stays loaded until the sessions connected now have ended', ''))
       AS result;
SET SESSION sql_mode = @idem_sql_mode;
