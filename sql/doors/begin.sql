DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.begin(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_payload LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
START TRANSACTION and claim() in one call. With CLAIMED or RECLAIMED the transaction is open: do the
work, then CALL idem.commit. With every other state, and with every error but a kill, it is over
and nothing of the caller''s is left behind. After a kill (1317, 1969) ROLLBACK yourself.

Parameters, answer and errors as in claim(). 52006 when a transaction is already open: START TRANSACTION
would commit it.

Example: CALL idem.begin(''payment'', ''order-42'', ''{"amount":10}'');
'
BEGIN
    DECLARE v_state, v_observed VARCHAR(16);
    DECLARE v_token, v_retry_after_ms BIGINT UNSIGNED;
    DECLARE v_attempt INT UNSIGNED;
    DECLARE v_result, v_error, v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_first_seen, v_finished_at, v_owner_since DATETIME(6);
    DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;
    DECLARE v_again INT DEFAULT 8;

    IF @@in_transaction THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006,
            MESSAGE_TEXT = 'idem.begin: a transaction is already open; use claim inside it';
    END IF;
    REPEAT
        BEGIN
            -- 1020: the holder committed after this transaction's snapshot was taken. Nothing of the
            -- caller's is in it yet, so it can be started again here.
            DECLARE EXIT HANDLER FOR 1020
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                SET v_again = v_again - 1;
                IF v_again = 0 THEN
                    RESIGNAL;
                END IF;
            END;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                RESIGNAL;
            END;
            START TRANSACTION;
            CALL idem._claim('begin', '', in_biz_type, in_key, in_payload, NULL, v_state, v_token,
                             v_attempt, v_result, v_error, v_checkpoint, v_first_seen, v_finished_at,
                             v_retry_after_ms, v_owner, v_owner_since, v_observed);
            SET v_again = 0;
        END;
    UNTIL v_again = 0 END REPEAT;
    IF v_state NOT IN ('CLAIMED', 'RECLAIMED') THEN
        -- Commit: the policy may just have made a lapsed lease FAILED or UNKNOWN, and that is answered.
        COMMIT AND NO CHAIN NO RELEASE;
    END IF;
    SELECT v_state AS state, v_token AS token, v_attempt AS attempt, v_result AS result,
           IF(v_state = 'RECLAIMED', NULL, v_error) AS error, v_checkpoint AS checkpoint,
           IF(v_state = 'RECLAIMED', v_error, NULL) AS last_error, v_first_seen AS first_seen,
           v_finished_at AS finished_at, v_retry_after_ms AS retry_after_ms, v_owner AS owner,
           v_owner_since AS owner_since, v_observed AS observed;
END$$
DELIMITER ;
