SELECT CONCAT('idem ', idem_version(), ' is installed') AS result;
SET SESSION sql_mode = @idem_sql_mode;
