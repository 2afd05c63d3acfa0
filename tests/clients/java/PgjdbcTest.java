import java.io.StringReader;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/**
 * pgjdbc: metadata, batches, fetch size, both formats, cancelling, generated keys, COPY, errors.
 * Prints one line for each check, as python/checks.py does.
 */
public class PgjdbcTest {
    static final int LIMIT_SECONDS = 60;
    static final String LONG = "select count(*) from generate_series(1, 3000) a,"
        + " generate_series(1, 3000) b, generate_series(1, 3000) c where a + b + c < 0";

    interface Check { void run() throws Exception; }

    static class Skip extends RuntimeException {
        Skip(String reason) { super(reason); }
    }

    static Connection connect(String... options) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", System.getenv("PGUSER"));
        properties.setProperty("password", "unused");
        for (int i = 0; i < options.length; i += 2) {
            properties.setProperty(options[i], options[i + 1]);
        }
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT")
            + "/" + System.getenv("PGDATABASE");
        return DriverManager.getConnection(url, properties);
    }

    static void equal(Object found, Object wanted) {
        if (!Objects.deepEquals(found, wanted)) {
            throw new AssertionError("found " + show(found) + ", wanted " + show(wanted));
        }
    }

    static String show(Object value) {
        return value instanceof Object[] array ? Arrays.deepToString(array) : String.valueOf(value);
    }

    static SQLException fails(String state, Check check) throws Exception {
        try {
            check.run();
        } catch (SQLException error) {
            if (!state.equals(error.getSQLState())) {
                throw new AssertionError(
                    "SQLSTATE " + error.getSQLState() + " (" + error.getMessage() + "), wanted "
                        + state);
            }
            return error;
        }
        throw new AssertionError("no error, wanted " + state);
    }

    static void execute(Connection c, String... statements) throws SQLException {
        try (Statement s = c.createStatement()) {
            for (String statement : statements) {
                s.execute(statement);
            }
        }
    }

    /** All rows, each cell as text, columns separated by a bar. */
    static List<String> rows(ResultSet result, String... columns) throws SQLException {
        List<String> rows = new ArrayList<>();
        while (result.next()) {
            StringBuilder row = new StringBuilder();
            int count = columns.length > 0 ? columns.length : result.getMetaData().getColumnCount();
            for (int i = 0; i < count; i++) {
                String cell =
                    columns.length > 0 ? result.getString(columns[i]) : result.getString(i + 1);
                row.append(i == 0 ? "" : "|").append(cell);
            }
            rows.add(row.toString());
        }
        result.close();
        return rows;
    }

    static List<String> query(Connection c, String text) throws SQLException {
        try (Statement s = c.createStatement()) {
            return rows(s.executeQuery(text));
        }
    }

    static final String[] SCHEMA = {
        "drop view if exists open_orders", "drop table if exists orders",
        "drop table if exists customers",
        "create table customers (id serial primary key, name varchar(40) not null,"
            + " mail text unique, credit numeric(12,2) default 0)",
        "create table orders (id bigint primary key, customer int not null references customers (id)"
            + " on delete cascade, placed timestamp, open boolean, note char(3))",
        "create index orders_placed on orders (placed, customer)",
        "create view open_orders as select id, customer from orders where open"
    };

    static void schema(Connection c) throws SQLException {
        for (String statement : SCHEMA) {
            execute(c, statement);
        }
    }

    static void metadataOfTables() throws Exception {
        try (Connection c = connect()) {
            schema(c);
            DatabaseMetaData m = c.getMetaData();
            equal(rows(m.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}),
                    "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS"),
                List.of("public|customers|TABLE|null", "public|orders|TABLE|null",
                    "public|open_orders|VIEW|null"));
            equal(rows(m.getColumns(null, "public", "customers", "%"), "COLUMN_NAME", "DATA_TYPE",
                    "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE", "IS_AUTOINCREMENT",
                    "ORDINAL_POSITION", "IS_NULLABLE"),
                List.of("id|4|serial|10|0|0|YES|1|NO", "name|12|varchar|40|0|0|NO|2|NO",
                    "mail|12|text|2147483647|0|1|NO|3|YES", "credit|2|numeric|12|2|1|NO|4|YES"));
            equal(rows(m.getColumns(null, "public", "orders", "%"), "COLUMN_NAME", "DATA_TYPE",
                    "TYPE_NAME", "COLUMN_SIZE"),
                List.of("id|-5|int8|19", "customer|4|int4|10", "placed|93|timestamp|29",
                    "open|-7|bool|1", "note|1|bpchar|3"));
        }
    }

    static void metadataOfKeysAndIndexes() throws Exception {
        try (Connection c = connect()) {
            schema(c);
            DatabaseMetaData m = c.getMetaData();
            equal(rows(m.getPrimaryKeys(null, "public", "orders"), "COLUMN_NAME", "KEY_SEQ",
                "PK_NAME"), List.of("id|1|orders_pkey"));
            String[] columns = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME",
                "UPDATE_RULE", "DELETE_RULE", "FK_NAME", "PK_NAME"};
            List<String> key =
                List.of("customers|id|orders|customer|3|0|orders_customer_fkey|customers_pkey");
            equal(rows(m.getImportedKeys(null, "public", "orders"), columns), key);
            equal(rows(m.getExportedKeys(null, "public", "customers"), columns), key);
            equal(rows(m.getCrossReference(null, "public", "customers", null, "public", "orders"),
                columns), key);
            equal(rows(m.getIndexInfo(null, "public", "orders", false, true), "NON_UNIQUE",
                    "INDEX_NAME", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC"),
                List.of("f|orders_pkey|1|id|A", "t|orders_placed|1|placed|A",
                    "t|orders_placed|2|customer|A"));
            equal(rows(m.getBestRowIdentifier(null, "public", "orders", 0, true), "COLUMN_NAME"),
                List.of("id"));
            equal(rows(m.getTablePrivileges(null, "public", "orders"), "PRIVILEGE")
                .containsAll(List.of("SELECT", "INSERT", "UPDATE", "DELETE")), true);
        }
    }

    static void metadataOfTheServer() throws Exception {
        try (Connection c = connect()) {
            DatabaseMetaData m = c.getMetaData();
            equal(m.getDatabaseProductName(), "PostgreSQL");
            equal(m.getDatabaseMajorVersion() >= 15, true);
            equal(m.getURL().startsWith("jdbc:postgresql:"), true);
            Set<String> schemas = new TreeSet<>(rows(m.getSchemas(), "TABLE_SCHEM"));
            equal(schemas.containsAll(Set.of("information_schema", "pg_catalog", "public")), true);
            equal(rows(m.getCatalogs()).contains(c.getCatalog()), true);
            equal(rows(m.getTableTypes()).contains("TABLE"), true);
            List<String> types = rows(m.getTypeInfo(), "TYPE_NAME");
            equal(types.containsAll(List.of("int4", "text", "numeric", "timestamptz")), true);
            m.getSQLKeywords();
            m.getMaxColumnNameLength();
            m.getNumericFunctions();
            rows(m.getFunctions(null, null, "upper"));
            rows(m.getFunctionColumns(null, null, "upper", "%"));
            rows(m.getProcedures(null, null, "%"));
            rows(m.getProcedureColumns(null, null, "upper", "%"));
            rows(m.getClientInfoProperties());
            rows(m.getUDTs(null, null, "%", null));
            equal(c.getSchema(), "public");
            equal(m.getDefaultTransactionIsolation(), Connection.TRANSACTION_READ_COMMITTED);
        }
    }

    static void metadataOfResults() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            schema(c);
            ResultSet r = s.executeQuery(
                "select id, name as n, credit, credit * 2 as twice from customers");
            ResultSetMetaData m = r.getMetaData();
            equal(m.getColumnCount(), 4);
            equal(m.getColumnType(1), Types.INTEGER);
            equal(m.getColumnTypeName(1), "serial");
            equal(m.isAutoIncrement(1), true);
            equal(m.getTableName(1), "customers");
            equal(((org.postgresql.PGResultSetMetaData) m).getBaseColumnName(2), "name");
            equal(m.getColumnLabel(2), "n");
            equal(m.isNullable(2), ResultSetMetaData.columnNoNulls);
            equal(m.getPrecision(2), 40);
            equal(m.getPrecision(3), 12);
            equal(m.getScale(3), 2);
            equal(m.getTableName(4), "");
            equal(m.isNullable(4), ResultSetMetaData.columnNullableUnknown);
        }
    }

    static void metadataOfParameters() throws Exception {
        try (Connection c = connect()) {
            schema(c);
            try (PreparedStatement p = c.prepareStatement(
                    "update customers set credit = credit + ?, name = ? where id = ?")) {
                equal(p.getParameterMetaData().getParameterCount(), 3);
                equal(p.getParameterMetaData().getParameterTypeName(1), "numeric");
                equal(p.getParameterMetaData().getParameterTypeName(3), "int4");
                equal(p.getMetaData(), null);
            }
            try (PreparedStatement p = c.prepareStatement("select name from customers where id = ?")) {
                equal(p.getMetaData().getColumnName(1), "name");
            }
        }
    }

    static void types(String... options) throws Exception {
        try (Connection c = connect(options)) {
            execute(c, "drop table if exists jtypes",
                "create table jtypes (id int primary key, s smallint, b bigint, r real,"
                    + " f double precision, n numeric(20,5), o boolean, t text, c char(4), d date,"
                    + " m time, ts timestamp, tz timestamptz, u uuid, y bytea, a int[], ta text[])");
            UUID uuid = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");
            OffsetDateTime moment = OffsetDateTime.of(2024, 2, 29, 1, 2, 3, 4000, ZoneOffset.UTC);
            try (PreparedStatement p = c.prepareStatement(
                    "insert into jtypes values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")) {
                for (int id = 1; id <= 12; id++) {
                    p.setInt(1, id);
                    p.setShort(2, (short) -7);
                    p.setLong(3, Long.MIN_VALUE);
                    p.setFloat(4, 1.25f);
                    p.setDouble(5, -0.1);
                    p.setBigDecimal(6, new BigDecimal("-12345.67891"));
                    p.setBoolean(7, true);
                    p.setString(8, "ж 'quoted'");
                    p.setString(9, "ab");
                    p.setObject(10, LocalDate.of(1960, 1, 31));
                    p.setObject(11, LocalTime.of(23, 59, 58, 123000));
                    p.setObject(12, LocalDateTime.of(1969, 7, 20, 20, 17, 40, 5000));
                    p.setObject(13, moment);
                    p.setObject(14, uuid);
                    p.setBytes(15, new byte[] {0, -1, 39, 92});
                    p.setArray(16, c.createArrayOf("int4", new Integer[] {1, null, -2}));
                    p.setArray(17, c.createArrayOf("text", new String[] {"x", null, "y,\"z\""}));
                    equal(p.executeUpdate(), 1);
                }
                p.setInt(1, 100);
                int[] sql = {Types.SMALLINT, Types.BIGINT, Types.REAL, Types.DOUBLE, Types.NUMERIC,
                    Types.BIT, Types.VARCHAR, Types.CHAR, Types.DATE, Types.TIME, Types.TIMESTAMP,
                    Types.TIMESTAMP_WITH_TIMEZONE, Types.OTHER, Types.BINARY, Types.ARRAY,
                    Types.ARRAY};
                for (int i = 0; i < sql.length; i++) {
                    p.setNull(i + 2, sql[i]);
                }
                equal(p.executeUpdate(), 1);
            }
            try (PreparedStatement p = c.prepareStatement("select * from jtypes where id = ?")) {
                // After five uses the driver names the statement and asks for binary.
                for (int id = 1; id <= 12; id++) {
                    p.setInt(1, id);
                    ResultSet r = p.executeQuery();
                    equal(r.next(), true);
                    equal(r.getShort(2), (short) -7);
                    equal(r.getLong(3), Long.MIN_VALUE);
                    equal(r.getFloat(4), 1.25f);
                    equal(r.getDouble(5), -0.1);
                    equal(r.getBigDecimal(6), new BigDecimal("-12345.67891"));
                    equal(r.getBoolean(7), true);
                    equal(r.getString(8), "ж 'quoted'");
                    equal(r.getString(9).stripTrailing(), "ab");
                    equal(r.getObject(10, LocalDate.class), LocalDate.of(1960, 1, 31));
                    equal(r.getObject(11, LocalTime.class), LocalTime.of(23, 59, 58, 123000));
                    equal(r.getObject(12, LocalDateTime.class),
                        LocalDateTime.of(1969, 7, 20, 20, 17, 40, 5000));
                    equal(r.getObject(13, OffsetDateTime.class), moment);
                    equal(r.getObject(14), uuid);
                    equal(r.getBytes(15), new byte[] {0, -1, 39, 92});
                    equal(r.getArray(16).getArray(), new Integer[] {1, null, -2});
                    equal(r.getArray(17).getArray(), new String[] {"x", null, "y,\"z\""});
                    r.close();
                }
                p.setInt(1, 100);
                ResultSet r = p.executeQuery();
                r.next();
                for (int i = 2; i <= 17; i++) {
                    equal(r.getObject(i), null);
                }
            }
            execute(c, "drop table jtypes");
        }
    }

    static void typesByDefault() throws Exception {
        types();
    }

    static void typesInBinaryFromTheFirstUse() throws Exception {
        types("prepareThreshold", "-1", "binaryTransfer", "true", "binaryTransferEnable",
            "NUMERIC,TIMESTAMP,TIMESTAMPTZ,DATE,TIME,UUID,BYTEA,INT4_ARRAY,TEXT_ARRAY");
    }

    static void typesInTextOnly() throws Exception {
        types("binaryTransfer", "false", "prepareThreshold", "1");
    }

    static void typesBySimpleQueries() throws Exception {
        types("preferQueryMode", "simple");
    }

    static void typesByExtendedQueriesForAll() throws Exception {
        types("preferQueryMode", "extendedCacheEverything");
    }

    static void datesOfTheOldKind() throws Exception {
        try (Connection c = connect(); PreparedStatement p =
                c.prepareStatement("select ?::date, ?::timestamp, ?::time")) {
            p.setDate(1, java.sql.Date.valueOf("2020-02-29"));
            p.setTimestamp(2, java.sql.Timestamp.valueOf("2020-02-29 12:34:56.789"));
            p.setTime(3, java.sql.Time.valueOf("01:02:03"));
            ResultSet r = p.executeQuery();
            r.next();
            equal(r.getDate(1).toString(), "2020-02-29");
            equal(r.getTimestamp(2).toString(), "2020-02-29 12:34:56.789");
            equal(r.getTime(3).toString(), "01:02:03");
        }
    }

    static void generatedKeys() throws Exception {
        try (Connection c = connect()) {
            schema(c);
            try (PreparedStatement p = c.prepareStatement("insert into customers (name) values (?)",
                    Statement.RETURN_GENERATED_KEYS)) {
                p.setString(1, "a");
                equal(p.executeUpdate(), 1);
                ResultSet keys = p.getGeneratedKeys();
                equal(keys.next(), true);
                equal(keys.getInt("id"), 1);
                equal(keys.getString("name"), "a");
            }
            try (PreparedStatement p = c.prepareStatement("insert into customers (name) values (?)",
                    new String[] {"id"})) {
                for (String name : List.of("b", "c", "d")) {
                    p.setString(1, name);
                    p.addBatch();
                }
                equal(p.executeBatch(), new int[] {1, 1, 1});
                equal(rows(p.getGeneratedKeys()), List.of("2", "3", "4"));
            }
        }
    }

    static void batch(boolean rewrite) throws Exception {
        try (Connection c = connect("reWriteBatchedInserts", String.valueOf(rewrite))) {
            execute(c, "drop table if exists jbatch",
                "create table jbatch (id int primary key, t text, n numeric(9,2))");
            try (PreparedStatement p = c.prepareStatement("insert into jbatch values (?, ?, ?)")) {
                for (int i = 0; i < 500; i++) {
                    p.setInt(1, i);
                    p.setString(2, "t" + i);
                    p.setBigDecimal(3, new BigDecimal("1.25"));
                    p.addBatch();
                }
                equal(p.executeBatch().length, 500);
            }
            equal(query(c, "select count(*), sum(n), max(id) from jbatch"), List.of("500|625.00|499"));
            try (Statement s = c.createStatement()) {
                s.addBatch("update jbatch set t = 'x' where id < 10");
                s.addBatch("delete from jbatch where id >= 400");
                equal(s.executeBatch(), new int[] {10, 100});
            }
            try (PreparedStatement p = c.prepareStatement("insert into jbatch values (?, ?, null)")) {
                for (int id : new int[] {1000, 1, 1001}) {
                    p.setInt(1, id);
                    p.setString(2, "again");
                    p.addBatch();
                }
                try {
                    p.executeBatch();
                    throw new AssertionError("no error");
                } catch (BatchUpdateException error) {
                    equal(error.getSQLState(), "23505");
                }
            }
            equal(query(c, "select count(*) from jbatch where id >= 1000"), List.of("0"));
            execute(c, "drop table jbatch");
        }
    }

    static void batches() throws Exception {
        batch(false);
    }

    static void batchesThatAreRewritten() throws Exception {
        batch(true);
    }

    static void fetchSize() throws Exception {
        try (Connection c = connect()) {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.setFetchSize(100);
                ResultSet r = s.executeQuery("select g from generate_series(1, 5050) g");
                long sum = 0;
                while (r.next()) {
                    sum += r.getLong(1);
                }
                equal(sum, 5050L * 5051 / 2);
            }
            try (PreparedStatement one = c.prepareStatement("select g from generate_series(1, 30) g");
                    PreparedStatement two = c.prepareStatement("select ?::int * 10")) {
                one.setFetchSize(7);
                ResultSet r = one.executeQuery();
                int count = 0;
                while (r.next()) {
                    two.setInt(1, r.getInt(1));
                    ResultSet inner = two.executeQuery();
                    inner.next();
                    equal(inner.getInt(1), r.getInt(1) * 10);
                    count++;
                }
                equal(count, 30);
            }
            c.commit();
        }
    }

    static void maxRows() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            s.setMaxRows(3);
            equal(rows(s.executeQuery("select g from generate_series(1, 30) g")).size(), 3);
            s.setMaxRows(0);
            equal(rows(s.executeQuery("select g from generate_series(1, 30) g")).size(), 30);
        }
    }

    static void scrolling() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement(
                ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
            ResultSet r = s.executeQuery("select g from generate_series(1, 10) g");
            equal(r.last(), true);
            equal(r.getRow(), 10);
            equal(r.absolute(4), true);
            equal(r.getInt(1), 4);
            equal(r.previous(), true);
            equal(r.getInt(1), 3);
        }
    }

    static void updatableResults() throws Exception {
        try (Connection c = connect()) {
            schema(c);
            execute(c, "insert into customers (name) values ('old')");
            try (Statement s = c.createStatement(
                    ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                ResultSet r = s.executeQuery("select id, name from customers");
                equal(r.next(), true);
                r.updateString("name", "new");
                r.updateRow();
                r.moveToInsertRow();
                r.updateInt("id", 77);
                r.updateString("name", "other");
                r.insertRow();
            }
            equal(query(c, "select id, name from customers order by id"),
                List.of("1|new", "77|other"));
        }
    }

    static void cancel() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(500);
                    s.cancel();
                } catch (Exception error) {
                    throw new RuntimeException(error);
                }
            });
            canceller.start();
            fails("57014", () -> s.executeQuery(LONG));
            canceller.join();
            equal(query(c, "select 1"), List.of("1"));
        }
    }

    static void queryTimeout() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            fails("57014", () -> s.executeQuery(LONG));
            s.setQueryTimeout(0);
            equal(rows(s.executeQuery("select 2")), List.of("2"));
        }
    }

    static void transactions() throws Exception {
        try (Connection c = connect()) {
            c.setAutoCommit(false);
            equal(query(c, "select 1"), List.of("1"));
            fails("22012", () -> query(c, "select 1 / 0"));
            fails("25P02", () -> query(c, "select 1"));
            c.rollback();
            equal(query(c, "select 2"), List.of("2"));
            var savepoint = c.setSavepoint("here");
            fails("22012", () -> query(c, "select 1 / 0"));
            c.rollback(savepoint);
            equal(query(c, "select 3"), List.of("3"));
            c.commit();
            c.setReadOnly(true);
            equal(query(c, "select 4"), List.of("4"));
            fails("25006", () -> execute(c, "create table never (a int)"));
            c.rollback();
            c.setReadOnly(false);
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            equal(c.getTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
            c.rollback();
        }
    }

    static void autosave() throws Exception {
        try (Connection c = connect("autosave", "always")) {
            c.setAutoCommit(false);
            equal(query(c, "select 1"), List.of("1"));
            fails("22012", () -> query(c, "select 1 / 0"));
            equal(query(c, "select 2"), List.of("2"));
            c.rollback();
        }
    }

    static void errorsAndWarnings() throws Exception {
        try (Connection c = connect(); Statement s = c.createStatement()) {
            schema(c);
            execute(c, "insert into customers (name, mail) values ('a', 'm')");
            var error = (org.postgresql.util.PSQLException) fails("23505",
                () -> s.execute("insert into customers (name, mail) values ('b', 'm')"));
            var fields = error.getServerErrorMessage();
            equal(fields.getConstraint(), "customers_mail_key");
            equal(fields.getTable(), "customers");
            equal(fields.getDetail(), "Key (mail)=(m) already exists.");
            error = (org.postgresql.util.PSQLException) fails("42703", () -> s.execute("select x from orders"));
            equal(error.getServerErrorMessage().getPosition(), 8);
            s.execute("drop table if exists not_there");
            SQLWarning warning = s.getWarnings();
            equal(warning == null ? null : warning.getMessage(),
                "table \"not_there\" does not exist, skipping");
        }
    }

    static void copyIn() throws Exception {
        try (Connection c = connect()) {
            execute(c, "drop table if exists jcopy", "create table jcopy (id int primary key, t text)");
            CopyManager manager = c.unwrap(PGConnection.class).getCopyAPI();
            long count = manager.copyIn("copy jcopy from stdin (format csv)",
                new StringReader("1,one\n2,\"two, too\"\n"));
            equal(count, 2L);
            fails("22P02", () -> manager.copyIn("copy jcopy from stdin", new StringReader("x\ty\n")));
            equal(query(c, "select * from jcopy order by id"), List.of("1|one", "2|two, too"));
            execute(c, "drop table jcopy");
        }
    }

    static void copyOut() throws Exception {
        try (Connection c = connect()) {
            CopyManager manager = c.unwrap(PGConnection.class).getCopyAPI();
            var out = new java.io.StringWriter();
            try {
                manager.copyOut("copy (values (1, 'a'), (2, null)) to stdout", out);
            } catch (SQLException error) {
                if ("0A000".equals(error.getSQLState())) {
                    throw new Skip("refused: " + error.getMessage());
                }
                throw error;
            }
            equal(out.toString(), "1\ta\n2\t\\N\n");
        }
    }

    static void escapesAndFunctions() throws Exception {
        try (Connection c = connect()) {
            equal(query(c, "select {fn concat('a', 'b')}, {d '2020-01-01'}, {fn ucase('x')},"
                + " {fn length('abc')}"), List.of("ab|2020-01-01|X|3"));
            equal(query(c, "select {ts '2020-01-01 01:02:03'}"), List.of("2020-01-01 01:02:03"));
        }
    }

    static void schemaAndClientInfo() throws Exception {
        try (Connection c = connect("ApplicationName", "java tests", "currentSchema", "public",
                "options", "-c statement_timeout=5min")) {
            equal(query(c, "show application_name"), List.of("java tests"));
            equal(query(c, "show statement_timeout"), List.of("5min"));
            c.setClientInfo("ApplicationName", "renamed");
            equal(query(c, "show application_name"), List.of("renamed"));
            c.setSchema("public");
            equal(c.getSchema(), "public");
            equal(c.isValid(5), true);
        }
    }

    static void manyConnections() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(16);
        List<java.util.concurrent.Future<Integer>> results = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            int n = i;
            results.add(pool.submit(() -> {
                try (Connection c = connect(); PreparedStatement p = c.prepareStatement("select ?::int")) {
                    int sum = 0;
                    for (int k = 0; k < 20; k++) {
                        p.setInt(1, n);
                        ResultSet r = p.executeQuery();
                        r.next();
                        sum += r.getInt(1);
                    }
                    return sum;
                }
            }));
        }
        int sum = 0;
        for (var result : results) {
            sum += result.get();
        }
        pool.shutdown();
        equal(sum, 20 * 63 * 64 / 2);
    }

    static void nullsOfUnknownType() throws Exception {
        try (Connection c = connect()) {
            schema(c);
            try (PreparedStatement p = c.prepareStatement(
                    "insert into orders (id, customer, placed, open) values (?, ?, ?, ?)")) {
                p.setObject(1, 1L);
                p.setObject(2, 1, Types.INTEGER);
                p.setNull(3, Types.NULL);
                p.setObject(4, null);
                fails("23503", p::executeUpdate);
            }
            try (PreparedStatement p = c.prepareStatement(
                    "select count(*) from orders where (?::int is null or customer = ?) and placed > ?")) {
                p.setObject(1, null);
                p.setObject(2, null);
                p.setTimestamp(3, new java.sql.Timestamp(0));
                equal(rows(p.executeQuery()), List.of("0"));
            }
        }
    }

    public static void main(String[] wanted) throws Exception {
        Map<String, Check> checks = new LinkedHashMap<>();
        for (var method : PgjdbcTest.class.getDeclaredMethods()) {
            if (method.getParameterCount() == 0 && method.getReturnType() == void.class
                    && !method.isSynthetic()) {
                checks.put(method.getName(), () -> {
                    try {
                        method.invoke(null);
                    } catch (java.lang.reflect.InvocationTargetException error) {
                        if (error.getCause() instanceof Exception cause) {
                            throw cause;
                        }
                        throw (Error) error.getCause();
                    }
                });
            }
        }
        System.out.println("version " + new org.postgresql.Driver().getMajorVersion() + "."
            + org.postgresql.util.DriverInfo.DRIVER_VERSION.replaceFirst("^[0-9]+\\.", ""));
        ExecutorService runner = Executors.newCachedThreadPool();
        for (var check : new java.util.TreeMap<>(checks).entrySet()) {
            if (wanted.length > 0 && !Arrays.asList(wanted).contains(check.getKey())) {
                continue;
            }
            System.out.println(outcome(runner, check.getKey(), check.getValue()));
        }
        System.exit(0);
    }

    static String outcome(ExecutorService runner, String name, Check check) throws Exception {
        try {
            runner.submit(() -> {
                check.run();
                return null;
            }).get(LIMIT_SECONDS, TimeUnit.SECONDS);
            return "ok " + name;
        } catch (TimeoutException error) {
            return "FAIL " + name + ": no end within " + LIMIT_SECONDS + " s";
        } catch (java.util.concurrent.ExecutionException failure) {
            Throwable error = failure.getCause();
            if (error instanceof Skip) {
                return "skip " + name + ": " + error.getMessage();
            }
            int line = 0;
            for (var frame : error.getStackTrace()) {
                if (frame.getClassName().equals("PgjdbcTest") && !frame.getMethodName().equals("equal")) {
                    line = frame.getLineNumber();
                    break;
                }
            }
            String text = String.valueOf(error).replaceAll("\\s+", " ");
            return "FAIL " + name + ": line " + line + ": "
                + text.substring(0, Math.min(300, text.length()));
        }
    }
}
