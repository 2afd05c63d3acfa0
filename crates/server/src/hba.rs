//! Who may connect from where, and how it proves who it is: rules in the form of `pg_hba.conf`.
//!
//! The first rule that fits decides; where none fits the connection is refused.

use std::net::IpAddr;

use runtime::net::Address;
use types::{SqlError, SqlResult, SqlState};

/// How a client proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Not at all.
    Trust,
    /// It is refused.
    Reject,
    /// By a password, which never travels.
    Scram,
}

/// Rules, the first that fits first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules(Vec<Rule>);

/// A client that wants to connect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub peer: &'a Address,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
    pub database: &'a str,
    pub user: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    /// The line in the file.
    line: usize,
    origin: Origin,
    databases: Vec<String>,
    users: Vec<String>,
    method: Method,
}

/// Where connections come from.
#[derive(Clone, Debug, PartialEq)]
enum Origin {
    /// A unix socket.
    Local,
    /// A network; over TLS, without it, or either way.
    Host { network: Option<(IpAddr, u32)>, encrypted: Option<bool> },
}

impl Rules {
    /// Reads rules, one a line; `#` begins a comment.
    ///
    /// # Errors
    /// F0000 with the line that does not fit.
    pub fn parse(text: &str) -> SqlResult<Rules> {
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let words = words(line);
            if !words.is_empty() {
                rules.push(Rule::parse(number + 1, &words)?);
            }
        }
        Ok(Rules(rules))
    }

    /// The method for a client; `None` where no rule fits. `is_member` tells whether the user has
    /// a role, for names that begin with `+`.
    pub(crate) fn method(
        &self,
        candidate: &Candidate<'_>,
        is_member: impl Fn(&str) -> bool,
    ) -> Option<Method> {
        self.0.iter().find(|rule| rule.fits(candidate, &is_member)).map(|rule| rule.method)
    }

    /// The line of the first rule by which other machines connect without proof.
    pub fn trusts_everyone(&self) -> Option<usize> {
        let everyone = |rule: &&Rule| match &rule.origin {
            Origin::Local => false,
            Origin::Host { network, .. } => {
                rule.method == Method::Trust && !network.is_some_and(is_loopback)
            }
        };
        self.0.iter().find(everyone).map(|rule| rule.line)
    }
}

/// Whether all of a network is this machine.
fn is_loopback((ip, bits): (IpAddr, u32)) -> bool {
    ip.is_loopback() && bits >= if ip.is_ipv4() { 8 } else { 128 }
}

/// The words of a line; quotes keep blanks and commas together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.push(c);
            }
            '#' if !quoted => break,
            c if c.is_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn list(word: &str) -> Vec<String> {
    let (mut items, mut item, mut quoted) = (Vec::new(), String::new(), false);
    for c in word.chars() {
        match c {
            // The mark of a quoted name: it is no keyword.
            '"' => {
                quoted = !quoted;
                if quoted {
                    item.push('\0');
                }
            }
            ',' if !quoted => items.push(std::mem::take(&mut item)),
            c => item.push(c),
        }
    }
    items.push(item);
    items
}

impl Rule {
    fn parse(line: usize, words: &[String]) -> SqlResult<Rule> {
        let error = |what: String| {
            let message = format!("authentication rules, line {line}: {what}");
            SqlError::new(SqlState("F0000"), message)
        };
        let mut words = words.iter().map(String::as_str);
        let mut word = |what: &str| words.next().ok_or_else(|| error(format!("{what} is missing")));
        let kind = word("the type")?;
        let (databases, users) = (list(word("the database")?), list(word("the user")?));
        let encrypted = match kind {
            "local" | "host" => None,
            "hostssl" => Some(true),
            "hostnossl" => Some(false),
            other => {
                let known = "local, host, hostssl or hostnossl";
                return Err(error(format!("the type is \"{other}\" and not {known}")));
            }
        };
        let origin = match kind {
            "local" => Origin::Local,
            _ => {
                let network = network(word("the address")?).map_err(error)?;
                Origin::Host { network, encrypted }
            }
        };
        let method = method(word("the method")?).map_err(error)?;
        match words.next() {
            None => Ok(Rule { line, origin, databases, users, method }),
            Some(option) => Err(error(format!("the option \"{option}\" is not supported"))),
        }
    }

    fn fits(&self, candidate: &Candidate<'_>, is_member: &impl Fn(&str) -> bool) -> bool {
        let from_here = match (&self.origin, candidate.peer) {
            (Origin::Local, Address::Unix(_)) => true,
            (Origin::Host { network, encrypted }, Address::Tcp(peer)) => {
                let inside = network.is_none_or(|network| contains(network, peer.ip()));
                inside && encrypted.is_none_or(|encrypted| encrypted == candidate.encrypted)
            }
            _ => false,
        };
        let named = |entry: &String, name: &str| match entry.strip_prefix('\0') {
            Some(quoted) => quoted == name,
            None => entry == "all" || entry == name,
        };
        let database = |entry: &String| {
            named(entry, candidate.database)
                || entry == "sameuser" && candidate.database == candidate.user
        };
        let user = |entry: &String| match entry.strip_prefix('+') {
            Some(role) => is_member(role),
            None => named(entry, candidate.user),
        };
        from_here && self.databases.iter().any(database) && self.users.iter().any(user)
    }
}

fn method(word: &str) -> Result<Method, String> {
    match word {
        "trust" => Ok(Method::Trust),
        "reject" => Ok(Method::Reject),
        "scram-sha-256" => Ok(Method::Scram),
        other => Err(format!("the method is \"{other}\" and not trust, reject or scram-sha-256")),
    }
}

/// A network; `None` is all.
fn network(word: &str) -> Result<Option<(IpAddr, u32)>, String> {
    if word == "all" {
        return Ok(None);
    }
    let bad = || format!("the address is \"{word}\" and not all or like 10.0.0.0/8");
    let (ip, bits) = match word.split_once('/') {
        Some((ip, bits)) => (ip, Some(bits.parse::<u32>().map_err(|_| bad())?)),
        None => (word, None),
    };
    let ip: IpAddr = ip.parse().map_err(|_| bad())?;
    let width = if ip.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(width);
    if bits > width {
        return Err(bad());
    }
    Ok(Some((ip, bits)))
}

fn contains((network, bits): (IpAddr, u32), ip: IpAddr) -> bool {
    match (network, ip.to_canonical()) {
        (IpAddr::V4(network), IpAddr::V4(ip)) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            network.to_bits() & mask == ip.to_bits() & mask
        }
        (IpAddr::V6(network), IpAddr::V6(ip)) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            network.to_bits() & mask == ip.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
