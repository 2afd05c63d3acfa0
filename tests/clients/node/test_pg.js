// node-postgres: parameters, types, named statements, pools, cursors, streams, errors, notices.
// Prints one line for each check, as python/checks.py does.
'use strict';

const assert = require('node:assert/strict');
const { Client, Pool, types } = require('pg');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');

const LIMIT_MS = 60_000;
const checks = [];
const check = (name, run) => checks.push({ name, run });
class Skip extends Error {}

async function withClient(run, options = {}) {
  const client = new Client({ ...options });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

async function rejects(code, promise) {
  try {
    await promise;
  } catch (error) {
    assert.equal(error.code, code, `SQLSTATE ${error.code} (${error.message}), wanted ${code}`);
    return error;
  }
  throw new Error(`no error, wanted ${code}`);
}

check('values_become_those_of_javascript', () => withClient(async (c) => {
  const { rows, fields } = await c.query(
    `select 1 as i, 9007199254740993::bigint as big, 1.50::numeric(9,2) as n, 0.5::float8 as f,
            true as b, 'x'::text as t, null::int as z, '2020-02-29 01:02:03'::timestamptz as tz,
            decode('00ff', 'hex') as y, array[1, null, 3] as a, array['p', 'q,"'] as s`);
  const row = rows[0];
  assert.equal(row.i, 1);
  assert.equal(row.big, '9007199254740993');
  assert.equal(row.n, '1.50');
  assert.equal(row.f, 0.5);
  assert.equal(row.b, true);
  assert.equal(row.z, null);
  assert.equal(row.tz.toISOString(), '2020-02-29T01:02:03.000Z');
  assert.deepEqual([...row.y], [0, 255]);
  assert.deepEqual(row.a, [1, null, 3]);
  assert.deepEqual(row.s, ['p', 'q,"']);
  assert.deepEqual(fields.map((f) => f.dataTypeID),
    [23, 20, 1700, 701, 16, 25, 23, 1184, 17, 1007, 1009]);
}));

check('values_in_binary', () => withClient(async (c) => {
  const { rows } = await c.query({
    text: 'select $1::int as i, $2::bigint as big, $3::bool as b, $4::text as t',
    values: [7, '8', false, 'é'], binary: true });
  assert.deepEqual({ ...rows[0], big: String(rows[0].big) },
    { i: 7, big: '8', b: false, t: 'é' });
}));

check('parameters_of_javascript_types', () => withClient(async (c) => {
  await c.query('drop table if exists js');
  await c.query(`create table js (id serial primary key, i int, n numeric(10,3), f float8, b boolean,
    t text, d date, ts timestamp, tz timestamptz, y bytea, a int[], ta text[], u uuid)`);
  const when = new Date('2021-03-04T05:06:07.089Z');
  await c.query(
    `insert into js (i, n, f, b, t, d, ts, tz, y, a, ta, u)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [1, 2.5, 3.25, true, 'text', '2020-01-02', '2020-01-02 03:04:05', when, Buffer.from([1, 2, 3]),
      [1, 2, null], ['a b', null, 'c"d'], '12345678-1234-1234-1234-123456789abc']);
  await c.query('insert into js (i, t) values ($1, $2)', [null, undefined]);
  const { rows } = await c.query('select * from js order by id');
  assert.equal(rows.length, 2);
  assert.equal(rows[0].n, '2.500');
  assert.equal(rows[0].tz.getTime(), when.getTime());
  assert.deepEqual([...rows[0].y], [1, 2, 3]);
  assert.deepEqual(rows[0].a, [1, 2, null]);
  assert.deepEqual(rows[0].ta, ['a b', null, 'c"d']);
  assert.equal(rows[0].u, '12345678-1234-1234-1234-123456789abc');
  assert.equal(rows[1].t, null);
  const found = await c.query('select id from js where i = $1 and n > $2 and tz <= $3 and b = $4',
    ['1', '2', when, 'true']);
  assert.equal(found.rowCount, 1);
  const any = await c.query('select count(*)::int as c from js where i = any($1)', [[1, 2]]);
  assert.equal(any.rows[0].c, 1);
  await c.query('drop table js');
}));

check('named_statements_are_used_again', () => withClient(async (c) => {
  for (let i = 0; i < 50; i += 1) {
    const { rows } = await c.query({ name: 'twice', text: 'select $1::int * 2 as d', values: [i] });
    assert.equal(rows[0].d, i * 2);
  }
  await assert.rejects(c.query({ name: 'twice', text: 'select 1', values: [] }), /unique/);
}));

check('rows_as_arrays', () => withClient(async (c) => {
  const { rows } = await c.query({ text: 'select 1 as a, 2 as a', rowMode: 'array' });
  assert.deepEqual(rows, [[1, 2]]);
}));

check('several_statements_give_several_results', () => withClient(async (c) => {
  const results = await c.query('select 1 as a; select 2 as b; set search_path to public');
  assert.deepEqual(results.map((r) => r.command), ['SELECT', 'SELECT', 'SET']);
  const empty = await c.query('');
  assert.equal(empty.rows.length, 0);
}));

check('commands_and_row_counts', () => withClient(async (c) => {
  await c.query('drop table if exists counts');
  let r = await c.query('create table counts (id int primary key, t text)');
  assert.equal(r.command, 'CREATE');
  r = await c.query("insert into counts values (1, 'a'), (2, 'b')");
  assert.deepEqual([r.command, r.rowCount], ['INSERT', 2]);
  r = await c.query('update counts set t = $1 where id < $2 returning id, t', ['z', 2]);
  assert.deepEqual([r.command, r.rowCount, r.rows], ['UPDATE', 1, [{ id: 1, t: 'z' }]]);
  r = await c.query('delete from counts');
  assert.deepEqual([r.command, r.rowCount], ['DELETE', 2]);
  await c.query('drop table counts');
}));

check('errors_have_their_fields', () => withClient(async (c) => {
  await c.query('drop table if exists fields');
  await c.query('create table fields (id int primary key, n int not null)');
  await c.query('insert into fields values (1, 1)');
  const duplicate = await rejects('23505', c.query('insert into fields values ($1, 2)', [1]));
  assert.equal(duplicate.severity, 'ERROR');
  assert.equal(duplicate.constraint, 'fields_pkey');
  assert.equal(duplicate.table, 'fields');
  assert.equal(duplicate.detail, 'Key (id)=(1) already exists.');
  const missing = await rejects('23502', c.query('insert into fields values (2, null)'));
  assert.equal(missing.column, 'n');
  const column = await rejects('42703', c.query('select x from fields'));
  assert.equal(column.position, '8');
  await rejects('22P02', c.query('select $1::int', ['x']));
  await rejects('08P01', c.query('select $1::int', [1, 2]));
  const { rows } = await c.query('select 1 as one');
  assert.equal(rows[0].one, 1);
  await c.query('drop table fields');
}));

check('queries_queue_on_one_client', () => withClient(async (c) => {
  const results = await Promise.all(
    Array.from({ length: 100 }, (_, i) => c.query('select $1::int as i', [i])));
  assert.deepEqual(results.map((r) => r.rows[0].i), Array.from({ length: 100 }, (_, i) => i));
}));

check('a_pool_serves_many', async () => {
  const pool = new Pool({ max: 8 });
  try {
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) => pool.query('select $1::int + 1 as i', [i])));
    assert.equal(results.reduce((sum, r) => sum + r.rows[0].i, 0), 200 * 201 / 2);
  } finally {
    await pool.end();
  }
});

check('a_block_rolls_back_after_an_error', () => withClient(async (c) => {
  await c.query('begin');
  await rejects('22012', c.query('select 1 / 0'));
  await rejects('25P02', c.query('select 1'));
  assert.equal((await c.query('commit')).command, 'ROLLBACK');
  await c.query('begin; select 1; rollback');
}));

check('a_cursor_reads_in_parts', () => withClient(async (c) => {
  const cursor = c.query(new Cursor('select g from generate_series(1, $1::int) g', [25]));
  const sizes = [];
  for (;;) {
    const rows = await cursor.read(10);
    sizes.push(rows.length);
    if (rows.length === 0) break;
  }
  assert.deepEqual(sizes, [10, 10, 5, 0]);
  await cursor.close();
  const early = c.query(new Cursor('select g from generate_series(1, 1000) g'));
  assert.equal((await early.read(3)).length, 3);
  await early.close();
  assert.equal((await c.query('select 5 as five')).rows[0].five, 5);
}));

check('a_stream_gives_all_rows', () => withClient(async (c) => {
  const stream = c.query(new QueryStream('select g from generate_series(1, 12345) g', [],
    { batchSize: 500 }));
  let sum = 0;
  for await (const row of stream) sum += row.g;
  assert.equal(sum, 12345 * 12346 / 2);
}));

check('notices_are_events', () => withClient(async (c) => {
  const notices = [];
  c.on('notice', (notice) => notices.push(notice.message));
  await c.query('drop table if exists surely_not_there');
  assert.deepEqual(notices, ['table "surely_not_there" does not exist, skipping']);
}));

check('timeouts_of_the_server_and_of_the_client', async () => {
  const long = `select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b,
    generate_series(1, 3000) c where a + b + c < 0`;
  await withClient((c) => rejects('57014', c.query(long)), { statement_timeout: 300 });
  await withClient(async (c) => {
    await assert.rejects(c.query({ text: long, query_timeout: 300 }), /timeout/);
  }, { statement_timeout: 2000 });
});

check('application_name_and_options', () => withClient(async (c) => {
  const { rows } = await c.query('show application_name');
  assert.deepEqual(rows, [{ application_name: 'node tests' }]);
  const path = await c.query('show search_path');
  assert.deepEqual(path.rows, [{ search_path: 'public' }]);
}, { application_name: 'node tests', options: '-c search_path=public' }));

check('long_texts_and_many_rows', () => withClient(async (c) => {
  const text = 'ä'.repeat(3_000_000);
  const { rows } = await c.query('select $1::text as t, length($1::text) as l', [text]);
  assert.equal(rows[0].l, 3_000_000);
  assert.ok(rows[0].t === text);
  const many = await c.query('select g, g::text as t from generate_series(1, 100000) g');
  assert.equal(many.rows[99999].t, '100000');
}));

check('types_of_dates', () => withClient(async (c) => {
  types.setTypeParser(1082, (text) => text);
  const { rows } = await c.query(`select '2020-02-29'::date as d, '10:11:12.5'::time as t,
    '1 day 02:03:04'::interval as i`);
  assert.equal(rows[0].d, '2020-02-29');
  assert.equal(rows[0].t, '10:11:12.5');
  assert.equal(rows[0].i.days, 1);
  assert.equal(rows[0].i.hours, 2);
}));

check('json_values_are_objects', () => withClient(async (c) => {
  let result;
  try {
    result = await c.query("select '{\"a\": [1, 2]}'::jsonb as j");
  } catch (error) {
    if (['0A000', '42704'].includes(error.code)) throw new Skip(`refused: ${error.message}`);
    throw error;
  }
  assert.deepEqual(result.rows[0].j, { a: [1, 2] });
}));

async function runOne({ name, run }) {
  let timer;
  const overdue = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  try {
    await Promise.race([run(), overdue]);
    console.log(`ok ${name}`);
  } catch (error) {
    const text = String(error.message ?? error).replace(/\s+/g, ' ').slice(0, 300);
    const where = /test_pg\.js:(\d+)/.exec(error.stack ?? '');
    console.log(error instanceof Skip
      ? `skip ${name}: ${text}` : `FAIL ${name}: line ${where ? where[1] : '?'}: ${text}`);
  } finally {
    clearTimeout(timer);
  }
}

(async () => {
  console.log(`version ${require('pg/package.json').version}`);
  const wanted = process.argv.slice(2);
  for (const one of checks) {
    if (wanted.length === 0 || wanted.includes(one.name)) await runOne(one);
  }
  process.exit(0);
})();
