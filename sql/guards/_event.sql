DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._event(
    IN in_take BOOLEAN,
    IN in_consumer LONGBLOB,
    IN in_event_id LONGBLOB,
    IN in_payload LONGBLOB,
    OUT out_state VARCHAR(16)
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: takes an event (states as in consume), or only looks (NULL when it is not there).'
BEGIN
    DECLARE v_observed VARCHAR(16);
    DECLARE v_met VARCHAR(64);
    DECLARE v_number, v_token BIGINT UNSIGNED;
    DECLARE v_attempt INT UNSIGNED;
    DECLARE v_json LONGTEXT CHARACTER SET utf8mb4;
    DECLARE v_time DATETIME(6);
    DECLARE v_owner VARCHAR(384) CHARACTER SET utf8mb4;

    SET out_state = NULL;
    IF NOT in_take THEN
        SET v_attempt = idem_admit('consume', @@character_set_results, USER(), in_consumer, in_event_id, TRUE);
        SELECT COUNT(*) > 0 INTO in_take FROM idem.record r
         WHERE r.scope = in_consumer AND r.idem_key = in_event_id;
    END IF;
    IF in_take THEN
        CALL idem._take('consume', in_consumer, in_consumer, in_event_id, in_payload, v_token, v_met);
        SET out_state = 'NEW';
        IF v_met IS NOT NULL THEN
            CALL idem._judge('consume', in_consumer, in_consumer, in_event_id, in_payload, NULL, v_met,
                             out_state, v_token, v_attempt, v_json, v_json, v_json, v_time, v_time,
                             v_number, v_owner, v_time, v_observed);
        END IF;
    END IF;
END$$
DELIMITER ;
