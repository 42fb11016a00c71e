DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.fail(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB,
    IN in_token BIGINT UNSIGNED,
    IN in_error LONGBLOB,
    IN in_retryable BOOLEAN
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Ends a claim as failed. Final (in_retryable 0 or NULL): the key answers FAILED with in_error from now on.
Retryable: the key is free, and the next claim is RECLAIMED with in_error as last_error.
After a rollback took the claim along, it may be called on its own: it makes a record that keeps the error.

in_token: from the claim; NULL: this session''s own claim. in_error: JSON as in finish().
Errors: 52001, 52002, 52004 somebody else holds or ended the key, 52005, 52007, 52008.

Example: CALL idem.fail(''payment'', ''order-42'', @token, ''{"reason":"card declined"}'', FALSE);
'
BEGIN
    CALL idem._settle('fail', in_biz_type, in_key, in_token, in_error, in_retryable, NULL);
END$$
DELIMITER ;
