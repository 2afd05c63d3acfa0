-- Two joins: who bought some parts. Index range on l_partkey, rows of lineitem, orders, customer.
select c_mktsegment, count(*) as orders, sum(l_quantity) as quantity
from lineitem, orders, customer
where l_partkey between 5000 and 5150
  and o_orderkey = l_orderkey and c_custkey = o_custkey
group by c_mktsegment
order by c_mktsegment
