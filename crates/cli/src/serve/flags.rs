//! The flags of `dovetail serve`, made from the definitions of the settings.

use std::sync::LazyLock;

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Command};
use engine::{Kind, Setting, Unset};

/// Values that flags gave, by setting.
#[derive(Clone, Debug, Default)]
pub struct Flags(pub Vec<(&'static str, String)>);

/// What a flag is made of: clap keeps references to it.
struct Flag {
    setting: &'static Setting,
    long: String,
    help: String,
}

static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let given = Setting::all().filter(|setting| setting.is_given_at_start());
    given.map(|setting| Flag { setting, long: setting.flag(), help: help(setting) }).collect()
});

fn help(setting: &Setting) -> String {
    let about = setting.description.trim_end_matches('.');
    match setting.unset {
        Unset::Is("") => about.to_owned(),
        Unset::Is(value) => format!("{about} [default: {value}]"),
        Unset::Cores => format!("{about} [default: one for each core]"),
    }
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "on|off",
        Kind::Integer { .. } => "NUMBER",
        Kind::Time { .. } => "TIME",
        Kind::Size { .. } => "SIZE",
        Kind::Choice(_) => "CHOICE",
        Kind::Text | Kind::Zone => "TEXT",
        Kind::Device => "PROFILE",
        Kind::Path => "PATH",
        Kind::List => "LIST",
    }
}

fn arg(flag: &'static Flag) -> Arg {
    let kind = flag.setting.kind;
    let arg = Arg::new(flag.setting.name)
        .long(flag.long.as_str())
        .help(flag.help.as_str())
        .help_heading(flag.setting.category)
        .value_name(value_name(kind));
    match kind {
        Kind::Bool => arg.num_args(0..=1).require_equals(true).default_missing_value("on"),
        Kind::List => arg.action(ArgAction::Append),
        // Below 0 stands for "never".
        Kind::Time { min, .. } | Kind::Integer { min, .. } if min < 0 => {
            arg.allow_negative_numbers(true)
        }
        _ => arg,
    }
}

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        command.args(FLAGS.iter().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args(command)
    }
}

impl clap::FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Flags, Error> {
        let given = FLAGS.iter().filter_map(|flag| {
            let values: Vec<String> = matches.get_many(flag.setting.name)?.cloned().collect();
            Some((flag.setting.name, values.join(",")))
        });
        Ok(Flags(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}
