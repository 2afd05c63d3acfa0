//! What a server is started with: values with where they come from, in the order in which one
//! overrides another; sessions begin with them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use types::SqlResult;

use super::Settings;
use super::setting::{Context, Kind, Setting};
use super::value::Value;
use crate::device::Device;

/// Where a value comes from. Of two that give one, the later in this order wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody gave one.
    Default,
    /// The configuration file and the line.
    File(PathBuf, usize),
    /// A variable of the environment.
    Environment,
    /// A flag.
    Flag,
    /// The client, when it connected.
    Client,
    /// `SET`.
    Session,
}

impl Origin {
    /// As `pg_settings` says it.
    pub fn name(&self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::File(..) => "configuration file",
            Origin::Environment => "environment variable",
            Origin::Flag => "command line",
            Origin::Client => "client",
            Origin::Session => "session",
        }
    }
}

/// The values of a server.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    given: BTreeMap<&'static str, (Value, Origin)>,
    /// Settings to which the file gives another value since the start.
    waiting: BTreeSet<&'static str>,
    /// What sessions begin with.
    pub(super) session: Settings,
    /// The device of the database, once it is open.
    pub(crate) device: Option<Arc<Device>>,
}

/// A setting of which a reload has another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The setting.
    pub name: &'static str,
    /// Its new value, as `SHOW` shows it.
    pub value: String,
    /// Whether it holds only after a restart.
    pub needs_restart: bool,
}

impl Configuration {
    /// Gives a setting a value, unless it has one of a stronger origin.
    ///
    /// # Errors
    /// 42704 for an unknown name, 22023 for a value that cannot be, 55P02 for what cannot be changed.
    pub fn give(&mut self, name: &str, text: &str, origin: Origin) -> SqlResult<()> {
        let setting = Setting::find(name)?;
        if !setting.is_given_at_start() {
            return Err(setting.unchangeable());
        }
        let value = setting.parse(text)?;
        if self.origin(setting) <= origin {
            self.put(setting, value, origin);
        }
        Ok(())
    }

    fn put(&mut self, setting: &'static Setting, value: Value, origin: Origin) {
        self.session.put(setting, value.clone());
        self.given.insert(setting.name, (value, origin));
    }

    /// Takes note of what the database file has.
    pub(crate) fn know(&mut self, name: &str, value: i64) {
        let setting = Setting::find(name).expect("the program knows its settings");
        self.put(setting, Value::Integer(value), Origin::Default);
    }

    /// The value of a setting.
    pub(crate) fn value(&self, setting: &Setting) -> Value {
        let given = self.given.get(setting.name).map(|(value, _)| value.clone());
        given.unwrap_or_else(|| setting.default())
    }

    pub(crate) fn origin(&self, setting: &Setting) -> Origin {
        self.given.get(setting.name).map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    pub(crate) fn waits_for_restart(&self, setting: &Setting) -> bool {
        self.waiting.contains(setting.name)
    }

    fn named(&self, name: &str) -> (Kind, Value) {
        let setting = Setting::find(name).expect("the program asks for settings that there are");
        (setting.kind, self.value(setting))
    }

    /// Whether a setting is on.
    ///
    /// # Panics
    /// Here and below: when there is no such setting.
    pub fn flag(&self, name: &str) -> bool {
        self.named(name).1.flag()
    }

    /// A number, or a size in the setting's unit.
    pub fn count(&self, name: &str) -> usize {
        self.named(name).1.count()
    }

    /// A time; `None` below 0.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        let (kind, value) = self.named(name);
        let number = u64::try_from(value.integer()).ok()?;
        Some(match kind {
            Kind::Time { unit: "s", .. } => Duration::from_secs(number),
            _ => Duration::from_millis(number),
        })
    }

    /// A text or a choice; `None` when it is empty.
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.named(name).1;
        Some(value.text().to_owned()).filter(|text| !text.is_empty())
    }

    /// The texts of a list.
    pub fn list(&self, name: &str) -> Vec<String> {
        let value = self.named(name).1;
        let items = value.text().split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    }

    /// The configuration after a reload that found `new`: what only a restart can change stays as it
    /// is. With it, what differs.
    pub fn reloaded(&self, new: &Configuration) -> (Configuration, Vec<Change>) {
        let (mut result, mut changes) = (new.clone(), vec![]);
        result.device = self.device.clone();
        result.waiting.clear();
        for setting in Setting::all() {
            let (old, value) = (self.value(setting), new.value(setting));
            if old == value {
                continue;
            }
            if setting.context == Context::Internal {
                result.put(setting, old, Origin::Default);
                continue;
            }
            let needs_restart = setting.context == Context::Start;
            let value = value.shown(setting.kind);
            changes.push(Change { name: setting.name, value, needs_restart });
            if needs_restart {
                result.put(setting, old, self.origin(setting));
                result.waiting.insert(setting.name);
            }
        }
        (result, changes)
    }
}
