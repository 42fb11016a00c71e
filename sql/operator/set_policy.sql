DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.set_policy(
    IN in_biz_type LONGBLOB,
    IN in_lease_seconds BIGINT,
    IN in_on_expiry VARCHAR(255) CHARACTER SET utf8mb4,
    IN in_max_result_bytes BIGINT,
    IN in_require_payload BOOLEAN,
    IN in_observe BOOLEAN
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Sets how a biz_type is treated; NULL means the default. All NULL is as if there were no policy.

in_lease_seconds: 1-604800. in_on_expiry, when a lease runs out: retry (the next claim gets it; the
default), unknown (an operator decides), fail (kept as a failure). in_max_result_bytes: 1-16777216.
in_require_payload: a claim without a payload is 52001. in_observe: count what would be refused, refuse
nothing: for watching a system before it is switched over. Errors: 52001.

Example: CALL idem.set_policy(''payment'', 60, ''unknown'', NULL, TRUE, FALSE);
'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;

    SET v_checked = idem_check('set_policy', @@character_set_results, in_biz_type, 'policy');
    IF in_lease_seconds NOT BETWEEN 1 AND 604800 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.set_policy: lease_seconds must be from 1 to 604800';
    END IF;
    IF in_on_expiry NOT IN ('retry', 'unknown', 'fail') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.set_policy: on_expiry must be retry, unknown or fail';
    END IF;
    IF in_max_result_bytes NOT BETWEEN 1 AND 16777216 THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001,
            MESSAGE_TEXT = 'idem.set_policy: max_result_bytes must be from 1 to 16777216';
    END IF;
    REPLACE INTO idem.policy (biz_type, lease_seconds, on_expiry, max_result_bytes, require_payload,
                              observe, updated_at, updated_by)
    VALUES (in_biz_type, in_lease_seconds, COALESCE(in_on_expiry, 'retry'), in_max_result_bytes,
            COALESCE(in_require_payload, FALSE), COALESCE(in_observe, FALSE), v_now, USER());
    CALL idem._audit('set_policy', in_biz_type, NULL,
                     JSON_OBJECT('lease_seconds', in_lease_seconds, 'on_expiry', in_on_expiry,
                                 'max_result_bytes', in_max_result_bytes,
                                 'require_payload', in_require_payload, 'observe', in_observe));
    SET v_checked = idem_reload();
END$$
DELIMITER ;
