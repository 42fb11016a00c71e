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
main: BEGIN
    DECLARE v_plan VARBINARY(125);
    DECLARE v_token BIGINT UNSIGNED DEFAULT NULL;
    DECLARE v_met VARCHAR(64) DEFAULT NULL;
    DECLARE v_tries INT DEFAULT 0;

    IF @@in_transaction THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006,
            MESSAGE_TEXT = 'idem.begin: a transaction is already open; use claim inside it';
    END IF;
    again: LOOP
        BEGIN
            -- @include core/begin.part.sql
            START TRANSACTION;
            SET v_met = NULL;
            -- @include core/take.part.sql
            --   ROUTINE='begin'
            --   SCOPE=''
            --   BIZ_TYPE=in_biz_type
            --   KEY=in_key
            --   PAYLOAD=in_payload
            --   WAIT_MS=NULL
            --   LOOK_FIRST=TRUE
            --   TOKEN=v_token
        END;
        IF v_met IS NULL THEN
            SELECT 'CLAIMED' AS state, v_token AS token, 1 AS attempt, NULL AS result, NULL AS error,
                   NULL AS checkpoint, NULL AS last_error, NULL AS first_seen, NULL AS finished_at,
                   NULL AS retry_after_ms, NULL AS owner, NULL AS owner_since, NULL AS observed;
            LEAVE main;
        ELSEIF v_met = 'again' THEN
            ITERATE again;
        END IF;
        BEGIN
            DECLARE v_state, v_observed VARCHAR(16) DEFAULT NULL;
            DECLARE v_retry_after_ms BIGINT UNSIGNED;
            DECLARE v_attempt INT UNSIGNED;
            DECLARE v_result, v_error, v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
            DECLARE v_first_seen, v_finished_at, v_owner_since DATETIME(6);
            DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;

            BEGIN
                -- @include core/begin.part.sql
                -- @include core/look.part.sql
                --   ROUTINE='begin'
                --   WAIT_MS=NULL
                --   AFRESH=ROLLBACK AND NO CHAIN NO RELEASE; START TRANSACTION;
                IF v_state NOT IN ('CLAIMED', 'RECLAIMED') THEN
                    -- Commit: the policy may just have made a lapsed lease FAILED or UNKNOWN, and that is
                    -- answered.
                    COMMIT AND NO CHAIN NO RELEASE;
                END IF;
            END;
            IF v_met <> 'again' THEN
                SELECT v_state AS state, v_token AS token, v_attempt AS attempt, v_result AS result,
                       IF(v_state = 'RECLAIMED', NULL, v_error) AS error, v_checkpoint AS checkpoint,
                       IF(v_state = 'RECLAIMED', v_error, NULL) AS last_error, v_first_seen AS first_seen,
                       v_finished_at AS finished_at, v_retry_after_ms AS retry_after_ms, v_owner AS owner,
                       v_owner_since AS owner_since, v_observed AS observed;
                LEAVE main;
            END IF;
        END;
    END LOOP;
END$$
DELIMITER ;
