-- fail() on a key without a record: the business transaction was rolled back and took its claim along,
-- but the failure shall be remembered. Insert without waiting, with the look at the other days; if
-- somebody else has the key by now, the failure is theirs to decide.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._fail_new(
    IN in_biz_type VARBINARY(64),
    IN in_key VARBINARY(255),
    IN in_status TINYINT UNSIGNED,
    IN in_error LONGTEXT CHARACTER SET utf8mb4,
    IN in_now DATETIME(6),
    OUT out_holder_status TINYINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: stores a failed (2) or released (4) record. out_holder_status is NULL, or 0 when somebody else holds the key.'
BEGIN
    DECLARE v_day DATE DEFAULT idem_today();
    DECLARE v_text VARCHAR(512);
    DECLARE CONTINUE HANDLER FOR 1062 SET out_holder_status = 0;
    DECLARE CONTINUE HANDLER FOR 1205
    BEGIN
        IF @@innodb_rollback_on_timeout THEN
            RESIGNAL;
        END IF;
        SET out_holder_status = 0;
    END;
    DECLARE EXIT HANDLER FOR 1526
    BEGIN
        SET v_text = CONCAT('idem: no partition for ', v_day, ' (UTC); CALL idem.ensure_partitions()');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT = v_text;
    END;

    SET out_holder_status = NULL;
    IF NOT EXISTS (SELECT 1 FROM idem.live_day l WHERE l.day = v_day) THEN
        SET v_text = CONCAT('idem: no partition for ', v_day, ' (UTC); CALL idem.ensure_partitions()');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005, MESSAGE_TEXT = v_text;
    END IF;
    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
        INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,
                                 owner_conn, owner_epoch, owner_account, error, created_at, updated_at,
                                 finished_at)
        VALUES ('', in_key, v_day, in_biz_type, in_status, 1, idem_token(), CONNECTION_ID(),
                idem_epoch(), USER(), in_error, in_now, in_now, IF(in_status = 2, in_now, NULL));
END$$
DELIMITER ;
