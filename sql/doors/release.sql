DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.release(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Gives a claim back without a result: the next claim of the key is RECLAIMED.

in_token: from the claim; NULL: this session''s own claim. Errors: 52001, 52002, 52004, 52005, 52007.

Example: CALL idem.release(''payment'', ''order-42'', @token);
'
BEGIN
    CALL idem._settle('release', in_biz_type, in_key, in_token, NULL, NULL, NULL);
END$$
DELIMITER ;
