//! Asks a store for everything that the crate can ask for, and sees that the answers are right.
//! `tests/objects/run.sh` runs it against servers that others wrote.
//!
//!     exercise s3|google|azure ENDPOINT BUCKET [ACCOUNT]
//!
//! Keys come from `OBJECTS_ID` and `OBJECTS_SECRET`, which is the token for Google. Features that a server does not have are named in
//! `OBJECTS_LACKS`, by the names that are printed.

use std::process::ExitCode;

use objectstore::{
    AzureOptions, Client, Condition, Credentials, ErrorKind, GoogleOptions, ListPage, Options,
    Result, S3Options, Store,
};
use runtime::{Config, IoBuf, Runtime};

type Outcome = std::result::Result<(), String>;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn open(
    kind: &str,
    endpoint: String,
    bucket: String,
    account: String,
    secret: String,
) -> Result<Store> {
    let client = Client::new(Options::default())?;
    let credentials = match kind {
        "google" => Credentials::bearer(secret),
        _ => Credentials::keys(variable("OBJECTS_ID"), secret),
    };
    let endpoint = Some(endpoint);
    match kind {
        "s3" => client.s3(S3Options { bucket, endpoint, credentials, ..S3Options::default() }),
        "google" => client.google(GoogleOptions { bucket, endpoint, credentials }),
        _ => client.azure(AzureOptions { account, container: bucket, endpoint, credentials }),
    }
}

fn bytes(seed: u64, count: usize) -> Vec<u8> {
    (0..count as u64).map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn want(holds: bool, what: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(what.into()) }
}

fn said(what: &'static str) -> impl Fn(objectstore::Error) -> String {
    move |error| format!("{what}: {error:?}")
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

async fn put_get(store: &Store) -> Outcome {
    for (key, count) in [
        ("plain", 1000),
        ("empty", 0),
        ("a b/c+d&e=f", 5),
        ("ü~'(!)*@:,;$", 70_000),
        ("large", 9_000_000),
    ] {
        let body = bytes(1, count);
        let put = store.put(key, &body).await.map_err(said("put"))?;
        let got = store.get(key).await.map_err(said("get"))?;
        want(got.body.as_slice() == body, format!("{key}: {} bytes came", got.body.len()))?;
        want(
            put.tag.is_some() && got.info.tag == put.tag,
            format!("{key}: {put:?} {:?}", got.info),
        )?;
        let head = store.head(key).await.map_err(said("head"))?;
        want(head.size == count as u64 && head.modified_s.is_some(), format!("{head:?}"))?;
    }
    Ok(())
}

async fn ranges(store: &Store) -> Outcome {
    let body = bytes(2, 3_000_000);
    store.put("ranged", &body).await.map_err(said("put"))?;
    let (info, buf) = store.get_into("ranged", 1_000..2_900_000, IoBuf::alloc(3_000_000), 7).await;
    let info = info.map_err(said("get"))?;
    want(info.size == 3_000_000, format!("{info:?}"))?;
    want(buf.as_slice()[7..2_899_007] == body[1_000..2_900_000], "other bytes came")?;
    let beyond = kind(store.get_range("ranged", 2_999_999..3_000_001).await);
    want(beyond == Some(ErrorKind::Invalid), format!("{beyond:?}"))?;
    let beyond = kind(store.get_range("ranged", 3_000_000..3_000_001).await);
    want(beyond == Some(ErrorKind::Invalid), format!("{beyond:?}"))
}

async fn missing(store: &Store) -> Outcome {
    let missing = [kind(store.get("nothing").await), kind(store.head("nothing").await)];
    want(missing == [Some(ErrorKind::NotFound); 2], format!("{missing:?}"))?;
    store.delete("nothing").await.map_err(said("delete"))
}

async fn if_absent(store: &Store) -> Outcome {
    store.delete("once").await.map_err(said("delete"))?;
    store.put_if("once", b"one", &Condition::Absent).await.map_err(said("first"))?;
    let second = kind(store.put_if("once", b"two", &Condition::Absent).await);
    want(second == Some(ErrorKind::Precondition), format!("second: {second:?}"))?;
    let got = store.get("once").await.map_err(said("get"))?;
    want(got.body.as_slice() == b"one", "the second has replaced the first")
}

async fn if_matches(store: &Store) -> Outcome {
    let put = store.put("swapped", b"one").await.map_err(said("put"))?;
    let condition = Condition::Matches(put.tag.unwrap_or_default());
    store.put_if("swapped", b"two", &condition).await.map_err(said("first"))?;
    let second = kind(store.put_if("swapped", b"three", &condition).await);
    want(second == Some(ErrorKind::Precondition), format!("second: {second:?}"))?;
    let got = store.get("swapped").await.map_err(said("get"))?;
    want(got.body.as_slice() == b"two", "the second has replaced the first")
}

async fn list(store: &Store) -> Outcome {
    let names: Vec<String> = (0..25).map(|i| format!("list/{i:02} &<x>/end")).collect();
    for name in &names {
        store.put(name, b"x").await.map_err(said("put"))?;
    }
    let all = store.list_all("list/", 100).await.map_err(said("list"))?;
    let found: Vec<&String> = all.iter().map(|object| &object.key).collect();
    want(found == names.iter().collect::<Vec<_>>(), format!("{found:?}"))?;
    want(all.iter().all(|object| object.size == 1 && object.tag.is_some()), format!("{all:?}"))?;
    let pages = pages(store, None).await?;
    want(pages.iter().all(|page| page.objects.len() <= 10), "a page is longer than asked for")?;
    let paged = pages.iter().flat_map(|page| &page.objects).map(|object| &object.key);
    let paged: Vec<&String> = paged.collect();
    want(paged == found, format!("{paged:?}"))
}

/// The names of the test before, in groups by what follows the next slash.
async fn list_groups(store: &Store) -> Outcome {
    let pages = pages(store, Some("/")).await?;
    let paged: Vec<&String> = pages.iter().flat_map(|page| &page.prefixes).collect();
    let groups: Vec<String> = (0..25).map(|i| format!("list/{i:02} &<x>/")).collect();
    want(paged == groups.iter().collect::<Vec<_>>(), format!("{paged:?}"))
}

async fn pages_of_groups(store: &Store) -> Outcome {
    let pages = pages(store, Some("/")).await?;
    let are_short = pages.iter().all(|page| page.prefixes.len() <= 10);
    want(are_short, "a page is longer than asked for")
}

/// All pages of ten names each.
async fn pages(
    store: &Store,
    delimiter: Option<&str>,
) -> std::result::Result<Vec<ListPage>, String> {
    let mut pages: Vec<ListPage> = Vec::new();
    loop {
        let from = pages.last().and_then(|page| page.next.as_deref());
        let page = store.list_some("list/", delimiter, from, 10).await.map_err(said("page"))?;
        let is_last = page.next.is_none();
        pages.push(page);
        if is_last {
            return Ok(pages);
        }
    }
}

async fn parts(store: &Store) -> Outcome {
    let body = bytes(3, 12 << 20);
    store.put_parts("parts", &body, 5 << 20, &Condition::None).await.map_err(said("put"))?;
    let got = store.get("parts").await.map_err(said("get"))?;
    want(got.body.as_slice() == body, "other bytes came")
}

async fn parts_if_absent(store: &Store) -> Outcome {
    let body = bytes(4, 6 << 20);
    store.put("taken", b"mine").await.map_err(said("put"))?;
    let refused = kind(store.put_parts("taken", &body, 5 << 20, &Condition::Absent).await);
    want(refused == Some(ErrorKind::Precondition), format!("{refused:?}"))
}

async fn delete(store: &Store) -> Outcome {
    for object in store.list_all("", 1000).await.map_err(said("list"))? {
        store.delete(&object.key).await.map_err(said("delete"))?;
    }
    let left = store.list_all("", 1000).await.map_err(said("list"))?;
    want(left.is_empty(), format!("{left:?}"))
}

async fn denied(store: &Store) -> Outcome {
    let denied = kind(store.get("plain").await);
    want(denied == Some(ErrorKind::Denied), format!("{denied:?}"))
}

/// More parts than are joined at a time.
async fn many_parts(store: &Store) -> Outcome {
    let body = bytes(5, ((33 * 5) << 20) + 7);
    store.put_parts("many", &body, 5 << 20, &Condition::None).await.map_err(said("put"))?;
    let got = store.get("many").await.map_err(said("get"))?;
    want(got.body.as_slice() == body, "other bytes came")?;
    let there = store.list_all("many", 1000).await.map_err(said("list"))?;
    want(there.len() == 1, format!("parts are left: {there:?}"))
}

/// Runs all; how many failed.
async fn exercise(store: Store, stranger: Store, has_joins: bool) -> usize {
    let lacks = variable("OBJECTS_LACKS");
    let (mut failed, mut done, mut skipped) = (0, 0, 0);
    let mut note = |name: &str, outcome: Outcome| match outcome {
        Ok(()) if lacks.split(' ').any(|lack| lack == name) => {
            println!("FAILED   {name}: it is said to be lacking, and is there");
            failed += 1;
        }
        Ok(()) => done += 1,
        Err(why) if lacks.split(' ').any(|lack| lack == name) => {
            println!("skipped  {name}: the server lacks it ({why})");
            skipped += 1;
        }
        Err(why) => {
            println!("FAILED   {name}: {why}");
            failed += 1;
        }
    };
    note("put-get", put_get(&store).await);
    note("ranges", ranges(&store).await);
    note("missing", missing(&store).await);
    note("if-absent", if_absent(&store).await);
    note("if-matches", if_matches(&store).await);
    note("list", list(&store).await);
    note("list-groups", list_groups(&store).await);
    note("pages-of-groups", pages_of_groups(&store).await);
    note("parts", parts(&store).await);
    note("parts-if-absent", parts_if_absent(&store).await);
    if has_joins {
        note("many-parts", many_parts(&store).await);
    }
    note("denied", denied(&stranger).await);
    note("delete", delete(&store).await);
    println!("{done} passed, {failed} failed, {skipped} skipped; {:?}", store.client_stats());
    failed
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, endpoint, bucket, rest @ ..] = arguments.as_slice() else {
        eprintln!("exercise s3|google|azure ENDPOINT BUCKET [ACCOUNT]");
        return ExitCode::FAILURE;
    };
    let account = rest.first().cloned().unwrap_or_default();
    let open =
        |secret: String| open(kind, endpoint.clone(), bucket.clone(), account.clone(), secret);
    let stranger = open("d3JvbmcgYW5kIHdyb25n".to_owned());
    let (Ok(store), Ok(stranger)) = (open(variable("OBJECTS_SECRET")), stranger) else {
        eprintln!("the store cannot be opened: its endpoint or its names are wrong");
        return ExitCode::FAILURE;
    };
    let runtime = match Runtime::start(Config { workers: 1, ..Config::default() }) {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let has_joins = kind == "google";
    match runtime.block_on(move || exercise(store, stranger, has_joins)) {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
