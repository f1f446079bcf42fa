//! `Path`: where something is in the namespace, parsed once at the edge.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use svit_value::Text;

use crate::TreeError;
use crate::error::quote;

/// The most segments that a path may have.
pub const MAX_SEGMENTS: usize = 64;
/// The most bytes that the text form of a path may have.
pub const MAX_PATH_BYTES: usize = 4_096;

/// An absolute path, held as checked segments.
///
/// The text form is `/` for the root, else `/seg/seg`; inside a segment `~1` stands for `/` and `~0`
/// for `~`, as in RFC 6901. Refused are empty segments, `.` and `..`, NUL, more than
/// [`MAX_SEGMENTS`] segments and more than [`MAX_PATH_BYTES`] bytes. A list element is addressed by
/// its decimal index. Cloning is O(1); order is by segments, bytewise.
///
/// ```
/// use svit_tree::Path;
///
/// let path: Path = "/memory/a~1b/0".parse()?;
/// assert_eq!(path.segments().collect::<Vec<_>>(), ["memory", "a/b", "0"]);
/// assert_eq!(path.parent().unwrap().join("x")?.to_string(), "/memory/a~1b/x");
/// assert!("/memory//x".parse::<Path>().is_err());
/// # Ok::<(), svit_tree::TreeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    segments: Arc<[Text]>,
}

/// Why a segment cannot stand in a path.
// THREAT[TM-VALUE-6]
fn check(segment: &str) -> Result<(), &'static str> {
    match segment {
        "" => Err("a segment is empty"),
        "." | ".." => Err("`.` and `..` are not allowed"),
        _ if segment.contains('\0') => Err("NUL is not allowed"),
        _ => Ok(()),
    }
}

/// Bytes of a segment in the text form, its slash included.
fn segment_len(segment: &str) -> u64 {
    let escapes = segment.bytes().filter(|b| matches!(b, b'/' | b'~'));
    1 + segment.len() as u64 + escapes.count() as u64
}

impl Path {
    /// The root, `/`.
    pub fn root() -> Self {
        Self {
            segments: Arc::new([]),
        }
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// [`TreeError::BadPath`] with the byte at which the text went wrong.
    pub fn parse(text: &str) -> Result<Self, TreeError> {
        let bad = |at: usize, why: &'static str| TreeError::BadPath {
            text: quote(text),
            at,
            why,
        };
        if text.len() > MAX_PATH_BYTES {
            return Err(bad(MAX_PATH_BYTES, "longer than 4096 bytes"));
        }
        if text == "/" {
            return Ok(Self::root());
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(bad(0, "a path starts with `/`"));
        };
        let mut segments = Vec::new();
        let mut at = 1;
        for raw in rest.split('/') {
            if segments.len() == MAX_SEGMENTS {
                return Err(bad(at, "more than 64 segments"));
            }
            let segment = unescape(raw)
                .map_err(|offset| bad(at + offset, "`~` must be followed by `0` or `1`"))?;
            check(&segment).map_err(|why| bad(at + raw.find('\0').unwrap_or(0), why))?;
            segments.push(Text::from(segment));
            at += raw.len() + 1;
        }
        Ok(Self {
            segments: segments.into(),
        })
    }

    /// The path of a child.
    ///
    /// # Errors
    /// [`TreeError::BadPath`] if `segment` cannot stand in a path, or the path gets too long. Where it
    /// went wrong is then the byte at which the segment would start.
    pub fn join(&self, segment: &str) -> Result<Self, TreeError> {
        let bad = |why| {
            let above = if self.is_root() {
                String::new()
            } else {
                self.to_string()
            };
            TreeError::BadPath {
                at: above.len() + 1,
                text: quote(&format!("{above}/{segment}")),
                why,
            }
        };
        check(segment).map_err(bad)?;
        if self.segments.len() == MAX_SEGMENTS {
            return Err(bad("more than 64 segments"));
        }
        let above: u64 = self.segments().map(segment_len).sum();
        if above + segment_len(segment) > MAX_PATH_BYTES as u64 {
            return Err(bad("longer than 4096 bytes"));
        }
        let child = std::iter::once(Text::from(segment));
        Ok(Self {
            segments: self.segments.iter().cloned().chain(child).collect(),
        })
    }

    /// Bytes of the text form.
    pub(crate) fn text_len(&self) -> u64 {
        self.segments().map(segment_len).sum::<u64>().max(1)
    }

    /// The segments, unescaped, from the root down.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.segments.iter().map(|s| &**s)
    }

    /// How many segments there are; 0 for the root.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether this is the root.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.is_empty()
    }

    /// The last segment; none for the root.
    pub fn name(&self) -> Option<&str> {
        self.segments.last().map(|s| &**s)
    }

    /// The path without its last segment; none for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, parents) = self.segments.split_last()?;
        Some(Self {
            segments: parents.into(),
        })
    }

    /// Whether this is `above` itself or something below it.
    pub fn starts_with(&self, above: &Self) -> bool {
        self.segments.starts_with(&above.segments)
    }
}

fn unescape(raw: &str) -> Result<String, usize> {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '~' => match chars.next() {
                Some((_, '0')) => out.push('~'),
                Some((_, '1')) => out.push('/'),
                _ => return Err(at),
            },
            c => out.push(c),
        }
    }
    Ok(out)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("/");
        }
        for segment in self.segments() {
            f.write_str("/")?;
            for c in segment.chars() {
                match c {
                    '~' => f.write_str("~0")?,
                    '/' => f.write_str("~1")?,
                    c => fmt::Write::write_char(f, c)?,
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

impl FromStr for Path {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Self, TreeError> {
        Self::parse(text)
    }
}

/// What can be given where a path is wanted: a [`Path`], or its text form.
pub trait IntoPath {
    /// Makes the path, or says what is wrong with the text.
    ///
    /// # Errors
    /// [`TreeError::BadPath`].
    fn into_path(self) -> Result<Path, TreeError>;
}

impl IntoPath for Path {
    fn into_path(self) -> Result<Path, TreeError> {
        Ok(self)
    }
}

impl IntoPath for &Path {
    fn into_path(self) -> Result<Path, TreeError> {
        Ok(self.clone())
    }
}

impl IntoPath for &str {
    fn into_path(self) -> Result<Path, TreeError> {
        Path::parse(self)
    }
}

impl IntoPath for &String {
    fn into_path(self) -> Result<Path, TreeError> {
        Path::parse(self)
    }
}

impl IntoPath for String {
    fn into_path(self) -> Result<Path, TreeError> {
        Path::parse(&self)
    }
}

#[cfg(test)]
mod tests;
