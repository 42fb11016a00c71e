DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._task_begin(
    IN in_name VARCHAR(64) CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: notes in idem.task that a task starts. Errors: 52006 inside a transaction, or where the other
nodes of a Galera cluster would not follow; 52005 without the plugin.
'
BEGIN
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
    DECLARE v_text VARCHAR(512);

    IF @@in_transaction THEN
        SET v_text = CONCAT('idem.', in_name, ': a transaction is open, and this call would commit it');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006, MESSAGE_TEXT = v_text;
    END IF;
    IF idem_galera() AND @@wsrep_OSU_method = 'RSU' THEN
        SET v_text = CONCAT('idem.', in_name, ': wsrep_OSU_method is RSU, so partitions would change on this'
                            ' node alone; set it to TOI');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006, MESSAGE_TEXT = v_text;
    END IF;
    INSERT INTO idem.task (name, runs, failures, started_at, account)
    VALUES (in_name, 1, 0, v_now, USER())
        ON DUPLICATE KEY UPDATE runs = runs + 1, started_at = v_now, ended_at = NULL, account = USER();
    COMMIT;
END$$
DELIMITER ;
