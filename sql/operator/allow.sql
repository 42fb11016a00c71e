DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.allow(
    IN in_user LONGTEXT CHARACTER SET utf8mb4,
    IN in_host LONGTEXT CHARACTER SET utf8mb4,
    IN in_biz_type LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Lets a login account use a biz_type (or consumer), through both doors.

in_user: the user name, compared exactly. in_host: LIKE pattern for the host it logs in from; ''%'' is any.
in_biz_type: LIKE pattern, so _ stands for any character unless written as \\_. Takes the place of a deny
with the same three. Errors: 52001.

Example: CALL idem.allow(''shop'', ''10.0.%'', ''payment'');
'
BEGIN
    CALL idem._set_access('allow', in_user, in_host, in_biz_type, TRUE);
END$$
DELIMITER ;
