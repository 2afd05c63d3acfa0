//! Services that give out keys, over the runtime's sockets: what each is asked is written down, and
//! the test says what it answers.
#![allow(dead_code, reason = "not every file of tests needs all of it")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use runtime::net::{Address, Listener, Socket};
use runtime::{spawn, time};

/// What a service is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// A service.
#[derive(Clone)]
pub struct Service(Rc<RefCell<Vec<Asked>>>);

impl Service {
    /// Serves at an address; `answer` gives status and body, or `None` to say nothing at all.
    pub fn start(
        address: &str,
        answer: impl Fn(&Asked) -> Option<(u16, String)> + 'static,
    ) -> Service {
        let listener = Listener::bind(&Address::Tcp(address.parse().expect("an address")));
        let listener = listener.expect("a free address");
        let (service, answer) = (Service(Rc::default()), Rc::new(answer));
        let log = service.clone();
        drop(spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, log) = (answer.clone(), log.clone());
                drop(spawn(async move {
                    while let Some(asked) = read(&socket).await {
                        log.0.borrow_mut().push(asked.clone());
                        let Some((status, body)) = answer(&asked) else {
                            let _ = socket.hung_up().await;
                            return;
                        };
                        let length = body.len();
                        let head =
                            format!("HTTP/1.1 {status} So\r\ncontent-length: {length}\r\n\r\n");
                        if socket.send_all((head + &body).as_bytes()).await.is_err() {
                            return;
                        }
                    }
                }));
            }
        }));
        service
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.0.borrow().clone()
    }

    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }
}

/// A moment so many seconds from now, as services write it; the simulation begins with the year 2000.
pub fn moment(seconds: i64) -> String {
    let of_day = time::unix_us() / 1_000_000 - 946_684_800 + seconds;
    let (day, of_day) = (of_day / 86_400 + 1, of_day % 86_400);
    assert!(day <= 31, "within the first month");
    let (hour, minute) = (of_day / 3600, of_day / 60 % 60);
    format!("2000-01-{day:02}T{hour:02}:{minute:02}:{:02}Z", of_day % 60)
}

/// Keys as containers and machines get them.
pub fn document(id: &str, expires: &str) -> String {
    format!(
        "{{\"Code\": \"Success\", \"AccessKeyId\": \"{id}\", \"SecretAccessKey\": \"hunter2-{id}\", \
         \"Token\": \"token-{id}\", \"Expiration\": \"{expires}\"}}"
    )
}

async fn read(socket: &Socket) -> Option<Asked> {
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..at].to_vec()).expect("a head of text");
            let mut lines = head.lines();
            let mut first = lines.next().expect("a line").split(' ');
            let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
            let headers: BTreeMap<String, String> = lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let length = headers.get("content-length").map_or(0, |n| n.parse().expect("a length"));
            if bytes.len() >= at + 4 + length {
                let body = String::from_utf8(bytes.split_off(at + 4)).expect("a body of text");
                return Some(Asked { method, target, headers, body });
            }
        }
        match socket.recv(&mut chunk).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&chunk[..count]),
            _ => return None,
        }
    }
}
