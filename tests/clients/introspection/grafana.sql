-- version
SELECT current_setting('server_version_num')::int/100;
-- version_number: server_version_num
SHOW server_version_num;
-- timescale: extversion
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb';
-- tables: name
select quote_ident(table_name) as "name" from information_schema.tables
where quote_ident(table_schema) not in ('information_schema', 'pg_catalog', '_timescaledb_cache', '_timescaledb_catalog', '_timescaledb_internal', '_timescaledb_config', 'timescaledb_information', 'timescaledb_experimental')
and table_type = 'BASE TABLE' and quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as i, string_to_array(current_setting('search_path'),',') s);
-- columns: column type
select quote_ident(column_name) as "column", data_type as "type" from information_schema.columns
where quote_ident(table_name) = 'invoice';
-- time_series: time metric value
SELECT floor(extract(epoch from made)/60)*60 AS "time", customer AS metric, avg(total) AS "value"
FROM invoice WHERE made BETWEEN '2024-01-01T00:00:00Z' AND '2024-02-01T00:00:00Z'
GROUP BY 1, 2 ORDER BY 1, 2;
-- time_groups: time count
SELECT date_trunc('hour', made) AS "time", count(*) AS "count" FROM invoice GROUP BY 1 ORDER BY 1;
