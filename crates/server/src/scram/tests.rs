//! The example of RFC 7677, and messages that are none.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::{Credentials, Verifier};
use stdx::Prng;

use super::{Exchange, Refusal};

const FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const ANSWER: &str =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
const SECOND: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                      p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
const SIGNATURE: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

fn verifier(password: &str) -> Verifier {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
    Verifier::salted(password, &salt, 4096)
}

fn credentials(password: &str) -> Credentials {
    Credentials::of(verifier(password))
}

/// Made once: the derivation is slow on purpose.
static PENCIL: LazyLock<Verifier> = LazyLock::new(|| verifier("pencil"));

fn begin(message: &[u8]) -> Result<(Exchange, String), Refusal> {
    Exchange::with_nonce(message, Credentials::of(PENCIL.clone()), None, false, NONCE)
}

#[test]
fn the_example_of_the_standard_passes() {
    let (exchange, answer) = begin(FIRST.as_bytes()).expect("begun");
    assert_eq!(answer, ANSWER);
    assert_eq!(exchange.finish(SECOND.as_bytes()).expect("proved"), SIGNATURE);
}

#[test]
fn another_password_and_an_unknown_role_fail_alike() {
    for credentials in [credentials("pencils"), Credentials::mock("nobody", &[7; 32])] {
        let begun = Exchange::with_nonce(FIRST.as_bytes(), credentials, None, false, NONCE);
        let (exchange, _) = begun.expect("begun");
        assert!(matches!(exchange.finish(SECOND.as_bytes()), Err(Refusal::Wrong)));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let table = [
        "",
        "n",
        "n,,",
        "n,,n=user",
        "x,,n=user,r=abc",
        "n,a=other,n=user,r=abc",
        "n,,m=ext,n=user,r=abc",
        "n,,n=user,r=",
        "n,,n=user,r=a\u{7f}b",
        "p=tls-server-end-point,,n=user,r=abc",
        "n,,r=abc,n=user",
    ];
    for message in table {
        assert!(matches!(begin(message.as_bytes()), Err(Refusal::Malformed(_))), "{message:?}");
    }
    let offered = Exchange::begin(b"y,,n=,r=abc", credentials("pencil"), None, true);
    assert!(matches!(offered, Err(Refusal::Malformed(_))), "a downgrade");
    let (exchange, _) = begin(FIRST.as_bytes()).expect("begun");
    let table = [
        "",
        "c=biws",
        SECOND.trim_end_matches('='),
        &SECOND.replace("biws", "eSws"),
        &SECOND.replace("$k0", "$k1"),
        &SECOND.replace("p=dHzb", "p=!!!!"),
    ];
    for message in table {
        assert!(matches!(exchange.finish(message.as_bytes()), Err(Refusal::Malformed(_))));
    }
}

#[test]
fn a_binding_must_be_that_of_the_channel() {
    let first = b"p=tls-server-end-point,,n=,r=abc";
    let second = |binding: &[u8]| {
        let header = [b"p=tls-server-end-point,,", binding].concat();
        let proof = STANDARD.encode([0; 32]);
        format!("c={},r=abc{NONCE},p={proof}", STANDARD.encode(header))
    };
    let begun =
        Exchange::with_nonce(first, credentials("pencil"), Some(b"certificate"), true, NONCE);
    let (exchange, _) = begun.expect("begun");
    let wrong = exchange.finish(second(b"another").as_bytes());
    assert!(matches!(wrong, Err(Refusal::Malformed(_))), "another channel");
    let right = exchange.finish(second(b"certificate").as_bytes());
    assert!(matches!(right, Err(Refusal::Wrong)), "the channel is right, the proof is not");
}

#[test]
fn changed_messages_are_refused_and_never_panic() {
    let mut random = Prng::new(3);
    let mut change = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, random.below(256) as u8),
            }
        }
        bytes
    };
    let (exchange, _) = begin(FIRST.as_bytes()).expect("begun");
    let mut accepted = 0;
    for _ in 0..100_000 {
        let (first, second) = (change(FIRST), change(SECOND));
        let _ = begin(&first).map(|(exchange, _)| exchange.finish(&second).is_ok());
        let same = second == SECOND.as_bytes();
        accepted += u32::from(!same && exchange.finish(&second).is_ok());
    }
    assert_eq!(accepted, 0);
}
