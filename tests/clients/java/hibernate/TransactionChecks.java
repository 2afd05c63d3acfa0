import jakarta.persistence.LockModeType;
import jakarta.persistence.OptimisticLockException;
import java.sql.Connection;
import java.sql.Savepoint;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.hibernate.LockMode;
import org.hibernate.LockOptions;
import org.hibernate.PessimisticLockException;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.dialect.lock.OptimisticEntityLockException;
import org.hibernate.exception.ConstraintViolationException;

/** Versions, locks, savepoints, levels of isolation, failures, threads, a pool. */
class TransactionChecks extends Checks {
    static void accounts(SessionFactory factory, int count, long balance) {
        in(factory, s -> IntStream.range(0, count).forEach(i -> s.persist(new Entities.Account(i, balance))));
    }

    static void versionsFindLostUpdates() throws Exception {
        SessionFactory factory = fresh();
        Long id = from(factory, s -> {
            Entities.Customer made = new Entities.Customer("a");
            s.persist(made);
            return made.id;
        });
        fails(OptimisticLockException.class, null, () -> in(factory, s -> {
            Entities.Customer mine = s.find(Entities.Customer.class, id);
            in(factory, other -> other.find(Entities.Customer.class, id).name = "theirs");
            mine.name = "mine";
        }));
        equal(rows(factory, "select name from customer"), List.of("theirs"));
        Entities.Customer apart = from(factory, s -> s.find(Entities.Customer.class, id));
        in(factory, s -> s.find(Entities.Customer.class, id).name = "newer");
        fails(OptimisticLockException.class, null, () -> in(factory, s -> s.merge(apart)));
        in(factory, s -> s.find(Entities.Customer.class, id, LockModeType.OPTIMISTIC_FORCE_INCREMENT));
        equal(from(factory, s -> s.find(Entities.Customer.class, id).version), 3);
        fails(OptimisticEntityLockException.class, null, () -> in(factory, s -> {
            s.find(Entities.Customer.class, id, LockModeType.OPTIMISTIC);
            in(factory, other -> other.find(Entities.Customer.class, id).name = "last");
        }));
    }

    static void rowsAreLocked() throws Exception {
        SessionFactory factory = fresh();
        accounts(factory, 3, 10);
        in(factory, s -> {
            s.find(Entities.Account.class, 1, LockModeType.PESSIMISTIC_WRITE);
            try {
                fails(PessimisticLockException.class, "55P03", () -> in(factory, other -> other.find(
                    Entities.Account.class, 1, LockModeType.PESSIMISTIC_READ,
                    Map.of("jakarta.persistence.lock.timeout", 0))));
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
            equal(from(factory, other -> other.createQuery("select id from Account order by id", Integer.class)
                .setLockMode(LockModeType.PESSIMISTIC_WRITE)
                .setHint("jakarta.persistence.lock.timeout", LockOptions.SKIP_LOCKED).getResultList()),
                List.of(0, 2));
            equal(from(factory, other -> other.find(Entities.Account.class, 1).balance), 10L);
            equal(from(factory, other -> other.createSelectionQuery("from Account where id = 2",
                Entities.Account.class).setHibernateLockMode(LockMode.UPGRADE_NOWAIT).getSingleResult().id), 2);
        });
        in(factory, s -> {
            Entities.Account shared = s.find(Entities.Account.class, 1, LockModeType.PESSIMISTIC_READ);
            in(factory, other -> other.find(Entities.Account.class, 1, LockModeType.PESSIMISTIC_READ));
            shared.balance++;
            s.flush();
            s.refresh(shared, LockModeType.PESSIMISTIC_WRITE);
            equal(shared.balance, 11L);
        });
    }

    static void rowsOfJoinsAreLocked() {
        SessionFactory factory = fresh();
        SessionChecks.shop(factory);
        in(factory, s -> {
            var query = s.createSelectionQuery("select p from Purchase p join p.customer c where c.name = 'c1'",
                Entities.Purchase.class).setHibernateLockMode(LockMode.PESSIMISTIC_WRITE);
            equal(query.getResultList().size(), 1);
            in(factory, other -> {
                other.createNativeMutationQuery("set local lock_timeout = '5s'").executeUpdate();
                equal(other.createMutationQuery("update Purchase p set remark = 'x' where p.customer.id in"
                    + " (select id from Customer where name = 'c2')").executeUpdate(), 2);
                equal(other.createMutationQuery("update Product set rank = 3 where name = 'tea'")
                    .executeUpdate(), 1);
            });
        });
    }

    static void rowsOfTwoTablesAreLocked() {
        SessionFactory factory = fresh();
        in(factory, s -> {
            // Of a subclass: both of its tables are joined.
            s.persist(new Entities.Company("firm", "1"));
            s.flush();
            s.clear();
            equal(s.createQuery("from Company", Entities.Company.class)
                .setLockMode(LockModeType.PESSIMISTIC_WRITE).getSingleResult().name, "firm");
        });
    }

    static void transactionsWithinTransactionsAreSavepoints() {
        SessionFactory factory = fresh();
        in(factory, s -> {
            s.persist(new Entities.Note("kept", 1, ""));
            s.flush();
            s.doWork(c -> {
                Savepoint outer = c.setSavepoint();
                c.createStatement().execute("insert into note values (1, 'inner', 'x')");
                Savepoint inner = c.setSavepoint("inner");
                try {
                    c.createStatement().execute("insert into note values (1, 'kept', 'x')");
                    throw new AssertionError("the key was taken twice");
                } catch (java.sql.SQLException error) {
                    equal(error.getSQLState(), "23505");
                    c.rollback(inner);
                }
                equal(number(c), 2);
                c.releaseSavepoint(inner);
                c.rollback(outer);
                equal(number(c), 1);
            });
            s.persist(new Entities.Note("after", 1, ""));
        });
        equal(rows(factory, "select subject from note order by 1"), List.of("after", "kept"));
    }

    static int number(Connection c) throws java.sql.SQLException {
        try (var rows = c.createStatement().executeQuery("select count(*) from note")) {
            rows.next();
            return rows.getInt(1);
        }
    }

    static void failuresAreTranslated() throws Exception {
        SessionFactory factory = fresh();
        accounts(factory, 1, 1);
        fails(ConstraintViolationException.class, "23505", () -> accounts(factory, 1, 1));
        fails(ConstraintViolationException.class, "23514",
            () -> in(factory, s -> s.find(Entities.Account.class, 0).balance = -1));
        fails(ConstraintViolationException.class, "23502", () -> in(factory, s -> {
            Entities.Customer unnamed = new Entities.Customer("x");
            s.persist(unnamed);
            s.createMutationQuery("update Customer set name = null").executeUpdate();
        }));
        fails(ConstraintViolationException.class, "23503",
            () -> execute(factory, "insert into item (id, amount, product_id, purchase_id)"
                + " values (1, 1, gen_random_uuid(), 1)"));
        try {
            accounts(factory, 1, 1);
        } catch (ConstraintViolationException error) {
            equal(error.getConstraintName(), "account_pkey");
        }
        fails(org.hibernate.exception.DataException.class, "22001",
            () -> in(factory, s -> s.persist(new Entities.Customer("n".repeat(61)))));
        fails(org.hibernate.exception.SQLGrammarException.class, "42P01",
            () -> rows(factory, "select * from nowhere"));
        equal(from(factory, s -> count(s, "Account")), 1L);
    }

    static void snapshotsConflict() throws Exception {
        fresh();
        try (SessionFactory factory = factory("hibernate.hbm2ddl.auto", "none",
                "hibernate.connection.isolation", "REPEATABLE_READ")) {
            accounts(factory, 2, 10);
            fails(OptimisticLockException.class, "40001", () -> in(factory, s -> {
                equal(s.find(Entities.Account.class, 0).balance, 10L);
                in(factory, other -> {
                    other.find(Entities.Account.class, 0).balance = 5;
                    other.find(Entities.Account.class, 1).balance = 5;
                });
                Entities.Account second = s.find(Entities.Account.class, 1);
                equal(second.balance, 10L);
                second.balance++;
            }));
        }
    }

    static void serializableThreadsMoveMoney() throws Exception {
        fresh();
        try (SessionFactory factory = factory("hibernate.hbm2ddl.auto", "none",
                "hibernate.connection.isolation", "SERIALIZABLE")) {
            accounts(factory, 4, 5);
            threads(6, number -> IntStream.range(0, 15).forEach(i -> {
                while (!moved(factory, (number + i) % 4, (number + i + 1) % 4)) {
                    Thread.onSpinWait();
                }
            }));
            equal(from(factory, s -> s.createQuery("select sum(balance) from Account", Long.class)
                .getSingleResult()), 20L);
        }
    }

    static boolean moved(SessionFactory factory, int source, int target) {
        try {
            in(factory, s -> {
                Entities.Account paid = s.find(Entities.Account.class, source);
                Entities.Account got = s.find(Entities.Account.class, target);
                if (paid.balance > 0) {
                    paid.balance--;
                    got.balance++;
                }
            });
            return true;
        } catch (RuntimeException error) {
            for (Throwable at = error; at != null; at = at.getCause()) {
                if (at instanceof java.sql.SQLException sql && List.of("40001", "40P01").contains(sql.getSQLState())) {
                    return false;
                }
            }
            throw error;
        }
    }

    static void threadsCountWithVersions() throws Exception {
        SessionFactory factory = fresh();
        Long id = from(factory, s -> {
            Entities.Customer made = new Entities.Customer("0");
            s.persist(made);
            return made.id;
        });
        threads(5, number -> {
            for (int done = 0; done < 10;) {
                try {
                    in(factory, s -> {
                        Entities.Customer found = s.find(Entities.Customer.class, id);
                        found.name = String.valueOf(Integer.parseInt(found.name) + 1);
                    });
                    done++;
                } catch (OptimisticLockException stale) {
                    continue;
                }
            }
        });
        equal(rows(factory, "select name from customer where version = 50"), List.of("50"));
    }

    static void workersTakeJobsOnce() throws Exception {
        SessionFactory factory = fresh();
        accounts(factory, 60, 1);
        var taken = new ConcurrentLinkedQueue<Integer>();
        threads(5, number -> {
            while (from(factory, s -> takes(s, taken))) {
                Thread.onSpinWait();
            }
        });
        equal(taken.stream().sorted().toList(), IntStream.range(0, 60).boxed().toList());
    }

    static boolean takes(Session s, ConcurrentLinkedQueue<Integer> taken) {
        var job = s.createQuery("from Account order by id", Entities.Account.class).setMaxResults(1)
            .setLockMode(LockModeType.PESSIMISTIC_WRITE)
            .setHint("jakarta.persistence.lock.timeout", LockOptions.SKIP_LOCKED).uniqueResultOptional();
        job.ifPresent(found -> {
            s.remove(found);
            s.flush();
            taken.add(found.id);
        });
        return job.isPresent();
    }

    static void keysOfThreadsAreDistinct() throws Exception {
        SessionFactory factory = fresh();
        threads(6, number -> {
            for (int round = 0; round < 5; round++) {
                in(factory, s -> IntStream.range(0, 20).forEach(i -> s.persist(
                    new Entities.Customer(Thread.currentThread().getId() + "-" + System.nanoTime() + "-" + i))));
            }
        });
        equal(from(factory, s -> s.createQuery("select count(distinct id) from Customer", Long.class)
            .getSingleResult()), 600L);
        List<?> found = rows(factory, "select nextval('customer_ids')");
        equal(LongStream.of(((Number) found.get(0)).longValue()).allMatch(n -> n >= 600), true);
    }

    static void aPoolOfConnections() throws Exception {
        fresh();
        try (SessionFactory pooled = factory("hibernate.hbm2ddl.auto", "none",
                "hibernate.connection.provider_class", "hikari", "hibernate.hikari.maximumPoolSize", "4",
                "hibernate.hikari.connectionTimeout", "20000",
                "hibernate.hikari.dataSource.reWriteBatchedInserts", "true")) {
            threads(12, number -> in(pooled, s -> {
                s.persist(new Entities.Account(number, number));
                s.flush();
                s.createNativeQuery("select pg_sleep(0.02)", Object.class).getSingleResult();
            }));
            equal(from(pooled, s -> count(s, "Account")), 12L);
        }
    }

    static void readOnlyTransactions() throws Exception {
        SessionFactory factory = fresh();
        accounts(factory, 1, 1);
        fails(Exception.class, "25006", () -> in(factory, s -> {
            s.doWork(c -> c.createStatement().execute("set transaction read only"));
            s.find(Entities.Account.class, 0).balance = 2;
        }));
        in(factory, s -> {
            s.setDefaultReadOnly(true);
            s.find(Entities.Account.class, 0).balance = 3;
        });
        equal(rows(factory, "select balance from account"), List.of(1L));
    }
}
