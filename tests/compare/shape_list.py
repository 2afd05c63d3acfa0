"""Statements as applications and mappers send them, as scripts of pgbench.

`SETUP` makes the tables; `SHAPES` has a script by its name, `MORE` others that stand for no figure of the issue and are
there to see what the first ones do not. A variable that pgbench sets is a parameter in the extended
protocol. A shape with a list of more keys than pgbench has parameters for is written out.
"""

import random

ROWS, GROUPS = 100_000, 1_000

SETUP = f"""
create table item (id int primary key, owner int not null, kind text not null, price numeric(10, 2) not null,
                   stock int not null default 0, changed timestamptz not null default now());
create index item_owner on item (owner);
create table owner (id int primary key, name text not null, region int not null);
create table line (a int, b int, quantity int not null, note text, primary key (a, b));
create table job (id int primary key, state text not null, tries int not null default 0);
create index job_state on job (state, id);
create table counter (name text primary key, n bigint not null);
create table event (id bigint generated always as identity primary key, owner int not null, body text not null);
create table seen (id int primary key, n int not null, note text);
insert into owner select i, 'owner ' || i, i % 20 from generate_series(1, {GROUPS}) i;
insert into item select i, 1 + i % {GROUPS}, 'kind ' || i % 50, i % 1000 + 0.25, 100, now()
  from generate_series(1, {ROWS}) i;
insert into line select i / 10, i % 10, i % 7, 'note ' || i from generate_series(10, {ROWS}) i;
insert into job select i, 'open' from generate_series(1, {ROWS}) i;
insert into counter select 'counter ' || i, 0 from generate_series(1, 100) i;
insert into seen select i, 0, 'seen' from generate_series(1, {ROWS}) i;
"""

KEY = f"\\set k random(1, {ROWS})\n"
OWNER = f"\\set o random(1, {GROUPS})\n"


def keys(count, seed=1):
    return sorted(random.Random(seed).sample(range(1, ROWS + 1), count))


def listed(count):
    return ", ".join(map(str, keys(count)))


def parameters(count):
    """So many keys that pgbench draws, and their names."""
    names = [f"k{i}" for i in range(count)]
    return "".join(f"\\set {n} random(1, {ROWS})\n" for n in names), ", ".join(f":{n}" for n in names)


TEN, TEN_NAMES = parameters(10)
HUNDRED, HUNDRED_NAMES = parameters(100)

READS = {
    "look-up": KEY + "select id, owner, kind, price from item where id = :k;",
    "look-up, all columns": KEY + "select * from item where id = :k;",
    "look-up, limit 1": KEY + "select * from item where id = :k limit 1;",
    "look-up, expression": KEY + "select id, price * 2, upper(kind), stock > 10 from item where id = :k;",
    "look-up of nothing": f"\\set k random(-{ROWS}, -1)\nselect * from item where id = :k;",
    "composite key": KEY + "select * from line where a = :k / 10 and b = :k % 10;",
    "prefix of a composite key": KEY + "select b, quantity from line where a = :k / 10 order by b;",
    "range of 5": KEY + "select id, kind from item where id between :k and :k + 4 order by id;",
    "range of 100": KEY + "select id, kind from item where id >= :k and id < :k + 100 order by id;",
    "page by key": KEY + "select id, kind, price from item where id > :k order by id limit 20;",
    "page backwards": KEY + "select id, kind from item where id < :k order by id desc limit 20;",
    "sum of a range": KEY + "select count(*), sum(stock) from item where id between :k and :k + 99;",
    "secondary index": OWNER + "select id, price from item where owner = :o;",
    "secondary index, newest": OWNER + "select id, price from item where owner = :o order by id desc limit 5;",
    "count by an index": OWNER + "select count(*) from item where owner = :o;",
    "IN of 1": KEY + "select id, kind from item where id in (:k);",
    "IN of 10": TEN + f"select id, kind from item where id in ({TEN_NAMES});",
    "IN of 100": HUNDRED + f"select id, kind from item where id in ({HUNDRED_NAMES});",
    "IN of 1,000": f"select count(*) from item where id in ({listed(1000)});",
    "IN of 10,000": f"select count(*) from item where id in ({listed(10000)});",
    "ANY of 10": TEN + f"select id, kind from item where id = any(array[{TEN_NAMES}]::int[]);",
    "ANY of 1,000": f"select count(*) from item where id = any('{{{listed(1000)}}}'::int[]);",
    "join of two": KEY + "select i.id, o.name from item i join owner o on o.id = i.owner where i.id = :k;",
    "join of three": KEY + "select l.b, i.kind, o.name from line l join item i on i.id = l.a join owner o on o.id = i.owner "
                           "where l.a = :k / 10;",
    "join of four": KEY + "select l.b, i.kind, o.name, s.n from line l join item i on i.id = l.a "
                          "join owner o on o.id = i.owner left join seen s on s.id = i.id where l.a = :k / 10;",
    "VALUES with two tables": TEN + f"select v.k, i.kind, o.name from (values "
                              f"{', '.join(f'(:k{i}::int)' for i in range(10))}) v(k) join item i on i.id = v.k "
                              "join owner o on o.id = i.owner order by v.k limit 5;",
    "EXISTS": KEY + "select id from item i where id between :k and :k + 9 and exists "
                    "(select 1 from line l where l.a = i.id);",
    "NOT EXISTS": KEY + "select id from item i where id between :k and :k + 9 and not exists "
                        "(select 1 from line l where l.a = i.id);",
    "scalar subquery": KEY + "select id, (select name from owner o where o.id = i.owner) from item i where id = :k;",
    "WITH": KEY + "with one as (select * from item where id = :k) select one.id, o.name from one "
                  "join owner o on o.id = one.owner;",
}

WRITES = {
    "INSERT of one": OWNER + "insert into event (owner, body) values (:o, 'something has happened');",
    "INSERT, RETURNING": OWNER + "insert into event (owner, body) values (:o, 'something') returning id;",
    "INSERT of 1,000": "insert into event (owner, body) values "
                       + ", ".join(f"({i}, 'row {i}')" for i in range(1, 1001)) + ";",
    "upsert": KEY + "insert into seen (id, n) values (:k, 1) on conflict (id) do update set n = seen.n + 1;",
    "INSERT, DO NOTHING": KEY + "insert into seen (id, n) values (:k, 1) on conflict do nothing;",
    "UPDATE by key": KEY + "update item set stock = stock - 1 where id = :k;",
    "UPDATE, text expression": KEY + "update line set note = left(note || ',17', 40) where a = :k / 10 and b = :k % 10;",
    "UPDATE, RETURNING": KEY + "update item set stock = stock + 1, changed = now() where id = :k returning stock;",
    "UPDATE by an index": OWNER + "update item set stock = stock + 1 where owner = :o and price < 10;",
    "UPDATE from a join": KEY + "update item i set kind = o.name from owner o where o.id = i.owner and i.id = :k;",
    "UPDATE of ten keys": TEN + f"update seen set n = n + 1 where id in ({TEN_NAMES});",
    "counter": "\\set c random(1, 100)\nupdate counter set n = n + 1 where name = 'counter ' || :c;",
    "DELETE and INSERT": KEY + "begin;\ndelete from seen where id = :k;\n"
                         "insert into seen values (:k, 0, 'again') on conflict do nothing;\ncommit;",
    "FOR UPDATE": KEY + "begin;\nselect stock from item where id = :k for update;\n"
                  "update item set stock = stock - 1 where id = :k;\ncommit;",
    "queue": "begin;\nselect id from job where state = 'open' order by id limit 1 for update skip locked \\gset j_\n"
             "update job set tries = tries + 1 where id = :j_id;\ncommit;",
    "transaction of five": KEY + OWNER + "begin;\nselect * from item where id = :k;\n"
                           "update item set stock = stock - 1 where id = :k;\n"
                           "insert into event (owner, body) values (:o, 'sold');\n"
                           "update counter set n = n + 1 where name = 'counter ' || (:o % 100 + 1);\n"
                           "select name from owner where id = :o;\ncommit;",
}

SHAPES = READS | WRITES

MORE = {
    "group by": OWNER + "select kind, count(*) from item where owner = :o group by kind;",
    "group by, order": OWNER + "select stock % 5 as rest, sum(price) from item where owner = :o group by stock % 5 "
                       "order by rest;",
    "HAVING": OWNER + "select owner, max(price) from item where owner between :o and :o + 3 group by owner "
              "having count(*) > 10;",
    "DISTINCT": OWNER + "select distinct kind from item where owner = :o;",
    "count distinct": OWNER + "select count(distinct kind) from item where owner = :o;",
    "UNION": KEY + "select id from item where id = :k union select id from seen where id = :k;",
    "UNION ALL": KEY + "select id from item where id = :k union all select id from seen where id = :k;",
    "EXCEPT": OWNER + "select kind from item where owner = :o except select 'kind 1';",
    "window": OWNER + "select id, row_number() over (order by price desc) from item where owner = :o;",
    "order by no key": OWNER + "select id, price from item where owner = :o order by price desc limit 5;",
    "string_agg": OWNER + "select string_agg(kind, ',' order by id) from item where owner = :o;",
    "join by no key": KEY + "select a.id, b.id from item a join item b on b.owner = a.owner where a.id = :k;",
    "groups of a left join": OWNER + "select o.id, count(i.id) from owner o left join item i on i.owner = o.id "
                             "where o.id = :o group by o.id;",
    "LATERAL": OWNER + "select o.id, x.id from owner o, lateral (select id from item i where i.owner = o.id "
               "order by id desc limit 3) x where o.id = :o;",
    "IN, subquery": OWNER + "select id from item where owner in (select id from owner where id = :o);",
    "NOT IN, subquery": KEY + "select id from owner where id between 5 and 15 and id not in "
                        "(select stock from item where id = :k);",
    "WITH, twice": OWNER + "with a as materialized (select * from item where owner = :o), "
                   "b as (select max(price) as most from a) select a.id from a, b where a.price = b.most;",
    "CASE and LIKE": OWNER + "select id, case when kind like 'kind 1%' then 'one' else upper(kind) end from item "
                     "where owner = :o;",
    "least and greatest": OWNER + "select (select max(id) from item where owner = :o), (select min(id) from item);",
    "OR, two indexes": KEY + OWNER + "select id from item where id = :k or owner = :o;",
    "filter that may be null": KEY + "select id from item where (:k::int is null or id = :k);",
    "ANY, computed": KEY + "select count(*) from item where id = any(array[:k, :k + 1, :k + 2]);",
    "small table": OWNER + "select id, name from owner where name = 'owner ' || :o;",
    "upsert, given": KEY + OWNER + "insert into seen (id, n) values (:k, 1) on conflict (id) do update set n = seen.n + :o;",
    "INSERT, computed": OWNER + "insert into event (owner, body) values (:o, md5(:o::text));",
    "INSERT, subquery": OWNER + "insert into event (owner, body) values (:o, (select name from owner where id = :o));",
    "INSERT of a query": KEY + "insert into seen select id, stock from item where id = :k on conflict do nothing;",
    "moments": OWNER + "select id from item where owner = :o and changed > timestamptz '2020-01-01' + :o * interval '1 day';",
    "page by two keys": KEY + "select a, b from line where (a, b) > (:k / 10, 3) order by a, b limit 10;",
    "rows of an array": KEY + "select u, i.kind from unnest(array[:k, :k + 1, :k + 2]::int[]) u join item i on i.id = u;",
    "rows of a series": KEY + "select g, i.kind from generate_series(:k, :k + 9) g left join item i on i.id = g;",
    "recursion": KEY + "with recursive t(id, d) as (select id, 0 from item where id = :k union all "
                 "select i.id, d + 1 from t join item i on i.id = t.id / 2 where d < 20) select * from t;",
    "both extremes": "select max(id), min(id) from item;",
    "subqueries by a key": OWNER + "select o.id, (select count(*) from item i where i.owner = o.id), "
                           "(select max(price) from item i where i.owner = o.id) from owner o "
                           "where id between :o and :o + 3;",
    "newest of each": OWNER + "select o.id, l.id, l.price from owner o left join lateral (select id, price from item i "
                      "where i.owner = o.id order by id desc limit 1) l on true where o.id between :o and :o + 10;",
    "EXISTS beside OR": OWNER + "select id from owner o where id between :o and :o + 5 and (region = 3 or exists "
                        "(select 1 from item i where i.owner = o.id and i.price > 990));",
    "ANY, subquery": OWNER + "select id from item where id = any (select id * 100 from owner where region = :o % 20);",
    "ANY, array of rows": KEY + "select id from item where id = any(array(select a from line "
                          "where a between :k / 10 and :k / 10 + 2));",
    "any ten": OWNER + "select id, to_char(changed, 'YYYY-MM-DD') from item where owner = :o limit 10;",
    "sequence": "select nextval('event_id_seq');",
    "advisory lock": KEY + "begin;\nselect pg_advisory_xact_lock(:k);\nselect stock from item where id = :k;\ncommit;",
    "queue, one statement": "update job set tries = tries + 1 where id = (select id from job where state = 'open' "
                            "order by id limit 1 for update skip locked) returning id;",
    "queue, WITH": "with next as (select id from job where state = 'open' order by id limit 5 for update skip locked) "
                   "update job j set tries = j.tries + 1 from next where j.id = next.id returning j.id;",
    "move": KEY + "with gone as (delete from seen where id = :k returning id, n) "
            "insert into seen select id, n, 'moved' from gone;",
    "UPDATE from VALUES": KEY + "update seen s set n = v.n from (values (:k, 5), (:k + 1, 6), (:k + 2, 7)) v(id, n) "
                          "where s.id = v.id;",
}
