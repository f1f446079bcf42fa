//! The console people run.

fn main() {}
