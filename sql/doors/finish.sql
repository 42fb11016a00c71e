DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.finish(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    IN in_result LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Stores the result of a claim; from now on the key answers DONE with it, byte for byte.

in_token: from the claim; NULL: this session''s own claim. in_result: JSON in UTF-8, at most
idem_max_result_bytes (or the policy''s) and 31 levels deep; SQL NULL stores JSON null.
Errors: 52001, 52002, 52004 not the owner, 52005, 52007, 52008 too large: the claim stays unfinished.

Example: CALL idem.finish(''payment'', ''order-42'', @token, ''{"receipt":7}'');
'
BEGIN
    -- @include core/finish.part.sql
END$$
DELIMITER ;
