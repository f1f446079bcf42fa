//! Paths and addresses: what parses prints as it was, and its pieces make it again.

use svit_tree::{Address, Path};

/// A text.
pub type Input<'a> = &'a str;

/// Parses as both.
pub fn check(text: Input<'_>) {
    match Path::parse(text) {
        Ok(path) => {
            assert_eq!(path.to_string(), text);
            let again = path
                .segments()
                .try_fold(Path::root(), |path, segment| path.join(segment));
            assert_eq!(again.as_ref(), Ok(&path));
            assert_eq!(path.len(), path.segments().count());
            assert!(path.starts_with(&path) && path.starts_with(&Path::root()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match Address::parse(text) {
        Ok(address) => assert_eq!(address.as_str(), text),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
