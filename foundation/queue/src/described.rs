// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tagged tables of files, read such that errors name their field.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{EnumAccess, Error as _, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A tagged table of a file: a name, and fields that depend on it. [`Described::read`] lets an error name its field,
/// which serde's derived code for tagged enums loses.
pub trait Described: Sized {
    /// Names that the tag may have.
    const NAMES: &[&str];

    /// Reads the fields that belong to `name`, one of [`Described::NAMES`].
    fn read<'de, A: VariantAccess<'de>>(name: &str, fields: A) -> Result<Self, A::Error>;
}

/// Reads a [`Described`] type by serde's `visit_enum`.
#[derive(Debug)]
pub struct DescribedVisitor<T>(PhantomData<T>);

impl<T> Default for DescribedVisitor<T> {
    fn default() -> DescribedVisitor<T> {
        DescribedVisitor(PhantomData)
    }
}

impl<'de, T: Described> Visitor<'de> for DescribedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", T::NAMES.join(", "))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<T, A::Error> {
        let (name, fields) = data.variant::<Name<T>>()?;
        T::read(name.0, fields)
    }
}

/// One of the names of a [`Described`] type.
struct Name<T>(&'static str, PhantomData<T>);

impl<'de, T: Described> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<T>, D::Error> {
        let given = String::deserialize(deserializer)?;
        match T::NAMES.iter().find(|name| **name == given) {
            Some(name) => Ok(Name(name, PhantomData)),
            None => Err(D::Error::unknown_variant(&given, T::NAMES)),
        }
    }
}
