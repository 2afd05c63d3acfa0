//! Which of several addresses is chosen, and for how long names are asked for.

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
fn addresses_with_small_segments_get_a_second_chance_only() {
    let mut name = name(4);
    for (known, bytes) in name.known.iter_mut().zip([1448, 8948, 8360, 0]) {
        (known.rate, known.segment_bytes) = (100.0, bytes);
    }
    let among_all = shares(&mut name);
    assert!(among_all[0] <= 4 && among_all[1..].iter().all(|share| *share >= 16), "{among_all:?}");
    // Those with large ones are slow: the fast one is used all the same.
    name.known[1].rate = 10.0;
    name.known[2].rate = 10.0;
    name.known[3].rate = 10.0;
    let among_slow = shares(&mut name);
    assert!(among_slow[0] >= 50, "{among_slow:?}");
    // And so it is while they rest.
    name.known.iter_mut().for_each(|known| known.rate = 100.0);
    name.known[1..].iter_mut().for_each(|known| known.rests_until = Some(time::now() + PENALTY));
    assert_eq!(shares(&mut name), [64, 0, 0, 0]);
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

#[test]
fn names_that_have_served_wait_for_no_others() {
    let disk = runtime::sim::Disk::new(3);
    let network = disk.network();
    let ring = runtime::RingChoice::Sim(disk);
    let config = runtime::Config { workers: 1, ring, ..runtime::Config::default() };
    let runtime = runtime::Runtime::start(config).expect("a runtime");
    runtime.block_on(move || async move {
        for host in ["old.test", "new.test"] {
            network.name(host, &[ip(1)]);
        }
        let endpoint = |host| Endpoint::parse(&format!("http://{host}")).expect("an endpoint");
        let (resolver, allow) = (Resolver::new(), AllowList::any());
        let choose = async |host| resolver.choose(&endpoint(host), &allow).await;
        choose("old.test").await.expect("an address");
        // All places are taken by names that nobody answers for.
        let mut places = Vec::new();
        for _ in 0..ASKED_AT_ONCE_MAX {
            places.push(resolver.asking.acquire().await);
        }
        time::sleep(FRESH).await;
        let begun = time::now();
        choose("old.test").await.expect("the old address");
        assert!(begun.elapsed() <= KNOWN_WAIT * 2, "{:?}", begun.elapsed());
        let begun = time::now();
        choose("old.test").await.expect("the old address");
        assert!(begun.elapsed() < KNOWN_WAIT, "it is not asked for again at once");
        let new = time::timeout(Duration::from_secs(5), choose("new.test")).await;
        assert!(new.is_err(), "a new name waits for its turn");
        drop(places);
        choose("new.test").await.expect("an address");
    });
}
