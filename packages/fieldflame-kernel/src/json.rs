//! Parts of JSON as msgspec reads them in the twin: texts, whole numbers, numbers, and objects with known fields.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A string that borrows from the body where it has no escapes.
struct BorrowedText;

impl<'de> Visitor<'de> for BorrowedText {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text")
    }
    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// A text.
pub struct Str<'a>(pub Cow<'a, str>);
impl<'de> Deserialize<'de> for Str<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(BorrowedText).map(Str)
    }
}

/// A whole number as the twin reads it: a token without point and exponent.
pub struct Whole(pub i64);
struct WholeVisitor;
impl<'de> Visitor<'de> for WholeVisitor {
    type Value = i64;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a whole number")
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<i64, E> {
        Ok(value)
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<i64, E> {
        i64::try_from(value).map_err(E::custom)
    }
}
impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(WholeVisitor).map(Whole)
    }
}

/// Fills a field. A field that stands twice is left to the twin, which takes the last one.
pub fn set_once<T, E: Error>(slot: &mut Option<T>, value: T) -> Result<(), E> {
    if slot.is_some() {
        return Err(E::custom("twice"));
    }
    *slot = Some(value);
    Ok(())
}

/// An object whose known fields may stand once each, in any order; a list in its place is refused, as by the twin.
macro_rules! wire_object {
    ($name:ident { $($key:literal $field:ident : $type:ty),* $(,)? }) => {
        #[derive(Default)]
        pub struct $name<'de> { $($field: Option<$type>,)* body: std::marker::PhantomData<&'de ()> }
        impl<'de> Deserialize<'de> for $name<'de> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> Visitor<'de> for Fields {
                    type Value = $name<'de>;
                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut found = $name::default();
                        while let Some(Key(key)) = map.next_key::<Key>()? {
                            match &*key {
                                $($key => set_once(&mut found.$field, map.next_value()?)?,)*
                                _ => { map.next_value::<Unknown>()?; }
                            }
                        }
                        Ok(found)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
}
pub(crate) use wire_object;

/// Elements that push themselves into columns.
pub struct Elements<F>(pub F);
impl<'de, F> Visitor<'de> for Elements<F>
where
    F: ElementReader<'de>,
{
    type Value = F::Columns;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an array")
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Self::Value, A::Error> {
        while let Some(()) = seq.next_element_seed(Element(&mut self.0))? {}
        Ok(self.0.finish())
    }
}

/// Reads the elements of an array, one by one, into its own columns.
pub trait ElementReader<'de>: Sized {
    type Columns;
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
    fn finish(self) -> Self::Columns;
}

struct Element<'r, F>(&'r mut F);
impl<'de, F: ElementReader<'de>> DeserializeSeed<'de> for Element<'_, F> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.read(deserializer)
    }
}

/// A finite number: serde_json refuses others.
pub struct Float(pub f64);
struct FloatVisitor;
impl<'de> Visitor<'de> for FloatVisitor {
    type Value = f64;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number")
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }
}
impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(FloatVisitor).map(Float)
    }
}

/// The name of a field.
pub struct Key<'a>(pub Cow<'a, str>);
impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(BorrowedText).map(Key)
    }
}

/// A value of a field that nobody reads. It is decoded all the same: that is as strict as the twin, and so bounds how
/// deep values nest, by serde_json's 128; skipping them would not, and the twin refuses what nests too deep.
pub struct Unknown;
struct UnknownVisitor;
impl<'de> Visitor<'de> for UnknownVisitor {
    type Value = Unknown;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E: Error>(self) -> Result<Unknown, E> {
        Ok(Unknown)
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<Unknown, E> {
        Ok(Unknown)
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<Unknown, E> {
        Ok(Unknown)
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<Unknown, E> {
        Ok(Unknown)
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<Unknown, E> {
        Ok(Unknown)
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<Unknown, E> {
        Ok(Unknown)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Unknown, A::Error> {
        while seq.next_element::<Unknown>()?.is_some() {}
        Ok(Unknown)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unknown, A::Error> {
        while map.next_entry::<Key, Unknown>()?.is_some() {}
        Ok(Unknown)
    }
}
impl<'de> Deserialize<'de> for Unknown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnknownVisitor)
    }
}

/// An array whose elements go into the columns of a reader.
pub struct Seq<F>(pub F);
impl<'de, F: ElementReader<'de>> DeserializeSeed<'de> for Seq<F> {
    type Value = F::Columns;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(Elements(self.0))
    }
}

/// Tells whether a text has more characters than a limit.
pub fn is_longer(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().count() > limit
}
