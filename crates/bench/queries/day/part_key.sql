-- Two joins: who bought one part.
select c_mktsegment, count(*) as orders, sum(l_quantity) as quantity
from lineitem, orders, customer
where l_partkey = 123457
  and o_orderkey = l_orderkey and c_custkey = o_custkey
group by c_mktsegment
order by c_mktsegment
