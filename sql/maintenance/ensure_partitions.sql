DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.ensure_partitions()
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Creates the partitions of today and of idem_partitions_ahead more UTC days that do not exist yet. Safe to
run at any time, by several at once, and again after it was killed in the middle. Errors: 52006 inside a
transaction (DDL would commit it).

Example: CALL idem.ensure_partitions();
'
BEGIN
    DECLARE v_day DATE DEFAULT idem_today();
    DECLARE v_last DATE;
    DECLARE v_reloaded BOOLEAN;

    IF @@in_transaction THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006,
            MESSAGE_TEXT = 'idem.ensure_partitions: a transaction is open, and DDL would commit it';
    END IF;
    SET v_last = v_day + INTERVAL idem_setting('partitions_ahead') DAY;
    WHILE v_day <= v_last DO
        IF NOT EXISTS (SELECT 1 FROM information_schema.partitions p
                        WHERE p.table_schema = 'idem' AND p.table_name = 'record'
                          AND p.partition_name = DATE_FORMAT(v_day, 'p%Y%m%d')) THEN
            INSERT IGNORE INTO idem.live_day (day, created_at)
            VALUES (v_day, TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND);
            EXECUTE IMMEDIATE CONCAT('ALTER TABLE idem.record ADD PARTITION IF NOT EXISTS (PARTITION ',
                DATE_FORMAT(v_day, 'p%Y%m%d'), ' VALUES LESS THAN (''', v_day + INTERVAL 1 DAY, '''))');
        END IF;
        SET v_day = v_day + INTERVAL 1 DAY;
    END WHILE;
    SET v_reloaded = idem_reload();
END$$
DELIMITER ;
