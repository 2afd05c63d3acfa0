// TypeORM: tables that it synchronises, migrations forth and back, relations, builders of queries,
// transactions within transactions, locks, upserts.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { DataSource, In, IsNull, Like, MoreThan, Not, OptimisticLockVersionMismatchError, QueryFailedError,
  Table, TableColumn, TableForeignKey, TableIndex } = require('typeorm');
const { main } = require('../checks.js');
const { Account, Author, Book, Node, Profile, Tag } = require('./entities.js');

const checks = [];
const check = (name, run) => checks.push({ name, run });
const ENTITIES = [Account, Author, Book, Node, Profile, Tag];

function source(options = {}) {
  return new DataSource({
    type: 'postgres', host: process.env.PGHOST, port: Number(process.env.PGPORT),
    username: process.env.PGUSER, database: process.env.PGDATABASE, entities: ENTITIES,
    // Without it, keys of uuids are made by an extension.
    uuidExtension: 'pgcrypto', installExtensions: false, extra: { max: 16 }, ...options,
  });
}

// A connection whose tables are there, without rows; it is closed whatever happens.
async function using(run, options = {}) {
  const db = await source({ dropSchema: true, synchronize: true, ...options }).initialize();
  try {
    return await run(db);
  } finally {
    await db.destroy();
  }
}

async function rejects(code, promise) {
  try {
    await promise;
  } catch (error) {
    assert.equal(error.driverError?.code ?? error.code, code, error.message);
    return error;
  }
  throw new Error(`no error, wanted ${code}`);
}

const ada = () => ({
  name: 'Ada', born: '1815-12-10', profile: { text: 'first' },
  books: [{ title: 'Notes', price: '9.50', pages: 66, words: ['a', 'b"c'], tags: [{ name: 'math' }] },
    { title: 'Letters', tags: [{ name: 'mail' }] }],
});

check('tables_are_synchronised', () => using(async (db) => {
  assert.deepEqual((await db.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query), []);
  await db.synchronize();
  const runner = db.createQueryRunner();
  const table = await runner.getTable('book');
  assert.deepEqual(table.columns.map((c) => [c.name, c.type, c.isNullable]), [
    ['id', 'bigint', false], ['title', 'character varying', false], ['price', 'numeric', false],
    ['pages', 'integer', false], ['words', 'text', true], ['twice', 'integer', true],
    ['author_id', 'integer', true]]);
  assert.deepEqual(table.foreignKeys.map((k) => [k.columnNames, k.referencedTableName, k.onDelete]),
    [[['author_id'], 'author', 'CASCADE']]);
  assert.deepEqual(table.indices.map((i) => [i.name, i.columnNames]), [['book_by_title', ['title', 'price']]]);
  assert.deepEqual(table.checks.map((c) => c.name), ['book_pages']);
  await runner.release();
}));

check('tables_that_change_are_synchronised', () => using(async (db) => {
  await db.getRepository('Tag').save({ name: 'old' });
  const { EntitySchema } = require('typeorm');
  const other = new EntitySchema({ ...Tag.options, relations: {}, columns: {
    name: { type: 'varchar', primary: true },
    uses: { type: 'bigint', default: 5 },
    colour: { type: 'varchar', length: 10, default: 'red' },
    shade: { type: 'int', nullable: true, unique: true },
  }, indices: [{ name: 'tag_colour', columns: ['colour'] }] });
  const changed = await source({ entities: [other] }).initialize();
  try {
    await db.query('drop table book_tag');
    await changed.synchronize();
    await changed.synchronize();
    assert.deepEqual((await changed.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query), []);
    await changed.getRepository('Tag').save({ name: 'n'.repeat(60) });
    const rows = await changed.getRepository('Tag').find({ order: { name: 'ASC' } });
    assert.deepEqual(rows.map((r) => [r.name.length, r.colour, r.shade]), [[60, 'red', null], [3, 'red', null]]);
  } finally {
    await changed.destroy();
  }
}));

check('objects_with_relations', () => using(async (db) => {
  const authors = db.getRepository('Author');
  const made = await authors.save(ada());
  assert.equal(made.version, 1);
  assert.equal(made.books[0].twice, 132);
  const found = await authors.findOne({ where: { name: 'Ada' }, relations: { books: { tags: true }, profile: true },
    order: { books: { title: 'ASC' } } });
  assert.deepEqual(found.books.map((b) => [b.title, b.price, b.words, b.tags.map((t) => t.name)]),
    [['Letters', '0.00', null, ['mail']], ['Notes', '9.50', ['a', 'b"c'], ['math']]]);
  assert.deepEqual([found.born, found.profile.text, found.created instanceof Date], ['1815-12-10', 'first', true]);
  found.books = found.books.filter((b) => b.title === 'Letters');
  found.profile.text = 'second';
  await authors.save(found);
  assert.equal(await db.getRepository('Book').count(), 1);
  assert.equal((await db.getRepository('Profile').findOneByOrFail({})).text, 'second');
  await authors.remove(found);
  assert.equal(await db.getRepository('Book').count(), 0);
}));

check('conditions_of_find', () => using(async (db) => {
  const books = db.getRepository('Book');
  await books.insert(Array.from({ length: 30 }, (_, i) => ({ title: `t${i % 3}`, price: i, pages: i + 1 })));
  assert.equal(await books.countBy({ title: Like('t1%'), price: MoreThan(10) }), 6);
  assert.equal(await books.countBy({ pages: In([1, 2, 99]), author: IsNull() }), 2);
  assert.equal(await books.countBy([{ title: Not('t0'), price: 1 }, { pages: 1 }]), 2);
  const [page, all] = await books.findAndCount({ order: { price: 'DESC' }, skip: 5, take: 4 });
  assert.deepEqual([page.map((b) => b.price), all], [['24.00', '23.00', '22.00', '21.00'], 30]);
  assert.equal(await books.sum('price', { title: 't2' }), 155);
  assert.equal(await books.maximum('pages'), 30);
  assert.equal(await books.existsBy({ pages: 31 }), false);
  await books.increment({ title: 't0' }, 'pages', 100);
  assert.equal(await books.countBy({ pages: MoreThan(100) }), 10);
}));

check('builders_of_queries', () => using(async (db) => {
  for (const n of [1, 2, 3]) {
    await db.getRepository('Author').save({ name: `a${n}`, books: Array.from({ length: n }, (_, i) => (
      { title: `b${n}${i}`, price: n * 10 + i, tags: i === 0 ? [{ name: `g${n}` }] : [] })) });
  }
  const sums = await db.createQueryBuilder('Author', 'a').leftJoin('a.books', 'b').select('a.name', 'name')
    .addSelect('sum(b.price)', 'sum').groupBy('a.name').having('count(*) > :n', { n: 1 })
    .orderBy('sum', 'DESC').getRawMany();
  assert.deepEqual(sums, [{ name: 'a3', sum: '93.00' }, { name: 'a2', sum: '41.00' }]);
  const [some, all] = await db.createQueryBuilder('Author', 'a').leftJoinAndSelect('a.books', 'b')
    .leftJoinAndSelect('b.tags', 't').orderBy('a.name', 'DESC').skip(0).take(2)
    .getManyAndCount();
  assert.deepEqual([some.map((a) => a.books.length), all], [[3, 2], 3]);
  const few = await db.createQueryBuilder('Book', 'b').where((q) => `b.author_id in ${q.subQuery().select('a.id')
    .from('Author', 'a').where('a.name <> :x').getQuery()}`).setParameter('x', 'a3').getMany();
  assert.equal(few.length, 3);
  const changed = await db.createQueryBuilder().update('Book').set({ price: () => 'price * 2' })
    .where('title like :t', { t: 'b1%' }).returning(['id', 'price']).execute();
  assert.deepEqual([changed.affected, changed.raw[0].price], [1, '20.00']);
  const gone = await db.createQueryBuilder().delete().from('Book').where('price > 31').returning('title').execute();
  assert.deepEqual(gone.raw, [{ title: 'b32' }]);
  const cte = await db.createQueryBuilder().addCommonTableExpression('select price p from book', 'prices')
    .select('max(p)', 'm').from('prices', 'prices').getRawOne();
  assert.equal(cte.m, '31.00');
  await db.createQueryBuilder().relation('Book', 'tags').of(few[0].id).add('g3');
  assert.equal(await db.createQueryBuilder('Book', 'b').innerJoin('b.tags', 't').where("t.name = 'g3'").getCount(), 2);
  await db.createQueryBuilder().insert().into('Book').values([{ title: 'x', price: 1 }]).execute();
}));

check('rows_that_are_there_already', () => using(async (db) => {
  const tags = db.getRepository('Tag');
  await tags.upsert([{ name: 'a', uses: 1 }, { name: 'b', uses: 2 }], ['name']);
  await tags.upsert([{ name: 'a', uses: 7 }, { name: 'c', uses: 3 }],
    { conflictPaths: ['name'], skipUpdateIfNoValuesChanged: true });
  await tags.createQueryBuilder().insert().values({ name: 'b', uses: 99 }).orIgnore().execute();
  assert.deepEqual((await tags.find({ order: { name: 'ASC' } })).map((t) => t.uses), [7, 2, 3]);
  const authors = db.getRepository('Author');
  await authors.upsert({ name: 'Ada' }, ['name']);
  const second = await authors.upsert({ name: 'Ada', born: '1815-12-10' }, ['name']);
  assert.equal((await authors.findOneByOrFail({ id: second.identifiers[0].id })).born, '1815-12-10');
  const many = Array.from({ length: 1000 }, (_, i) => ({ name: `n${i}` }));
  await tags.save(many, { chunk: 250 });
  assert.equal(await tags.count(), 1003);
}));

check('rows_that_are_only_marked_as_deleted', () => using(async (db) => {
  const authors = db.getRepository('Author');
  await authors.save([{ name: 'a' }, { name: 'b' }]);
  await authors.softDelete({ name: 'a' });
  assert.equal(await authors.count(), 1);
  assert.equal(await authors.count({ withDeleted: true }), 2);
  await authors.restore({ name: 'a' });
  assert.equal(await authors.count(), 2);
}));

check('trees', () => using(async (db) => {
  const nodes = db.getTreeRepository('Node');
  const root = await nodes.save({ name: 'root' });
  const child = await nodes.save({ name: 'child', parent: root });
  await nodes.save([{ name: 'x', parent: child }, { name: 'y', parent: child }]);
  assert.equal(await nodes.countDescendants(root), 4);
  const tree = await nodes.findDescendantsTree(root);
  assert.deepEqual(tree.children[0].children.map((n) => n.name).sort(), ['x', 'y']);
  const x = await nodes.findOneByOrFail({ name: 'x' });
  assert.deepEqual((await nodes.findAncestors(x)).map((n) => n.name).sort(), ['child', 'root', 'x']);
}));

check('transactions_within_transactions', () => using(async (db) => {
  await db.transaction(async (outer) => {
    await outer.save('Tag', { name: 'kept' });
    await assert.rejects(outer.transaction(async (inner) => {
      await inner.save('Tag', { name: 'lost' });
      await inner.transaction((deeper) => deeper.save('Tag', { name: 'lost too' }));
      await inner.insert('Tag', { name: 'kept' });
    }), QueryFailedError);
    await outer.transaction(async (inner) => inner.save('Tag', { name: 'inner' }));
    assert.equal(await db.getRepository('Tag').count(), 0);
  });
  assert.deepEqual((await db.getRepository('Tag').find({ order: { name: 'ASC' } })).map((t) => t.name),
    ['inner', 'kept']);
  await assert.rejects(db.transaction(async (outer) => {
    await outer.save('Tag', { name: 'gone' });
    throw new Error('mine');
  }), /mine/);
  assert.equal(await db.getRepository('Tag').countBy({ name: 'gone' }), 0);
}));

check('runners_of_queries', () => using(async (db) => {
  const runner = db.createQueryRunner();
  await runner.connect();
  await runner.startTransaction();
  await runner.manager.insert('Account', { id: 1, balance: 5 });
  await runner.startTransaction();
  await runner.query('update account set balance = $1', [9]);
  await runner.rollbackTransaction();
  await rejects('23505', runner.query('insert into account values (1, 1)'));
  await rejects('25P02', runner.query('select 1'));
  await runner.rollbackTransaction();
  assert.equal(await db.getRepository('Account').count(), 0);
  await runner.startTransaction();
  await runner.query('create table passing (a int)');
  assert.equal(await runner.hasTable('passing'), true);
  await runner.rollbackTransaction();
  assert.equal(await runner.hasTable('passing'), false);
  const stream = await runner.stream('select g from generate_series(1, 1000) g').catch((error) => error);
  if (!(stream instanceof Error)) {
    let rows = 0;
    for await (const _ of stream) rows += 1;
    assert.equal(rows, 1000);
  }
  await runner.release();
}));

check('rows_are_locked', () => using(async (db) => {
  await db.getRepository('Account').insert([{ id: 1, balance: 5 }, { id: 2, balance: 5 }]);
  const of = (m, lock) => m.createQueryBuilder('Account', 'a').orderBy('a.id').setLock(...lock);
  await db.transaction(async (m) => {
    const mine = await m.findOne('Account', { where: { id: 1 }, lock: { mode: 'pessimistic_write' } });
    await rejects('55P03', db.transaction((other) => of(other, ['pessimistic_write']).setOnLocked('nowait').getMany()));
    const free = await db.transaction((other) => of(other, ['pessimistic_write']).setOnLocked('skip_locked').getMany());
    assert.deepEqual(free.map((a) => a.id), [2]);
    await rejects('55P03', db.transaction((other) => of(other, ['for_no_key_update']).setOnLocked('nowait').getMany()));
    await rejects('55P03', db.transaction((other) => of(other, ['pessimistic_read']).setOnLocked('nowait').getMany()));
    await db.transaction((other) => of(other, ['for_key_share']).setOnLocked('skip_locked').getMany());
    mine.balance = 6;
    await m.save('Account', mine);
  });
  await db.transaction(async (m) => {
    await of(m, ['pessimistic_read']).getMany();
    await db.transaction((other) => of(other, ['pessimistic_read']).setOnLocked('nowait').getMany());
  });
  assert.equal((await db.getRepository('Account').findOneByOrFail({ id: 1 })).balance, 6);
}));

check('rows_of_joins_are_locked', () => using(async (db) => {
  await db.getRepository('Author').save([ada(), { name: 'Bob', books: [{ title: 'x' }] }]);
  await db.transaction(async (m) => {
    const found = await m.createQueryBuilder('Book', 'b').innerJoinAndSelect('b.author', 'a')
      .where("a.name = 'Ada'").setLock('pessimistic_write', undefined, ['b', 'a']).getMany();
    assert.equal(found.length, 2);
    await db.transaction(async (other) => {
      await other.query("set local lock_timeout = '5s'");
      await other.query("update author set born = now() where name = 'Bob'");
      await other.query("update book set pages = 3 where title = 'x'");
    });
    await rejects('55P03', db.transaction(async (other) => {
      await other.query("set local lock_timeout = '100ms'");
      await other.query("update author set born = now() where name = 'Ada'");
    }));
  });
}));

check('versions_find_lost_updates', () => using(async (db) => {
  const authors = db.getRepository('Author');
  const made = await authors.save({ name: 'a' });
  await authors.save({ id: made.id, name: 'b' });
  const found = await authors.findOneBy({ id: made.id });
  assert.equal(found.version, 2);
  assert.ok(found.updated >= found.created);
  await assert.rejects(authors.findOne({ where: { id: made.id }, lock: { mode: 'optimistic', version: 1 } }),
    OptimisticLockVersionMismatchError);
}));

check('levels_of_isolation', () => using(async (db) => {
  await db.getRepository('Account').insert([{ id: 1, balance: 5 }, { id: 2, balance: 5 }]);
  await rejects('40001', db.transaction('REPEATABLE READ', async (m) => {
    await m.findOneByOrFail('Account', { id: 1 });
    await db.getRepository('Account').update({ id: 1 }, { balance: 8 });
    await m.update('Account', { id: 1 }, { balance: () => 'balance + 1' });
  }));
  const both = (m) => m.query('select sum(balance)::int as s from account');
  await rejects('40001', db.transaction('SERIALIZABLE', async (m) => {
    await both(m);
    await m.update('Account', { id: 1 }, { balance: 0 });
    await db.transaction('SERIALIZABLE', async (other) => {
      await both(other);
      await other.update('Account', { id: 2 }, { balance: 0 });
    });
  }));
  assert.deepEqual(await both(db), [{ s: 8 }]);
}));

check('many_transactions_at_once', () => using(async (db) => {
  await db.getRepository('Account').insert([0, 1, 2, 3].map((id) => ({ id, balance: 10 })));
  async function move(from, to) {
    for (;;) {
      try {
        return await db.transaction('SERIALIZABLE', async (m) => {
          const paid = await m.findOneByOrFail('Account', { id: from });
          const got = await m.findOneByOrFail('Account', { id: to });
          if (paid.balance === 0) return;
          await m.update('Account', { id: from }, { balance: paid.balance - 1 });
          await m.update('Account', { id: to }, { balance: got.balance + 1 });
        });
      } catch (error) {
        if (!['40001', '40P01'].includes(error.driverError?.code)) throw error;
      }
    }
  }
  await Promise.all(Array.from({ length: 40 }, (_, i) => move(i % 4, (i + 1 + (i % 3)) % 4)));
  assert.equal(await db.getRepository('Account').sum('balance'), 40);
  await Promise.all(Array.from({ length: 30 }, () => db.transaction(async (m) => {
    const one = await m.findOneOrFail('Account', { where: { id: 0 }, lock: { mode: 'pessimistic_write' } });
    await m.update('Account', { id: 0 }, { balance: one.balance + 1 });
  })));
  assert.equal(await db.getRepository('Account').sum('balance'), 70);
}));

class First1700000000001 {
  async up(runner) {
    await runner.createTable(new Table({ name: 'moved', columns: [
      { name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
      { name: 'name', type: 'varchar', length: '20', isUnique: true },
      { name: 'made', type: 'timestamptz', default: 'now()' }] }), true);
    await runner.query("insert into moved (name) values ('a'), ('b')");
  }

  async down(runner) {
    await runner.dropTable('moved');
  }
}

class Second1700000000002 {
  async up(runner) {
    await runner.addColumn('moved', new TableColumn({ name: 'size', type: 'int', default: 3 }));
    await runner.renameColumn('moved', 'name', 'title');
    await runner.changeColumn('moved', 'size', new TableColumn({ name: 'size', type: 'int', default: 3,
      isNullable: true, comment: 'in boxes' }));
    await runner.createIndex('moved', new TableIndex({ name: 'moved_size', columnNames: ['size'] }));
    await runner.createTable(new Table({ name: 'moved_part', columns: [{ name: 'id', type: 'uuid', isPrimary: true,
      default: 'gen_random_uuid()' }, { name: 'moved_id', type: 'int' }] }));
    await runner.createForeignKey('moved_part', new TableForeignKey({ name: 'moved_part_of', columnNames: ['moved_id'],
      referencedTableName: 'moved', referencedColumnNames: ['id'], onDelete: 'CASCADE' }));
  }

  async down(runner) {
    await runner.dropForeignKey('moved_part', 'moved_part_of');
    await runner.dropTable('moved_part');
    await runner.dropIndex('moved', 'moved_size');
    await runner.renameColumn('moved', 'title', 'name');
    await runner.dropColumn('moved', 'size');
  }
}

class Failing1700000000003 {
  async up(runner) {
    await runner.addColumn('moved', new TableColumn({ name: 'later', type: 'int', isNullable: true }));
    await runner.query('select 1 / 0');
  }

  async down() {}
}

check('migrations_run_and_are_reverted', async () => {
  const migrations = [First1700000000001, Second1700000000002];
  for (const transaction of ['all', 'each']) {
    const db = await source({ dropSchema: true, synchronize: false, entities: [], migrations }).initialize();
    try {
      assert.equal((await db.runMigrations({ transaction })).length, 2);
      assert.equal(await db.showMigrations(), false);
      await db.query('insert into moved_part (moved_id) select id from moved');
      assert.deepEqual(await db.query('select title, size from moved order by id'),
        [{ title: 'a', size: 3 }, { title: 'b', size: 3 }]);
      await db.undoLastMigration({ transaction });
      assert.deepEqual(await db.query('select name from moved order by id'), [{ name: 'a' }, { name: 'b' }]);
      assert.equal((await db.runMigrations()).length, 1);
      await db.undoLastMigration();
      await db.undoLastMigration();
      assert.deepEqual(await db.query("select to_regclass('moved') as t"), [{ t: null }]);
      await db.runMigrations();
    } finally {
      await db.destroy();
    }
    const failing = await source({ entities: [], migrations: [...migrations, Failing1700000000003] }).initialize();
    try {
      await rejects('22012', failing.runMigrations({ transaction }));
      assert.equal((await failing.query('select * from migrations')).length, 2);
      await rejects('42703', failing.query('select later from moved'));
    } finally {
      await failing.destroy();
    }
  }
});

check('enums_and_documents', () => using(async (db) => {
  await db.getRepository('Special').save({ id: 1, colour: 'red', doc: { a: [1, 2] } });
  assert.deepEqual((await db.getRepository('Special').findOneBy({ colour: 'red' })).doc, { a: [1, 2] });
}, { entities: [new (require('typeorm').EntitySchema)({ name: 'Special', columns: {
  id: { type: 'int', primary: true }, colour: { type: 'enum', enum: ['red', 'green'] }, doc: { type: 'jsonb' } } })] }));

check('the_end', async () => {
  const db = await source({ dropSchema: true }).initialize();
  await db.destroy();
});

// The package does not export its package.json.
main(/"version": "([^"]+)"/.exec(fs.readFileSync(
  path.join(path.dirname(require.resolve('typeorm')), 'package.json'), 'utf8'))[1], checks);
