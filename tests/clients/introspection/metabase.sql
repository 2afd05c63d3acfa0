-- one: one
SELECT 1 AS one;
-- time_zone: TimeZone
show timezone;
-- schemas: nspname
select nspname from pg_namespace where nspname !~ '^information_schema|catalog_history|pg_' and has_schema_privilege(nspname, 'USAGE');
-- tables: description estimated-row-count name schema type
SELECT d.description, (CASE WHEN c.reltuples < 0 THEN NULL WHEN c.relpages = 0 THEN 0::float8 ELSE c.reltuples / c.relpages END * (pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::int))::bigint AS "estimated-row-count", c.relname AS name, n.nspname AS schema, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS type FROM pg_catalog.pg_class AS c INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid LEFT JOIN pg_catalog.pg_description AS d ON c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE (c.relnamespace = n.oid) AND (n.nspname !~ '^pg_') AND (n.nspname <> 'information_schema') AND (c.relkind in ('r', 'p', 'v', 'f', 'm')) AND (n.nspname IN ('public')) ORDER BY type ASC, schema ASC, name ASC;
-- keys: fk-table-schema fk-table-name fk-column-name pk-table-schema pk-table-name pk-column-name
SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS "fk-column-name", pk_ns.nspname AS "pk-table-schema", pk_table.relname AS "pk-table-name", pk_column.attname AS "pk-column-name" FROM pg_constraint AS c INNER JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid INNER JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid INNER JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid INNER JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid INNER JOIN pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid INNER JOIN pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid WHERE (fk_ns.nspname !~ '^information_schema|catalog_history|pg_') AND (c.contype = 'f'::char) AND (fk_column.attnum = ANY(c.conkey)) AND (pk_column.attnum = ANY(c.confkey)) ORDER BY fk_ns.nspname ASC, fk_table.relname ASC;
-- privileges
with table_privileges as (
 select NULL as role, t.schemaname as schema, t.objectname as table,
 pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.objectname || '"',  'UPDATE') as update,
 pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.objectname || '"',  'SELECT') as select
 from (select schemaname, tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from pg_catalog.pg_views) t
 where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'USAGE'))
select t.* from table_privileges t;
-- fingerprint
SELECT "public"."invoice"."customer" AS "customer", SUBSTRING("public"."invoice"."customer", 1, 1234) AS "substring" FROM "public"."invoice" LIMIT 10000;
