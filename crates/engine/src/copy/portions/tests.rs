//! What tasks parse beside each other is what one parses alone: rows with their lines, what is left out, and the
//! first thing that is wrong.

use std::future::{Future, poll_fn};
use std::task::Poll;

use arrow_array::{Array, ArrayRef};
use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime};
use sql::parse::{CopyFormat, CopyOptions, ForcedColumns, Header, Ignored, ParquetOptions};
use stdx::Prng;
use types::zone::Context;
use types::{Column, LogicalType, Schema};

use super::*;
use crate::pipe::pipe;

/// All that is told of some data, up to its end.
#[derive(Debug, Default, PartialEq)]
struct Told {
    rows: Vec<(u64, String)>,
    rejects: Vec<(u64, String, String)>,
    end: Option<String>,
}

impl Told {
    /// Whether more can follow.
    fn add(&mut self, parsed: Parsed) -> bool {
        let value = |array: &ArrayRef, row: usize| {
            let array = arrow_cast::cast(array, &arrow_schema::DataType::Utf8).expect("text");
            let array = array.as_any().downcast_ref::<arrow_array::StringArray>().expect("text");
            if array.is_null(row) { "-".to_owned() } else { format!("<{}>", array.value(row)) }
        };
        for (nth, row) in parsed.rows.iter().enumerate() {
            // Of rows before one that is wrong nobody wants the values.
            let values = match parsed.end {
                End::Wrong(_) => String::new(),
                _ if !row.is_kept => "left out".to_owned(),
                _ => parsed.arrays.iter().map(|array| value(array, nth)).collect(),
            };
            self.rows.push((row.line, values));
        }
        let rejects = parsed.rejects.into_iter().map(|r| (r.line, r.reason, r.data));
        self.rejects.extend(rejects);
        self.end = match parsed.end {
            End::Open => return true,
            End::Marker(line) => Some(format!("marker on line {line}")),
            End::Wrong(error) => {
                Some(format!("{}: {}", error.message, error.context().unwrap_or_default()))
            }
        };
        false
    }

    /// Without the values of rows behind which something is wrong: how many were parsed with it depends on the
    /// portions.
    fn without_values(mut self) -> Told {
        if self.end.as_ref().is_some_and(|end| !end.starts_with("marker")) {
            self.rows.iter_mut().for_each(|row| row.1.clear());
        }
        self
    }
}

fn form(format: CopyFormat, header: Header, ignored: bool) -> Arc<Form> {
    let options = CopyOptions {
        format,
        header,
        delimiter: if format == CopyFormat::Csv { b',' } else { b'\t' },
        null: if format == CopyFormat::Csv { String::new() } else { "\\N".to_owned() },
        quote: b'"',
        escape: b'"',
        force_quote: ForcedColumns::Named(vec![]),
        force_not_null: vec![],
        force_null: vec![],
        parquet: ParquetOptions::default(),
        ignored: ignored.then(|| Ignored { count_max: None, table: Some("r".to_owned()) }),
    };
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, nullable: true };
    let columns = vec![column("i", LogicalType::Int32), column("t", LogicalType::Text)];
    Arc::new(Form::new("copied", &Schema { columns }, &[0, 1], &options, Context::default()))
}

/// Some lines, now and then with what is no integer, a field too much, a quote that does not end, a marker.
fn data(random: &mut Prng, format: CopyFormat) -> Vec<u8> {
    let csv = [
        "17,x\n",
        "8,\"a\n\"\"b\"\n",
        "-1,\n",
        "5,\"\"\r\n",
        "9,\"\n\n\n\"\n",
        "x,y\n",
        "1,2,3\n",
        "\\.\n",
        "4,\"open",
    ];
    let text = [
        "17\tx\n",
        "8\ta\\\nb\n",
        "-1\t\\N\n",
        "5\t\\\\.\r\n",
        "9\t\\n\\t\n",
        "x\ty\n",
        "1\t2\t3\n",
        "\\.\n",
        "4\topen\\",
    ];
    let lines = if format == CopyFormat::Csv { csv } else { text };
    let mut data = vec![];
    for _ in 0..random.next_u64() % 60 {
        let nth = match random.next_u64() % 100 {
            0 => 7,
            1 => 8,
            2..8 => 5,
            8..10 => 6,
            other => other as usize % 5,
        };
        data.extend_from_slice(lines[nth].as_bytes());
    }
    data
}

async fn alone(form: &Arc<Form>, bytes: &[u8]) -> Told {
    let mut parser = Parser::new(form.clone());
    let portion = Portion { bytes: bytes.to_vec(), first_line: 1, is_first: true };
    parser.read(&portion, &Cancel::default()).await.expect("nobody cancels");
    let mut told = Told::default();
    told.add(parser.finish());
    told
}

async fn together(form: &Arc<Form>, input: Input, size: PortionSize) -> Told {
    let mut portions = Portions::new(form.clone(), input, size, 64, Cancel::default());
    let mut told = Told::default();
    while let Some(parsed) = portions.next().await.expect("input") {
        if !told.add(parsed) {
            break;
        }
    }
    told
}

async fn check(seed: u64) {
    let mut random = Prng::new(seed);
    for round in 0..300 {
        let format = if round % 2 == 0 { CopyFormat::Csv } else { CopyFormat::Text };
        let header = if random.next_u64().is_multiple_of(4) { Header::Yes } else { Header::No };
        let form = form(format, header, random.next_u64().is_multiple_of(2));
        let bytes = data(&mut random, format);
        let records = 1 + random.next_u64() as usize % 8;
        let size = PortionSize { records, bytes: 1 + random.next_u64() as usize % 40 };
        let expected = alone(&form, &bytes).await.without_values();
        let found = together(&form, Input::Memory(Some(bytes.clone())), size).await;
        assert_eq!(found.without_values(), expected, "{seed} {round} {}", bytes.escape_ascii());
        // From a client that sends a little at a time, and sometimes waits.
        let (sender, receiver) = pipe(2);
        let (pieces, mut waits) = (bytes.clone(), Prng::new(seed + round));
        drop(runtime::spawn(async move {
            for piece in pieces.chunks(1 + waits.next_u64() as usize % 30) {
                sender.send(piece.to_vec()).await.ok();
                for _ in 0..waits.next_u64() % 3 {
                    runtime::yield_now().await;
                }
            }
            sender.finish();
        }));
        let found = together(&form, Input::Client(receiver), size).await;
        assert_eq!(found.without_values(), expected, "{seed} {round} {}", bytes.escape_ascii());
    }
}

fn machine(workers: usize, seed: u64) -> Runtime {
    let ring = RingChoice::Sim(Disk::new(seed));
    let config = Config { ring, workers, seed, pin: false, ..Config::default() };
    Runtime::start(config).expect("a runtime starts")
}

#[test]
fn what_is_parsed_by_many_is_what_one_parses() {
    for (workers, seed) in [(1, 1), (2, 2), (3, 3), (3, 4)] {
        machine(workers, seed).block_on(move || check(seed));
    }
    let config = Config { workers: 3, pin: false, ..Config::default() };
    Runtime::start(config).expect("a runtime starts").block_on(|| check(5));
}

/// Where a client leaves, what came before is read, and then it is told on which line that was.
#[test]
fn records_before_the_end_of_a_broken_input_come_first() {
    let told = machine(2, 1).block_on(|| async {
        let form = form(CopyFormat::Csv, Header::No, false);
        let mut told = vec![];
        for text in ["1,a\n2,b\n3,c\n4,", "1,a\nx,b\n3,c\n4,"] {
            let (sender, receiver) = pipe(2);
            sender.send(text.as_bytes().to_vec()).await.expect("room");
            drop(sender);
            let size = PortionSize { records: 1, bytes: 1 };
            let input = Input::Client(receiver);
            let mut portions = Portions::new(form.clone(), input, size, 64, Cancel::default());
            let mut rows = Told::default();
            let end = loop {
                match portions.next().await {
                    Ok(parsed) => {
                        if !parsed.is_some_and(|parsed| rows.add(parsed)) {
                            break rows.end.unwrap_or_default();
                        }
                    }
                    Err(error) => break error.context().unwrap_or_default().to_owned(),
                }
            };
            told.push((rows.rows.len(), end));
        }
        told
    });
    let wrong =
        "invalid input syntax for type integer: \"x\": COPY copied, line 2, column i: \"x\"";
    assert_eq!(told, [(3, "COPY copied, line 3".to_owned()), (1, wrong.to_owned())]);
}

/// Tasks end when nobody waits for what they parse, and give back what they hold.
#[test]
fn no_task_outlives_the_statement() {
    machine(3, 1).block_on(|| async {
        let form = form(CopyFormat::Csv, Header::No, false);
        let bytes = b"1,a\n".repeat(100_000);
        let size = PortionSize { records: 20_000, bytes: 1 << 20 };
        let input = Input::Memory(Some(bytes));
        let mut portions = Portions::new(form.clone(), input, size, 1 << 20, Cancel::default());
        let mut next = Box::pin(portions.next());
        let mut polls = 0;
        // Two are of the test and of what cuts, others of tasks.
        while Arc::strong_count(&form) <= 2 {
            polls += 1;
            assert!(polls < 100, "nobody parses");
            let polled = poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx).is_ready())).await;
            assert!(!polled, "tasks take their time");
        }
        drop(next);
        drop(portions);
        let mut turns = 0;
        while Arc::strong_count(&form) > 1 {
            turns += 1;
            assert!(turns < 50, "something goes on");
            runtime::time::sleep(std::time::Duration::from_micros(100)).await;
        }
        let cancel = Cancel::default();
        let input = Input::Memory(Some(b"1,a\n".repeat(100_000)));
        let mut portions = Portions::new(form.clone(), input, size, 1 << 20, cancel.clone());
        portions.next().await.expect("input").expect("rows");
        cancel.cancel();
        let error = portions.next().await.err().expect("cancelled");
        assert_eq!(error.state.0, "57014");
    });
}
