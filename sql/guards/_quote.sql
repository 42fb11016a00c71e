-- The one routine that turns a name into SQL text.
DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost FUNCTION idem._quote(
    in_name VARCHAR(255) CHARACTER SET utf8mb4
)
    RETURNS VARCHAR(600) CHARACTER SET utf8mb4
    DETERMINISTIC
    NO SQL
    SQL SECURITY INVOKER
    COMMENT 'Private: an identifier in backquotes.'
BEGIN
    RETURN CONCAT('`', REPLACE(in_name, '`', '``'), '`');
END$$
DELIMITER ;
