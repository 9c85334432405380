//! The origins of settings: the variable, the flag, or the line of the file that set each one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::variables::VARIABLES;

/// The origins of the settings that differ from the defaults. A setting is named by its section and its name:
/// `server.listen`.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    file: PathBuf,
    lines: BTreeMap<String, usize>,
    named: BTreeMap<String, &'static str>,
}

impl Origins {
    /// Reads the lines of the settings in a file.
    pub fn of_file(file: &Path, text: &str) -> Self {
        let mut lines = BTreeMap::new();
        let sections = DeTable::parse(text).map(Spanned::into_inner).unwrap_or_default();
        for (section, settings) in &sections {
            let section_name = section.get_ref();
            lines.insert(section_name.to_string(), line_of(text, section.span().start));
            let DeValue::Table(settings) = settings.get_ref() else { continue };
            for setting in settings.keys() {
                let name = format!("{section_name}.{}", setting.get_ref());
                lines.insert(name, line_of(text, setting.span().start));
            }
        }
        Self { file: file.to_owned(), lines, named: BTreeMap::new() }
    }

    /// Records that a variable or a flag sets a setting.
    pub fn set(&mut self, section: &str, setting: &str, by: &'static str) {
        self.named.insert(format!("{section}.{setting}"), by);
    }

    /// Names the source of a setting for a message: the variable or the flag, or the file with the line and the setting.
    pub fn name(&self, setting: &str) -> String {
        let line = self.lines.get(setting);
        match (self.named.get(setting), line) {
            (Some(by), _) => (*by).to_owned(),
            (None, Some(line)) => format!("{}, line {line}: {setting}", self.file.display()),
            (None, None) => variable_of(setting).unwrap_or(setting).to_owned(),
        }
    }

    /// Names the source of the setting of a variable.
    pub(super) fn name_of(&self, variable: &'static str) -> String {
        setting_of(variable).map_or_else(|| variable.to_owned(), |setting| self.name(&setting))
    }
}

/// Returns the line of a byte, from 1.
pub fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

fn setting_of(variable: &str) -> Option<String> {
    let found = VARIABLES.iter().find(|(name, ..)| *name == variable);
    found.map(|(_, section, setting)| format!("{section}.{setting}"))
}

fn variable_of(setting: &str) -> Option<&'static str> {
    let (section, setting) = setting.split_once('.')?;
    VARIABLES.iter().find(|known| (known.1, known.2) == (section, setting)).map(|(variable, ..)| *variable)
}
