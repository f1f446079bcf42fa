//! Checks and measurements of this workspace.

fn main() {}
