import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.hibernate.annotations.BatchSize;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.DynamicUpdate;
import org.hibernate.annotations.Generated;
import org.hibernate.annotations.NaturalId;
import org.hibernate.annotations.UpdateTimestamp;

/** The tables of Hibernate's checks: keys of sequences, of the database and of the client. */
class Entities {
    static final Class<?>[] ALL = {Customer.class, Company.class, Purchase.class, Item.class, Product.class,
        Account.class, Note.class};

    /** Keys of a sequence in portions of fifty; changes are counted; two classes in two tables. */
    @Entity(name = "Customer")
    @Table(name = "customer", indexes = @Index(name = "customer_by_name", columnList = "name, since desc"))
    @Inheritance(strategy = InheritanceType.JOINED)
    static class Customer {
        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "customer_ids")
        @SequenceGenerator(name = "customer_ids", sequenceName = "customer_ids", allocationSize = 50)
        Long id;
        @Column(nullable = false, length = 60) String name;
        @NaturalId @Column(unique = true) String mail;
        LocalDate since;
        @Version int version;
        @Embedded Address address;
        @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL, orphanRemoval = true)
        @OrderBy("placed") @BatchSize(size = 10)
        List<Purchase> purchases = new ArrayList<>();
        @ElementCollection @CollectionTable(name = "customer_phone") Set<String> phones = new HashSet<>();

        Customer() { }

        Customer(String name) {
            this.name = name;
            this.mail = name + "@example.org";
        }

        Purchase buys(String what) {
            Purchase purchase = new Purchase();
            purchase.customer = this;
            purchase.remark = what;
            purchases.add(purchase);
            return purchase;
        }
    }

    @Entity(name = "Company")
    @Table(name = "company")
    static class Company extends Customer {
        @Column(precision = 14, scale = 2) BigDecimal capital;

        Company() { }

        Company(String name, String capital) {
            super(name);
            this.capital = new BigDecimal(capital);
        }
    }

    @Embeddable
    static class Address {
        String street;
        String city;

        Address() { }

        Address(String street, String city) {
            this.street = street;
            this.city = city;
        }
    }

    enum State { NEW, PAID, SENT }

    /** Keys of the database. */
    @Entity(name = "Purchase")
    @Table(name = "purchase")
    @DynamicUpdate
    static class Purchase {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) @JoinColumn(name = "customer_id") Customer customer;
        @CreationTimestamp Instant placed;
        @UpdateTimestamp Instant changed;
        @Enumerated(EnumType.STRING) State state = State.NEW;
        String remark;
        @OneToMany(mappedBy = "purchase", cascade = CascadeType.ALL, orphanRemoval = true)
        Set<Item> items = new HashSet<>();

        Item of(Product product, int amount) {
            Item item = new Item();
            item.purchase = this;
            item.product = product;
            item.amount = amount;
            items.add(item);
            return item;
        }
    }

    @Entity(name = "Item")
    @Table(name = "item", uniqueConstraints = @UniqueConstraint(
        name = "once_a_purchase", columnNames = {"purchase_id", "product_id"}))
    static class Item {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Integer id;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) Purchase purchase;
        @ManyToOne(fetch = FetchType.LAZY, optional = false) Product product;
        int amount;
    }

    /** Keys of the client; values of many types. */
    @Entity(name = "Product")
    @Table(name = "product")
    static class Product {
        @Id @GeneratedValue(strategy = GenerationType.UUID) UUID id;
        String name;
        @Column(precision = 10, scale = 2) BigDecimal price;
        boolean sold;
        double weight;
        byte[] picture;
        Duration lasts;
        @Column(length = 100_000) String story;
        String[] words;
        char letter = 'a';
        short rank;
        @Generated @Column(columnDefinition = "bigint generated always as (rank * 2) stored") Long twice;
        @ManyToMany @JoinTable(name = "product_pair") Set<Product> pairs = new HashSet<>();

        Product() { }

        Product(String name, String price) {
            this.name = name;
            this.price = new BigDecimal(price);
        }
    }

    /** Given keys. */
    @Entity(name = "Account")
    @Table(name = "account")
    @org.hibernate.annotations.Check(name = "never_below", constraints = "balance >= 0")
    static class Account {
        @Id Integer id;
        long balance;

        Account() { }

        Account(int id, long balance) {
            this.id = id;
            this.balance = balance;
        }
    }

    /** A key of two columns. */
    @Entity(name = "Note")
    @Table(name = "note")
    static class Note {
        @EmbeddedId Key id;
        String text;

        Note() { }

        Note(String subject, int number, String text) {
            this.id = new Key(subject, number);
            this.text = text;
        }
    }

    @Embeddable
    record Key(String subject, int number) implements java.io.Serializable { }

    private Entities() { }
}
