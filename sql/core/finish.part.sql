    -- finish(), the common way. When the first try does not meet the record, _settle() does it all once more.
    finish: BEGIN
        BEGIN
            DECLARE v_plan VARBINARY(63) DEFAULT
                idem_settle_plan('finish', @@character_set_results, USER(), in_biz_type, in_key, in_token,
                                 in_result, NULL, NULL);
            DECLARE v_locked BOOLEAN DEFAULT FALSE;
            -- @include core/held.part.sql
            --   ANSWER=v_locked = TRUE

            -- @include core/settle.part.sql
            --   STATUS=1
            --   RESULT=CONVERT(COALESCE(in_result, 'null') USING utf8mb4)
            --   ERROR=NULL
            --   CHECKPOINT=r.checkpoint
            --   LEASE_UNTIL=NULL
            --   FINISHED_AT=SUBSTRING(v_plan, 11, 26)
            IF NOT v_locked AND ROW_COUNT() = 1 THEN
                SET v_plan = idem_settled('finish', '1', SUBSTRING(v_plan, 1, 10), in_key);
                LEAVE finish;
            END IF;
        END;
        CALL idem._settle('finish', in_biz_type, in_key, in_token, in_result, NULL, NULL);
    END finish;
