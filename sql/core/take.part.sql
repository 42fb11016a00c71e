    -- The first half of the claim protocol: taking a key that nobody has. What stands in the way goes to
    -- _judge(), as v_met.
    --
    -- Insert first. The insert takes the key or fails at once; it never waits, so there is no queue of
    -- waiters to deadlock when a holder rolls back, and two different keys never block each other (a
    -- locking read before the insert would). _acquire() looks at the other days in the same statement;
    -- when there is none to look at, the bare insert says it all.
    --   nothing in the way -> {TOKEN}: ours, first attempt
    --   1062, a record in the table              -> v_met: the day of it
    --   1205, somebody holds the key uncommitted -> lock and the day tried
    --   1526, no partition, or the day is over   -> none and the day tried
    --   likely a replay, not tried                -> look and the day to look at
    --
    -- Every statement here is complete in itself, so no transaction of its own is needed and there is no
    -- transaction control: inside a transaction the claim lives and dies with it, in autocommit the
    -- acquiring statement is the commit. There is no handler for anything but the errors named above:
    -- 1213 and 1020 (the transaction is gone), kills and everything unforeseen go to the caller as they
    -- are. In triggers and functions the server lets no handler catch 1205.
    --
    -- Each instruction, and each variable in a statement, costs about a tenth of the insert:
    -- idem_claim_plan() prepares all in one text, and what is seldom needed stands in _judge().
    take: BEGIN
        DECLARE CONTINUE HANDLER FOR 1062
        BEGIN
            GET DIAGNOSTICS CONDITION 1 v_met = COLUMN_NAME;
            SET v_met = COALESCE(NULLIF(v_met, ''), SUBSTRING(v_plan, 1, 10));
        END;
        -- @include core/held.part.sql
        --   ANSWER=v_met = CONCAT('lock ', SUBSTRING(v_plan, 1, 10))
        DECLARE CONTINUE HANDLER FOR 1526 SET v_met = CONCAT('none ', SUBSTRING(v_plan, 1, 10));

        SET v_plan = idem_claim_plan({ROUTINE}, @@character_set_results, USER(), {SCOPE}, {BIZ_TYPE},
                                     {KEY}, {PAYLOAD}, {WAIT_MS});
        IF SUBSTRING(v_plan, 83, 1) = 'i' THEN
            SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt,
                                         token, owner_conn, owner_epoch, owner_account,
                                         payload_hash, lease_until, created_at, updated_at,
                                         finished_at)
                VALUES ({SCOPE}, {KEY}, SUBSTRING(v_plan, 1, 10), {BIZ_TYPE}, {SCOPE} <> '', 1,
                        SUBSTRING(v_plan, 11, 20), CONNECTION_ID(), idem_epoch(), USER(),
                        NULLIF(SUBSTRING(v_plan, 94), ''),
                        IF({SCOPE} = '', SUBSTRING(v_plan, 57, 26), NULL), SUBSTRING(v_plan, 31, 26),
                        SUBSTRING(v_plan, 31, 26), IF({SCOPE} = '', NULL, SUBSTRING(v_plan, 31, 26)));
        ELSEIF SUBSTRING(v_plan, 83, 1) = 'r' AND {LOOK_FIRST} THEN
            SET v_met = CONCAT('look ', SUBSTRING(v_plan, 84, 10));
        ELSE
            SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                SELECT idem._acquire({SCOPE}, {KEY}, SUBSTRING(v_plan, 1, 10), {BIZ_TYPE},
                                     {SCOPE} <> '', NULL, SUBSTRING(v_plan, 11, 20),
                                     NULLIF(SUBSTRING(v_plan, 94), ''), NULL,
                                     IF({SCOPE} = '', SUBSTRING(v_plan, 57, 26), NULL),
                                     SUBSTRING(v_plan, 31, 26))
                  INTO {TOKEN};
        END IF;
        IF v_met IS NULL THEN
            SET {TOKEN} = idem_taken({SCOPE}, SUBSTRING(v_plan, 1, 10), SUBSTRING(v_plan, 11, 20));
            IF {TOKEN} IS NULL AND SUBSTRING(v_plan, 83, 1) = 'i' THEN
                -- Two hours have passed since the plan was made (later in the day there is always
                -- tomorrow to look at): take the row back and begin again in the new day.
                DELETE FROM idem.record
                 WHERE scope = {SCOPE} AND idem_key = {KEY} AND created_on = SUBSTRING(v_plan, 1, 10)
                   AND token = SUBSTRING(v_plan, 11, 20);
                SET v_met = CONCAT('none ', SUBSTRING(v_plan, 1, 10));
            ELSEIF {TOKEN} IS NULL THEN
                -- Midnight came after _acquire() had looked. Its row stays: others may have met it.
                SET {TOKEN} = idem_taken({SCOPE}, NULL, SUBSTRING(v_plan, 11, 20));
            END IF;
        END IF;
    END take;
