//! Every rule of a contract as a check that runs against any implementation: [`store`](fn@store) with the
//! feature `store`, [`guest`](fn@guest) with the feature `guest`, [`mount`](fn@mount) with the feature `mount`,
//! [`port`](fn@port) with the feature `port`.

#[cfg(feature = "guest")]
mod guest;
#[cfg(feature = "mount")]
mod mount;
#[cfg(feature = "port")]
mod port;
#[cfg(feature = "store")]
mod store;

#[cfg(feature = "guest")]
pub use guest::{GuestScripts, guest, guest_rules};
#[cfg(feature = "mount")]
pub use mount::{mount, mount_rules};
#[cfg(feature = "port")]
pub use port::port;
#[cfg(feature = "store")]
pub use store::{durable_store, rules, store};

use std::fmt;

/// Fails a check if something does not hold.
macro_rules! ensure {
    ($holds:expr, $($said:tt)+) => {
        if !$holds {
            return Err(format!($($said)+));
        }
    };
}

/// Fails a check if two things differ.
macro_rules! ensure_eq {
    ($found:expr, $expected:expr, $($said:tt)+) => {
        let (found, expected) = (&$found, &$expected);
        if found != expected {
            let said = format!($($said)+);
            return Err(format!("{said}: found {found:?}, expected {expected:?}"));
        }
    };
}

use {ensure, ensure_eq};

/// The rules that an implementation broke.
#[derive(Clone, PartialEq, Eq)]
pub struct Broken {
    what: &'static str,
    rules: Vec<(&'static str, String)>,
}

impl Broken {
    fn unless_none(what: &'static str, rules: Vec<(&'static str, String)>) -> Result<(), Self> {
        match rules.is_empty() {
            true => Ok(()),
            false => Err(Self { what, rules }),
        }
    }

    /// The name of each rule that was broken, with what was seen.
    pub fn rules(&self) -> &[(&'static str, String)] {
        &self.rules
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} broke {} rules:", self.what, self.rules.len())?;
        for (name, seen) in &self.rules {
            write!(f, "\n- {name}: {seen}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Broken {}
