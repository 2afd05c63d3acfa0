//! `tls-server-end-point` (RFC 5929): what binds a password's proof to the server's certificate.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// PKCS #1: RSA with a hash, which the last number of the identifier names.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// X9.62: ECDSA with a hash of the SHA-2 family, which the last number names.
const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
/// X9.62: ECDSA with SHA-1.
const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];

/// The certificate's hash, by the hash of its signature, but SHA-256 for weaker ones. `None` for
/// signatures to which the standard gives no hash.
pub(super) fn endpoint_hash(certificate: &[u8]) -> Option<Vec<u8>> {
    let whole = element(certificate)?.0;
    let signed = element(whole)?;
    let algorithm = element(element(signed.1)?.0)?.0;
    let (last, prefix) = algorithm.split_last()?;
    match (prefix, last) {
        (RSA, 0x04 | 0x05 | 0x0b) | (ECDSA_SHA2, 0x02) => {
            Some(Sha256::digest(certificate).to_vec())
        }
        _ if algorithm == ECDSA_SHA1 => Some(Sha256::digest(certificate).to_vec()),
        (RSA, 0x0c) | (ECDSA_SHA2, 0x03) => Some(Sha384::digest(certificate).to_vec()),
        (RSA, 0x0d) | (ECDSA_SHA2, 0x04) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// The content of the first element of DER, and what is behind it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = der.get(1..)?.split_first()?;
    let (length, rest) = match first {
        short @ 0..=0x7f => (usize::from(*short), rest),
        long => {
            let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            if bytes.len() > 4 {
                return None;
            }
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
    };
    rest.split_at_checked(length)
}
