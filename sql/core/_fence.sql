-- The one rule of ownership is the WHERE of _settle: an UPDATE that changes nothing but updated_at. It
-- holds the record's row until the transaction ends, so nobody takes the claim over in between.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._fence(
    IN in_routine VARCHAR(32),
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Private: goes on only while the caller owns the claim, in the caller''s transaction. Errors: 52004, 52006
without a transaction.
'
BEGIN
    DECLARE v_text VARCHAR(512);

    IF NOT @@in_transaction AND @@autocommit THEN
        SET v_text = CONCAT('idem.', in_routine, ': needs an open transaction; START TRANSACTION first');
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 52006, MESSAGE_TEXT = v_text;
    END IF;
    CALL idem._settle('fence', in_biz_type, in_key, in_token, NULL, NULL, NULL);
END$$
DELIMITER ;
