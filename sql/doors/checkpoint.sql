DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.checkpoint(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    IN in_data LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Stores a recovery point; if the claim is taken over, RECLAIMED hands it on.

in_token: from the claim; NULL: this session''s own claim. in_data: JSON as the result in finish().
Errors: 52001, 52002, 52004, 52005, 52007, 52008.

Example: CALL idem.checkpoint(''payment'', ''order-42'', @token, ''{"step":"authorised"}'');
'
BEGIN
    CALL idem._settle('checkpoint', in_biz_type, in_key, in_token, in_data, NULL, NULL);
END$$
DELIMITER ;
