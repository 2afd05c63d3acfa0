//! Portions have the records that the whole has, wherever what comes is divided.

use stdx::Prng;
use types::SqlError;

use super::*;

const FORMATS: [RecordFormat; 5] = [
    RecordFormat::Csv { delimiter: b',', quote: b'"', escape: b'"' },
    RecordFormat::Csv { delimiter: b',', quote: b'"', escape: b'\\' },
    RecordFormat::Csv { delimiter: b';', quote: b'\'', escape: b'.' },
    RecordFormat::Csv { delimiter: b',', quote: b'\r', escape: b'\n' },
    RecordFormat::Text { delimiter: b'\t' },
];

/// What a field is: its bytes, as they stand there, and whether it is quoted.
type Told = (Vec<u8>, Option<Vec<u8>>, bool);

/// Records with their lines, up to the first one that is wrong.
#[derive(Debug, Default, PartialEq)]
struct Read {
    records: Vec<(u64, Vec<Told>)>,
    wrong: Option<(u64, String)>,
}

impl Read {
    fn add(&mut self, format: RecordFormat, bytes: &[u8], first_line: u64) {
        let mut reader = RecordReader::new(format, bytes, first_line);
        let mut fields = vec![];
        let read = loop {
            match reader.next(&mut fields) {
                Ok(false) => break Ok(()),
                Ok(true) => {
                    let told = fields.iter().map(|f| (f.bytes.to_vec(), f.raw.clone(), f.quoted));
                    self.records.push((reader.line(), told.collect()));
                }
                Err(SqlError { message, .. }) => break Err((reader.line(), message)),
            }
        };
        self.wrong = self.wrong.take().or(read.err());
    }
}

fn whole(format: RecordFormat, bytes: &[u8]) -> Read {
    let mut read = Read::default();
    read.add(format, bytes, 1);
    read
}

/// The same by portions: what comes is divided at random, and now and then all is taken that is whole.
fn by_portions(format: RecordFormat, bytes: &[u8], size: PortionSize, random: &mut Prng) -> Read {
    let mut cutter = Cutter::of_size(format, size);
    let (mut read, mut left, mut is_first) = (Read::default(), bytes, true);
    let mut add = |portion: Portion| {
        assert_eq!(std::mem::take(&mut is_first), portion.is_first);
        assert!(!portion.bytes.is_empty());
        read.add(format, &portion.bytes, portion.first_line);
    };
    loop {
        while let Some(portion) = cutter.full() {
            add(portion);
        }
        let rest = if random.next_u64().is_multiple_of(4) { cutter.rest() } else { None };
        rest.into_iter().for_each(&mut add);
        if left.is_empty() {
            break;
        }
        let (come, later) = left.split_at((random.next_u64() as usize % 9).min(left.len()));
        cutter.push(come.to_vec());
        left = later;
    }
    cutter.end();
    assert!(cutter.full().is_none());
    cutter.rest().into_iter().for_each(&mut add);
    assert!(cutter.rest().is_none());
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(cutter.next_line(), lines);
    read
}

#[test]
fn portions_have_the_records_of_the_whole() {
    let letters = b"a,;\"\"''\\\\\\.\n\n\r\t\tN0x7";
    let mut random = Prng::new(7);
    for round in 0..40_000 {
        let format = FORMATS[round % FORMATS.len()];
        let count = random.next_u64() as usize % 60;
        let letter = |_| letters[random.next_u64() as usize % letters.len()];
        let bytes: Vec<u8> = (0..count).map(letter).collect();
        let records = 1 + random.next_u64() as usize % 4;
        let size = PortionSize { records, bytes: 1 + random.next_u64() as usize % 12 };
        let expected = whole(format, &bytes);
        let found = by_portions(format, &bytes, size, &mut random);
        assert_eq!(found, expected, "{format:?} {}", bytes.escape_ascii());
    }
}

#[test]
fn portions_are_as_large_as_they_are_to_be() {
    let size = PortionSize { records: 3, bytes: 10 };
    let mut cutter = Cutter::of_size(FORMATS[0], size);
    cutter.push(b"1\n2\n3\n4\nabcdefgh\n\"long\n\"\"record\"\n5\n6".to_vec());
    let mut portions = vec![];
    while let Some(portion) = cutter.full() {
        portions.push((portion.first_line, String::from_utf8(portion.bytes).expect("text")));
    }
    let expected = [(1, "1\n2\n3\n"), (4, "4\nabcdefgh\n"), (6, "\"long\n\"\"record\"\n")];
    assert_eq!(portions, expected.map(|(line, text)| (line, text.to_owned())));
    assert_eq!(cutter.rest().map(|rest| rest.bytes), Some(b"5\n".to_vec()));
    assert_eq!(cutter.line(), 8);
    cutter.end();
    assert_eq!(cutter.rest().map(|rest| (rest.first_line, rest.bytes)), Some((9, b"6".to_vec())));
}

#[test]
fn a_record_without_an_end_is_refused_while_it_comes() {
    for (format, begin) in [(FORMATS[0], "1\n2,\""), (FORMATS[0], "1\n2,"), (FORMATS[4], "1\n2\t")]
    {
        let mut cutter = Cutter::new(format);
        cutter.push(begin.as_bytes().to_vec());
        let (mut told, mut pushed) = (None, 0);
        for _ in 0..100 {
            assert!(cutter.full().is_none());
            told = cutter.check_length().err();
            if told.is_some() {
                break;
            }
            cutter.push(vec![b'x'; 1 << 20]);
            pushed += 1;
        }
        let told = told.expect("too long");
        assert_eq!((told.state.0, cutter.line()), ("54000", 2), "{begin}");
        // It is looked at again when it has become an eighth longer.
        assert!(pushed <= 80, "{pushed} MiB were taken");
        assert_eq!(cutter.rest().map(|rest| rest.bytes), Some(b"1\n".to_vec()));
    }
}
