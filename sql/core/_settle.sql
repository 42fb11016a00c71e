-- What an owner does with its claim: finish, fail, release, renew, checkpoint; see settle.part.sql.
-- idem_settle_plan() checks the call and guesses the day; what is to be done when the UPDATE does not meet
-- the record stands in _settle_again.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._settle(
    IN in_routine VARCHAR(16),
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    IN in_json LONGBLOB,
    IN in_retryable TINYINT,
    IN in_lease_seconds BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: changes a claim that the caller owns. See the doors finish, fail, release, renew and checkpoint.'
main: BEGIN
    DECLARE v_plan VARBINARY(63) DEFAULT
        idem_settle_plan(in_routine, @@character_set_results, USER(), in_biz_type, in_key, in_token,
                         in_json, in_retryable, in_lease_seconds);
    DECLARE v_locked, v_spent_ms INT DEFAULT 0;

    LOOP
        BEGIN
            -- @include core/held.part.sql
            --   ANSWER=v_locked = 1

            -- @include core/settle.part.sql
            --   STATUS=SUBSTRING(v_plan, 63, 1)
            --   RESULT=IF(in_routine = 'finish', CONVERT(COALESCE(in_json, 'null') USING utf8mb4), r.result)
            --   ERROR=CASE in_routine WHEN 'finish' THEN NULL WHEN 'fail' THEN CONVERT(COALESCE(in_json, 'null') USING utf8mb4) ELSE r.error END
            --   CHECKPOINT=IF(in_routine = 'checkpoint', CONVERT(COALESCE(in_json, 'null') USING utf8mb4), r.checkpoint)
            --   LEASE_UNTIL=CASE WHEN SUBSTRING(v_plan, 63, 1) <> '0' THEN NULL WHEN in_routine = 'renew' THEN SUBSTRING(v_plan, 37, 26) ELSE r.lease_until END
            --   FINISHED_AT=IF(SUBSTRING(v_plan, 63, 1) IN ('1', '2'), SUBSTRING(v_plan, 11, 26), NULL)
            IF v_locked = 0 AND ROW_COUNT() = 1 THEN
                SET v_plan = idem_settled(in_routine, SUBSTRING(v_plan, 63, 1), SUBSTRING(v_plan, 1, 10),
                                          in_key);
                LEAVE main;
            END IF;
        END;
        CALL idem._settle_again(in_routine, in_biz_type, in_key, in_token, in_json, v_locked, v_plan,
                                v_spent_ms);
        IF v_plan IS NULL THEN
            LEAVE main;
        END IF;
        SET v_locked = 0;
    END LOOP;
END$$
DELIMITER ;
