//! Reading and changing parts of values: what `.a`, `.[0]`, `.[1:2]`, `.[]` and `|=` mean.

use std::collections::VecDeque;
use std::ops::Bound;

use jaq_core::box_iter::{BoxIter, box_once};
use jaq_core::path::Opt;
use jaq_core::val::Range;
use jaq_core::{Exn, ValT, ValX};
use svit_value::{List, Map, Text, Value};

use super::gauge::{self, Stop};
use super::number;
use super::value::{self, ELEMENT, ENTRY, Error, Val, ValR, fail};

/// The longest list that an assignment may make by leaving a gap.
const MAX_INDEX: i64 = 1 << 29;
/// Children are taken out of a container this many at a time.
const CHUNK: usize = 32;

/// The elements of a list, owned, without taking them all out at once.
struct Elements {
    list: List,
    next: usize,
    chunk: VecDeque<Value>,
}

impl Iterator for Elements {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        if self.chunk.is_empty() {
            let end = self.list.len().min(self.next + CHUNK);
            self.chunk.extend(self.list.range(self.next..end).cloned());
            self.next = end;
        }
        let value = self.chunk.pop_front()?;
        gauge::charge(1);
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len() - self.next + self.chunk.len();
        (left, Some(left))
    }
}

/// The entries of a map, likewise.
struct Entries {
    map: Map,
    left: usize,
    last: Option<Text>,
    chunk: VecDeque<(Text, Value)>,
}

impl Iterator for Entries {
    type Item = (Text, Value);

    fn next(&mut self) -> Option<(Text, Value)> {
        if self.left == 0 {
            return None;
        }
        if self.chunk.is_empty() {
            let from = self
                .last
                .as_deref()
                .map_or(Bound::Unbounded, Bound::Excluded);
            let entries = self.map.range(from, Bound::Unbounded).take(CHUNK);
            self.chunk = entries
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            self.last = self.chunk.back().map(|(key, _)| key.clone());
        }
        let entry = self.chunk.pop_front()?;
        self.left -= 1;
        gauge::charge(1);
        Some(entry)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

pub(crate) fn elements(list: List) -> impl Iterator<Item = Value> {
    Elements {
        list,
        next: 0,
        chunk: VecDeque::new(),
    }
}

pub(crate) fn entries(map: Map) -> impl Iterator<Item = (Text, Value)> {
    Entries {
        left: map.len(),
        map,
        last: None,
        chunk: VecDeque::new(),
    }
}

impl Val {
    fn not_iterable(&self) -> Error {
        let message = if self.is_null() {
            "Cannot iterate over null".to_owned()
        } else {
            format!("Cannot iterate over {}", self.named())
        };
        Error::new(Self::from(message))
    }

    fn not_indexable(&self, index: &Self) -> Error {
        Error::new(Self::from(format!(
            "Cannot index {} with {}",
            self.type_name(),
            index.named()
        )))
    }

    /// The bounds in an index `{"start": 1, "end": 2}`, the form that slices have in paths.
    fn slice_bounds(&self) -> Option<(Self, Self)> {
        let map = self.map()?;
        let bound = |key| Self::Plain(map.get(key).cloned().unwrap_or_default());
        (map.contains_key("start") || map.contains_key("end"))
            .then(|| (bound("start"), bound("end")))
    }

    /// The place of an index in a list of this length, negative ones counted from the end.
    fn place(&self, len: usize) -> Option<i64> {
        let index = self.number()?.floor();
        Some(if index < 0 {
            index.saturating_add(len as i64)
        } else {
            index
        })
    }

    fn get_slice(self, from: &Self, to: &Self) -> ValR {
        match &self {
            Self::Plain(Value::Null) => Ok(Self::NULL),
            Self::Plain(Value::List(list)) => {
                let (start, end) = slice(from, to, list.len())?;
                let values = list.range(start..end).cloned().collect();
                Ok(value::new_list(values))
            }
            Self::Plain(Value::Text(text)) => {
                gauge::look(text.len());
                let (start, end) = slice(from, to, text.chars().count())?;
                let part: String = text.chars().skip(start).take(end - start).collect();
                Ok(value::new_text(part))
            }
            _ => fail(format!("Cannot index {} with object", self.type_name())),
        }
    }
}

/// Start and end of a slice in something of a length: start <= end <= length.
fn slice(from: &Val, to: &Val, len: usize) -> ValR<(usize, usize)> {
    let from_end = |at: i64| {
        let at = if at < 0 {
            at.saturating_add(len as i64)
        } else {
            at
        };
        usize::try_from(at).unwrap_or(0).min(len)
    };
    let bounds_are_numbers = [from, to]
        .iter()
        .all(|bound| bound.is_null() || bound.number().is_some());
    if !bounds_are_numbers {
        return fail("Start and end indices of an array slice must be numbers");
    }
    let start = from.number().map_or(0, |number| from_end(number.floor()));
    let end = to.number().map_or(len, |number| from_end(number.ceil()));
    Ok((start, end.max(start)))
}

/// Sets an element, filling a gap with nulls.
fn set_at(list: &mut List, at: usize, new: Value) {
    gauge::alloc(ELEMENT + 8 * list.len().min(64));
    let done = if at < list.len() {
        list.set(at, new).map(drop)
    } else {
        let gap = at - list.len();
        gauge::alloc(ELEMENT.saturating_mul(gap));
        list.extend(std::iter::repeat_n(Value::Null, gap).chain([new]))
    };
    if done.is_err() {
        gauge::stop(Stop::Depth);
    }
}

/// The first output, if there is one.
fn first<'a, I: Iterator<Item = ValX<'a, Val>>>(mut outputs: I) -> ValX<'a, Option<Value>, Val> {
    outputs
        .next()
        .transpose()
        .map(|value| value.map(Val::into_value))
}

impl ValT for Val {
    fn from_num(number: &str) -> ValR {
        match number::parse(number) {
            Some(number) => Ok(number),
            None => fail(format!("{number} is not a number")),
        }
    }

    fn from_map<I: IntoIterator<Item = (Self, Self)>>(pairs: I) -> ValR {
        let mut entries = Vec::new();
        for (key, value) in pairs {
            gauge::alloc(ENTRY);
            match key {
                Self::Plain(Value::Text(key)) => entries.push((key, value.into_value())),
                key => return fail(format!("Object keys must be strings, not {}", key.named())),
            }
        }
        gauge::alloc(ELEMENT);
        Ok(value::map(entries))
    }

    fn key_values(self) -> BoxIter<'static, ValR<(Self, Self)>> {
        match self {
            Self::Plain(Value::List(list)) => Box::new(
                elements(list)
                    .enumerate()
                    .map(|(at, value)| Ok((Self::from(at as i64), Self::Plain(value)))),
            ),
            Self::Plain(Value::Map(map)) => Box::new(
                entries(map)
                    .map(|(key, value)| Ok((Self::Plain(Value::Text(key)), Self::Plain(value)))),
            ),
            other => box_once(Err(other.not_iterable())),
        }
    }

    fn values(self) -> Box<dyn Iterator<Item = ValR>> {
        match self {
            Self::Plain(Value::List(list)) => {
                Box::new(elements(list).map(|value| Ok(value.into())))
            }
            Self::Plain(Value::Map(map)) => {
                Box::new(entries(map).map(|(_, value)| Ok(value.into())))
            }
            other => box_once(Err(other.not_iterable())),
        }
    }

    fn index(self, index: &Self) -> ValR {
        gauge::charge(1);
        match (&self, index) {
            (Self::Plain(Value::Map(map)), Self::Plain(Value::Text(key))) => {
                Ok(Self::Plain(map.get(key).cloned().unwrap_or_default()))
            }
            (Self::Plain(Value::List(list)), _) if index.number().is_some() => {
                let nan = index.number().is_some_and(number::Number::is_nan);
                let at = index
                    .place(list.len())
                    .and_then(|at| usize::try_from(at).ok());
                let found = at.filter(|_| !nan).and_then(|at| list.get(at));
                Ok(Self::Plain(found.cloned().unwrap_or_default()))
            }
            (Self::Plain(Value::List(list)), Self::Plain(Value::List(part))) => {
                Ok(super::natives::lists::places_of(list, part))
            }
            (Self::Plain(Value::Null), Self::Plain(Value::Text(_) | Value::Null)) => Ok(Self::NULL),
            (Self::Plain(Value::Null), _) if index.number().is_some() => Ok(Self::NULL),
            _ => match index.slice_bounds() {
                Some((from, to)) => self.get_slice(&from, &to),
                None => Err(self.not_indexable(index)),
            },
        }
    }

    fn range(self, range: Range<&Self>) -> ValR {
        gauge::charge(1);
        let null = Self::NULL;
        self.get_slice(range.start.unwrap_or(&null), range.end.unwrap_or(&null))
    }

    fn map_values<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        match self {
            Self::Plain(Value::List(list)) => {
                let mut new = Vec::new();
                for old in elements(list) {
                    gauge::alloc(ELEMENT);
                    new.extend(first(f(old.into()))?);
                }
                Ok(value::list(new))
            }
            Self::Plain(Value::Map(map)) => {
                let mut new = Vec::new();
                for (key, old) in entries(map) {
                    gauge::alloc(ENTRY);
                    new.extend(first(f(old.into()))?.map(|value| (key, value)));
                }
                Ok(value::map(new))
            }
            other => opt.fail(other, |other| Exn::from(other.not_iterable())),
        }
    }

    fn map_index<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        index: &Self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        gauge::charge(1);
        match (self, index) {
            (this @ Self::Plain(Value::Map(_) | Value::Null), Self::Plain(Value::Text(key))) => {
                // Taken out first, so that the child is not shared and can be changed where it is.
                let mut map = match this {
                    Self::Plain(Value::Map(map)) => map,
                    _ => Map::new(),
                };
                let old = map.get(key).cloned().unwrap_or_default();
                match first(f(old.into()))? {
                    Some(new) => value::insert(&mut map, key.clone(), new),
                    None => {
                        gauge::alloc(12 * map.len().min(64));
                        map.remove(key);
                    }
                }
                Ok(Self::Plain(Value::Map(map)))
            }
            (this @ Self::Plain(Value::List(_) | Value::Null), _) if index.number().is_some() => {
                let mut list = match this {
                    Self::Plain(Value::List(list)) => list,
                    _ => List::new(),
                };
                let at = index.place(list.len()).unwrap_or_default();
                let Ok(place) = usize::try_from(at) else {
                    return Ok(fail("Out of bounds negative array index")?);
                };
                if at > MAX_INDEX {
                    return Ok(fail("Array index too large")?);
                }
                let old = list.get(place).cloned().unwrap_or_default();
                match first(f(old.into()))? {
                    Some(new) => set_at(&mut list, place, new),
                    None => {
                        gauge::alloc(ELEMENT.saturating_mul(list.len().saturating_sub(place)));
                        if place < list.len() {
                            list.remove(place);
                        }
                    }
                }
                Ok(Self::Plain(Value::List(list)))
            }
            (this, _) => match index.slice_bounds() {
                Some((from, to)) => this.map_range(Some(&from)..Some(&to), opt, f),
                None => opt.fail(this, |this| Exn::from(this.not_indexable(index))),
            },
        }
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        range: Range<&Self>,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        gauge::charge(1);
        let list = match self {
            Self::Plain(Value::List(list)) => list,
            Self::Plain(Value::Null) => List::new(),
            other => {
                return opt.fail(other, |other| {
                    let message = format!(
                        "Cannot update field at object index of {}",
                        other.type_name()
                    );
                    Exn::from(Error::new(Self::from(message)))
                });
            }
        };
        let null = Self::NULL;
        let (start, end) = slice(
            range.start.unwrap_or(&null),
            range.end.unwrap_or(&null),
            list.len(),
        )?;
        let part = value::new_list(list.range(start..end).cloned().collect());
        let new = match first(f(part))? {
            Some(Value::List(new)) => new,
            None => List::new(),
            Some(_) => {
                return Ok(fail(
                    "A slice of an array can only be assigned another array",
                )?);
            }
        };
        let before = list.range(0..start);
        let after = list.range(end..list.len());
        Ok(value::new_list(
            before.chain(&new).chain(after).cloned().collect(),
        ))
    }

    fn as_bool(&self) -> bool {
        !matches!(self, Self::Plain(Value::Null | Value::Bool(false)))
    }

    fn into_string(self) -> Self {
        match self {
            Self::Plain(Value::Text(_)) => self,
            other => Self::Plain(Value::Text(
                super::json::to_text(&other.into_value()).into(),
            )),
        }
    }
}
