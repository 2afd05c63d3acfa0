//! Members of JSON documents, each with an error that names it.

use serde_json::{Map, Value};

use crate::fault::{Error, Result};

/// An object of a document.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a>(&'a Map<String, Value>);

impl<'a> Object<'a> {
    pub(crate) fn of(value: &'a Value, what: &str) -> Result<Object<'a>> {
        let object = value.as_object().map(Object);
        object.ok_or_else(|| Error::damaged(format!("{what} is no object")))
    }

    /// A member that is there and not null.
    pub(crate) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn long(self, name: &str) -> Result<i64> {
        self.long_if(name)?.ok_or_else(|| missing(name))
    }

    pub(crate) fn long_if(self, name: &str) -> Result<Option<i64>> {
        let number = |value: &Value| value.as_i64().ok_or_else(|| wrong(name, "whole number"));
        self.get(name).map(number).transpose()
    }

    pub(crate) fn int(self, name: &str) -> Result<i32> {
        self.int_if(name)?.ok_or_else(|| missing(name))
    }

    pub(crate) fn int_if(self, name: &str) -> Result<Option<i32>> {
        let number =
            |value: i64| i32::try_from(value).map_err(|_| wrong(name, "number of 32 bits"));
        self.long_if(name)?.map(number).transpose()
    }

    pub(crate) fn text(self, name: &str) -> Result<&'a str> {
        self.text_if(name)?.ok_or_else(|| missing(name))
    }

    pub(crate) fn text_if(self, name: &str) -> Result<Option<&'a str>> {
        let text = |value: &'a Value| value.as_str().ok_or_else(|| wrong(name, "text"));
        self.get(name).map(text).transpose()
    }

    /// The elements of a list; none where it is not there.
    pub(crate) fn list(self, name: &str) -> Result<&'a [Value]> {
        let list = |value: &'a Value| value.as_array().ok_or_else(|| wrong(name, "list"));
        Ok(self.get(name).map(list).transpose()?.map_or(&[], Vec::as_slice))
    }

    /// The objects of a list; none where it is not there.
    pub(crate) fn objects(self, name: &str) -> Result<Vec<Object<'a>>> {
        self.list(name)?.iter().map(|value| Object::of(value, name)).collect()
    }
}

fn missing(name: &str) -> Error {
    Error::damaged(format!("\"{name}\" is missing"))
}

fn wrong(name: &str, what: &str) -> Error {
    Error::damaged(format!("\"{name}\" is no {what}"))
}
