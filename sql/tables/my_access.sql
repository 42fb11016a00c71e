-- The access rules that concern the login account of this session (USER(), also inside a definer's
-- routine). The one place that says how user and host are matched.
CREATE OR REPLACE DEFINER = idem@localhost SQL SECURITY INVOKER VIEW idem.my_access AS
    SELECT a.biz_type, a.allowed
      FROM idem.access a
     WHERE a.user = CONVERT(SUBSTRING(USER(), 1, CHAR_LENGTH(USER()) - 1 -
                                      CHAR_LENGTH(SUBSTRING_INDEX(USER(), '@', -1)))
                            USING utf8mb4) COLLATE utf8mb4_bin
       AND CONVERT(SUBSTRING_INDEX(USER(), '@', -1) USING utf8mb4) COLLATE utf8mb4_general_ci
           LIKE a.host COLLATE utf8mb4_general_ci;
