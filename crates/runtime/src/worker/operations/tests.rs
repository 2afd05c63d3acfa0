//! Which operations shorten the slices of queries.

use std::time::Duration;

use crate::buf::IoBuf;
use crate::config::Config;
use crate::net::address::Address;
use crate::net::listener::Listener;
use crate::net::socket::Socket;
use crate::runtime::Runtime;
use crate::task::join::spawn;
use crate::yielding::yield_now;
use crate::{time, worker};

/// Operations about sockets, and of these those that a client waits for.
fn counts() -> (u32, u32) {
    worker::with(|w| (w.sockets.get(), w.clients.get()))
}

#[test]
fn transfers_over_sockets_are_no_clients() {
    // Without attacks, so that a task runs when it is its turn.
    let config = Config { workers: 1, attack: false, ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(|| async {
        let anywhere = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let listener = Listener::bind(&anywhere).expect("a free address");
        let deadline = time::now() + Duration::from_secs(60);
        let transfer = Socket::connect_until(listener.local_address(), deadline).await;
        let transfer = transfer.expect("connected");
        let (client, _) = listener.accept().await.expect("accepted");
        assert_eq!(counts(), (0, 0));

        let receiver = transfer.clone();
        let received =
            spawn(async move { receiver.recv_into(IoBuf::alloc(10), 0..10, deadline).await.0 });
        let waits = transfer.clone();
        let readable = spawn(async move { waits.readable().await });
        yield_now().await;
        assert_eq!(counts(), (2, 0), "nothing of this shortens the slices of queries");
        worker::with(|w| assert!(!w.ring.borrow().has_answers(), "and it is no answer"));

        let other = client.clone();
        let asked = spawn(async move { other.readable().await });
        yield_now().await;
        assert_eq!(counts(), (3, 1), "a client is waited for");

        client.send_all(&[1; 10]).await.expect("sent");
        transfer.send_all(&[1; 10]).await.expect("sent");
        asked.await.expect("ended").expect("readable");
        received.await.expect("ended").expect("received");
        drop(client);
        readable.await.expect("ended").expect("the end of the stream, at the latest");
        assert_eq!(counts(), (0, 0));
    });
}
