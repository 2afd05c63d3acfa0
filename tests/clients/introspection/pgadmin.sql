-- setup
SET DateStyle=ISO; SET client_min_messages=notice; SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output'; SET client_encoding='utf-8';
-- version: version
SELECT version();
-- database
SELECT db.oid as did, db.datname, db.datallowconn, pg_encoding_to_char(db.encoding) AS serverencoding, has_database_privilege(db.oid, 'CREATE') as cancreate, datistemplate FROM pg_catalog.pg_database db WHERE db.datname = current_database();
-- roles
SELECT roles.oid as id, roles.rolname as name, roles.rolsuper as is_superuser, CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreaterole END as can_create_role, CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreatedb END as can_create_db FROM pg_catalog.pg_roles as roles WHERE rolname = current_user;
-- replication
SELECT CASE WHEN usesuper THEN pg_catalog.pg_is_in_recovery() ELSE FALSE END as inrecovery, CASE WHEN usesuper AND pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE FALSE END as isreplaypaused FROM pg_catalog.pg_user WHERE usename=current_user;
-- databases
SELECT db.oid as did, db.datname as name, ta.spcname as spcname, db.datallowconn, db.datistemplate AS is_template, pg_catalog.has_database_privilege(db.oid, 'CREATE') as cancreate, datdba as owner, descr.description FROM pg_catalog.pg_database db LEFT OUTER JOIN pg_catalog.pg_tablespace ta ON db.dattablespace = ta.oid LEFT OUTER JOIN pg_catalog.pg_shdescription descr ON (db.oid=descr.objoid AND descr.classoid='pg_database'::regclass) ORDER BY datname;
-- schemas: oid name can_create has_usage description
SELECT nsp.oid, nsp.nspname as name, pg_catalog.has_schema_privilege(nsp.oid, 'CREATE') as can_create, pg_catalog.has_schema_privilege(nsp.oid, 'USAGE') as has_usage, des.description FROM pg_catalog.pg_namespace nsp LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid=nsp.oid AND des.classoid='pg_namespace'::regclass) WHERE nspname NOT LIKE 'pg!_%' escape '!' AND nsp.nspname <> 'information_schema' ORDER BY nspname;
-- tables
SELECT rel.oid, rel.relname AS name, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid=rel.oid AND tgisinternal = FALSE) AS triggercount, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid=rel.oid AND tgisinternal = FALSE AND tgenabled = 'O') AS has_enable_triggers, (CASE WHEN rel.relkind = 'p' THEN true ELSE false END) AS is_partitioned FROM pg_catalog.pg_class rel WHERE rel.relkind IN ('r','s','t','p') AND rel.relnamespace = 'public'::regnamespace AND NOT rel.relispartition ORDER BY rel.relname;
-- columns
SELECT DISTINCT att.attname as name, att.attnum as "OID", pg_catalog.format_type(ty.oid,NULL) AS datatype, att.attnotnull as not_null, CASE WHEN att.atthasdef OR att.attidentity != '' OR ty.typdefault IS NOT NULL THEN True ELSE False END as has_default_val, des.description FROM pg_catalog.pg_attribute att JOIN pg_catalog.pg_type ty ON ty.oid=atttypid LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid=att.attrelid AND des.objsubid=att.attnum AND des.classoid='pg_class'::regclass) WHERE att.attrelid = 'invoice'::regclass AND att.attnum > 0 AND att.attisdropped IS FALSE ORDER BY att.attnum;
-- dashboard
SELECT pid, datname, usename, application_name, client_addr, backend_start, state, wait_event_type || ': ' || wait_event AS wait_event, query FROM pg_catalog.pg_stat_activity WHERE datname = current_database() ORDER BY pid;
-- dashboard_counts
SELECT 'session_stats' AS chart_name, (SELECT count(*) FROM pg_catalog.pg_stat_activity) AS total, (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE state = 'active') AS active, (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE state = 'idle') AS idle;
-- locks
SELECT pid, locktype, relation::regclass, page, tuple, virtualxid, transactionid, mode, granted FROM pg_catalog.pg_locks ORDER BY pid;
-- database_statistics
SELECT sum(xact_commit) AS commits, sum(xact_rollback) AS rollbacks, sum(tup_inserted) AS inserted FROM pg_catalog.pg_stat_database;
