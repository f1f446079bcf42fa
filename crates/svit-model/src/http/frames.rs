//! Cuts a body into frames as it comes: server-sent events, or lines of JSON. What a server may make us hold
//! is bounded, for a frame and for the whole.

#[cfg(test)]
mod tests;

use crate::error::ModelError;

/// The largest answer, in octets on the wire.
pub(crate) const LARGEST: u64 = 64 << 20;
/// The largest frame.
pub(crate) const LARGEST_FRAME: usize = 16 << 20;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The data of a server-sent event.
    Events,
    /// A line that is not blank.
    Lines,
}

/// The octets that came and are no frame yet.
#[derive(Debug)]
pub(crate) struct Frames {
    cut: Cut,
    buffer: Vec<u8>,
    /// Where the line begins that is being read.
    start: usize,
    /// Up to where it was looked through, so that a long line is looked through once.
    scanned: usize,
    octets: u64,
    /// The data of the event that is being read.
    data: Option<String>,
    /// Whether the last line ended in a carriage return: a line feed after it belongs to it.
    after_return: bool,
    at_beginning: bool,
    ended: bool,
}

impl Frames {
    pub(crate) fn new(cut: Cut) -> Self {
        Self {
            cut,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            octets: 0,
            data: None,
            after_return: false,
            at_beginning: true,
            ended: false,
        }
    }

    /// Takes octets in. All frames of those before must have been taken out.
    pub(crate) fn push(&mut self, octets: &[u8]) -> Result<(), ModelError> {
        self.octets = self.octets.saturating_add(octets.len() as u64);
        if self.octets > LARGEST {
            return Err(ModelError::AnswerTooLarge { limit: LARGEST });
        }
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(octets);
        Ok(())
    }

    /// Nothing more will come.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// The next frame, if it has come whole. At the end, what is there counts as whole.
    pub(crate) fn next(&mut self) -> Result<Option<String>, ModelError> {
        while let Some(line) = self.line()? {
            match self.cut {
                Cut::Lines if line.trim().is_empty() => {}
                Cut::Lines => return Ok(Some(line)),
                Cut::Events if line.is_empty() => {
                    if let Some(data) = self.data.take().filter(|data| !data.is_empty()) {
                        return Ok(Some(data));
                    }
                }
                Cut::Events => self.field(&line)?,
            }
        }
        let rest = if self.ended { self.data.take() } else { None };
        Ok(rest.filter(|data| !data.is_empty()))
    }

    /// A line of an event. Names of events are not looked at: each format repeats them in the data.
    fn field(&mut self, line: &str) -> Result<(), ModelError> {
        let Some(value) = line.strip_prefix("data:") else {
            return Ok(());
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) => {
                if data.len() + value.len() > LARGEST_FRAME {
                    return Err(too_large());
                }
                data.push('\n');
                data.push_str(value);
            }
        }
        Ok(())
    }

    fn line(&mut self) -> Result<Option<String>, ModelError> {
        if self.after_return && self.start < self.buffer.len() {
            self.after_return = false;
            self.start += usize::from(self.buffer[self.start] == b'\n');
        }
        self.scanned = self.scanned.max(self.start);
        let ends = |octet: &u8| *octet == b'\n' || (*octet == b'\r' && self.cut == Cut::Events);
        let found = self.buffer[self.scanned..].iter().position(ends);
        let end = match found {
            Some(offset) => self.scanned + offset,
            None => {
                self.scanned = self.buffer.len();
                if self.scanned - self.start > LARGEST_FRAME {
                    return Err(too_large());
                }
                if !self.ended || self.start == self.scanned {
                    return Ok(None);
                }
                self.scanned
            }
        };
        let octets = &self.buffer[self.start..end];
        if octets.len() > LARGEST_FRAME {
            return Err(too_large());
        }
        let line = std::str::from_utf8(octets)
            .map_err(|_| ModelError::broken("the answer is not UTF-8"))?;
        let line = match line.strip_prefix('\u{feff}') {
            Some(line) if self.at_beginning => line,
            _ => line,
        };
        let line = line.to_owned();
        self.at_beginning = false;
        self.after_return = self.buffer.get(end) == Some(&b'\r');
        self.start = (end + 1).min(self.buffer.len());
        Ok(Some(line))
    }
}

fn too_large() -> ModelError {
    ModelError::AnswerTooLarge {
        limit: LARGEST_FRAME as u64,
    }
}
