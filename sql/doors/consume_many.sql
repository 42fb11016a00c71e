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
    DECLARE v_events, v_event, v_answer LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE v_id, v_payload LONGBLOB;
    DECLARE v_state, v_observed VARCHAR(16);
    DECLARE v_token, v_retry_after_ms BIGINT UNSIGNED;
    DECLARE v_attempt INT UNSIGNED;
    DECLARE v_result, v_error, v_checkpoint LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_first_seen, v_finished_at, v_owner_since DATETIME(6);
    DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;
    DECLARE v_met VARCHAR(64);
    DECLARE i INT DEFAULT 0;
    DECLARE v_count INT;

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
    SET v_count = JSON_LENGTH(v_events);
    WHILE i < v_count DO
        SET v_event = JSON_EXTRACT(v_events, CONCAT('$[', i, ']')), v_payload = NULL;
        IF JSON_TYPE(v_event) = 'OBJECT' THEN
            SET v_payload = JSON_EXTRACT(v_event, '$.payload'),
                v_event = COALESCE(JSON_EXTRACT(v_event, '$.id'), 'null');
        END IF;
        IF JSON_TYPE(v_event) NOT IN ('STRING', 'INTEGER', 'DOUBLE') THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
                MESSAGE_TEXT = 'idem.consume_many: an event must be an id or {"id": ..., "payload": ...}';
        END IF;
        SET v_id = JSON_UNQUOTE(v_event);
        CALL idem._take('consume', in_consumer, in_consumer, v_id, v_payload, v_token, v_met);
        SET v_state = 'NEW', v_first_seen = NULL, v_retry_after_ms = NULL, v_observed = NULL;
        IF v_met IS NOT NULL THEN
            CALL idem._judge('consume', in_consumer, in_consumer, v_id, v_payload, NULL, v_met, v_state,
                             v_token, v_attempt, v_result, v_error, v_checkpoint, v_first_seen,
                             v_finished_at, v_retry_after_ms, v_owner, v_owner_since, v_observed);
        END IF;
        SET v_answer = CONCAT(v_answer, IF(i > 0, ',', '['),
                              JSON_OBJECT('i', i, 'e', CONVERT(v_id USING utf8mb4), 's', v_state,
                                          'f', v_first_seen, 'r', v_retry_after_ms,
                                          'o', v_observed)),
            i = i + 1;
    END WHILE;
    SELECT t.event_id, t.state, t.first_seen, t.retry_after_ms, t.observed
      FROM JSON_TABLE(IF(v_count = 0, '[]', CONCAT(v_answer, ']')), '$[*]'
               COLUMNS (i INT PATH '$.i', event_id VARCHAR(255) PATH '$.e',
                        state VARCHAR(16) PATH '$.s', first_seen DATETIME(6) PATH '$.f',
                        retry_after_ms BIGINT UNSIGNED PATH '$.r',
                        observed VARCHAR(16) PATH '$.o')) t
     ORDER BY t.i;
END$$
DELIMITER ;
