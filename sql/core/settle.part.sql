        -- The rule of ownership: an UPDATE that names key, day, biz_type, state and owner, so a stale worker's
        -- call changes nothing. The owner is whoever has the token; without a token the session that claimed.
        -- updated_at always moves, so the UPDATE never matches without changing and ROW_COUNT() means the
        -- same under every client flag. idem_epoch() also makes binlog_format MIXED write the row.
        SET STATEMENT innodb_lock_wait_timeout = 0 FOR
            UPDATE idem.record r
               SET r.status = {STATUS}, r.result = {RESULT}, r.error = {ERROR}, r.checkpoint = {CHECKPOINT},
                   r.lease_until = {LEASE_UNTIL}, r.finished_at = {FINISHED_AT},
                   r.updated_at = GREATEST(SUBSTRING(v_plan, 11, 26),
                                           r.updated_at + INTERVAL 1 MICROSECOND)
             WHERE r.scope = '' AND r.idem_key = in_key AND r.created_on = SUBSTRING(v_plan, 1, 10)
               AND r.biz_type = in_biz_type AND r.status = 0
               AND IF(in_token IS NULL,
                      r.owner_conn = CONNECTION_ID() AND r.owner_epoch = idem_epoch(),
                      r.token = in_token);
