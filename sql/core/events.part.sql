             -- The events of consume_many(), numbered in their order.
             (SELECT e.i, IF(e.is_object, JSON_EXTRACT(e.event, '$.payload'), NULL) AS payload,
                     JSON_TYPE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id_type,
                     JSON_UNQUOTE(IF(e.is_object, JSON_EXTRACT(e.event, '$.id'), e.event)) AS id
                FROM (SELECT t.i, t.event, JSON_TYPE(t.event) = 'OBJECT' AS is_object
                        FROM JSON_TABLE(v_events, '$[*]' COLUMNS (i FOR ORDINALITY, event JSON PATH '$')) t) e) x
