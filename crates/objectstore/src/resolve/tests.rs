//! Which of several addresses is chosen.

use super::*;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

fn name(count: u8) -> Name {
    let mut name = Name::default();
    name.replace(&(0..count).map(ip).collect::<Vec<_>>());
    name
}

/// How often each address is chosen, of 64 choices.
fn shares(name: &mut Name) -> Vec<usize> {
    let now = time::now();
    let chosen: Vec<_> = (0..64).map(|turn| name.choose(now, turn).expect("one")).collect();
    let count = |known: &Known| chosen.iter().filter(|ip| **ip == known.ip).count();
    name.known.iter().map(count).collect()
}

#[test]
fn every_address_is_used() {
    assert_eq!(shares(&mut name(4)), [16, 16, 16, 16]);
    assert_eq!(Name::default().choose(time::now(), 0), None);
}

#[test]
fn slow_addresses_get_a_second_chance_only() {
    let mut name = name(3);
    for (known, rate) in name.known.iter_mut().zip([100.0, 90.0, 10.0]) {
        known.rate = rate;
    }
    let shares = shares(&mut name);
    assert!(shares[2] <= 4 && shares[0] >= 28 && shares[1] >= 28, "{shares:?}");
}

#[test]
fn failed_addresses_rest_unless_all_do() {
    let mut two = name(2);
    two.known[0].rests_until = Some(time::now() + PENALTY);
    assert_eq!(shares(&mut two), [0, 64]);
    two.known[1].rests_until = Some(time::now() + PENALTY * 9);
    assert_eq!(shares(&mut two), [64, 0], "the one whose rest is over first");
}

#[test]
fn what_is_known_survives_a_new_answer() {
    let mut name = name(2);
    name.known[1].rate = 7.0;
    name.replace(&[ip(9), ip(1)]);
    let rates: Vec<_> = name.known.iter().map(|known| (known.ip, known.rate)).collect();
    assert_eq!(rates, [(ip(9), 0.0), (ip(1), 7.0)]);
}
