//! Durability on libSQL.
