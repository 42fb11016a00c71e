DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem._audit(
    IN in_action VARCHAR(32),
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_detail LONGTEXT CHARACTER SET utf8mb4
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT 'Private: leaves a row in idem.audit, in the transaction of the change itself.'
BEGIN
    INSERT INTO idem.audit (at, account, action, biz_type, idem_key, detail)
    VALUES (TIMESTAMP '1970-01-01 00:00:00' + INTERVAL idem_now_us() MICROSECOND, USER(), in_action,
            in_biz_type, in_key, in_detail);
END$$
DELIMITER ;
