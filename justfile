# Short names for the commands of this repository. Each is one call of cargo or xtask; CONTRIBUTING.md says when to use which.

# list the recipes
default:
    @just --list

# build everything
build:
    cargo build --workspace

# run all tests
test:
    cargo test --workspace

# build every example and run it, without keys
examples:
    cargo xtask examples

# formatting and lints, warnings are errors
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# every crate without features, with each alone, with all
check-features:
    cargo xtask features

# who may use whom, and what may not appear where
layers:
    cargo xtask layers

# module heads, file lengths, links, threat ids, the knowledge bundle
tidy:
    cargo xtask tidy

# measure, and print the rows against their targets: `just bench --only fork`
bench *ARGS:
    cargo xtask bench {{ARGS}}

# build the fuzz targets and run each for a minute: `just fuzz decode --seconds 600`
fuzz *ARGS:
    cargo xtask fuzz {{ARGS}}

# what to run before asking for a review
pre-pr: check layers tidy test examples

# all of CI
ci:
    bash .ci/run
