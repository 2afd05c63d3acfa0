//! tokio-postgres: binary values, pipelining, portals, COPY, cancelling, errors. Prints one line for
//! each check, as `python/checks.py` does.

use std::env::var;
use std::future::Future;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt, TryStreamExt, pin_mut};
use rust_decimal::Decimal;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Error, NoTls, SimpleQueryMessage};
use uuid::Uuid;

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

const LONG: &str = "select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b, \
                    generate_series(1, 3000) c where a + b + c < 0";

fn address() -> String {
    let of = |name| var(name).unwrap_or_default();
    let (host, port, user, name) = (of("PGHOST"), of("PGPORT"), of("PGUSER"), of("PGDATABASE"));
    format!("host={host} port={port} user={user} dbname={name} application_name=rust")
}

async fn connect() -> Result<Client, Error> {
    let (client, connection) = tokio_postgres::connect(&address(), NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn code<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "no error".into(),
        Err(error) => error.code().map_or_else(|| error.to_string(), |c| c.code().into()),
    }
}

macro_rules! equal {
    ($found:expr, $wanted:expr) => {
        let (found, wanted) = (&$found, &$wanted);
        if found != wanted {
            return Err(format!("line {}: found {found:?}, wanted {wanted:?}", line!()).into());
        }
    };
}

async fn values() -> Outcome {
    let c = connect().await?;
    c.batch_execute(
        "drop table if exists rv; create table rv (id int primary key, s smallint, g bigint, r real, \
         f float8, n numeric(20,4), b boolean, t text, y bytea, d date, m time, ts timestamp, \
         tz timestamptz, u uuid, a int[], ta text[])",
    )
    .await?;
    let day = NaiveDate::from_ymd_opt(1999, 12, 31).ok_or("a day")?;
    let clock = NaiveTime::from_hms_micro_opt(1, 2, 3, 4).ok_or("a time")?;
    let (moment, instant) = (NaiveDateTime::new(day, clock), NaiveDateTime::new(day, clock).and_utc());
    let (uuid, number) = (Uuid::new_v4(), Decimal::new(-123_456_789, 4));
    let insert = "insert into rv values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16)";
    let bytes: &[u8] = &[0, 255];
    c.execute(
        insert,
        &[
            &1i32, &-2i16, &i64::MIN, &1.5f32, &0.1f64, &number, &true, &"ü", &bytes, &day, &clock,
            &moment, &instant, &uuid, &vec![Some(1i32), None], &vec!["x", "y,"],
        ],
    )
    .await?;
    let row = c.query_one("select * from rv", &[]).await?;
    equal!(row.get::<_, i16>(1), -2);
    equal!(row.get::<_, i64>(2), i64::MIN);
    equal!(row.get::<_, f32>(3), 1.5);
    equal!(row.get::<_, f64>(4), 0.1);
    equal!(row.get::<_, Decimal>(5), number);
    equal!(row.get::<_, bool>(6), true);
    equal!(row.get::<_, &str>(7), "ü");
    equal!(row.get::<_, &[u8]>(8), bytes);
    equal!(row.get::<_, NaiveDate>(9), day);
    equal!(row.get::<_, NaiveTime>(10), clock);
    equal!(row.get::<_, NaiveDateTime>(11), moment);
    equal!(row.get::<_, DateTime<Utc>>(12), instant);
    equal!(row.get::<_, Uuid>(13), uuid);
    equal!(row.get::<_, Vec<Option<i32>>>(14), vec![Some(1), None]);
    equal!(row.get::<_, Vec<String>>(15), vec!["x", "y,"]);
    c.batch_execute("drop table rv").await?;
    Ok(())
}

async fn statements_have_types() -> Outcome {
    let c = connect().await?;
    c.batch_execute("drop table if exists rs; create table rs (id int primary key, v varchar(5), \
                     n numeric(9,2), tz timestamptz)").await?;
    let s = c.prepare("select * from rs where id = $1 and tz > $2 and v = any($3)").await?;
    equal!(s.params(), [Type::INT4, Type::TIMESTAMPTZ, Type::TEXT_ARRAY]);
    let types: Vec<Type> = s.columns().iter().map(|c| c.type_().clone()).collect();
    equal!(types, [Type::INT4, Type::VARCHAR, Type::NUMERIC, Type::TIMESTAMPTZ]);
    let s = c.prepare_typed("select $1", &[Type::INT8]).await?;
    equal!(c.query_one(&s, &[&7i64]).await?.get::<_, i64>(0), 7);
    c.batch_execute("drop table rs").await?;
    Ok(())
}

async fn pipelining() -> Outcome {
    let c = connect().await?;
    let s = c.prepare("select $1::int * 2").await?;
    let numbers: Vec<i32> = (0..500).collect();
    let asked = numbers.iter().map(|n| async { c.query_one(&s, &[n]).await });
    for (n, row) in join_all(asked).await.into_iter().enumerate() {
        equal!(row?.get::<_, i32>(0), n as i32 * 2);
    }
    let (good, bad, also) = tokio::join!(
        c.query_one("select 1", &[]),
        c.query_one("select 1 / 0", &[]),
        c.query_one("select 2", &[]),
    );
    equal!(good?.get::<_, i32>(0), 1);
    equal!(code(bad), "22012");
    equal!(also?.get::<_, i32>(0), 2);
    Ok(())
}

async fn portals() -> Outcome {
    let mut c = connect().await?;
    let block = c.transaction().await?;
    let portal = block.bind("select g from generate_series(1, 10) g", &[]).await?;
    equal!(block.query_portal(&portal, 4).await?.len(), 4);
    equal!(block.query_portal(&portal, 4).await?.len(), 4);
    equal!(block.query_portal(&portal, 4).await?.len(), 2);
    block.rollback().await?;
    Ok(())
}

async fn rows_stream() -> Outcome {
    let c = connect().await?;
    let parameters: Vec<i32> = vec![20_000];
    let rows = c.query_raw("select g from generate_series(1, $1::int) g", &parameters).await?;
    pin_mut!(rows);
    let mut sum = 0i64;
    while let Some(row) = rows.try_next().await? {
        sum += i64::from(row.get::<_, i32>(0));
    }
    equal!(sum, 20_000 * 20_001 / 2);
    Ok(())
}

async fn copy_in() -> Outcome {
    let c = connect().await?;
    c.batch_execute("drop table if exists rc; create table rc (id int primary key, t text)").await?;
    let sink = c.copy_in("copy rc from stdin").await?;
    pin_mut!(sink);
    for part in 0..50 {
        let lines: String = (0..100).map(|i| format!("{}\tt{i}\n", part * 100 + i)).collect();
        sink.send(std::io::Cursor::new(lines)).await?;
    }
    equal!(sink.finish().await?, 5000);
    let sink = c.copy_in("copy rc from stdin").await?;
    pin_mut!(sink);
    sink.send(std::io::Cursor::new("x\ty\n")).await?;
    equal!(code(sink.finish().await), "22P02");
    {
        // Dropped without an end: nothing is kept.
        let sink = c.copy_in::<_, std::io::Cursor<&str>>("copy rc from stdin").await?;
        pin_mut!(sink);
        sink.send(std::io::Cursor::new("9000\ty\n")).await?;
    }
    equal!(c.query_one("select count(*) from rc", &[]).await?.get::<_, i64>(0), 5000);
    c.batch_execute("drop table rc").await?;
    Ok(())
}

async fn copy_out() -> Outcome {
    let c = connect().await?;
    let stream = match c.copy_out("copy (select 1, 'x') to stdout").await {
        Err(error) if error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED) => {
            return Err(format!("skip: refused: {error}").into());
        }
        other => other?,
    };
    pin_mut!(stream);
    let mut all = vec![];
    while let Some(part) = stream.next().await {
        all.extend_from_slice(&part?);
    }
    equal!(all, b"1\tx\n");
    Ok(())
}

async fn cancel() -> Outcome {
    let c = connect().await?;
    let token = c.cancel_token();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await
    });
    equal!(code(c.query_one(LONG, &[]).await), "57014");
    equal!(c.query_one("select 1", &[]).await?.get::<_, i32>(0), 1);
    Ok(())
}

async fn errors_have_fields() -> Outcome {
    let c = connect().await?;
    c.batch_execute("drop table if exists re; create table re (id int primary key, n int not null)")
        .await?;
    let insert = |id: i32, n: Option<i32>| {
        let c = &c;
        async move { c.execute("insert into re values ($1, $2)", &[&id, &n]).await }
    };
    insert(1, Some(1)).await?;
    let error = insert(1, Some(1)).await.err().ok_or("a duplicate")?;
    let fields = error.as_db_error().ok_or("of the server")?;
    equal!(fields.constraint(), Some("re_pkey"));
    equal!(fields.table(), Some("re"));
    let error = insert(2, None).await.err().ok_or("a null")?;
    equal!(error.as_db_error().and_then(|e| e.column()), Some("n"));
    c.batch_execute("drop table re").await?;
    Ok(())
}

async fn notices() -> Outcome {
    let (client, mut connection) = tokio_postgres::connect(&address(), NoTls).await?;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(message) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let Ok(AsyncMessage::Notice(notice)) = message {
                sender.send(notice.message().to_owned()).ok();
            }
        }
    });
    client.batch_execute("drop table if exists nowhere_at_all").await?;
    let notice = receiver.recv().await;
    equal!(notice.as_deref(), Some("table \"nowhere_at_all\" does not exist, skipping"));
    Ok(())
}

async fn simple_queries() -> Outcome {
    let c = connect().await?;
    let mut found = vec![];
    for message in c.simple_query("select 1 as a, null as b; select 'x'; set search_path to public").await? {
        match message {
            SimpleQueryMessage::Row(row) => found.push(row.get(0).unwrap_or("-").to_owned()),
            SimpleQueryMessage::CommandComplete(count) => found.push(format!("#{count}")),
            _ => {}
        }
    }
    equal!(found, ["1", "#1", "x", "#1", "#0"]);
    Ok(())
}

async fn run(name: &str, check: impl Future<Output = Outcome>) {
    match tokio::time::timeout(Duration::from_secs(60), check).await {
        Err(_) => println!("FAIL {name}: no end within 60 s"),
        Ok(Ok(())) => println!("ok {name}"),
        Ok(Err(error)) => {
            let text = error.to_string().replace('\n', " ");
            match text.strip_prefix("skip: ") {
                Some(why) => println!("skip {name}: {why}"),
                None => {
                    let detail = error
                        .downcast_ref::<Error>()
                        .and_then(|e| e.as_db_error())
                        .map_or(String::new(), |e| format!(" ({})", e.message()));
                    println!("FAIL {name}: {text}{detail}");
                }
            }
        }
    }
}

#[tokio::main]
async fn main() {
    println!("version tokio-postgres-0.7");
    run("values", values()).await;
    run("statements_have_types", statements_have_types()).await;
    run("pipelining", pipelining()).await;
    run("portals", portals()).await;
    run("rows_stream", rows_stream()).await;
    run("copy_in", copy_in()).await;
    run("copy_out", copy_out()).await;
    run("cancel", cancel()).await;
    run("errors_have_fields", errors_have_fields()).await;
    run("notices", notices()).await;
    run("simple_queries", simple_queries()).await;
}
