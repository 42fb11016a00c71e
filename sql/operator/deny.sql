DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.deny(
    IN in_user LONGTEXT CHARACTER SET utf8mb4,
    IN in_host LONGTEXT CHARACTER SET utf8mb4,
    IN in_biz_type LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Forbids a login account a biz_type (or consumer). A matching deny wins over every allow.

Parameters as in allow(); takes the place of an allow with the same three. Errors: 52001.

Example: CALL idem.deny(''shop'', ''%'', ''refund'');
'
BEGIN
    CALL idem._set_access('deny', in_user, in_host, in_biz_type, FALSE);
END$$
DELIMITER ;
