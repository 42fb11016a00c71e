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
main: BEGIN
    DECLARE v_events LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE v_day DATE;
    DECLARE v_now DATETIME(6);
    DECLARE v_met VARCHAR(64) DEFAULT NULL;
    DECLARE v_bad, v_alone INT;

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
    SELECT COALESCE(SUM(COALESCE(x.id_type NOT IN ('STRING', 'INTEGER', 'DOUBLE'), TRUE)), 0),
           COALESCE(SUM(SUBSTRING(idem_claim_plan('consume', @@character_set_results, USER(), in_consumer,
                                                  in_consumer, x.id, x.payload, NULL), 83, 1) <> 'i'), 0)
      INTO v_bad, v_alone
      FROM (SELECT e.i, IF(e.is_object, JSON_EXTRACT(e.event, '$.payload'), NULL) AS payload,
                   JSON_TYPE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id_type,
                   JSON_UNQUOTE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id
              FROM (SELECT t.i, t.event, JSON_TYPE(t.event) = 'OBJECT' AS is_object
                      FROM JSON_TABLE(v_events, '$[*]' COLUMNS (i FOR ORDINALITY, event JSON PATH '$')) t) e) x;
    IF v_bad > 0 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.consume_many: an event must be an id or {"id": ..., "payload": ...}';
    END IF;

    -- All at once where no other day can have any of the keys (and it is not near midnight): the insert of
    -- take.part.sql for each, in one statement that takes all of them or none.
    IF v_alone = 0 THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1062, 1526 SET v_met = 'one';
            DECLARE CONTINUE HANDLER FOR 1205
            BEGIN
                IF @@innodb_rollback_on_timeout THEN
                    RESIGNAL;
                END IF;
                SET v_met = 'one';
            END;
            SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                INSERT INTO idem.record (scope, idem_key, created_on, biz_type, status, attempt, token,
                                         owner_conn, owner_epoch, owner_account, payload_hash,
                                         created_at, updated_at, finished_at)
                SELECT in_consumer, x.id, v_day, in_consumer, 1, 1, idem_token(), CONNECTION_ID(),
                       idem_epoch(), USER(), idem_payload_hash(x.payload), v_now, v_now, v_now
                  FROM (SELECT e.i, IF(e.is_object, JSON_EXTRACT(e.event, '$.payload'), NULL) AS payload,
                               JSON_TYPE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id_type,
                               JSON_UNQUOTE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id
                          FROM (SELECT t.i, t.event, JSON_TYPE(t.event) = 'OBJECT' AS is_object
                                  FROM JSON_TABLE(v_events, '$[*]' COLUMNS (i FOR ORDINALITY, event JSON PATH '$')) t) e) x;
        END;
        IF v_met IS NULL AND idem_claim_day() <> v_day THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52005,
                MESSAGE_TEXT = 'idem.consume_many: the day ended during the call; roll back and try again';
        END IF;
        IF v_met IS NULL THEN
            SELECT x.id AS event_id, idem_count('NEW') AS state, NULL AS first_seen,
                   NULL AS retry_after_ms, NULL AS observed
              FROM (SELECT e.i, IF(e.is_object, JSON_EXTRACT(e.event, '$.payload'), NULL) AS payload,
                           JSON_TYPE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id_type,
                           JSON_UNQUOTE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id
                      FROM (SELECT t.i, t.event, JSON_TYPE(t.event) = 'OBJECT' AS is_object
                              FROM JSON_TABLE(v_events, '$[*]' COLUMNS (i FOR ORDINALITY, event JSON PATH '$')) t) e) x
             ORDER BY x.i;
            LEAVE main;
        END IF;
    END IF;

    -- One by one.
    BEGIN
        DECLARE v_answer LONGTEXT CHARACTER SET utf8mb4 DEFAULT '[';
        DECLARE v_id, v_payload LONGBLOB;
        DECLARE v_state, v_observed VARCHAR(16);
        DECLARE v_token, v_retry_after_ms BIGINT UNSIGNED;
        DECLARE v_attempt INT UNSIGNED;
        DECLARE v_result, v_error, v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
        DECLARE v_first_seen, v_finished_at, v_owner_since DATETIME(6);
        DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;
        DECLARE i, v_count INT;
        DECLARE c_events CURSOR FOR
            SELECT x.id, x.payload
              FROM (SELECT e.i, IF(e.is_object, JSON_EXTRACT(e.event, '$.payload'), NULL) AS payload,
                           JSON_TYPE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id_type,
                           JSON_UNQUOTE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id
                      FROM (SELECT t.i, t.event, JSON_TYPE(t.event) = 'OBJECT' AS is_object
                              FROM JSON_TABLE(v_events, '$[*]' COLUMNS (i FOR ORDINALITY, event JSON PATH '$')) t) e) x
             ORDER BY x.i;

        SET v_count = JSON_LENGTH(v_events), i = 0;
        OPEN c_events;
        WHILE i < v_count DO
            FETCH c_events INTO v_id, v_payload;
            CALL idem._take('consume', in_consumer, in_consumer, v_id, v_payload, v_token, v_met);
            SET v_state = 'NEW', v_first_seen = NULL, v_retry_after_ms = NULL, v_observed = NULL;
            IF v_met IS NOT NULL THEN
                CALL idem._judge('consume', in_consumer, in_consumer, v_id, v_payload, NULL, v_met,
                                 v_state, v_token, v_attempt, v_result, v_error, v_checkpoint,
                                 v_first_seen, v_finished_at, v_retry_after_ms, v_owner, v_owner_since,
                                 v_observed);
            END IF;
            SET v_answer = CONCAT(v_answer, IF(i > 0, ',', ''),
                                  JSON_OBJECT('i', i, 'e', CONVERT(v_id USING utf8mb4), 's', v_state,
                                              'f', v_first_seen, 'r', v_retry_after_ms,
                                              'o', v_observed)),
                i = i + 1;
        END WHILE;
        CLOSE c_events;
        SELECT t.event_id, t.state, t.first_seen, t.retry_after_ms, t.observed
          FROM JSON_TABLE(CONCAT(v_answer, ']'), '$[*]'
                   COLUMNS (i INT PATH '$.i', event_id VARCHAR(255) PATH '$.e',
                            state VARCHAR(16) PATH '$.s', first_seen DATETIME(6) PATH '$.f',
                            retry_after_ms BIGINT UNSIGNED PATH '$.r',
                            observed VARCHAR(16) PATH '$.o')) t
         ORDER BY t.i;
    END;
END$$
DELIMITER ;
