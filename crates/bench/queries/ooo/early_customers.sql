-- Two joins, badly skewed: nearly all customers that qualify are the oldest ones, so that one
-- static partition of the customer table gets nearly all the work.
select c_mktsegment, count(*) as lines, sum(l_extendedprice) as price
from customer, orders, lineitem
where (c_custkey <= 1500 or c_acctbal > 9999)
  and c_custkey = o_custkey and o_orderkey = l_orderkey
group by c_mktsegment
order by c_mktsegment
