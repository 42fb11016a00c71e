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
    LOOP
        BEGIN
            -- 1020: the holder committed after this transaction's snapshot was taken. Nothing of the
            -- caller's is in it yet, so it can be started again here.
            DECLARE EXIT HANDLER FOR 1020
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                SET v_tries = v_tries + 1, v_met = NULL;
                IF v_tries = 8 THEN
                    RESIGNAL;
                END IF;
            END;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                RESIGNAL;
            END;
            START TRANSACTION;
            -- @include core/take.part.sql
            --   ROUTINE='begin'
            --   SCOPE=''
            --   BIZ_TYPE=in_biz_type
            --   KEY=in_key
            --   PAYLOAD=in_payload
            --   WAIT_MS=NULL
            --   LOOK_FIRST=TRUE
            --   TOKEN=v_token
            IF v_met IS NULL THEN
                SELECT 'CLAIMED' AS state, v_token AS token, 1 AS attempt, NULL AS result, NULL AS error,
                       NULL AS checkpoint, NULL AS last_error, NULL AS first_seen, NULL AS finished_at,
                       NULL AS retry_after_ms, NULL AS owner, NULL AS owner_since, NULL AS observed;
            ELSE
                CALL idem._judge_row('begin', in_biz_type, in_key, in_payload, NULL, v_met);
            END IF;
            LEAVE main;
        END;
    END LOOP;
END$$
DELIMITER ;
