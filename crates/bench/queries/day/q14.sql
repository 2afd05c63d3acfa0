-- One join: one day of Q14.
select
    sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) as promo,
    sum(l_extendedprice * (1 - l_discount)) as total
from lineitem, part
where l_partkey = p_partkey
  and l_shipdate = date '1995-09-01'
