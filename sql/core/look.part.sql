        -- A key that was finished lately, or that a filter knows, is most likely replayed: a plain read that
        -- finds the very request at its end is the answer, without the failing insert and without a lock. It
        -- sees nothing that is not committed (idem_claim_plan() allows it only under READ COMMITTED and
        -- REPEATABLE READ) but the caller's own writes, and a final state stays. Anything else is decided the
        -- long way.
        IF v_met LIKE 'look %' THEN
            SELECT idem_count(ELT(r.status, 'DONE', 'FAILED')), r.attempt, IF(r.status = 1, r.result, NULL),
                   IF(r.status = 2, r.error, NULL), r.created_at, r.finished_at
              INTO v_state, v_attempt, v_result, v_error, v_first_seen, v_finished_at
              FROM idem.record r
             WHERE r.scope = '' AND r.idem_key = in_key AND r.created_on = SUBSTRING(v_met, 6)
               AND r.biz_type = in_biz_type AND r.status IN (1, 2)
               AND COALESCE(r.payload_hash = idem_payload_hash(in_payload), TRUE);
            IF v_state IS NULL THEN
                {AFRESH} -- the read has opened a snapshot
            END IF;
        END IF;
        IF v_state IS NULL THEN
            CALL idem._judge({ROUTINE}, '', in_biz_type, in_key, in_payload, {WAIT_MS}, v_met, v_state,
                             v_token, v_attempt, v_result, v_error, v_checkpoint, v_first_seen,
                             v_finished_at, v_retry_after_ms, v_owner, v_owner_since, v_observed);
        END IF;
