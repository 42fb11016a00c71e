DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._set_access(
    IN in_routine VARCHAR(32),
    IN in_user LONGTEXT CHARACTER SET utf8mb4,
    IN in_host LONGTEXT CHARACTER SET utf8mb4,
    IN in_biz_type LONGBLOB,
    IN in_allowed BOOLEAN
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: writes one access rule. See allow and deny.'
BEGIN
    DECLARE v_checked BOOLEAN;
    DECLARE v_text VARCHAR(512);
    DECLARE v_now DATETIME(6) DEFAULT
        TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND;

    SET v_checked = idem_check(in_routine, @@character_set_results, in_biz_type, 'access');
    IF in_user IS NULL OR CHAR_LENGTH(in_user) > 128 OR in_host IS NULL OR in_host = ''
       OR CHAR_LENGTH(in_host) > 255 THEN
        SET v_text = CONCAT('idem.', in_routine, ': user takes at most 128 characters, host 1 to 255');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
    INSERT INTO idem.access (user, host, biz_type, allowed, updated_at, updated_by)
    VALUES (in_user, in_host, in_biz_type, in_allowed, v_now, USER())
    ON DUPLICATE KEY UPDATE allowed = in_allowed, updated_at = v_now, updated_by = USER();
    CALL idem._audit(in_routine, in_biz_type, NULL, JSON_OBJECT('user', in_user, 'host', in_host));
    SET v_checked = idem_reload();
END$$
DELIMITER ;
