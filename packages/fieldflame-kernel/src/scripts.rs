//! The scripts of long animation frames: the twin of `profcore/trace/mark_types.py`.

use crate::hidden::Range;
use crate::weights::{part, to_us};
use crate::wire::Mark;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

const MAX_FRAME_SCRIPTS: usize = 10_000;
const MAX_FRAME_COMMAS: usize = 30 * MAX_FRAME_SCRIPTS;
const MAX_SCRIPT_MS: f64 = 30.0 * 86_400_000.0;
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The ranges of the scripts of long animation frames, None if no frame tells its own. `Err` asks for the twin.
pub fn script_ranges(marks: &[Mark]) -> Result<Option<Vec<Range>>, ()> {
    let mut found: Option<Vec<Range>> = None;
    for mark in marks {
        let kind = mark.kind.to_lowercase();
        if kind != "long-animation-frame" && kind != "loaf" {
            continue;
        }
        if let Some(scripts) = read_scripts(mark)? {
            found.get_or_insert_with(Vec::new).extend(scripts);
        }
    }
    Ok(found.map(part))
}

fn read_scripts(mark: &Mark) -> Result<Option<Vec<Range>>, ()> {
    let Some(sent) = mark.scripts else { return Ok(None) };
    let text = sent.get();
    if text.bytes().filter(|byte| *byte == b',').count() > MAX_FRAME_COMMAS {
        return Ok(None);
    }
    if !text.starts_with('[') {
        return Ok(None);
    }
    if !is_plain(text) {
        return Err(());
    }
    let elements: Vec<Element> = serde_json::from_str(text).map_err(|_| ())?;
    let mut found = Vec::new();
    for element in elements.iter().take(MAX_FRAME_SCRIPTS) {
        let Element::Script(start, start_time, duration) = element else { continue };
        if let (Some(start), Some(duration)) = (usable(start.or(*start_time), -MAX_SCRIPT_MS)?, usable(*duration, 0.0)?)
        {
            found.push((to_us(start), to_us(start + duration)));
        }
    }
    Ok(if !found.is_empty() || elements.is_empty() { Some(found) } else { None })
}

/// Tells whether a text of JSON has neither escapes nor exponents: what is read here then is what the twin reads.
fn is_plain(text: &str) -> bool {
    let (mut is_text, mut before) = (false, b' ');
    for byte in text.bytes() {
        match byte {
            b'\\' => return false,
            b'"' => is_text = !is_text,
            b'e' | b'E' if !is_text && before.is_ascii_digit() => return false,
            _ => {}
        }
        before = byte;
    }
    true
}

/// A value is absent, something else than a number, or a number.
#[derive(Clone, Copy)]
enum Value {
    Other,
    Number(f64),
}

fn usable(value: Option<Value>, least: f64) -> Result<Option<f64>, ()> {
    match value {
        Some(Value::Number(value)) if value.abs() >= EXACT => Err(()),
        Some(Value::Number(value)) => Ok((least..=MAX_SCRIPT_MS).contains(&value).then_some(value)),
        _ => Ok(None),
    }
}

/// An element of `scripts`: its `start`, `startTime` and `duration`, or no object.
enum Element {
    Script(Option<Value>, Option<Value>, Option<Value>),
    Other,
}

macro_rules! visit_others {
    ($other:expr) => {
        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("any value")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Element;
            visit_others!(Element::Other);
            fn visit_f64<E>(self, _: f64) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Element, A::Error> {
                let (mut start, mut start_time, mut duration) = (None, None, None);
                while let Some(key) = map.next_key::<&str>()? {
                    match key {
                        "start" => start = Some(map.next_value()?),
                        "startTime" => start_time = Some(map.next_value()?),
                        "duration" => duration = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Element::Script(start, start_time, duration))
            }
        }
        deserializer.deserialize_any(Fields)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl<'de> Visitor<'de> for Number {
            type Value = Value;
            visit_others!(Value::Other);
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Number(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Number(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Number(value as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Value::Other)
            }
        }
        deserializer.deserialize_any(Number)
    }
}
