//! `HttpUrl`: a URL in one spelling, or the reason why it is refused.
//!
//! Two programs that read one text as two different URLs are how an allowlist is got round. So this
//! reads less than they do: what has two readings is refused, what is left has one canonical text,
//! and that text is what is compared and what is sent.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest URL, in bytes, before and after it is brought to its one form.
pub const MAX_URL_BYTES: usize = 8_192;

/// How often an escape may be escaped again. Nobody needs the second time.
const MAX_DECODINGS: usize = 4;

/// An `http` or `https` URL without a user, a fragment or anything that has two readings.
///
/// Scheme and host are in lower case, the port is a number, each path segment and the query have
/// escapes where they are needed and nowhere else. Two URLs are equal if a server cannot tell them
/// apart.
///
/// ```
/// use svit_ports::http::HttpUrl;
///
/// let url = HttpUrl::parse("HTTPS://API.Example.com:443/v1/%7Ejo/caf\u{e9}?q=%41+b")?;
/// assert_eq!(url.to_string(), "https://api.example.com/v1/~jo/caf%C3%A9?q=A+b");
/// assert!(HttpUrl::parse("https://api.example.com/v1/%2e%2e/admin").is_err());
/// assert!(HttpUrl::parse("https://api.example.com@evil.example/").is_err());
/// assert!(HttpUrl::parse("http://0x7f.1/").is_err());
/// # Ok::<(), svit_ports::http::UrlProblem>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HttpUrl {
    scheme: HttpScheme,
    host: HttpHost,
    port: u16,
    /// Begins with a slash.
    path: String,
    query: Option<String>,
}

/// The two schemes that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpScheme {
    /// `http`: readable on the way.
    Http,
    /// `https`.
    Https,
}

impl HttpScheme {
    /// `http` or `https`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// What a URL says to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HttpHost {
    /// A name in lower-case ASCII, without a dot at its end; an internationalized one in its `xn--`
    /// form.
    Name(String),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address, which is no IPv4 address in other clothes.
    V6(Ipv6Addr),
}

/// Why a text is no URL that may be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlProblem {
    /// It is too long.
    #[error("it has {bytes} bytes, at most {MAX_URL_BYTES} are allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// A space, a control character, a backslash, or one that cannot be seen.
    #[error("it has the character {0:?}, which must be left out or percent-encoded")]
    Character(char),
    /// Not `http://` or `https://`.
    #[error("it must begin with https:// or http://")]
    Scheme,
    /// A user or password before the host.
    #[error("a user or password in front of the host is not allowed: leave out all up to the @")]
    UserInfo,
    /// There is no host.
    #[error("it has no host")]
    NoHost,
    /// The host has other letters than ASCII.
    #[error("the host must be in ASCII; an internationalized name in its xn-- form")]
    HostNotAscii,
    /// The host ends with a dot.
    #[error("the host must not end with a dot")]
    TrailingDot,
    /// The host is not a name.
    #[error("the host is not a name of letters, digits, hyphens and dots")]
    Host,
    /// An address that is not written as four decimal numbers.
    #[error("an IPv4 address is four decimal numbers without leading zeros, as in 192.0.2.1")]
    OddAddress,
    /// Not an IPv6 address, or an IPv4 address written as one.
    #[error("it has no IPv6 address in its brackets; an IPv4 address is written without them")]
    BadIpv6,
    /// The port is not a number from 1 to 65535, without leading zeros.
    #[error("the port is not a number from 1 to 65535")]
    Port,
    /// There is a `#`.
    #[error("leave out the part from # on: it is never sent")]
    Fragment,
    /// A percent sign without two hexadecimal digits.
    #[error("a % must be followed by two hexadecimal digits; a percent sign itself is %25")]
    Percent,
    /// A path segment that is `.` or `..`, however it is written.
    #[error("path segments . and .. are not allowed, in no spelling: write the path that is meant")]
    DotSegment,
    /// A slash or backslash in a segment, escaped once or more or as a character that looks like one.
    #[error("a slash or backslash inside a path segment is not allowed, in no spelling")]
    Separator,
    /// The escapes of a path segment are not UTF-8.
    #[error("the escapes in a path segment must be UTF-8")]
    NotUtf8,
    /// Escapes of escapes of escapes.
    #[error("a path segment is percent-encoded too many times")]
    Overencoded,
}

impl HttpUrl {
    /// Reads a URL, and brings it to its one form. Takes time by its length.
    ///
    /// # Errors
    /// [`UrlProblem`], in words for whoever wrote it.
    pub fn parse(text: &str) -> Result<Self, UrlProblem> {
        check_length(text)?;
        if let Some(bad) = text.chars().find(|&c| is_unseen(c) || c == '\\') {
            return Err(UrlProblem::Character(bad));
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlProblem::Scheme)?;
        let scheme = match scheme {
            _ if scheme.eq_ignore_ascii_case("https") => HttpScheme::Https,
            _ if scheme.eq_ignore_ascii_case("http") => HttpScheme::Http,
            _ => return Err(UrlProblem::Scheme),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let (host, port) = parse_authority(authority)?;
        if target.contains('#') {
            return Err(UrlProblem::Fragment);
        }
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let url = Self {
            scheme,
            host,
            port: port.unwrap_or(scheme.default_port()),
            path: normal_path(path)?,
            query: query.map(|query| normal(query, in_query)).transpose()?,
        };
        check_length(&url.to_string())?;
        Ok(url)
    }

    /// The URL that a redirect from this one leads to: `location` may be whole or relative. Its
    /// fragment is left out; `.` and `..` in a relative one are resolved, other spellings refused.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn join(&self, location: &str) -> Result<Self, UrlProblem> {
        check_length(location)?;
        let location = location.split('#').next().unwrap_or_default();
        let before = location.split(['/', '?']).next().unwrap_or_default();
        if before.contains(':') {
            return Self::parse(location);
        }
        let scheme = self.scheme.as_str();
        if location.starts_with("//") {
            return Self::parse(&format!("{scheme}:{location}"));
        }
        let (path, query) = match location.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (location, String::new()),
        };
        let path = match path {
            "" => self.path.clone(),
            _ if path.starts_with('/') => resolved(path),
            _ => {
                let folder = self.path.rfind('/').map_or(0, |at| at + 1);
                resolved(&format!("{}{path}", &self.path[..folder]))
            }
        };
        Self::parse(&format!("{}{path}{query}", self.origin()))
    }

    /// The scheme.
    pub fn scheme(&self) -> HttpScheme {
        self.scheme
    }

    /// The host.
    pub fn host(&self) -> &HttpHost {
        &self.host
    }

    /// The port, also where it is the scheme's own.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path, which begins with a slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What stands behind the `?`, if there is one.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// Scheme, host and port, the latter left out where it is the scheme's own.
    pub fn origin(&self) -> String {
        let (scheme, host) = (self.scheme.as_str(), &self.host);
        if self.port == self.scheme.default_port() {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}:{}", self.port)
        }
    }

    /// Whether both are of one server.
    pub fn has_origin_of(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// Whether a path segment in front of the last is empty, which some servers leave out.
    pub(crate) fn has_empty_segment(&self) -> bool {
        self.path.contains("//")
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)?;
        self.query
            .as_ref()
            .map_or(Ok(()), |query| write!(f, "?{query}"))
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpUrl({self})")
    }
}

impl fmt::Display for HttpHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::V4(address) => write!(f, "{address}"),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}

fn check_length(text: &str) -> Result<(), UrlProblem> {
    let bytes = text.len();
    if bytes > MAX_URL_BYTES {
        return Err(UrlProblem::TooLong { bytes });
    }
    Ok(())
}

/// Spaces, control characters, and characters that have no width or turn the direction of text.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\0'..=' ' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{1680}' | '\u{180e}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{3000}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn parse_authority(text: &str) -> Result<(HttpHost, Option<u16>), UrlProblem> {
    if text.contains('@') {
        return Err(UrlProblem::UserInfo);
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']').ok_or(UrlProblem::BadIpv6)?;
        let host = HttpHost::V6(parse_ipv6(address)?);
        return match port.strip_prefix(':') {
            Some(port) => Ok((host, Some(parse_port(port)?))),
            None if port.is_empty() => Ok((host, None)),
            None => Err(UrlProblem::Host),
        };
    }
    match text.split_once(':') {
        Some((host, port)) => Ok((parse_host(host)?, Some(parse_port(port)?))),
        None => Ok((parse_host(text)?, None)),
    }
}

fn parse_port(text: &str) -> Result<u16, UrlProblem> {
    let plain = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    let port = text.parse().ok().filter(|_| plain);
    port.ok_or(UrlProblem::Port)
}

fn parse_ipv6(text: &str) -> Result<Ipv6Addr, UrlProblem> {
    let address: Ipv6Addr = text.parse().map_err(|_| UrlProblem::BadIpv6)?;
    // `::ffff:127.0.0.1` and `::127.0.0.1` are other spellings of an IPv4 address; `::` and `::1` are not.
    let compatible = address.segments()[..6] == [0; 6] && address.segments()[6] != 0;
    if compatible || address.to_ipv4_mapped().is_some() {
        return Err(UrlProblem::BadIpv6);
    }
    Ok(address)
}

fn parse_host(text: &str) -> Result<HttpHost, UrlProblem> {
    if text.is_empty() {
        return Err(UrlProblem::NoHost);
    }
    if !text.is_ascii() {
        return Err(UrlProblem::HostNotAscii);
    }
    if text.ends_with('.') {
        return Err(UrlProblem::TrailingDot);
    }
    let name = text.to_ascii_lowercase();
    let in_label = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(in_label)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() > 253 || !name.split('.').all(is_label) {
        return Err(UrlProblem::Host);
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    if !is_number(last) {
        return Ok(HttpHost::Name(name));
    }
    let address: Ipv4Addr = name.parse().map_err(|_| UrlProblem::OddAddress)?;
    if address.to_string() != name {
        return Err(UrlProblem::OddAddress);
    }
    Ok(HttpHost::V4(address))
}

/// What the URL standard of browsers takes for a number at the end of a host, and so for an address.
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x");
    label.bytes().all(|b| b.is_ascii_digit())
        || hex.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn normal_path(path: &str) -> Result<String, UrlProblem> {
    let mut normal_path = String::with_capacity(path.len() + 1);
    for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
        let segment = normal(segment, in_segment)?;
        check_segment(segment.as_bytes())?;
        normal_path.push('/');
        normal_path.push_str(&segment);
    }
    Ok(normal_path)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn in_segment(byte: u8) -> bool {
    is_unreserved(byte) || b"!$&'()*+,;=:@".contains(&byte)
}

fn in_query(byte: u8) -> bool {
    is_unreserved(byte) || b"!$&()*+,;=:@/?[]".contains(&byte)
}

/// Escapes what must be, and nothing that need not be.
fn normal(text: &str, keeps: fn(u8) -> bool) -> Result<String, UrlProblem> {
    let mut normal = String::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let (byte, keep) = match byte {
            b'%' => {
                let digits = (bytes.next(), bytes.next());
                let byte = unescaped(digits).ok_or(UrlProblem::Percent)?;
                (byte, is_unreserved(byte))
            }
            _ => (byte, keeps(byte)),
        };
        if keep {
            normal.push(char::from(byte));
        } else {
            normal.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(normal)
}

fn unescaped(digits: (Option<u8>, Option<u8>)) -> Option<u8> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    u8::try_from(digit(digits.0)? * 16 + digit(digits.1)?).ok()
}

/// Refuses what a server may read as another path, however often it decodes.
// THREAT[TM-HTTP-1]
fn check_segment(segment: &[u8]) -> Result<(), UrlProblem> {
    let mut bytes = segment.to_vec();
    for _ in 0..MAX_DECODINGS {
        let text = std::str::from_utf8(&bytes).map_err(|_| UrlProblem::NotUtf8)?;
        if text.contains(['/', '\\']) || text.contains(looks_like_separator) {
            return Err(UrlProblem::Separator);
        }
        if let Some(bad) = text.chars().find(|&c| is_unseen(c) && c != ' ') {
            return Err(UrlProblem::Character(bad));
        }
        let name = text.split(';').next().unwrap_or_default();
        let dots = name.trim_end_matches(' ');
        let is_dot = |c| c == '.' || looks_like_dot(c);
        if matches!(dots.chars().count(), 1 | 2) && dots.chars().all(is_dot) {
            return Err(UrlProblem::DotSegment);
        }
        let decoded = decoded(&bytes);
        if decoded == bytes {
            return Ok(());
        }
        bytes = decoded;
    }
    Err(UrlProblem::Overencoded)
}

fn looks_like_separator(c: char) -> bool {
    matches!(
        c,
        '\u{2044}'
            | '\u{2215}'
            | '\u{2216}'
            | '\u{29f5}'
            | '\u{29f8}'
            | '\u{ff0f}'
            | '\u{ff3c}'
            | '\u{fe68}'
    )
}

fn looks_like_dot(c: char) -> bool {
    matches!(
        c,
        '\u{2024}' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' | '\u{fe52}'
    )
}

/// With each good escape replaced by its byte, once.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = (bytes.get(at + 1).copied(), bytes.get(at + 2).copied());
        match unescaped(digits).filter(|_| byte == b'%') {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

/// A path that begins with a slash, with its plain `.` and `..` carried out.
fn resolved(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    let mut ends_in_folder = false;
    for segment in path.split('/').skip(1) {
        ends_in_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    if ends_in_folder {
        segments.push("");
    }
    format!("/{}", segments.join("/"))
}

#[cfg(test)]
mod tests;
