// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text form of delays, which are `Duration`s.

use std::fmt;
use std::time::Duration;

use super::{UnitError, decimal};

/// Beyond seconds; times are not written in it.
const MINUTE: (&str, u64) = ("min", 60_000_000_000);
const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Nanoseconds in the unit called `name`, or `None` if there is no such unit.
pub(super) fn unit(name: &str) -> Option<u64> {
    UNITS
        .iter()
        .chain([&MINUTE])
        .find(|(unit, _)| *unit == name)
        .map(|&(_, nanoseconds)| nanoseconds)
}

/// Reads a delay such as `20ms`, `200us`, `1.5s` or `2min`.
pub fn parse_delay(text: &str) -> Result<Duration, UnitError> {
    let advice = "write it as 20ms, 200us or 1.5s (units: ns, us, ms, s, min)";
    let (number, name) = decimal::split_unit(text);
    let Some(unit) = unit(name) else {
        let problem = decimal::wrong_unit(name);
        return Err(UnitError::new("time", text, problem, advice));
    };
    decimal::scale(number, unit)
        .map(Duration::from_nanos)
        .ok_or_else(|| {
            UnitError::new(
                "time",
                text,
                "has no number that can be read before its unit",
                advice,
            )
        })
}

/// Writes a delay in a form that [`parse_delay`] reads back as the same value; saturates at 584 years.
pub fn format_delay(delay: Duration) -> String {
    struct Text(u64);
    impl fmt::Display for Text {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            decimal::write(f, self.0, &UNITS)
        }
    }
    match delay {
        Duration::ZERO => "0ms".to_owned(),
        _ => Text(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX)).to_string(),
    }
}

/// JSON Schema of a delay.
#[cfg(feature = "schemars")]
pub(crate) struct DelayText;

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for DelayText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Delay".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^(\$\w+|\d+(\.\d+)?(ns|us|ms|s|min))$",
            "description": "a time such as \"20ms\""
        })
    }
}

/// Serialises a delay that must not be zero by its text form: `#[serde(with = "positive_delay")]`.
pub(crate) mod positive_delay {
    use std::borrow::Cow;
    use std::time::Duration;

    use serde::{Deserialize, Deserializer};

    pub(crate) use super::delay_text::serialize;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        match super::parse_delay(&text).map_err(serde::de::Error::custom)? {
            Duration::ZERO => Err(serde::de::Error::custom(format!(
                "time `{text}` is zero; it must be more"
            ))),
            delay => Ok(delay),
        }
    }
}

/// Serialises a delay by its text form: `#[serde(with = "delay_text")]`.
pub(crate) mod delay_text {
    use std::borrow::Cow;
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        delay: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format_delay(*delay))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        super::parse_delay(&text).map_err(serde::de::Error::custom)
    }
}

/// Serialises an optional delay by its text form: `#[serde(with = "optional_delay")]`.
pub(crate) mod optional_delay {
    use std::borrow::Cow;
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        delay: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match delay {
            Some(delay) => serializer.serialize_some(&super::format_delay(*delay)),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<Cow<'de, str>>::deserialize(deserializer)?
            .map(|text| super::parse_delay(&text).map_err(serde::de::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_usual_delays() {
        for (text, delay) in [
            ("20ms", Duration::from_millis(20)),
            ("200us", Duration::from_micros(200)),
            ("1s", Duration::from_secs(1)),
            ("1.5s", Duration::from_millis(1500)),
            ("1.5min", Duration::from_secs(90)),
            ("0ms", Duration::ZERO),
        ] {
            assert_eq!(parse_delay(text).unwrap(), delay, "{text}");
        }
        assert_eq!(format_delay(Duration::from_micros(1500)), "1.5ms");
        assert_eq!(format_delay(Duration::from_secs(120)), "120s");
    }

    #[test]
    fn a_delay_without_a_known_unit_is_refused() {
        for text in ["20", "20m", "20msec", "ms", "-5ms", "1e3ms", ""] {
            let error = parse_delay(text).unwrap_err().to_string();
            assert!(error.contains("write it as 20ms"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_delay(nanoseconds in any::<u64>()) {
            let delay = Duration::from_nanos(nanoseconds);
            prop_assert_eq!(parse_delay(&format_delay(delay)).unwrap(), delay);
        }
    }
}
