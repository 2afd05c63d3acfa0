//! The addresses that a server listens at.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use engine::{Configuration, SqlError, SqlResult, SqlState};
use server::Address;

/// The port of PostgreSQL, where clients look first.
const PORT: u16 = 5432;

/// The port of the console.
const HTTP_PORT: u16 = 8432;

/// Where clients of the protocol connect.
pub fn protocol(configuration: &Configuration) -> SqlResult<Vec<Address>> {
    let mut all = Vec::new();
    for text in configuration.list("listen") {
        all.extend(resolve("listen", &text, PORT)?);
    }
    if let Some(folder) = configuration.text("unix_socket") {
        let port = all.iter().find_map(port_of).unwrap_or(PORT);
        all.push(Address::Unix(PathBuf::from(folder).join(format!(".s.PGSQL.{port}"))));
    }
    Ok(all)
}

/// The port of an address: clients name the file of a unix socket by it. That of the kernel's choice is
/// not known yet.
fn port_of(address: &Address) -> Option<u16> {
    match address {
        Address::Tcp(address) => Some(address.port()).filter(|port| *port != 0),
        Address::Unix(_) => None,
    }
}

/// Where health, metrics and the console are.
pub fn http(configuration: &Configuration) -> SqlResult<Vec<Address>> {
    let mut all = Vec::new();
    for text in configuration.list("http_listen") {
        let addresses = resolve("http_listen", &text, HTTP_PORT)?;
        only_here(&text, &addresses)?;
        all.extend(addresses);
    }
    Ok(if configuration.flag("http") { all } else { vec![] })
}

/// How a user connects to an address.
pub fn how_to_connect(address: &Address) -> String {
    match address {
        Address::Tcp(tcp) => format!("psql -h {} -p {}", tcp.ip(), tcp.port()),
        Address::Unix(path) => {
            let folder = path.parent().unwrap_or(path).display();
            let port = path.extension().map_or(String::new(), |port| port.display().to_string());
            format!("psql -h {folder} -p {port}")
        }
    }
}

/// The addresses that `text` names.
fn resolve(setting: &str, text: &str, port: u16) -> SqlResult<Vec<Address>> {
    let bad = |why: String| {
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, format!("{setting} {text}: {why}"))
    };
    let resolved = match text.parse::<IpAddr>() {
        Ok(ip) => vec![SocketAddr::new(ip, port)],
        Err(_) if !text.contains(':') => {
            (text, port).to_socket_addrs().map_err(|e| bad(e.to_string()))?.collect()
        }
        Err(_) => text.to_socket_addrs().map_err(|e| bad(e.to_string()))?.collect::<Vec<_>>(),
    };
    Ok(resolved.into_iter().map(Address::Tcp).collect())
}

/// The login of the console travels without TLS, so only this machine may reach it.
fn only_here(text: &str, addresses: &[Address]) -> SqlResult<()> {
    let open = |address: &&Address| match address {
        Address::Unix(_) => false,
        Address::Tcp(address) => !address.ip().is_loopback(),
    };
    let Some(open) = addresses.iter().find(open) else { return Ok(()) };
    let message = format!("http_listen {text}: {open} can be reached from other machines");
    Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        .with_detail("The console is served without encryption.")
        .with_hint("Listen at 127.0.0.1 and reach it through an SSH tunnel."))
}
