//! What the limits of the ports that need a model have in common.

use std::time::Duration;

use svit_value::Text;

use crate::PortError;

/// What a call and an answer may have beside their texts.
pub(crate) const BESIDE_TEXT: u64 = 64 << 10;

/// The most that a limit in bytes may be.
pub(crate) const MOST_BYTES: u64 = 32 << 20;

/// A bound in milliseconds, as a row for [`check`].
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Whether each limit is from 1 to the most that it may be, in rows of name, limit and most.
pub(crate) fn check<const N: usize>(
    port: &Text,
    rows: [(&'static str, u64, u64); N],
) -> Result<(), PortError> {
    for (field, given, most) in rows {
        if !(1..=most).contains(&given) {
            let port = port.clone();
            let why = match most {
                u64::MAX => "it is 0".to_owned(),
                _ => format!("it is {given}, not 1 to {most}"),
            };
            return Err(PortError::BadDescriptor { port, field, why });
        }
    }
    Ok(())
}
