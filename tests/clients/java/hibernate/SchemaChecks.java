import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Column;
import jakarta.persistence.Table;
import java.util.List;
import org.hibernate.SessionFactory;
import org.hibernate.tool.schema.spi.SchemaManagementException;

/** `hbm2ddl`: tables are made, changed, found right and dropped. */
class SchemaChecks extends Checks {
    @Entity(name = "Growing")
    @Table(name = "growing")
    static class Small {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        String name;
    }

    @Entity(name = "Growing")
    @Table(name = "growing", indexes = @jakarta.persistence.Index(name = "growing_size", columnList = "size"))
    static class Large {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        String name;
        @Column(unique = true) Integer size;
        @jakarta.persistence.ManyToOne Large parent;
    }

    static SessionFactory growing(String action, Class<?> entity) {
        return configuration("hibernate.hbm2ddl.auto", action).addAnnotatedClass(entity).buildSessionFactory();
    }

    static void tablesAreMadeAndFoundRight() {
        fresh();
        factory("hibernate.hbm2ddl.auto", "validate").close();
        factory("hibernate.hbm2ddl.auto", "update").close();
        factory("hibernate.hbm2ddl.auto", "validate").close();
        equal(rows(fresh(), "select count(*) from information_schema.tables where table_schema = 'public'"
            + " and table_name in ('customer', 'company', 'customer_phone', 'purchase', 'item', 'product',"
            + " 'product_pair', 'account', 'note')"), List.of(9L));
    }

    static void tablesAreChanged() throws Exception {
        try (SessionFactory small = growing("create", Small.class)) {
            execute(small, "insert into growing (name) values ('old')");
        }
        fails(SchemaManagementException.class, null, () -> growing("validate", Large.class));
        try (SessionFactory large = growing("update", Large.class)) {
            in(large, s -> {
                Large parent = s.createQuery("from Growing", Large.class).getSingleResult();
                equal(parent.size, null);
                Large child = new Large();
                child.size = 7;
                child.parent = parent;
                s.persist(child);
            });
            fails(org.hibernate.exception.ConstraintViolationException.class, "23503",
                () -> execute(large, "delete from growing where name = 'old'"));
            fails(org.hibernate.exception.ConstraintViolationException.class, "23505",
                () -> execute(large, "insert into growing (size) values (7)"));
        }
        growing("validate", Large.class).close();
        growing("create-drop", Large.class).close();
        equal(rows(fresh(), "select to_regclass('growing') is null"), List.of(true));
    }

    static void tablesAreEmptied() {
        SessionFactory factory = fresh();
        in(factory, s -> s.persist(new Entities.Customer("a")));
        factory.getSchemaManager().truncateMappedObjects();
        equal(from(factory, s -> count(s, "Customer")), 0L);
        factory.getSchemaManager().validateMappedObjects();
    }
}
