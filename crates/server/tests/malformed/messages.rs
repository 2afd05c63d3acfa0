//! Messages as clients send them, and what a seed makes of them.

use stdx::Prng;

/// Lengths and counts that somebody may claim.
const CLAIMS: [u32; 14] = [
    0,
    1,
    3,
    4,
    8,
    10_000,
    0xffff,
    0x0040_0000,
    0x0fff_ffff,
    0x1000_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

/// Statements, some with parameters.
const TEXTS: [&str; 12] = [
    "select 1",
    "select $1::int + $2",
    "select * from generate_series(1, 10) g where g = any($1)",
    "begin; select 'it''s', E'\\n', U&'\\0041', $$body$$; commit",
    "select a, count(*) from t group by 1 having count(*) > 1 order by 2 desc limit 5",
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r",
    "select ((((((1 + 2) * 3) - 4) / 5) % 6) ^ 7), -(-(-1)), not not true",
    "copy t from stdin (format csv)",
    "declare c cursor for select 1; fetch 5 from c; close c",
    "set application_name to 'x'; show all",
    "select interval '1 day', date '2020-02-29', timestamp '2020-01-01 10:00', 1e308, 0x1f",
    "/* a /* nested */ comment */ select 1 -- and another",
];

fn text(random: &mut Prng) -> &'static str {
    TEXTS[random.below(TEXTS.len() as u64) as usize]
}

/// A start-up message.
pub fn startup(random: &mut Prng) -> Vec<u8> {
    let bodies: [&[u8]; 5] = [
        b"\0\x03\0\0user\0u\0\0",
        b"\0\x03\0\x02user\0u\0database\0t\0application_name\0x\0_pq_.more\0on\0\0",
        b"\0\x03\0\0user\0u\0options\0-c statement_timeout=5s --work_mem=1MB -c a\\ b=c\0\0",
        b"\x04\xd2\x16\x2f",
        b"\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02",
    ];
    let body = bodies[random.below(bodies.len() as u64) as usize];
    [&(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// The two messages of a client that proves itself, with a line feed between them.
pub fn scram(random: &mut Prng) -> Vec<u8> {
    let first = b"n,,n=,r=rOprNGfwEbeRWgbNEkqO".as_slice();
    let first = match random.below(2) {
        0 => first.to_vec(),
        _ => initial(first),
    };
    let proof =
        b"c=biws,r=rOprNGfwEbeRWgbNEkqOnonce,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
    [first.as_slice(), b"\n", proof].concat()
}

/// The body of `SASLInitialResponse`.
fn initial(first: &[u8]) -> Vec<u8> {
    let len = (first.len() as u32).to_be_bytes();
    [b"SCRAM-SHA-256\0", len.as_slice(), first].concat()
}

/// A tag and a body.
pub fn body(random: &mut Prng) -> Vec<u8> {
    let zero = b"\0".as_slice();
    let text = text(random).as_bytes();
    let (tag, parts): (u8, Vec<&[u8]>) = match random.below(12) {
        0 | 1 => (b'Q', vec![text, zero]),
        2 | 3 => (b'P', vec![b"s\0", text, zero, &[0, 2, 0, 0, 0, 23, 0, 0, 0, 25]]),
        4 => (b'B', vec![b"\0s\0", &[0, 1, 0, 1, 0, 2, 0, 0, 0, 4, 0, 0, 0, 7]]),
        5 => (b'B', vec![b"p\0s\0", &[0, 0, 0, 1, 255, 255, 255, 255, 0, 1, 0, 0]]),
        6 => (b'D', vec![b"Ss\0"]),
        7 => (b'E', vec![b"p\0", &[0, 0, 0, 5]]),
        8 => (b'C', vec![b"Pp\0"]),
        9 => (b'd', vec![b"1,2,3\n"]),
        10 => (b'p', vec![b"SCRAM-SHA-256\0", &[0, 0, 0, 8], b"n,,n=,r="]),
        _ => (b"SHcfXF"[random.below(6) as usize], vec![text, zero]),
    };
    [&[tag], parts.concat().as_slice()].concat()
}

/// A whole message: its tag, its length, its body.
pub fn framed(body: &[u8]) -> Vec<u8> {
    let Some((tag, body)) = body.split_first() else { return vec![] };
    [&[*tag], (body.len() as u32 + 4).to_be_bytes().as_slice(), body].concat()
}

/// Some messages.
pub fn frames(random: &mut Prng) -> Vec<u8> {
    (0..1 + random.below(4)).flat_map(|_| framed(&body(random))).collect()
}

/// A value in binary format.
pub fn value(random: &mut Prng) -> Vec<u8> {
    let array =
        b"\0\0\0\x01\0\0\0\x01\0\0\0\x17\0\0\0\x02\0\0\0\x01\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff";
    let numeric = b"\0\x03\0\x01\0\0\0\x04\0\x01\x04\xd2\x16\x2e";
    match random.below(4) {
        0 => array.to_vec(),
        1 => numeric.to_vec(),
        2 => "any text, ä too".into(),
        _ => (0..[1, 2, 4, 8, 16][random.below(5) as usize]).map(|_| byte(random)).collect(),
    }
}

/// Input of a COPY into eight columns; its first byte chooses the format.
pub fn copy(random: &mut Prng) -> Vec<u8> {
    match random.below(3) {
        0 => "\x001\t2\t0.5\t1.25\tte\\\\xt\\x41\t2020-02-29\t2020-02-29 10:00:00\tt\n\\.\n".into(),
        1 => "\x01header\n1,2,0.5,1.25,\"a \"\"b\"\"\nc\",2020-02-29,,f\n".into(),
        _ => {
            let mut bytes = b"\x02PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x08".to_vec();
            for field in [[0u8, 0, 0, 7].as_slice(), &[0; 8], &[0; 8], b"\0\x01\0\0\0\0\0\0\0\x01"]
            {
                bytes.extend_from_slice(&(field.len() as u32).to_be_bytes());
                bytes.extend_from_slice(field);
            }
            bytes.extend_from_slice(&[0, 0, 0, 1, b'x']);
            bytes.extend_from_slice(&[255; 12]);
            bytes.extend_from_slice(&[255; 2]);
            bytes
        }
    }
}

/// Spoils a message in one to four places.
pub fn spoil(bytes: &mut Vec<u8>, random: &mut Prng) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        match random.below(8) {
            0 | 1 => overwrite(bytes, at, &[byte(random)]),
            2 | 3 => {
                let claim = CLAIMS[random.below(CLAIMS.len() as u64) as usize].to_be_bytes();
                let width = [2, 4][random.below(2) as usize];
                overwrite(bytes, at, &claim[4 - width..]);
            }
            4 => bytes.truncate(at),
            5 => drop(bytes.splice(at..at, (0..random.below(9)).map(|_| byte(random)))),
            6 => drop(bytes.drain(at..bytes.len().min(at + random.below(6) as usize))),
            _ => {
                let piece = bytes[at..bytes.len().min(at + 20)].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
}

fn byte(random: &mut Prng) -> u8 {
    random.below(256) as u8
}

fn overwrite(bytes: &mut Vec<u8>, at: usize, with: &[u8]) {
    let end = bytes.len().min(at + with.len());
    bytes.splice(at..end, with.iter().copied());
}
