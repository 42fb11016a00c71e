DELIMITER $$
CREATE OR REPLACE DEFINER = idem@localhost PROCEDURE idem.show(
    IN in_biz_type LONGBLOB,
    IN in_key LONGBLOB
)
    MODIFIES SQL DATA
    SQL SECURITY DEFINER
    COMMENT '
Shows the whole record of a key, or of an event when in_biz_type names a consumer; no row if there is
none. Errors: 52001.

Example: CALL idem.show(''payment'', ''order-42'');
'
BEGIN
    DECLARE v_checked BOOLEAN;
    SET v_checked = idem_check('show', @@character_set_results, in_biz_type, in_key);
    SELECT CONVERT(r.scope USING utf8mb4) AS scope, CONVERT(r.idem_key USING utf8mb4) AS idem_key,
           CONVERT(r.biz_type USING utf8mb4) AS biz_type, r.created_on,
           ELT(r.status + 1, 'in progress', 'done', 'failed', 'unknown', 'released') AS status,
           r.attempt, r.token, r.owner_conn, r.owner_account, HEX(r.payload_hash) AS payload_hash,
           r.result, r.error, r.checkpoint, r.lease_until, r.created_at, r.updated_at, r.finished_at
      FROM idem.record r
     WHERE r.scope IN ('', in_biz_type) AND r.idem_key = in_key AND r.biz_type = in_biz_type
     ORDER BY r.scope, r.created_on;
END$$
DELIMITER ;
