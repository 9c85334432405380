//! Presets: named queries over the registry, in a commented file.

mod named;
mod near;
mod query;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::{Fault, Kind, PanelOrder, RankedPanel, Registry};
use ep_polling::{ModelChoice, ModelNames, ModelSource, Roster};
use serde::Deserialize;

use crate::config::SetupError;
use crate::registry::Snapshot;
use crate::registry::listing::ListedModel;
use query::Query;

/// The built-in presets. The comments of the file are their documentation.
pub const BUILT_IN: &str = include_str!("presets.toml");

/// All presets, in file order.
#[derive(Debug)]
pub(crate) struct Presets(Vec<Preset>);

#[derive(Debug, Deserialize)]
struct File {
    preset: Vec<Preset>,
}

#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Preset {
    query: Query,
}

/// The upstream properties that a roster needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RosterContext {
    /// True if the models are simulated.
    pub(crate) simulated: bool,
    /// The upstream's limit of requests per minute for free models.
    pub(crate) free_per_minute: Option<u32>,
    /// True if polls are charged.
    pub(crate) charges: bool,
}

impl Presets {
    /// Loads the presets of this file, or the built-in ones if no file is given.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, SetupError> {
        let Some(path) = path else { return Self::parse(BUILT_IN) };
        let text = std::fs::read_to_string(path)
            .map_err(|error| SetupError::Presets(format!("{}: {error}", path.display())))?;
        Self::parse(&text).map_err(|error| match error {
            SetupError::Presets(why) => SetupError::Presets(format!("{}: {why}", path.display())),
            other => other,
        })
    }

    fn parse(text: &str) -> Result<Self, SetupError> {
        let File { preset: mut presets } =
            toml::from_str(text).map_err(|error| SetupError::Presets(at_line(text, &error)))?;
        match presets.first_mut() {
            Some(first) => first.query.is_default = true,
            None => return Err(SetupError::Presets("the file contains no preset".to_owned())),
        }
        for (index, preset) in presets.iter().enumerate() {
            let wrong = |rule: &str| SetupError::Presets(format!("preset {} {rule}", preset.query.name));
            if preset.query.name.is_empty()
                || !preset.query.name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
            {
                return Err(wrong("must have a name of letters, digits, _ and -"));
            }
            if presets[..index].iter().any(|earlier| earlier.query.name == preset.query.name) {
                return Err(wrong("is defined twice"));
            }
            preset.query.check().map_err(|rule| wrong(&rule))?;
        }
        Ok(Self(presets))
    }

    /// Returns the names, in file order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|preset| preset.query.name.clone()).collect()
    }

    /// Returns the list shown to clients, which expires after `ttl`.
    pub(crate) fn registry(
        &self,
        snapshot: &Snapshot,
        ttl: Duration,
        context: RosterContext,
    ) -> Result<Registry, Fault> {
        let mut registry = snapshot.registry(ttl, context.simulated);
        for preset in &self.0 {
            let name = &preset.query.name;
            let roster = snapshot.roster(name, || preset.roster(snapshot, None, context))?;
            let members: HashSet<&str> =
                roster.members().iter().map(|member| member.model.as_str()).collect();
            for variant in registry.variants.iter_mut().filter(|variant| members.contains(&*variant.id)) {
                variant.presets.push(name.clone());
            }
            if let Some(order) = preset.query.order {
                let models = roster.members().iter().map(|member| member.model.as_str().to_owned()).collect();
                registry.panels.push(RankedPanel { name: name.clone(), models, order });
            }
        }
        Ok(registry)
    }

    /// Selects the models of a choice from this list.
    pub(crate) fn roster(
        &self,
        choice: &ModelChoice,
        snapshot: &Snapshot,
        context: RosterContext,
    ) -> Result<Roster, Fault> {
        let exclude = choice.exclude.as_ref();
        let name = match &choice.source {
            ModelSource::Preset(name) => name,
            ModelSource::Named(_) | ModelSource::Ids(_) if snapshot.models.is_empty() => {
                return Err(empty_list());
            }
            ModelSource::Named(names) | ModelSource::Ids(names) => {
                let are_ids = matches!(choice.source, ModelSource::Ids(_));
                let (models, notices) = named::select(names, are_ids, &snapshot.models, exclude)?;
                let mut roster = roster(&models, exclude, context, notices)?;
                // Named one by one, the caller's order counts.
                roster.is_ranked = !names.as_slice().iter().any(|name| name.contains('*'));
                return Ok(roster);
            }
        };
        let preset = self.find(name)?;
        let roster = match exclude {
            None => snapshot.roster(name, || preset.roster(snapshot, None, context))?,
            Some(_) => Arc::new(preset.roster(snapshot, exclude, context)?),
        };
        if roster.members().is_empty() {
            let others = self.alternatives(snapshot, context);
            return Err(preset.no_models(
                snapshot,
                exclude.is_some(),
                &others.remedy(context, preset.query.free_only),
            ));
        }
        Ok(Roster::clone(&roster))
    }

    /// Rejects an unknown preset before a model list is fetched for it.
    pub(crate) fn check(&self, choice: &ModelChoice) -> Result<(), Fault> {
        match &choice.source {
            ModelSource::Preset(name) => self.find(name).map(drop),
            ModelSource::Named(_) | ModelSource::Ids(_) => Ok(()),
        }
    }

    /// Returns the presets with at least one model.
    fn alternatives(&self, snapshot: &Snapshot, context: RosterContext) -> Alternatives<'_> {
        let mut found = Alternatives::default();
        for preset in &self.0 {
            let name = preset.query.name.as_str();
            let Ok(roster) = snapshot.roster(name, || preset.roster(snapshot, None, context)) else {
                continue;
            };
            if roster.members().iter().any(|member| member.price.is_some()) {
                found.priced.push(name);
            } else if !roster.members().is_empty() {
                found.unpriced.push(name);
            }
        }
        found
    }

    fn find(&self, name: &str) -> Result<&Preset, Fault> {
        self.0.iter().find(|preset| preset.query.name == name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Fault {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        let text = format!("unknown preset {shown:?}; the presets are {}", self.names().join(", "));
        Fault::new(Kind::InvalidPreset, text.clone()).with_field("preset", text)
    }
}

/// The presets that a caller can use instead of one without models.
#[derive(Debug, Default)]
struct Alternatives<'p> {
    /// Those with a model that has a listed price, so that polls can be charged.
    priced: Vec<&'p str>,
    /// Those whose models have no listed price.
    unpriced: Vec<&'p str>,
}

impl Alternatives<'_> {
    /// The advice that ends a refusal. Without an account, only free presets can be asked.
    fn remedy(&self, context: RosterContext, was_free: bool) -> String {
        let with = if was_free { "with an account, " } else { "" };
        match (self.priced.as_slice(), self.unpriced.as_slice()) {
            ([], []) => "name models instead of a preset".to_owned(),
            ([], unpriced) if !context.charges => format!(
                "the models of {} have no listed price, so they vote for accounts; to offer them without an account, \
                 the operator sets EP_UPSTREAM_UNPRICED_FREE=true",
                unpriced.join(", ")
            ),
            ([], unpriced) => format!(
                "the models of {} have no listed price, so they vote only where polls are not charged. If they cost \
                 nothing, the operator sets EP_UPSTREAM_UNPRICED_FREE=true, or EP_BILLING=off to charge nobody",
                unpriced.join(", ")
            ),
            ([one], _) => format!("{with}use preset {one}, which has models"),
            (priced, _) => format!("{with}use a preset that has models: {}", priced.join(", ")),
        }
    }
}

/// Builds a roster of these models, with its notices.
fn roster(
    models: &[&ListedModel],
    exclude: Option<&ModelNames>,
    context: RosterContext,
    mut notices: Vec<String>,
) -> Result<Roster, Fault> {
    let members: Vec<_> = models.iter().map(|model| model.member()).collect();
    if let Some(names) = exclude {
        notices.push(format!(
            "the request excludes {}",
            named::quoted(names.as_slice().iter().map(String::as_str))
        ));
    }
    let free = members.iter().filter(|member| member.price.is_some_and(|price| price.is_free())).count();
    if let Some(limit) = context.free_per_minute
        && free > 0
    {
        notices.push(format!(
            "the upstream allows {limit} requests a minute for free models; beyond that, calls wait or fail"
        ));
    }
    // Presets and named models respect the maximum, so a failure here is a bug.
    Roster::new(members, context.simulated, notices).map_err(Fault::internal)
}

fn empty_list() -> Fault {
    Fault::new(
        Kind::Unavailable,
        "the model upstream lists no chat models right now; load a model there, then try again",
    )
}

impl Preset {
    fn roster(
        &self,
        snapshot: &Snapshot,
        exclude: Option<&ModelNames>,
        context: RosterContext,
    ) -> Result<Roster, Fault> {
        let listed = named::without(&snapshot.models, exclude)?;
        let mut models = self.query.select(&listed);
        let mut notices = Vec::new();
        if models.is_empty() && self.query.is_default {
            models = self.query.without_prices().select(&listed);
            if !models.is_empty() {
                notices.push(format!(
                    "no model here has a price within the limits of {}, so it asks the cheapest models, whatever they cost",
                    self.query.name
                ));
            }
        }
        if models.len() < self.query.size {
            let found = match models.len() {
                1 => "1 that fits".to_owned(),
                count => format!("{count} that fit"),
            };
            notices.push(format!(
                "preset {} asks for {} models; the registry has {found}",
                self.query.name, self.query.size
            ));
        }
        if self.query.order == Some(PanelOrder::Price) {
            notices.push(format!(
                "the models of {} are ordered by price; they were not judged on labelled rows",
                self.query.name
            ));
        }
        let mut roster = roster(&models, exclude, context, notices)?;
        roster.is_ranked = self.query.order.is_some();
        Ok(roster)
    }

    /// Builds the error of a preset without a matching model.
    fn no_models(&self, snapshot: &Snapshot, excluding: bool, remedy: &str) -> Fault {
        if snapshot.models.is_empty() {
            return empty_list();
        }
        if excluding {
            let text = format!("exclude leaves no model of preset {}: exclude fewer", self.query.name);
            return Fault::invalid("exclude", text);
        }
        let decides = |model: &ListedModel| model.variant.decision_model;
        let mut free = snapshot.models.iter().filter(|model| model.variant.free);
        let problem = if snapshot.models.iter().all(decides) {
            "the upstream lists only decision models, which presets leave out".to_owned()
        } else if self.query.free_only && free.any(decides) {
            "the only free models here are decision models, which presets leave out".to_owned()
        } else if self.query.free_only {
            "there are no free models here: the upstream lists none at a price of zero".to_owned()
        } else {
            let count = snapshot.models.len();
            let name = &self.query.name;
            format!("none of the registry's {count} models fits preset {name}")
        };
        Fault::new(Kind::NotConfigured, format!("{problem}; {remedy}"))
    }
}

/// Describes an error of TOML on one line, with its place.
fn at_line(text: &str, error: &toml::de::Error) -> String {
    let before = text.get(..error.span().map_or(0, |span| span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_presets_are_valid() {
        let presets = Presets::parse(BUILT_IN).unwrap();
        let names = presets.names();
        assert_eq!(names[0], "fast_and_cheap");
        for (name, size) in
            [("fast_and_cheap", 50), ("generalist", 100), ("frontier_generalist", 25), ("free", 15)]
        {
            let preset = presets.0.iter().find(|preset| preset.query.name == name).unwrap();
            assert_eq!(preset.query.size, size, "{name}");
        }
        for name in ["efficient_generalist", "budget", "code"] {
            assert!(presets.check(&ModelChoice::preset(name)).is_ok());
        }
        let fault = presets.check(&ModelChoice::preset("best")).unwrap_err();
        assert_eq!(fault.kind(), Kind::InvalidPreset);
        assert!(fault.message().contains("\"best\"") && fault.message().contains("frontier_generalist"));
    }

    #[test]
    fn invalid_files_are_rejected_with_the_reason() {
        for (text, expected) in [
            ("preset = []", "contains no preset"),
            (
                "[[preset]]\nname = \"a\"\nsize = 0\nsort = \"price\"",
                "preset a must have a size from 1 to 150",
            ),
            (
                "[[preset]]\nname = \"a\"\nsize = 151\nsort = \"price\"",
                "preset a must have a size from 1 to 150",
            ),
            ("[[preset]]\nname = \"a b\"\nsize = 1\nsort = \"price\"", "name"),
            ("[[preset]]\nname = \"a\"\nsize = 1\nsort = \"best\"", "unknown variant"),
            ("[[preset]]\nname = \"a\"\nsize = 1\nsort = \"price\"\nmax_price = 1", "max_price"),
        ] {
            let error = Presets::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
