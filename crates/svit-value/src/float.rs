//! The only floats a value can hold: finite, and without a negative zero.

use crate::ValueError;
use std::fmt;

/// A finite 64-bit float that is never `-0.0`, so that equal numbers have equal bits.
///
/// It prints in the shortest form that reads back, always with a `.` or an `e`.
///
/// ```
/// use svit_value::Float;
/// assert_eq!(Float::new(-0.0)?.get().to_bits(), 0.0f64.to_bits());
/// assert_eq!(Float::new(1e300)?.to_string(), "1e300");
/// assert_eq!(Float::new(2.0)?.to_string(), "2.0");
/// assert!(Float::new(f64::NAN).is_err());
/// # Ok::<(), svit_value::ValueError>(())
/// ```
#[derive(Clone, Copy, Default)]
pub struct Float(f64);

impl Float {
    /// Takes a float; `-0.0` becomes `0.0`.
    ///
    /// # Errors
    /// [`ValueError::NotFinite`] for NaN and the infinities.
    pub fn new(float: f64) -> Result<Float, ValueError> {
        if float.is_finite() {
            // Adding positive zero turns -0.0 into 0.0 and changes nothing else.
            Ok(Float(float + 0.0))
        } else if float.is_nan() {
            Err(ValueError::NotFinite { found: "NaN" })
        } else if float > 0.0 {
            Err(ValueError::NotFinite { found: "inf" })
        } else {
            Err(ValueError::NotFinite { found: "-inf" })
        }
    }

    /// The float.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Float) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Float) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Float) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl std::hash::Hash for Float {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl TryFrom<f64> for Float {
    type Error = ValueError;

    fn try_from(float: f64) -> Result<Float, ValueError> {
        Float::new(float)
    }
}

impl fmt::Display for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` of f64, unlike `Display`, always writes a `.` or an exponent.
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Debug for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
