//! Pure, bounded questions over values.
