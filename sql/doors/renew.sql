DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.renew(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    IN in_lease_seconds BIGINT UNSIGNED
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Extends the lease of a claim to in_lease_seconds from now (1-604800; NULL: as the claim had).

in_token: from the claim; NULL: this session''s own claim. Errors: 52001, 52002, 52004, 52005, 52007.

Example: CALL idem.renew(''payment'', ''order-42'', @token, 600);
'
BEGIN
    CALL idem._settle('renew', in_biz_type, in_key, in_token, NULL, NULL, in_lease_seconds);
END$$
DELIMITER ;
