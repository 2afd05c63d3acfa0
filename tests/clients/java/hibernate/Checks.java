import jakarta.persistence.EntityManager;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Runs the checks of Hibernate and prints one line for each, as python/checks.py does. */
public class Checks {
    static final int LIMIT_SECONDS = 60;
    static final String URL = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
        + "/" + System.getenv("PGDATABASE");
    static final String USER = System.getenv("PGUSER");

    interface Check { void run() throws Exception; }

    static void equal(Object found, Object wanted) {
        if (!Objects.deepEquals(found, wanted)) {
            throw new AssertionError("found " + found + ", wanted " + wanted);
        }
    }

    /** The call fails with this SQLSTATE, and with an exception of this class on the way to it. */
    static void fails(Class<? extends Exception> kind, String state, Check check) throws Exception {
        try {
            check.run();
        } catch (Exception error) {
            boolean of = false;
            String found = null;
            for (Throwable at = error; at != null; at = at.getCause()) {
                of |= kind.isInstance(at);
                found = at instanceof SQLException sql ? sql.getSQLState() : found;
            }
            if (!of || !Objects.equals(found, state)) {
                throw new AssertionError("wanted " + kind.getSimpleName() + " " + state + ", found "
                    + found, error);
            }
            return;
        }
        throw new AssertionError("no error, wanted " + state);
    }

    static Configuration configuration(String... options) {
        Configuration configuration = new Configuration()
            .setProperty("hibernate.connection.url", URL)
            .setProperty("hibernate.connection.username", USER)
            .setProperty("hibernate.connection.password", "unused")
            .setProperty("hibernate.connection.pool_size", "16")
            .setProperty("hibernate.hbm2ddl.auto", "create")
            .setProperty("hibernate.hbm2ddl.halt_on_error", "true")
            .setProperty("hibernate.generate_statistics", "true")
            .setProperty("hibernate.jdbc.batch_size", "30")
            .setProperty("hibernate.order_inserts", "true");
        for (int i = 0; i < options.length; i += 2) {
            configuration.setProperty(options[i], options[i + 1]);
        }
        return configuration;
    }

    static SessionFactory factory(String... options) {
        Configuration configuration = configuration(options);
        for (Class<?> entity : Entities.ALL) {
            configuration.addAnnotatedClass(entity);
        }
        return configuration.buildSessionFactory();
    }

    private static SessionFactory shared;

    /** One factory for all checks that need no other, with tables without rows. */
    static SessionFactory fresh() {
        if (shared == null) {
            shared = factory();
        } else {
            shared.getSchemaManager().truncateMappedObjects();
        }
        shared.getStatistics().clear();
        return shared;
    }

    static void in(SessionFactory factory, Consumer<Session> work) {
        factory.inTransaction(work);
    }

    static <T> T from(SessionFactory factory, Function<Session, T> work) {
        return factory.fromTransaction(work);
    }

    static long count(EntityManager session, String entity) {
        return session.createQuery("select count(*) from " + entity, Long.class).getSingleResult();
    }

    static List<?> rows(SessionFactory factory, String sql) {
        return from(factory, s -> s.createNativeQuery(sql, Object.class).getResultList());
    }

    static void execute(SessionFactory factory, String... statements) {
        in(factory, s -> {
            for (String statement : statements) {
                s.createNativeMutationQuery(statement).executeUpdate();
            }
        });
    }

    /** Runs it in so many threads; the first failure is thrown. */
    static void threads(int count, Consumer<Integer> work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(count);
        try {
            List<java.util.concurrent.Future<?>> running = new java.util.ArrayList<>();
            for (int i = 0; i < count; i++) {
                int number = i;
                running.add(pool.submit(() -> work.accept(number)));
            }
            for (var one : running) {
                one.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }

    public static void main(String[] wanted) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        System.out.println("version " + org.hibernate.Version.getVersionString().replace(".Final", ""));
        ExecutorService runner = Executors.newCachedThreadPool();
        for (Class<?> checks : List.of(SchemaChecks.class, SessionChecks.class, TransactionChecks.class,
                MigrationChecks.class)) {
            Method[] methods = checks.getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method method : methods) {
                boolean isCheck = method.getParameterCount() == 0 && !method.isSynthetic()
                    && Modifier.isStatic(method.getModifiers()) && method.getReturnType() == void.class;
                if (isCheck && (wanted.length == 0 || Arrays.asList(wanted).contains(method.getName()))) {
                    System.out.println(outcome(runner, method));
                }
            }
        }
        if (shared != null) {
            shared.getSchemaManager().dropMappedObjects(false);
        }
        System.exit(0);
    }

    static String outcome(ExecutorService runner, Method method) throws Exception {
        try {
            runner.submit(() -> method.invoke(null)).get(LIMIT_SECONDS, TimeUnit.SECONDS);
            return "ok " + method.getName();
        } catch (TimeoutException error) {
            shared = null;
            return "FAIL " + method.getName() + ": no end within " + LIMIT_SECONDS + " s";
        } catch (ExecutionException failure) {
            Throwable error = failure.getCause();
            error = error instanceof InvocationTargetException ? error.getCause() : error;
            return "FAIL " + method.getName() + ": " + place(error, method) + told(error);
        }
    }

    static String place(Throwable error, Method method) {
        for (var frame : error.getStackTrace()) {
            if (frame.getClassName().equals(method.getDeclaringClass().getName())) {
                return "line " + frame.getLineNumber() + ": ";
            }
        }
        return "";
    }

    static String told(Throwable error) {
        if (System.getenv("CLIENTS_TRACE") != null) {
            error.printStackTrace();
        }
        StringBuilder text = new StringBuilder();
        for (Throwable at = error; at != null; at = at.getCause()) {
            text.append(text.length() == 0 ? "" : " / ").append(at);
        }
        String line = text.toString().replaceAll("\\s+", " ");
        return line.substring(0, Math.min(500, line.length()));
    }
}
