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
    DECLARE v_day DATE;
    DECLARE v_done BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR 1062 SET out_holder_status = 0, v_done = TRUE;
    -- @include core/held.part.sql
    --   ANSWER=out_holder_status = 0, v_done = TRUE
    DECLARE CONTINUE HANDLER FOR 1526
    BEGIN
        IF idem_claim_day() = v_day THEN
            RESIGNAL;
        END IF;
    END;

    SET out_holder_status = NULL;
    REPEAT -- once more when midnight came between
        SET v_day = idem_claim_day();
        SET STATEMENT innodb_lock_wait_timeout = 0 FOR
            SELECT idem._acquire('', in_key, v_day, in_biz_type, in_status, NULL, idem_token(), NULL,
                                 in_error, NULL, in_now)
              INTO v_done;
    UNTIL v_done END REPEAT;
END$$
DELIMITER ;
