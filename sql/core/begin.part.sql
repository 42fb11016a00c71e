            -- 1020: the holder committed after this transaction's snapshot was taken. Nothing of the caller's
            -- is in it yet, so it can be started again here. The answer is never given in here: what is
            -- rolled back has not been told.
            DECLARE EXIT HANDLER FOR 1020
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                SET v_tries = v_tries + 1, v_met = 'again';
                IF v_tries = 8 THEN
                    RESIGNAL;
                END IF;
            END;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                RESIGNAL;
            END;
