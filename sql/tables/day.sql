-- The days of record as the server has them, with what they hold. An invoker's view: it shows what the
-- account may see of idem.record. A partition without an upper bound (made by hand) has day NULL; the
-- placeholder of a new table is no day.
CREATE OR REPLACE DEFINER = idem@localhost SQL SECURITY INVOKER VIEW idem.day AS
    SELECT IF(p.partition_description = 'MAXVALUE', NULL,
              CAST(REPLACE(p.partition_description, '''', '') AS DATE) - INTERVAL 1 DAY) AS day,
           p.partition_name, p.partition_ordinal_position AS position, p.partition_description AS bound,
           p.table_rows, p.data_length + p.index_length AS bytes
      FROM information_schema.partitions p
     WHERE p.table_schema = 'idem' AND p.table_name = 'record'
       AND p.partition_description <> '''1970-01-02''';
