DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._may(
    IN in_routine VARCHAR(32),
    IN in_name LONGBLOB
)
    READS SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: the first step of every guard: version of the schema, access of the login account to the name
of a machine or projection (rules as for a biz_type), binlog format. Errors 52001, 52005, 52006, 52007.
'
BEGIN
    DECLARE v_text VARCHAR(512);
    DECLARE v_checked INT UNSIGNED;

    IF in_name IS NULL OR LENGTH(in_name) NOT BETWEEN 1 AND 64 THEN
        SET v_text = CONCAT('idem.', in_routine, ': the name of a machine or projection takes 1 to 64 bytes');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52001, MESSAGE_TEXT = v_text;
    END IF;
    SET v_checked = idem_admit(in_routine, @@character_set_results, USER(), in_name, 'guard', TRUE);
END$$
DELIMITER ;
