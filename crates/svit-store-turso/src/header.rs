//! The first hundred bytes of the database file, read before SQLite may touch it: a file that is
//! not a svit store is refused without being changed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// `svit` in ASCII: the `application_id` of every store.
pub(crate) const APPLICATION_ID: u32 = 0x7376_6974;

/// The schema that this code writes: the `user_version` of the file.
pub(crate) const USER_VERSION: u32 = 3;

/// What lies at the path of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    /// No file, or an empty one.
    Absent,
    /// Not an SQLite database at all.
    Foreign,
    /// An SQLite database, with these two numbers in its header.
    Sqlite {
        application_id: u32,
        user_version: u32,
    },
}

impl Header {
    /// Reads the header. The file is closed again before SQLite opens it: closing any handle on a
    /// file drops the POSIX locks that the program holds on it.
    pub(crate) fn read(path: &Path) -> io::Result<Header> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Header::Absent),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::with_capacity(100);
        file.by_ref().take(100).read_to_end(&mut bytes)?;
        Ok(Header::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Header {
        if bytes.is_empty() {
            return Header::Absent;
        }
        match (
            bytes.starts_with(b"SQLite format 3\0"),
            number(bytes, 60),
            number(bytes, 68),
        ) {
            (true, Some(user_version), Some(application_id)) => Header::Sqlite {
                application_id,
                user_version,
            },
            _ => Header::Foreign,
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_told_by_its_magic_and_its_length() {
        let mut store = [0; 100];
        store[..16].copy_from_slice(b"SQLite format 3\0");
        store[63] = 7;
        store[68..72].copy_from_slice(b"svit");
        let whole = Header::Sqlite {
            application_id: APPLICATION_ID,
            user_version: 7,
        };
        let rows: [(&[u8], Header); 5] = [
            (b"", Header::Absent),
            (b"S", Header::Foreign),
            (b"hello, I am a text file, and not short", Header::Foreign),
            (&store[..71], Header::Foreign),
            (&store, whole),
        ];
        for (bytes, header) in rows {
            assert_eq!(Header::parse(bytes), header, "{bytes:?}");
        }
    }
}
