//! Which addresses may be connected to: those of the public internet, and those that a host named.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AddressClass {
    /// Somewhere on the public internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network: RFC 1918.
    Private,
    /// Behind a provider's translation: RFC 6598.
    Shared,
    /// The private networks of IPv6.
    UniqueLocal,
    /// The same wire.
    LinkLocal,
    /// Where clouds keep their keys.
    Metadata,
    /// Many at once.
    Multicast,
    /// None in particular: `0.0.0.0/8`, `::`.
    Unspecified,
    /// Documentation, tests, tunnels, and what nobody has assigned.
    Reserved,
}

const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
];

impl AddressClass {
    /// The class of an address. An IPv6 address that stands for an IPv4 address has the class of that.
    ///
    /// ```
    /// use svit_ports::http::AddressClass;
    /// let class = |text: &str| AddressClass::of(text.parse().unwrap());
    /// assert_eq!(class("93.184.215.14"), AddressClass::Public);
    /// assert_eq!(class("::ffff:10.0.0.1"), AddressClass::Private);
    /// assert_eq!(class("169.254.169.254"), AddressClass::Metadata);
    /// ```
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        if METADATA_V4.contains(&address) {
            return Self::Metadata;
        }
        match address.octets() {
            [0, ..] => Self::Unspecified,
            [127, ..] => Self::Loopback,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Self::Private,
            [100, 64..=127, ..] => Self::Shared,
            [169, 254, ..] => Self::LinkLocal,
            [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => Self::Reserved,
            [198, 51, 100, _] | [203, 0, 113, _] | [240..=255, ..] => Self::Reserved,
            [224..=239, ..] => Self::Multicast,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        if METADATA_V6.contains(&address) {
            return Self::Metadata;
        }
        if let Some(inner) = carried_v4(address) {
            return Self::of_v4(inner);
        }
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            [0xfc00..=0xfdff, ..] => Self::UniqueLocal,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0xff00..=0xffff, ..] => Self::Multicast,
            // Teredo and other tunnels, documentation, 6to4.
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => {
                Self::Reserved
            }
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Reserved,
        }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::Shared => "shared",
            Self::UniqueLocal => "unique-local",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Multicast => "multicast",
            Self::Unspecified => "unspecified",
            Self::Reserved => "reserved",
        })
    }
}

/// The IPv4 address that a mapped (`::ffff:0:0/96`) or translated (`64:ff9b::/96`) address stands for.
fn carried_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b] = address.segments();
    let [a, b, c, d] = [(a >> 8) as u8, a as u8, (b >> 8) as u8, b as u8];
    let mapped = address.to_ipv4_mapped().is_some();
    let translated = address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
    (mapped || translated).then(|| Ipv4Addr::new(a, b, c, d))
}

/// An IPv4 address as itself, whatever it came as.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => carried_v4(v6).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// A range of addresses, written `10.0.0.0/8` or `fd00::/8`; a single address is one too.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network {
    base: IpAddr,
    bits: u8,
}

impl Network {
    /// Exactly this address.
    pub(crate) fn exactly(address: IpAddr) -> Self {
        let base = plain(address);
        let bits = if base.is_ipv4() { 32 } else { 128 };
        Self { base, bits }
    }

    fn is_one_address(&self) -> bool {
        *self == Self::exactly(self.base)
    }

    fn contains(&self, address: IpAddr) -> bool {
        match (self.base, plain(address)) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.bits);
                let cut = |v4: Ipv4Addr| v4.to_bits().checked_shr(shift);
                cut(base) == cut(address)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.bits);
                let cut = |v6: Ipv6Addr| v6.to_bits().checked_shr(shift);
                cut(base) == cut(address)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is no network, as 10.0.0.0/8 or fd00::/8 are");
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits.parse::<u8>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().map_err(|_| bad())?;
        if base != plain(base) {
            return Err(format!(
                "{text:?} is an IPv4 network, and is written as one"
            ));
        }
        let whole = Self::exactly(base);
        let bits = bits.unwrap_or(whole.bits);
        if bits > whole.bits {
            return Err(bad());
        }
        Ok(Self { base, bits })
    }
}

/// Which addresses one request may connect to: public ones, and what the host named for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AddressRule {
    pub(crate) classes: Vec<AddressClass>,
    pub(crate) networks: Vec<Network>,
}

impl AddressRule {
    /// Whether an address may be connected to.
    ///
    /// # Errors
    /// The class for which it is refused.
    // THREAT[TM-HTTP-2]
    pub fn check(&self, address: IpAddr) -> Result<(), AddressClass> {
        let class = AddressClass::of(address);
        // A network that merely has a cloud's keys somewhere in it does not name them.
        let names = |network: &Network| {
            network.contains(address)
                && (class != AddressClass::Metadata || network.is_one_address())
        };
        let allowed = class == AddressClass::Public
            || self.classes.contains(&class)
            || self.networks.iter().any(names);
        if allowed { Ok(()) } else { Err(class) }
    }
}

#[cfg(test)]
mod tests;
