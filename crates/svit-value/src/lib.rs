//! Immutable, hashed, canonical values.
