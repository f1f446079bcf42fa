//! `value!`: a value written as it looks.

/// Makes a [`Value`](crate::Value) from literals and expressions.
///
/// `null`, literals, `[..]`, `{"key": ..}` nest freely; anything else is an expression that converts
/// with `Into<Value>`. A key is a literal or, in parentheses, an expression that converts with
/// `Into<Text>`; of equal keys the last wins. A float literal is taken as it is; a float expression
/// may not be finite and goes through [`Value::float`](crate::Value::float). An integer literal is an
/// `i64`.
///
/// # Panics
/// When the nesting passes [`MAX_DEPTH`](crate::MAX_DEPTH), which only an expression that is nearly
/// that deep itself can bring about, and for a float literal that is not finite.
///
/// ```
/// use svit_value::{value, Value};
/// let who = "ada";
/// let note = value!({
///     "from": who,
///     "scores": [1, 2.5, -3, 1 + 1],
///     "nested": {"empty": {}, "none": null, (format!("{who}-key")): [true]},
/// });
/// assert_eq!(note.get("scores").and_then(|s| s.at(1)), Some(&Value::float(2.5)?));
/// assert_eq!(note.get("nested").and_then(|n| n.get("ada-key")), Some(&value!([true])));
/// # Ok::<(), svit_value::ValueError>(())
/// ```
#[macro_export]
macro_rules! value {
    ($($tokens:tt)+) => {
        $crate::__value!($($tokens)+)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __value {
    // A list: each element is moved into the brackets in front.
    (@list [$($done:expr,)*]) => {
        $crate::__private::list(::std::vec![$($done),*])
    };
    (@list [$($done:expr,)*] null $(, $($rest:tt)*)?) => {
        $crate::__value!(@list [$($done,)* $crate::Value::Null,] $($($rest)*)?)
    };
    (@list [$($done:expr,)*] [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $crate::__value!(@list [$($done,)* $crate::__value!([$($inner)*]),] $($($rest)*)?)
    };
    (@list [$($done:expr,)*] {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $crate::__value!(@list [$($done,)* $crate::__value!({$($inner)*}),] $($($rest)*)?)
    };
    // A leading minus may open a literal or an expression, and a `literal` cannot look ahead.
    (@list [$($done:expr,)*] - $($rest:tt)*) => {
        $crate::__value!(@list_minus [$($done,)*] - $($rest)*)
    };
    (@list_minus [$($done:expr,)*] - $literal:literal $(, $($rest:tt)*)?) => {
        $crate::__value!(@list [$($done,)* $crate::__private::literal(-$literal),] $($($rest)*)?)
    };
    (@list_minus [$($done:expr,)*] $other:expr $(, $($rest:tt)*)?) => {
        $crate::__value!(@list [$($done,)* $crate::Value::from($other),] $($($rest)*)?)
    };
    (@list [$($done:expr,)*] $literal:literal $(, $($rest:tt)*)?) => {
        $crate::__value!(@list [$($done,)* $crate::__private::literal($literal),] $($($rest)*)?)
    };
    (@list [$($done:expr,)*] $other:expr $(, $($rest:tt)*)?) => {
        $crate::__value!(@list [$($done,)* $crate::Value::from($other),] $($($rest)*)?)
    };
    // A map: the same with pairs.
    (@map [$($done:expr,)*]) => {
        $crate::__private::map(::std::vec![$($done),*])
    };
    (@map [$($done:expr,)*] $key:tt: null $(, $($rest:tt)*)?) => {
        $crate::__value!(@map [$($done,)* ($crate::__key!($key), $crate::Value::Null),] $($($rest)*)?)
    };
    (@map [$($done:expr,)*] $key:tt: [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $crate::__value!(
            @map [$($done,)* ($crate::__key!($key), $crate::__value!([$($inner)*])),] $($($rest)*)?
        )
    };
    (@map [$($done:expr,)*] $key:tt: {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $crate::__value!(
            @map [$($done,)* ($crate::__key!($key), $crate::__value!({$($inner)*})),] $($($rest)*)?
        )
    };
    (@map [$($done:expr,)*] $key:tt: - $($rest:tt)*) => {
        $crate::__value!(@map_minus [$($done,)*] $key: - $($rest)*)
    };
    (@map_minus [$($done:expr,)*] $key:tt: - $literal:literal $(, $($rest:tt)*)?) => {
        $crate::__value!(
            @map [$($done,)* ($crate::__key!($key), $crate::__private::literal(-$literal)),]
            $($($rest)*)?
        )
    };
    (@map_minus [$($done:expr,)*] $key:tt: $other:expr $(, $($rest:tt)*)?) => {
        $crate::__value!(
            @map [$($done,)* ($crate::__key!($key), $crate::Value::from($other)),] $($($rest)*)?
        )
    };
    (@map [$($done:expr,)*] $key:tt: $literal:literal $(, $($rest:tt)*)?) => {
        $crate::__value!(
            @map [$($done,)* ($crate::__key!($key), $crate::__private::literal($literal)),]
            $($($rest)*)?
        )
    };
    (@map [$($done:expr,)*] $key:tt: $other:expr $(, $($rest:tt)*)?) => {
        $crate::__value!(
            @map [$($done,)* ($crate::__key!($key), $crate::Value::from($other)),] $($($rest)*)?
        )
    };
    (null) => { $crate::Value::Null };
    ([$($inner:tt)*]) => { $crate::__value!(@list [] $($inner)*) };
    ({$($inner:tt)*}) => { $crate::__value!(@map [] $($inner)*) };
    (- $literal:literal) => { $crate::__private::literal(-$literal) };
    (- $($rest:tt)+) => { $crate::Value::from(- $($rest)+) };
    ($literal:literal) => { $crate::__private::literal($literal) };
    ($other:expr) => { $crate::Value::from($other) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __key {
    (($key:expr)) => {
        $crate::Text::from($key)
    };
    ($key:literal) => {
        $crate::Text::from($key)
    };
}

/// What the macros expand to; no part of the public interface.
#[doc(hidden)]
pub mod private {
    use crate::{Bytes, List, Map, Text, Value, ValueError};

    /// What a literal can be. One integer type only, so that an integer literal is inferred as it.
    pub trait Literal {
        /// The value it stands for.
        fn into_value(self) -> Result<Value, ValueError>;
    }

    impl Literal for bool {
        fn into_value(self) -> Result<Value, ValueError> {
            Ok(Value::Bool(self))
        }
    }

    impl Literal for i64 {
        fn into_value(self) -> Result<Value, ValueError> {
            Ok(Value::Int(self))
        }
    }

    impl Literal for f64 {
        fn into_value(self) -> Result<Value, ValueError> {
            Value::float(self)
        }
    }

    impl Literal for &str {
        fn into_value(self) -> Result<Value, ValueError> {
            Ok(Value::Text(self.into()))
        }
    }

    impl Literal for char {
        fn into_value(self) -> Result<Value, ValueError> {
            Ok(Value::Text(self.into()))
        }
    }

    impl<const N: usize> Literal for &[u8; N] {
        fn into_value(self) -> Result<Value, ValueError> {
            Ok(Value::Bytes(Bytes::from(self)))
        }
    }

    #[expect(clippy::panic, reason = "documented in value!")]
    fn sure<T>(result: Result<T, ValueError>) -> T {
        match result {
            Ok(value) => value,
            Err(error) => panic!("value!: {error}"),
        }
    }

    #[must_use]
    pub fn literal(literal: impl Literal) -> Value {
        sure(literal.into_value())
    }

    #[must_use]
    pub fn list(values: Vec<Value>) -> Value {
        Value::List(sure(List::from_values(values)))
    }

    #[must_use]
    pub fn map(entries: Vec<(Text, Value)>) -> Value {
        Value::Map(sure(Map::from_entries(entries)))
    }
}
