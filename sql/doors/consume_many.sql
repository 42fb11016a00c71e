DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.consume_many(
    IN in_consumer LONGBLOB,
    IN in_events LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
consume() for a batch, in the caller''s transaction (52006 without one: an error in the middle would
leave events taken and nobody told).

in_events: a JSON array of event ids, or of objects {"id": ..., "payload": ...}; at most 1000. A number
is taken as its exact text. Answers one row per event, in order: event_id, state, first_seen,
retry_after_ms, observed. Errors as in consume(); roll back after one.

Example: CALL idem.consume_many(''billing'', ''["evt-1", {"id": "evt-2", "payload": {"n": 1}}]'');
'
BEGIN
    DECLARE v_events LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE v_day DATE;
    DECLARE v_now DATETIME(6);
    DECLARE v_met VARCHAR(64) DEFAULT NULL;
    DECLARE v_bad, v_count, v_different, v_alone_count INT;
    DECLARE v_alone TEXT;
    DECLARE v_answer LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[]';

    IF NOT @@in_transaction THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006,
            MESSAGE_TEXT = 'idem.consume_many: needs an open transaction; START TRANSACTION first';
    END IF;
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1300 SET v_events = NULL; -- not UTF-8: refused below
        SET v_events = CONVERT(in_events USING utf8mb4);
    END;
    IF in_events IS NULL OR NOT (CAST(v_events AS BINARY) <=> in_events) OR NOT JSON_VALID(v_events)
       OR JSON_TYPE(v_events) <> 'ARRAY' OR JSON_LENGTH(v_events) > 1000 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.consume_many: events must be a JSON array of at most 1000 events';
    END IF;
    SET v_day = idem_claim_day(),
        v_now = TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;
    -- The list of those that have to be taken alone; not cut off, whatever the session has set.
    SET STATEMENT group_concat_max_len = 1048576 FOR
        SELECT COALESCE(SUM(COALESCE(x.id_type NOT IN ('STRING', 'INTEGER', 'DOUBLE'), TRUE)), 0),
               COUNT(*), COUNT(DISTINCT CAST(x.id AS BINARY)),
               COALESCE(GROUP_CONCAT(IF(SUBSTRING(idem_claim_plan('consume', @@character_set_results,
                                                                  USER(), in_consumer, in_consumer, x.id,
                                                                  x.payload, NULL), 83, 1) = 'i',
                                        NULL, x.i)), '')
          INTO v_bad, v_count, v_different, v_alone
          FROM
          -- @include core/events.part.sql
          ;
    IF v_bad > 0 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.consume_many: an event must be an id or {"id": ..., "payload": ...}';
    END IF;

    -- All at once where no other day can have the key (and it is not near midnight): the insert of
    -- take.part.sql for each, in one statement that takes all of them or none. None: somebody has one. An
    -- event that is named twice must be NEW where it is named first, so then all go in their order.
    SET v_alone_count = IF(v_alone = '', 0, LENGTH(v_alone) - LENGTH(REPLACE(v_alone, ',', '')) + 1),
        v_met = IF(v_different < v_count OR v_count - v_alone_count = 1, 'one', NULL);
    IF v_met IS NULL AND v_count > v_alone_count THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1062, 1526 SET v_met = 'one';
            -- @include core/held.part.sql
            --   ANSWER=v_met = 'one'
            SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,
                                         owner_conn, owner_epoch, owner_account, payload_hash,
                                         created_at, updated_at, finished_at)
                SELECT in_consumer, x.id, v_day, in_consumer, 1, 1, idem_token(), CONNECTION_ID(),
                       idem_epoch(), USER(), idem_payload_hash(x.payload), v_now, v_now, v_now
                  FROM
                  -- @include core/events.part.sql
                 WHERE NOT FIND_IN_SET(x.i, v_alone);
        END;
        IF v_met IS NULL AND idem_claim_day() <> v_day THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005,
                MESSAGE_TEXT = 'idem.consume_many: the day ended during the call; roll back and try again';
        END IF;
    END IF;

    -- The rest one by one.
    IF v_met IS NOT NULL THEN
        SET v_alone = NULL, v_alone_count = v_count;
    END IF;
    IF v_alone_count > 0 THEN
        BEGIN
            DECLARE v_id, v_payload LONGBLOB;
            DECLARE v_state, v_observed VARCHAR(16);
            DECLARE v_token, v_retry_after_ms BIGINT UNSIGNED;
            DECLARE v_attempt, v_i INT UNSIGNED;
            DECLARE v_result, v_error, v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
            DECLARE v_first_seen, v_finished_at, v_owner_since DATETIME(6);
            DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;
            DECLARE c_events CURSOR FOR
                SELECT x.i, x.id, x.payload
                  FROM
                  -- @include core/events.part.sql
                 WHERE COALESCE(FIND_IN_SET(x.i, v_alone), TRUE) -- NULL: all
                 ORDER BY x.i;

            SET v_answer = '[';
            OPEN c_events;
            WHILE v_alone_count > 0 DO
                FETCH c_events INTO v_i, v_id, v_payload;
                CALL idem._take('consume', in_consumer, in_consumer, v_id, v_payload, v_token, v_met);
                SET v_state = 'NEW', v_first_seen = NULL, v_retry_after_ms = NULL, v_observed = NULL;
                IF v_met IS NOT NULL THEN
                    CALL idem._judge('consume', in_consumer, in_consumer, v_id, v_payload, NULL, v_met,
                                     v_state, v_token, v_attempt, v_result, v_error, v_checkpoint,
                                     v_first_seen, v_finished_at, v_retry_after_ms, v_owner,
                                     v_owner_since, v_observed);
                END IF;
                SET v_answer = CONCAT(v_answer, IF(v_answer = '[', '', ','),
                                      JSON_OBJECT('i', v_i, 's', v_state, 'f', v_first_seen,
                                                  'r', v_retry_after_ms, 'o', v_observed)),
                    v_alone_count = v_alone_count - 1;
            END WHILE;
            CLOSE c_events;
            SET v_answer = CONCAT(v_answer, ']');
        END;
    END IF;
    SELECT x.id AS event_id, COALESCE(t.state, idem_count('NEW')) AS state, t.first_seen,
           t.retry_after_ms, t.observed
      FROM
      -- @include core/events.part.sql
      LEFT JOIN JSON_TABLE(v_answer, '$[*]'
                    COLUMNS (i INT PATH '$.i', state VARCHAR(16) PATH '$.s',
                             first_seen DATETIME(6) PATH '$.f',
                             retry_after_ms BIGINT UNSIGNED PATH '$.r',
                             observed VARCHAR(16) PATH '$.o')) t ON t.i = x.i
     ORDER BY x.i;
END$$
DELIMITER ;
