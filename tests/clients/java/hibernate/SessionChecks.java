import jakarta.persistence.criteria.JoinType;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.hibernate.Hibernate;
import org.hibernate.LazyInitializationException;
import org.hibernate.ScrollMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;

/** Objects, keys, cascades, batches, HQL, criteria, native queries. */
class SessionChecks extends Checks {
    static void objectsAreKeptOnceASession() throws Exception {
        SessionFactory factory = fresh();
        Long id = from(factory, s -> {
            Entities.Customer ada = new Entities.Customer("Ada");
            ada.address = new Entities.Address("Main", "London");
            ada.since = LocalDate.of(1815, 12, 10);
            ada.phones.addAll(Set.of("1", "2"));
            s.persist(ada);
            return ada.id;
        });
        in(factory, s -> {
            Entities.Customer ada = s.find(Entities.Customer.class, id);
            equal(s.createQuery("from Customer where name = 'Ada'", Entities.Customer.class)
                .getSingleResult() == ada, true);
            equal(s.bySimpleNaturalId(Entities.Customer.class).load("Ada@example.org") == ada, true);
            equal(List.of(ada.address.city, ada.since, ada.phones.size()),
                List.of("London", LocalDate.of(1815, 12, 10), 2));
            ada.address = new Entities.Address("Side", "Paris");
            ada.phones.remove("1");
            s.flush();
            s.refresh(ada);
            equal(ada.address.city, "Paris");
        });
        Entities.Customer apart = from(factory, s -> s.find(Entities.Customer.class, id));
        fails(LazyInitializationException.class, null, () -> apart.purchases.size());
        apart.name = "Ada L.";
        equal(from(factory, s -> s.merge(apart).version), 1);
        equal(rows(factory, "select name from customer"), List.of("Ada L."));
    }

    static void cascadesAndOrphans() {
        SessionFactory factory = fresh();
        in(factory, s -> {
            Entities.Customer ada = new Entities.Customer("Ada");
            Entities.Product tea = new Entities.Product("tea", "2.50");
            s.persist(tea);
            for (int i = 0; i < 4; i++) {
                ada.buys("p" + i).of(tea, i + 1);
            }
            s.persist(ada);
        });
        in(factory, s -> {
            Entities.Customer ada = s.createQuery("from Customer", Entities.Customer.class).getSingleResult();
            ada.purchases.remove(0);
        });
        equal(List.of(from(factory, s -> count(s, "Purchase")), from(factory, s -> count(s, "Item"))),
            List.of(3L, 3L));
        in(factory, s -> s.remove(s.createQuery("from Customer", Entities.Customer.class).getSingleResult()));
        equal(from(factory, s -> count(s, "Purchase")), 0L);
        equal(from(factory, s -> count(s, "Product")), 1L);
    }

    static void insertsGoInBatches() {
        SessionFactory factory = fresh();
        in(factory, s -> {
            for (int i = 0; i < 1000; i++) {
                s.persist(new Entities.Customer("c" + i));
                if (i % 100 == 99) {
                    s.flush();
                    s.clear();
                }
            }
        });
        // Each fifty keys are one call of the sequence, each thirty rows one batch.
        long statements = factory.getStatistics().getPrepareStatementCount();
        equal(statements < 100, true);
        equal(from(factory, s -> count(s, "Customer")), 1000L);
        in(factory, s -> {
            for (int i = 0; i < 200; i++) {
                Entities.Purchase purchase = new Entities.Purchase();
                purchase.customer = s.getReference(Entities.Customer.class, firstCustomer(s));
                s.persist(purchase);
            }
        });
        in(factory, s -> {
            s.createQuery("from Customer", Entities.Customer.class).setMaxResults(90)
                .getResultList().forEach(c -> c.since = LocalDate.EPOCH);
        });
        equal(from(factory, s -> s.createQuery("select count(*) from Customer where version = 1", Long.class)
            .getSingleResult()), 90L);
        try (var stateless = factory.openStatelessSession()) {
            var transaction = stateless.beginTransaction();
            stateless.setJdbcBatchSize(50);
            for (int i = 0; i < 120; i++) {
                stateless.insert(new Entities.Note("s", i, "n" + i));
            }
            stateless.upsert(new Entities.Note("s", 3, "again"));
            stateless.upsert(new Entities.Note("t", 1, "new"));
            transaction.commit();
        }
        equal(rows(factory, "select text from note where number = 3 or subject = 't' order by subject"),
            List.of("again", "new"));
    }

    static Long firstCustomer(Session s) {
        return s.createQuery("select min(id) from Customer", Long.class).getSingleResult();
    }

    static void valuesComeBackAsTheyWere() {
        SessionFactory factory = fresh();
        Entities.Product made = new Entities.Product("ü", "12345678.90");
        made.picture = new byte[] {0, -1, 7};
        made.lasts = Duration.ofMillis(90_061_001);
        made.story = "long ".repeat(10_000);
        made.words = new String[] {"a", null, "c\"d"};
        made.weight = 0.1;
        made.sold = true;
        made.rank = 21;
        in(factory, s -> s.persist(made));
        equal(made.twice, 42L);
        Entities.Product found = from(factory, s -> s.find(Entities.Product.class, made.id));
        equal(List.of(found.name, found.price, found.lasts, found.story, found.weight, found.sold, found.rank,
                found.letter, found.twice),
            List.of("ü", new BigDecimal("12345678.90"), made.lasts, made.story, 0.1, true, (short) 21, 'a', 42L));
        equal(Arrays.equals(found.picture, made.picture) && Arrays.equals(found.words, made.words), true);
        equal(from(factory, s -> s.createQuery("from Product where array_contains(words, 'a')",
            Entities.Product.class).getResultList().size()), 1);
    }

    static void keysOfTwoColumns() {
        SessionFactory factory = fresh();
        in(factory, s -> IntStream.range(0, 5).forEach(i -> s.persist(new Entities.Note("a", i, "t" + i))));
        in(factory, s -> {
            equal(s.find(Entities.Note.class, new Entities.Key("a", 3)).text, "t3");
            equal(s.byMultipleIds(Entities.Note.class).multiLoad(new Entities.Key("a", 1),
                new Entities.Key("b", 1)).get(1), null);
            equal(s.createQuery("from Note where id in (:keys)", Entities.Note.class).setParameterList("keys",
                List.of(new Entities.Key("a", 0), new Entities.Key("a", 4))).getResultList().size(), 2);
        });
    }

    static void twoClassesInTwoTables() {
        SessionFactory factory = fresh();
        in(factory, s -> {
            s.persist(new Entities.Customer("person"));
            s.persist(new Entities.Company("firm", "1000.50"));
        });
        in(factory, s -> {
            var all = s.createQuery("from Customer order by name", Entities.Customer.class).getResultList();
            equal(all.stream().map(c -> c instanceof Entities.Company).toList(), List.of(true, false));
            equal(s.createQuery("select treat(c as Company).capital from Customer c where type(c) = Company",
                BigDecimal.class).getSingleResult(), new BigDecimal("1000.50"));
            equal(s.createMutationQuery("update Company set capital = capital * 2, name = 'big'")
                .executeUpdate(), 1);
            equal(s.createMutationQuery("delete Customer where name = 'big'").executeUpdate(), 1);
        });
        equal(rows(factory, "select count(*) from company"), List.of(0L));
    }

    static void shop(SessionFactory factory) {
        in(factory, s -> {
            Entities.Product tea = new Entities.Product("tea", "2.50");
            Entities.Product pot = new Entities.Product("pot", "20.00");
            s.persist(tea);
            s.persist(pot);
            for (int i = 0; i < 6; i++) {
                Entities.Customer customer = new Entities.Customer("c" + i);
                for (int k = 0; k < i; k++) {
                    Entities.Purchase purchase = customer.buys("r" + k);
                    purchase.of(tea, k + 1);
                    if (k % 2 == 0) {
                        purchase.of(pot, 1);
                        purchase.state = Entities.State.PAID;
                    }
                }
                s.persist(customer);
            }
        });
    }

    static void queriesOfHql() {
        SessionFactory factory = fresh();
        shop(factory);
        in(factory, s -> {
            equal(s.createQuery("select c.name, sum(i.amount * i.product.price) from Customer c join c.purchases p"
                    + " join p.items i group by c.name having sum(i.amount) > 6 order by 2 desc", Object[].class)
                .getResultStream().map(r -> r[0] + "=" + r[1]).toList(),
                List.of("c5=97.50", "c4=65.00", "c3=55.00"));
            equal(s.createQuery("select name from Customer c where not exists (select 1 from Purchase p"
                + " where p.customer = c)", String.class).getSingleResult(), "c0");
            equal(s.createQuery("select count(p) from Purchase p where p.state = :s and p.customer.name like 'c_'",
                Long.class).setParameter("s", Entities.State.PAID).getSingleResult(), 9L);
            equal(s.createQuery("select c.name from Customer c left join c.purchases p group by c.name"
                + " order by count(p) desc, c.name", String.class).setFirstResult(1).setMaxResults(2)
                .getResultList(), List.of("c4", "c3"));
            equal(s.createQuery("select distinct c from Customer c join fetch c.purchases p"
                + " where c.name = 'c3'", Entities.Customer.class).getSingleResult().purchases.size(), 3);
            equal(s.createQuery("with t as (select c.name as name, size(c.purchases) as n from Customer c)"
                + " select max(t.n) from t t", Integer.class).getSingleResult(), 5);
            equal(s.createQuery("select p.remark, row_number() over (partition by p.customer order by p.id desc) as n"
                + " from Purchase p where p.customer.name = 'c2' order by 2", Object[].class).getResultList()
                .get(0)[0], "r1");
            equal(s.createQuery("select case when c.since is null then coalesce(c.address.city, 'none') else 'x' end"
                + " from Customer c where c.name in ('c1')", String.class).getSingleResult(), "none");
            equal(s.createQuery("select name from Customer union select name from Product", String.class)
                .getResultList().size(), 8);
            equal(s.createQuery("select extract(year from p.placed) > 2000, upper(p.remark), length(p.remark)"
                + " from Purchase p order by p.id", Object[].class).setMaxResults(1).getSingleResult()[0], true);
            equal(s.createMutationQuery("insert into Note (id.subject, id.number, text) select name, 1, mail"
                + " from Customer").executeUpdate(), 6);
            equal(s.createMutationQuery("update Purchase p set p.remark = concat(p.remark, '!') where"
                + " p.customer in (select c from Customer c where c.name = 'c5')").executeUpdate(), 5);
            equal(s.createMutationQuery("delete Note where id.subject > 'c2'").executeUpdate(), 3);
        });
    }

    static void queriesOfCriteria() {
        SessionFactory factory = fresh();
        shop(factory);
        in(factory, s -> {
            var builder = s.getCriteriaBuilder();
            var query = builder.createTupleQuery();
            var customer = query.from(Entities.Customer.class);
            var purchase = customer.join("purchases", JoinType.LEFT);
            var number = builder.count(purchase);
            query.multiselect(customer.get("name"), number).groupBy(customer.get("name"))
                .having(builder.ge(number, 4L)).orderBy(builder.asc(customer.get("name")));
            equal(s.createQuery(query).getResultStream().map(t -> t.get(0) + "=" + t.get(1)).toList(),
                List.of("c4=4", "c5=5"));
            var update = builder.createCriteriaUpdate(Entities.Product.class);
            var product = update.from(Entities.Product.class);
            update.set(product.<BigDecimal>get("price"), builder.prod(product.get("price"), new BigDecimal(2)))
                .where(builder.equal(product.get("name"), "tea"));
            equal(s.createMutationQuery(update).executeUpdate(), 1);
            var delete = builder.createCriteriaDelete(Entities.Item.class);
            delete.where(builder.greaterThan(delete.from(Entities.Item.class).get("amount"), 3));
            equal(s.createMutationQuery(delete).executeUpdate(), 3);
        });
        equal(rows(factory, "select price from product where name = 'tea'"), List.of(new BigDecimal("5.00")));
    }

    static void nativeQueriesAndCursors() {
        SessionFactory factory = fresh();
        in(factory, s -> IntStream.range(0, 500).forEach(i -> s.persist(new Entities.Account(i, i))));
        in(factory, s -> {
            equal(s.createNativeQuery("select * from account where balance >= :least order by id",
                Entities.Account.class).setParameter("least", 498).getResultList().size(), 2);
            try (var rows = s.createQuery("from Account order by id", Entities.Account.class).setFetchSize(20)
                    .scroll(ScrollMode.FORWARD_ONLY)) {
                long sum = 0;
                while (rows.next()) {
                    sum += rows.get().balance;
                }
                equal(sum, 499L * 500 / 2);
            }
            equal(s.createQuery("from Account", Entities.Account.class).setFetchSize(50).getResultStream()
                .mapToLong(a -> a.balance).sum(), 499L * 500 / 2);
        });
    }

    static void waysOfLoading() {
        SessionFactory factory = fresh();
        shop(factory);
        in(factory, s -> {
            factory.getStatistics().clear();
            var all = s.createQuery("from Customer order by name", Entities.Customer.class).getResultList();
            equal(all.stream().map(c -> c.purchases.size()).toList(), List.of(0, 1, 2, 3, 4, 5));
            equal(factory.getStatistics().getPrepareStatementCount(), 2L);
            var graph = s.createEntityGraph(Entities.Purchase.class);
            graph.addAttributeNodes("customer");
            graph.addSubgraph("items").addAttributeNodes("product");
            s.clear();
            factory.getStatistics().clear();
            var found = s.createQuery("from Purchase where remark = 'r4'", Entities.Purchase.class)
                .setHint("jakarta.persistence.fetchgraph", graph).getSingleResult();
            equal(Hibernate.isInitialized(found.customer) && found.items.size() == 2, true);
            equal(factory.getStatistics().getPrepareStatementCount(), 1L);
        });
    }
}
