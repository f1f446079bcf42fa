//! Signatures of snapshots: who vouches for one. A digest says that a file is whole; a signature says whose
//! it is.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::Signer;
use svit_value::{Bytes, Digest, Map, Value};

use crate::codec::{self, Fields, Format};
use crate::{Error, Process, RecordError, Snapshot};

/// The name of the stored form.
pub const SIGNATURE_FORMAT: &str = "svit-signature@1";

/// What is signed: this, and the digest of the file.
const DOMAIN: &[u8] = b"svit-signature@1 of a snapshot\n";

const FORMATS: &[Format<SnapshotSignature>] = &[(SIGNATURE_FORMAT, read)];

/// A key that signs, an Ed25519 seed of 32 bytes. Where it comes from and how it is kept is the host's
/// matter; it is wiped from memory when it is dropped, and is in no text.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key of a seed, which must be as random as a key.
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// What others check its signatures with.
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key().to_bytes())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(of {})", self.verifying_key())
    }
}

/// A key that signatures are checked with: 32 bytes, 64 hex digits as text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey([u8; 32]);

impl VerifyingKey {
    /// Takes a key.
    ///
    /// # Errors
    /// [`SignatureError::BadKey`] if it is no point of the curve, or one that many signatures fit.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, SignatureError> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(bytes).ok();
        let key = key.filter(|key| !key.is_weak());
        key.map(|_| Self(*bytes)).ok_or(SignatureError::BadKey)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes()
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({self})")
    }
}

/// Reads 64 hex digits in lower case, and nothing else.
impl FromStr for VerifyingKey {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, SignatureError> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut key = [0; 32];
        if text.len() != 2 * key.len() {
            return Err(SignatureError::BadKey);
        }
        for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let (high, low) = (digit(pair[0]), digit(pair[1]));
            let (Some(high), Some(low)) = (high, low) else {
                return Err(SignatureError::BadKey);
            };
            *byte = high << 4 | low;
        }
        Self::from_bytes(&key)
    }
}

/// A signature of a snapshot, to be kept beside it.
///
/// ```
/// use svit_txn::{Process, SigningKey, SnapshotSignature};
///
/// # let seed = [7; 32];
/// let key = SigningKey::from_bytes(&seed);
/// let snapshot = Process::builder("svit://local/demo")?.memory("count", 6).build()?.snapshot();
/// let signature = snapshot.sign(&key).to_bytes();
///
/// // Elsewhere, with the file, the signature, and the keys of those who are trusted there:
/// let trusted = [key.verifying_key()];
/// let signature = SnapshotSignature::from_bytes(&signature)?;
/// let process = Process::restore_signed(snapshot.as_bytes(), &signature, &trusted)?;
/// assert_eq!(process.read("/memory/count")?, Some(6.into()));
///
/// let other = SigningKey::from_bytes(&[8; 32]).verifying_key();
/// let refused = Process::restore_signed(snapshot.as_bytes(), &signature, &[other]);
/// assert_eq!(refused.unwrap_err().code(), "untrusted_signer");
/// # Ok::<(), svit_txn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSignature {
    snapshot: Digest,
    signer: VerifyingKey,
    signature: ed25519_dalek::Signature,
}

/// Why a signature does not vouch for a snapshot.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The bytes are no key.
    #[error("not a key that signatures can be checked with: 64 hex digits, a point of the curve")]
    BadKey,
    /// The bytes are no stored signature.
    #[error("not a signature: {0}")]
    Form(#[from] RecordError),
    /// It is the signature of another file.
    #[error("the signature is of the file with the digest {signed}, and this one has {found}")]
    OtherFile {
        /// The digest of the file that was signed, by its own word.
        signed: Digest,
        /// The digest of the file.
        found: Digest,
    },
    /// Whoever signed it is not among those who are trusted.
    #[error("it is signed by {signer}, who is not trusted here")]
    UntrustedSigner {
        /// The key that it names.
        signer: VerifyingKey,
    },
    /// It was not made with the key that it names.
    #[error("it was not made with the key of {signer}, which it names")]
    Forged {
        /// The key.
        signer: VerifyingKey,
    },
}

impl SignatureError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadKey => "bad_verifying_key",
            Self::Form(_) => "bad_signature",
            Self::OtherFile { .. } => "other_file",
            Self::UntrustedSigner { .. } => "untrusted_signer",
            Self::Forged { .. } => "forged",
        }
    }
}

fn message(snapshot: Digest) -> Vec<u8> {
    [DOMAIN, snapshot.as_bytes()].concat()
}

impl Snapshot {
    /// Vouches for this file. O(size), for its digest.
    pub fn sign(&self, key: &SigningKey) -> SnapshotSignature {
        let snapshot = Digest::of(self.as_bytes());
        SnapshotSignature {
            snapshot,
            signer: key.verifying_key(),
            signature: key.0.sign(&message(snapshot)),
        }
    }
}

impl SnapshotSignature {
    /// Whom it is of, by its own word: [`verify`](Self::verify) says whether that is so.
    pub const fn signer(&self) -> &VerifyingKey {
        &self.signer
    }

    /// Whether one of these vouches for this file. O(size).
    ///
    /// # Errors
    /// All but [`SignatureError::BadKey`] and [`SignatureError::Form`].
    pub fn verify(&self, snapshot: &[u8], trusted: &[VerifyingKey]) -> Result<(), SignatureError> {
        let signer = self.signer;
        if !trusted.contains(&signer) {
            return Err(SignatureError::UntrustedSigner { signer });
        }
        let (signed, found) = (self.snapshot, Digest::of(snapshot));
        if signed != found {
            return Err(SignatureError::OtherFile { signed, found });
        }
        // THREAT[TM-TXN-8]: strictly, so that one signature has one form.
        let verified = ed25519_dalek::VerifyingKey::from_bytes(signer.as_bytes())
            .and_then(|key| key.verify_strict(&message(found), &self.signature));
        verified.map_err(|_| SignatureError::Forged { signer })
    }

    /// The stored form, DAG-CBOR: a map of `format`, `snapshot` (the digest of the file), `signer` and
    /// `signature`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let octets = |bytes: &[u8]| Value::from(Bytes::from(bytes));
        let entries = [
            ("format", Value::from(SIGNATURE_FORMAT)),
            ("snapshot", codec::digest(self.snapshot)),
            ("signer", octets(self.signer.as_bytes())),
            ("signature", octets(&self.signature.to_bytes())),
        ];
        // Scalars in a map are two levels deep, so this cannot fail.
        Value::Map(Map::from_entries(entries).unwrap_or_default()).encode()
    }

    /// Reads the stored form, and no other.
    ///
    /// # Errors
    /// [`SignatureError::Form`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SignatureError> {
        Ok(codec::read("signature", bytes, FORMATS)?)
    }
}

fn read(fields: &Fields<'_>) -> Result<SnapshotSignature, RecordError> {
    fields.exactly(4)?;
    let key = fields.octets("signer", "a key of 32 octets")?;
    let signer = VerifyingKey::from_bytes(&key);
    let signer = signer.map_err(|error| fields.bad("signer", &error.to_string()))?;
    Ok(SnapshotSignature {
        snapshot: fields.digest("snapshot")?,
        signer,
        signature: ed25519_dalek::Signature::from_bytes(
            &fields.octets("signature", "a signature of 64 octets")?,
        ),
    })
}

impl Process {
    /// As [`restore`](Self::restore), of a file that somebody who is trusted vouches for. Nothing of the
    /// file is read before that is known. O(size).
    ///
    /// # Errors
    /// [`Error::Signature`], and those of [`restore`](Self::restore).
    pub fn restore_signed(
        bytes: &[u8],
        signature: &SnapshotSignature,
        trusted: &[VerifyingKey],
    ) -> Result<Self, Error> {
        signature.verify(bytes, trusted)?;
        Self::restore(bytes)
    }
}

#[cfg(test)]
mod tests;
