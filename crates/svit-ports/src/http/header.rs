//! Names and values of headers: what may stand in one, and which nobody may set.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// The most headers of one request.
pub const MAX_REQUEST_HEADERS: usize = 64;
/// The longest value of a header, in bytes.
pub const MAX_HEADER_BYTES: usize = 8_192;
const MAX_NAME_BYTES: usize = 128;

/// What may be set at an entry without its saying so.
pub(super) const USUAL: [&str; 14] = [
    "accept",
    "accept-language",
    "cache-control",
    "content-language",
    "content-type",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "prefer",
    "range",
    "user-agent",
    "x-requested-with",
];

/// What frames a message, belongs to one connection, or makes a method into another. A host cannot
/// allow it either.
const NEVER: [&str; 22] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "trailers",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// A header of a request. Every value is held as a secret, since some are: `Debug` shows the name.
#[derive(Clone)]
pub struct HttpHeader {
    name: String,
    value: SecretString,
}

impl HttpHeader {
    /// `name` is in lower case and `value` was checked.
    pub(super) fn new(name: impl Into<String>, value: SecretString) -> Self {
        Self {
            name: name.into(),
            value,
        }
    }

    /// Its name, in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value, to be sent and not shown: printable ASCII, spaces and tabs, without a line break.
    pub fn expose(&self) -> &str {
        self.value.expose_secret()
    }
}

impl fmt::Debug for HttpHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ..", self.name)
    }
}

/// The name in lower case, if it may be set by anybody.
pub(super) fn checked_name(name: &str) -> Result<String, &'static str> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_token) {
        return Err("a name is 1 to 128 of letters, digits and hyphens");
    }
    let name = name.to_ascii_lowercase();
    // Servers that hand headers on as variables take `content_length` for `content-length`.
    if NEVER.contains(&name.replace('_', "-").as_str()) {
        return Err("it cannot be set");
    }
    Ok(name)
}

/// Whether a value cannot end its header, or anything that is logged.
// THREAT[TM-HTTP-3]
pub(super) fn check_value(value: &str) -> Result<(), &'static str> {
    if value.len() > MAX_HEADER_BYTES {
        return Err("its value has more than 8192 bytes");
    }
    if !value.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~')) {
        return Err("its value may have printable ASCII, spaces and tabs, and no line break");
    }
    Ok(())
}

/// Takes secrets out of what a server sent back.
///
/// It finds a secret as it was sent, and what stands behind the scheme in `Bearer KEY`; not one that
/// the server encoded.
#[derive(Default)]
pub(super) struct Redaction(Vec<Vec<u8>>);

/// Never longer than what it stands for.
const REDACTED: &[u8] = b"***";
/// Shorter ones are no secrets, and would be found everywhere.
const MIN_SECRET_BYTES: usize = 4;

impl Redaction {
    pub(super) fn add(&mut self, secret: &HttpHeader) {
        let whole = secret.expose().trim();
        let key = whole.split_once(' ').map_or("", |(_, key)| key.trim());
        for part in [whole, key] {
            let known = self.0.iter().any(|known| known == part.as_bytes());
            if part.len() >= MIN_SECRET_BYTES && !known {
                self.0.push(part.as_bytes().to_vec());
            }
        }
        self.0.sort_by_key(|part| std::cmp::Reverse(part.len()));
    }

    pub(super) fn apply(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.0
            .iter()
            .fold(bytes, |bytes, part| without(bytes, part))
    }

    pub(super) fn apply_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.apply(text.as_bytes().to_vec())).into_owned()
    }
}

fn without(bytes: Vec<u8>, part: &[u8]) -> Vec<u8> {
    let mut clean = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some(at) = find(rest, part) {
        clean.extend_from_slice(&rest[..at]);
        clean.extend_from_slice(REDACTED);
        rest = &rest[at + part.len()..];
    }
    if clean.is_empty() && rest.len() == bytes.len() {
        return bytes;
    }
    clean.extend_from_slice(rest);
    clean
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
