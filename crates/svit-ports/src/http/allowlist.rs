//! `HttpAllowlist`: which requests a host grants, entry by entry.

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::header::{self, HttpHeader};
use super::{AddressClass, AddressRule, HttpError, HttpHost, HttpMethod, HttpUrl, Network};
use crate::PortError;
use crate::error::cut;

/// How large and how long one call may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// How long a call may take, redirects and all. Default 30 s, from 1 ms to 10 min. A guest may ask
    /// for less.
    pub timeout: Duration,
    /// How many redirects are followed. Default 5, at most 20; with 0 a redirect is the answer.
    pub max_redirects: u32,
    /// The largest body of a request in bytes. Default 1 MiB, at most 32 MiB.
    pub max_request_bytes: u64,
    /// The largest body of an answer in bytes, after decompression. Default 4 MiB, at most 32 MiB.
    pub max_response_bytes: u64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_redirects: 5,
            max_request_bytes: 1 << 20,
            max_response_bytes: 4 << 20,
        }
    }
}

/// The requests that a host grants. [`HttpAllowlist::new`] grants none.
///
/// An entry is what URLs begin with: scheme, host and port must be its own, and the path must be its
/// path or lie below it, cut at slashes. `https://api.example.com/v1` is for `/v1` and `/v1/users`,
/// not for `/v1beta`; with a slash at its end it is for what lies below alone. Where two entries fit,
/// the longer one decides, alone. Add with a longer entry, and do not take away with it: a server may
/// know spellings of a path (`/ADMIN`, `/admin;x`) of which an allowlist does not.
///
/// The other setters are about the entry before them. An entry has the methods `GET` and `HEAD`, the
/// usual headers of requests, and reaches public addresses only, unless it says more. A loopback,
/// private, link-local or metadata address is reached by an entry whose host is that address itself,
/// by [`network`](Self::network), or, loopback, by the name `localhost`.
///
/// A bad entry makes the whole set of ports an error; see [`Ports::check`](crate::Ports::check).
///
/// ```
/// use svit_ports::http::{HttpAllowlist, HttpMethod};
///
/// let allowlist = HttpAllowlist::new()
///     .allow("https://api.example.com/v1/")
///     .methods([HttpMethod::Get, HttpMethod::Post])
///     .header_secret("authorization", "Bearer not-a-real-key")
///     .allow("https://docs.example.com/");
/// assert!(allowlist.check().is_ok());
/// assert!(!format!("{allowlist:?}").contains("real-key"));
/// assert!(HttpAllowlist::new().allow("https://*.example.com/").check().is_err());
/// ```
#[derive(Clone, Default)]
#[must_use = "nothing is granted until it is given to ports"]
pub struct HttpAllowlist {
    entries: Vec<Entry>,
    /// For URLs of no entry, if it is unrestricted.
    any: Option<Entry>,
    pub(super) limits: HttpLimits,
    failure: Option<String>,
}

/// What holds for the URLs of one entry.
#[derive(Clone)]
pub(super) struct Entry {
    /// None for any URL.
    pub(super) url: Option<HttpUrl>,
    methods: Vec<HttpMethod>,
    /// Beyond the usual ones.
    headers: Vec<String>,
    secrets: Vec<HttpHeader>,
    idempotency_header: Option<String>,
    pub(super) addresses: AddressRule,
}

impl Entry {
    fn new(url: Option<HttpUrl>, methods: &[HttpMethod], addresses: AddressRule) -> Self {
        Self {
            url,
            methods: methods.to_vec(),
            headers: Vec::new(),
            secrets: Vec::new(),
            idempotency_header: None,
            addresses,
        }
    }
}

impl HttpAllowlist {
    /// No request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any URL, method and header, also on this machine and in private networks; link-local and
    /// metadata addresses stay refused unless [`network`](Self::network) names them. Entries that are
    /// added to it decide about their own URLs, and are the place for secrets.
    ///
    /// Whoever can write to the process can then send what is in it anywhere.
    pub fn unrestricted() -> Self {
        let classes = [
            AddressClass::Loopback,
            AddressClass::Private,
            AddressClass::UniqueLocal,
            AddressClass::Shared,
        ];
        let addresses = AddressRule {
            classes: classes.to_vec(),
            networks: Vec::new(),
        };
        Self {
            any: Some(Entry::new(None, &HttpMethod::ALL, addresses)),
            ..Self::default()
        }
    }

    /// With one more entry: a URL without a query. There are no wildcards.
    pub fn allow(mut self, url: &str) -> Self {
        let parsed = HttpUrl::parse(url).map_err(|problem| problem.to_string());
        let parsed = parsed.and_then(|url| match url.query() {
            Some(_) => Err("an entry has no query".to_owned()),
            None if url.has_empty_segment() => Err("a path segment is empty".to_owned()),
            None if self.has(&url) => Err("it is there already".to_owned()),
            None => Ok(url),
        });
        match parsed {
            Ok(url) => {
                let addresses = named_by(url.host());
                let methods = [HttpMethod::Get, HttpMethod::Head];
                self.entries
                    .push(Entry::new(Some(url), &methods, addresses));
            }
            Err(why) => self.fail(format!("{:?}: {why}", cut(url, 200))),
        }
        self
    }

    fn has(&self, url: &HttpUrl) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.url.as_ref() == Some(url))
    }

    /// With these methods at the last entry, in place of `GET` and `HEAD`.
    pub fn methods(self, methods: impl IntoIterator<Item = HttpMethod>) -> Self {
        let mut methods: Vec<HttpMethod> = methods.into_iter().collect();
        methods.sort_unstable();
        methods.dedup();
        self.edit("methods", |entry| {
            if methods.is_empty() {
                return Err("an entry has at least one method".to_owned());
            }
            entry.methods = methods;
            Ok(())
        })
    }

    /// With these headers for a guest to set at the last entry, beside the usual ones. Headers that
    /// frame a message or belong to a connection cannot be allowed.
    pub fn headers<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        self.edit("headers", |entry| {
            for name in names {
                let name = header::checked_name(name).map_err(|why| format!("{name:?}: {why}"))?;
                entry.headers.push(name);
            }
            Ok(())
        })
    }

    /// With a header that the host sets on each request of the last entry, after the guest's request
    /// was checked. The guest cannot set it, and does not see it: it is in no error, log or event, is
    /// sent to no redirect target of another entry, and is taken out of an answer that repeats it as
    /// it was sent. Only give a key to an entry whose server you trust with it.
    pub fn header_secret(self, name: &str, value: impl Into<SecretString>) -> Self {
        let value = value.into();
        self.edit("header_secret", |entry| {
            // A name that is none may be the secret, in the wrong place.
            let name = header::checked_name(name).map_err(|why| format!("its name: {why}"))?;
            if entry.url.is_none() {
                return Err("a secret belongs to an entry, not to any URL".to_owned());
            }
            if entry.secrets.iter().any(|secret| secret.name() == name) {
                return Err(format!("{name:?} is set already"));
            }
            if value.expose_secret().trim().is_empty() {
                return Err(format!("{name:?}: its value is empty"));
            }
            header::check_value(value.expose_secret()).map_err(|why| format!("{name:?}: {why}"))?;
            entry.secrets.push(HttpHeader::new(name, value));
            Ok(())
        })
    }

    /// With this header, which carries the call's idempotency key, on requests of the last entry that
    /// change something. It says that the server there does such a request once for each key, so that
    /// a call whose outcome is not known may be made again.
    pub fn idempotency_header(self, name: &str) -> Self {
        self.edit("idempotency_header", |entry| {
            let name = header::checked_name(name).map_err(|why| format!("{name:?}: {why}"))?;
            entry.idempotency_header = Some(name);
            Ok(())
        })
    }

    /// With addresses that the host of the last entry may have beside public ones: a network as
    /// `10.1.0.0/16`, or one address. A metadata address is named by itself alone.
    pub fn network(self, network: &str) -> Self {
        self.edit("network", |entry| {
            entry.addresses.networks.push(network.parse()?);
            Ok(())
        })
    }

    /// With these limits, for all entries.
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        const LARGEST: u64 = 32 << 20;
        let times = Duration::from_millis(1)..=Duration::from_secs(600);
        let sizes = [limits.max_request_bytes, limits.max_response_bytes];
        if !times.contains(&limits.timeout) {
            self.fail("limits: timeout is 1 ms to 10 min".to_owned());
        } else if limits.max_redirects > 20 {
            self.fail("limits: max_redirects is at most 20".to_owned());
        } else if sizes.iter().any(|size| *size > LARGEST) {
            self.fail(format!("limits: sizes are at most {LARGEST} bytes"));
        }
        self.limits = limits;
        self
    }

    fn edit(mut self, what: &str, edit: impl FnOnce(&mut Entry) -> Result<(), String>) -> Self {
        let last = match self.entries.last_mut() {
            Some(entry) => Some(entry),
            None => self.any.as_mut(),
        };
        let edited = match last {
            Some(entry) => edit(entry),
            // The entry itself was refused, and is the failure that is told.
            None => Err("there is no entry before it".to_owned()),
        };
        if let Err(why) = edited {
            self.fail(format!("{what}: {why}"));
        }
        self
    }

    fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// Whether every entry is good.
    ///
    /// # Errors
    /// [`PortError::BadDescriptor`] with the first thing that is not.
    pub fn check(&self) -> Result<(), PortError> {
        match &self.failure {
            None => Ok(()),
            Some(why) => Err(PortError::BadDescriptor {
                port: "http".into(),
                field: "allowlist",
                why: why.clone(),
            }),
        }
    }

    /// The URL in its one form, if a request is allowed, whatever its headers.
    ///
    /// # Errors
    /// [`HttpError::BadUrl`], [`HttpError::UrlNotAllowed`], [`HttpError::MethodNotAllowed`].
    ///
    /// ```
    /// use svit_ports::http::{HttpAllowlist, HttpMethod::Get};
    ///
    /// let allowlist = HttpAllowlist::new().allow("https://api.example.com/v1");
    /// assert!(allowlist.judge(Get, "https://API.example.com/v1/users?page=2").is_ok());
    /// assert!(allowlist.judge(Get, "https://api.example.com/v1beta").is_err());
    /// ```
    pub fn judge(&self, method: HttpMethod, url: &str) -> Result<HttpUrl, HttpError> {
        let url = HttpUrl::parse(url)?;
        self.entry_for(method, &url).map(|_| url)
    }

    /// What holds for a request, or why it is not allowed.
    // THREAT[TM-HTTP-1]
    pub(super) fn entry_for(&self, method: HttpMethod, url: &HttpUrl) -> Result<&Entry, HttpError> {
        let entry = self.entry(url).ok_or_else(|| HttpError::UrlNotAllowed {
            url: shown(url),
            allowed: self.shown_entries(600),
        })?;
        if !entry.methods.contains(&method) {
            return Err(HttpError::MethodNotAllowed {
                method,
                allowed: HttpMethod::list(&entry.methods),
            });
        }
        Ok(entry)
    }

    fn entry(&self, url: &HttpUrl) -> Option<&Entry> {
        let has_origin =
            |entry: &Entry| entry.url.as_ref().is_some_and(|own| own.has_origin_of(url));
        let mut of_server = self
            .entries
            .iter()
            .filter(|entry| has_origin(entry))
            .peekable();
        // A server that leaves out empty segments would read a URL of one entry as one of another.
        if of_server.peek().is_some() && url.has_empty_segment() {
            return None;
        }
        let path = |entry: &Entry| entry.url.as_ref().map_or(0, |own| own.path().len());
        let fits = |entry: &&Entry| {
            let own = entry.url.as_ref().map_or("/", HttpUrl::path);
            lies_below(url.path(), own)
        };
        let longest = of_server.filter(fits).max_by_key(|entry| path(entry));
        longest.or(self.any.as_ref())
    }

    fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().chain(&self.any)
    }

    /// Whether no request can change anything, by its method.
    pub(super) fn is_read_only(&self) -> bool {
        self.all().all(Entry::is_read_only)
    }

    /// Whether every request that can change something carries its key.
    pub(super) fn is_idempotent(&self) -> bool {
        self.all()
            .all(|entry| entry.is_read_only() || entry.idempotency_header.is_some())
    }

    /// The entries with their methods, for people and models.
    pub(super) fn described(&self) -> String {
        let line = |entry: &Entry| {
            let place = entry
                .url
                .as_ref()
                .map_or("any URL".to_owned(), HttpUrl::to_string);
            format!("{} {place}", HttpMethod::list(&entry.methods))
        };
        listed(self.all().map(line), 3_000)
    }

    fn shown_entries(&self, most: usize) -> String {
        listed(
            self.entries
                .iter()
                .filter_map(|entry| Some(entry.url.as_ref()?.to_string())),
            most,
        )
    }
}

impl Entry {
    fn is_read_only(&self) -> bool {
        self.methods.iter().all(|method| method.is_safe())
    }

    /// Whether a guest may set a header here; `name` is in lower case.
    pub(super) fn check_header(&self, name: &str) -> Result<(), HttpError> {
        let refused = |why: &str| {
            Err(HttpError::HeaderNotAllowed {
                name: name.to_owned(),
                why: why.to_owned(),
            })
        };
        let is_own = self.secrets.iter().any(|secret| secret.name() == name)
            || self.idempotency_header.as_deref() == Some(name);
        if is_own {
            return refused("the host sets it: leave it out");
        }
        let allowed = self.url.is_none()
            || header::USUAL.contains(&name)
            || self.headers.iter().any(|own| own == name);
        if !allowed {
            return refused("it is not allowed there: leave it out");
        }
        Ok(())
    }

    /// The header for the key of a call that changes something.
    pub(super) fn idempotency_header(&self, method: HttpMethod) -> Option<&str> {
        let header = self.idempotency_header.as_deref();
        header.filter(|_| !method.is_safe())
    }

    // THREAT[TM-HTTP-4]: asked for here, for the entry that decided about this very request.
    pub(super) fn secrets(&self) -> &[HttpHeader] {
        &self.secrets
    }
}

/// The addresses that a host names by itself.
fn named_by(host: &HttpHost) -> AddressRule {
    let mut rule = AddressRule::default();
    match host {
        HttpHost::V4(address) => rule.networks.push(Network::exactly((*address).into())),
        HttpHost::V6(address) => rule.networks.push(Network::exactly((*address).into())),
        HttpHost::Name(name) if name == "localhost" => rule.classes.push(AddressClass::Loopback),
        HttpHost::Name(_) => {}
    }
    rule
}

/// Whether a path is `own` or lies below it.
fn lies_below(path: &str, own: &str) -> bool {
    path.strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || own.ends_with('/') || rest.starts_with('/'))
}

/// A URL without its query, cut.
pub(super) fn shown(url: &HttpUrl) -> String {
    format!("{}{}", url.origin(), cut(url.path(), 200))
}

/// Items with semicolons, as many as fit.
fn listed(items: impl Iterator<Item = String>, most: usize) -> String {
    let mut list = String::new();
    let mut left_out = 0;
    for item in items {
        if left_out > 0 || list.len() + item.len() > most {
            left_out += 1;
            continue;
        }
        if !list.is_empty() {
            list.push_str("; ");
        }
        list.push_str(&item);
    }
    match left_out {
        0 if list.is_empty() => "nothing".to_owned(),
        0 => list,
        n => format!("{list}; and {n} more"),
    }
}

impl fmt::Debug for HttpAllowlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpAllowlist")
            .field("entries", &self.described())
            .field("limits", &self.limits)
            .field("failure", &self.failure)
            .finish()
    }
}

#[cfg(test)]
mod tests;
