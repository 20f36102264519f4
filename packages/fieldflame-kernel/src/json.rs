//! A reader of JSON that goes through the text once and builds nothing that nobody asked for.
//!
//! It reads what msgspec reads in the twin, or less: `None` leaves a body to the twin. So keys with escapes, whole
//! numbers of more than 18 digits and the like are not handled here, and nothing here says what is wrong.

use std::borrow::Cow;

/// Values of unknown fields may nest so deep; a bit each remembers what is to be closed.
const MAX_NESTING: u32 = 100;
/// Any number of so many digits fits into an `i64`.
const MAX_DIGITS: usize = 18;
/// A whole number below this is exact as `f64`, and so are powers of ten up to `EXACT_POWERS`. One operation on two
/// exact values gives the nearest result.
const EXACT: u64 = 1 << 53;
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A number as it is written.
struct Number {
    is_whole: bool,
    value: f64,
}

/// Reads a text from its start to its end. `at` is where the next value, or space before it, begins.
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str) -> Self {
        Reader { text, at: 0 }
    }

    /// Returns whether nothing follows but space.
    pub fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Returns the next byte that is no space, without taking it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        let byte = self.byte()?;
        if byte > b' ' {
            return Some(byte);
        }
        self.skip_space();
        self.byte()
    }

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.skip_space();
        let is_next = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        is_next.then_some(())
    }

    /// Reads an object: calls `member` with the place of each key among `known`, `N` for others, to read its value.
    #[inline]
    pub fn object<const N: usize>(
        &mut self,
        known: &[&str; N],
        member: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        self.members(|reader| reader.key_among(known), member)
    }

    /// Reads an object with any keys: calls `member` with each, to read its value.
    pub fn any_object(&mut self, member: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.members(|reader| reader.key().filter(|_| reader.take(b':').is_some()), member)
    }

    #[inline(always)]
    fn members<K>(
        &mut self,
        read_key: impl Fn(&mut Self) -> Option<K>,
        mut member: impl FnMut(&mut Self, K) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = read_key(self)?;
            member(self, key)?;
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Takes a key and its colon. A known key without space behind it, as senders write them, is one comparison.
    #[inline(always)]
    fn key_among<const N: usize>(&mut self, known: &[&str; N]) -> Option<usize> {
        self.peek()?;
        let rest = &self.text.as_bytes()[self.at + 1..];
        for (place, key) in known.iter().enumerate() {
            if rest.starts_with(key.as_bytes()) && rest[key.len()..].starts_with(b"\":") && self.byte()? == b'"' {
                self.at += 1 + key.len() + 2;
                return Some(place);
            }
        }
        let key = self.key()?;
        self.take(b':')?;
        Some(known.iter().position(|known| *known == key).unwrap_or(N))
    }

    /// Reads an array: calls `element` to read each element.
    #[inline]
    pub fn array(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            element(self)?;
            match self.next()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads `null` as None, and anything else by `read`.
    #[inline]
    pub fn nullable<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.peek()? == b'n' {
            self.word("null")?;
            return Some(None);
        }
        read(self).map(Some)
    }

    pub fn bool(&mut self) -> Option<bool> {
        if self.peek()? == b't' {
            return self.word("true").map(|()| true);
        }
        self.word("false").map(|()| false)
    }

    #[inline]
    fn key(&mut self) -> Option<&'a str> {
        match self.text()? {
            Cow::Borrowed(key) => Some(key),
            Cow::Owned(_) => None,
        }
    }

    /// Reads a text. It borrows where it has no escapes.
    #[inline]
    pub fn text(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            match self.byte()? {
                b'"' => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Some(Cow::Borrowed(text));
                }
                b'\\' => return self.text_with_escapes(start).map(Cow::Owned),
                byte if byte < b' ' => return None,
                _ => self.at += 1,
            }
        }
    }

    fn text_with_escapes(&mut self, start: usize) -> Option<String> {
        let mut text = String::new();
        let mut from = start;
        loop {
            match self.byte()? {
                b'"' => {
                    text.push_str(&self.text[from..self.at]);
                    self.at += 1;
                    return Some(text);
                }
                b'\\' => {
                    text.push_str(&self.text[from..self.at]);
                    self.at += 1;
                    text.push(self.escape()?);
                    from = self.at;
                }
                byte if byte < b' ' => return None,
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let byte = self.byte()?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.four_hex()?;
                if !(0xD800..0xDC00).contains(&high) {
                    return char::from_u32(high); // None for the second half of a pair
                }
                if self.byte()? != b'\\' || *self.text.as_bytes().get(self.at + 1)? != b'u' {
                    return None;
                }
                self.at += 2;
                let low = self.four_hex()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                return char::from_u32(0x10000 + ((high - 0xD800) << 10) + low);
            }
            _ => return None,
        })
    }

    fn four_hex(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
    }

    /// Takes digits; returns their value and count. Beyond 19 digits the value is meaningless.
    #[inline]
    fn digits(&mut self, mut value: u64) -> (u64, usize) {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        (value, self.at - start)
    }

    /// Reads a whole number: without point and exponent.
    #[inline]
    pub fn whole(&mut self) -> Option<i64> {
        let is_negative = self.peek()? == b'-';
        self.at += usize::from(is_negative);
        let start = self.at;
        let (value, count) = self.digits(0);
        let has_zero = self.text.as_bytes().get(start) == Some(&b'0') && (count > 1 || is_negative);
        let goes_on = matches!(self.byte(), Some(b'.' | b'e' | b'E'));
        if count == 0 || count > MAX_DIGITS || has_zero || goes_on {
            return None;
        }
        Some(if is_negative { -(value as i64) } else { value as i64 })
    }

    /// Reads a finite number, to the nearest `f64`.
    #[inline]
    pub fn float(&mut self) -> Option<f64> {
        self.number().map(|number| number.value)
    }

    #[inline]
    fn number(&mut self) -> Option<Number> {
        self.peek()?;
        let start = self.at;
        let is_negative = self.byte()? == b'-';
        self.at += usize::from(is_negative);
        let first = self.byte()?;
        let (mut value, count) = self.digits(0);
        if count == 0 || (first == b'0' && count > 1) {
            return None;
        }
        let (mut decimals, mut exponent) = (0, 0i64);
        let mut is_whole = true;
        if self.byte() == Some(b'.') {
            self.at += 1;
            is_whole = false;
            (value, decimals) = self.digits(value);
            if decimals == 0 {
                return None;
            }
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            is_whole = false;
            exponent = self.exponent()?;
        }
        let power = exponent - decimals as i64;
        let is_short = count + decimals <= MAX_DIGITS && value < EXACT;
        let places = usize::try_from(power.unsigned_abs()).ok()?;
        let size = match EXACT_POWERS.get(places) {
            Some(ten) if is_short && power < 0 => value as f64 / ten,
            Some(ten) if is_short => value as f64 * ten,
            _ => self.text[start + usize::from(is_negative)..self.at].parse().ok()?,
        };
        let value = if is_negative { -size } else { size };
        value.is_finite().then_some(Number { is_whole, value })
    }

    fn exponent(&mut self) -> Option<i64> {
        let sign = self.byte()?;
        self.at += usize::from(matches!(sign, b'+' | b'-'));
        let (value, count) = self.digits(0);
        if count == 0 || count > MAX_DIGITS {
            return None;
        }
        Some(if sign == b'-' { -(value as i64) } else { value as i64 })
    }

    /// Reads a number as `float`, and anything else as None. Whole numbers may be longer than an `f64` is exact.
    pub fn number_or_other(&mut self) -> Option<Option<f64>> {
        if matches!(self.peek()?, b'-' | b'0'..=b'9') {
            let number = self.number()?;
            return (!number.is_whole || number.value.abs() < EXACT as f64).then_some(Some(number.value));
        }
        self.skip().map(|_| None)
    }

    /// Reads a text, and anything else as None.
    pub fn text_or_other(&mut self) -> Option<Option<Cow<'a, str>>> {
        if self.peek()? == b'"' {
            return self.text().map(Some);
        }
        self.skip().map(|_| None)
    }

    /// Reads a value, and returns it with how it is written.
    pub fn with_text<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<(T, &'a str)> {
        self.peek()?;
        let start = self.at;
        let value = read(self)?;
        Some((value, &self.text[start..self.at]))
    }

    /// Goes past a value of any kind; returns how it is written.
    pub fn skip(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        let (mut depth, mut objects) = (0u32, 0u128); // by depth: whether it is an object
        loop {
            match self.peek()? {
                open @ (b'{' | b'[') => {
                    self.at += 1;
                    depth += 1;
                    if depth > MAX_NESTING {
                        return None;
                    }
                    objects = objects << 1 | u128::from(open == b'{');
                    if self.peek()? != open + 2 {
                        self.skip_key(objects)?; // and its first value comes
                        continue;
                    }
                }
                b'"' => drop(self.text()?),
                b'n' => self.word("null")?,
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                _ => self.number().map(|_| ())?,
            }
            // A value, or an opening that is closed at once, has been read: close what it is the last of.
            loop {
                if depth == 0 {
                    return Some(&self.text[start..self.at]);
                }
                let close = if objects & 1 == 1 { b'}' } else { b']' };
                match self.next()? {
                    b',' => {
                        self.skip_key(objects)?;
                        break;
                    }
                    byte if byte == close => {
                        depth -= 1;
                        objects >>= 1;
                    }
                    _ => return None,
                }
            }
        }
    }

    fn skip_key(&mut self, objects: u128) -> Option<()> {
        if objects & 1 == 1 {
            self.text()?;
            self.take(b':')?;
        }
        Some(())
    }
}

/// Fills a field. A field that stands twice is left to the twin, which takes the last one.
#[inline]
pub fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}
