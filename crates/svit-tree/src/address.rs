//! `Address`: the name of a process.

use std::fmt;
use std::str::FromStr;

use svit_value::Text;

use crate::TreeError;
use crate::error::quote;

/// The most bytes that an address may have.
pub const MAX_ADDRESS_BYTES: usize = 512;

const SCHEME: &str = "svit://";

/// The name of a process: `svit://<authority>/<segment>[/<segment>...]`.
///
/// The authority is lower case; segments are of `A-Z a-z 0-9 - . _ ~` and neither `.` nor `..`; at
/// most [`MAX_ADDRESS_BYTES`] bytes. An address is a name, never proof of identity.
///
/// ```
/// use svit_tree::Address;
///
/// let address: Address = "svit://local/persisted/demo".parse()?;
/// assert_eq!(address.as_str(), "svit://local/persisted/demo");
/// assert!("svit://Local/demo".parse::<Address>().is_err());
/// # Ok::<(), svit_tree::TreeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(Text);

impl Address {
    /// Reads the text form.
    ///
    /// # Errors
    /// [`TreeError::BadAddress`] with the byte at which the text went wrong.
    pub fn parse(text: &str) -> Result<Self, TreeError> {
        check(text).map_err(|(at, why)| TreeError::BadAddress {
            text: quote(text),
            at,
            why,
        })?;
        Ok(Self(Text::from(text)))
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text form as a value's text, without a copy.
    pub fn to_text(&self) -> Text {
        self.0.clone()
    }
}

fn check(text: &str) -> Result<(), (usize, &'static str)> {
    if text.len() > MAX_ADDRESS_BYTES {
        return Err((MAX_ADDRESS_BYTES, "longer than 512 bytes"));
    }
    let Some(rest) = text.strip_prefix(SCHEME) else {
        return Err((0, "an address starts with `svit://`"));
    };
    let mut at = SCHEME.len();
    for (index, part) in rest.split('/').enumerate() {
        check_part(part, index == 0).map_err(|(offset, why)| (at + offset, why))?;
        at += part.len() + 1;
    }
    if !rest.contains('/') {
        return Err((
            text.len(),
            "an address has at least one segment after the authority",
        ));
    }
    Ok(())
}

fn check_part(part: &str, is_authority: bool) -> Result<(), (usize, &'static str)> {
    if part.is_empty() {
        return Err((
            0,
            if is_authority {
                "the authority is empty"
            } else {
                "a segment is empty"
            },
        ));
    }
    if part == "." || part == ".." {
        return Err((0, "`.` and `..` are not allowed"));
    }
    let allowed = |b: u8| match b {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' => true,
        b'A'..=b'Z' | b'_' | b'~' => !is_authority,
        _ => false,
    };
    match part.bytes().position(|b| !allowed(b)) {
        Some(at) if is_authority => Err((at, "the authority is of `a-z 0-9 - .`")),
        Some(at) => Err((at, "a segment is of `A-Z a-z 0-9 - . _ ~`")),
        None => Ok(()),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl FromStr for Address {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Self, TreeError> {
        Self::parse(text)
    }
}

/// What can be given where an address is wanted: an [`Address`], or its text form.
pub trait IntoAddress {
    /// Makes the address, or says what is wrong with the text.
    ///
    /// # Errors
    /// [`TreeError::BadAddress`].
    fn into_address(self) -> Result<Address, TreeError>;
}

impl IntoAddress for Address {
    fn into_address(self) -> Result<Address, TreeError> {
        Ok(self)
    }
}

impl IntoAddress for &Address {
    fn into_address(self) -> Result<Address, TreeError> {
        Ok(self.clone())
    }
}

impl IntoAddress for &str {
    fn into_address(self) -> Result<Address, TreeError> {
        Address::parse(self)
    }
}

impl IntoAddress for String {
    fn into_address(self) -> Result<Address, TreeError> {
        Address::parse(&self)
    }
}

impl IntoAddress for &String {
    fn into_address(self) -> Result<Address, TreeError> {
        Address::parse(self)
    }
}

#[cfg(test)]
mod tests;
