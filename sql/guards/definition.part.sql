    -- Read with a shared lock: a plain read would open the caller's snapshot, and innodb_snapshot_isolation
    -- would make it pay with 1020 for whatever row it then waits for. So a definition stays as it is while
    -- a transaction that uses it is open. Who changes one waits for these, and nobody for that: the
    -- definition that is committed still holds.
    BEGIN
        DECLARE v_changing BOOLEAN DEFAULT FALSE;

        BEGIN
            -- @include core/held.part.sql
            --   ANSWER=v_changing = TRUE
            SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                SELECT {COLUMNS}
                  INTO {VARIABLES}
                  FROM {TABLE}
                 WHERE name = in_name
                  LOCK IN SHARE MODE;
        END;
        IF v_changing THEN
            SELECT {COLUMNS}
              INTO {VARIABLES}
              FROM {TABLE}
             WHERE name = in_name;
        END IF;
    END;
