//! Selection of models by name: those to ask and those to exclude.

use std::collections::HashSet;

use ep_kernel::fault::{Fault, Kind};
use ep_polling::roster::{MIN_NAMED, ModelNames};
use ep_polling::stopping::MAX_ROSTER;

use crate::pattern::Pattern;
use crate::registry::family::base_id;
use crate::registry::listing::ListedModel;

/// Maximum number of names quoted in a message; the rest are counted.
const QUOTED: usize = 10;

/// Formats names for a sentence.
pub(super) fn quoted<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let text = names.take(QUOTED).collect::<Vec<_>>().join(", ");
    if count > QUOTED { format!("{text} and {} more", count - QUOTED) } else { text }
}

/// Returns the models of a list that are not excluded.
pub(super) fn without<'m>(
    models: &'m [ListedModel],
    exclude: Option<&ModelNames>,
) -> Result<Vec<&'m ListedModel>, Fault> {
    let Some(names) = exclude else { return Ok(models.iter().collect()) };
    let excluded = patterns(names);
    let hit = |pattern: &Pattern, model: &ListedModel| {
        let id = &model.variant.id;
        pattern.matches(id) || pattern.matches(base_id(id))
    };
    check_known("exclude", names, |index| models.iter().any(|model| hit(&excluded[index], model)))?;
    Ok(models.iter().filter(|model| !excluded.iter().any(|pattern| hit(pattern, model))).collect())
}

/// Returns the models that match these names, in the order of the names. If a model is served in several ways, a name
/// with `*` selects one of them.
pub(super) fn select<'m>(
    names: &ModelNames,
    models: &'m [ListedModel],
    exclude: Option<&ModelNames>,
) -> Result<Vec<&'m ListedModel>, Fault> {
    let patterns = patterns(names);
    check_known("models", names, |index| {
        models.iter().any(|model| patterns[index].matches(&model.variant.id))
    })?;
    let allowed = without(models, exclude)?;
    let mut selected = vec![false; allowed.len()];
    let mut base_ids = HashSet::new();
    let named = |exactly: bool, id: &str| {
        let fitting =
            names.as_slice().iter().zip(&patterns).filter(|(name, _)| exactly != name.contains('*'));
        fitting.into_iter().any(|(_, pattern)| pattern.matches(id))
    };
    for (index, model) in allowed.iter().enumerate().filter(|(_, model)| named(true, &model.variant.id)) {
        selected[index] = true;
        base_ids.insert(base_id(&model.variant.id));
    }
    // Prefer a model's plain id to `:free` and other variants.
    for plain in [true, false] {
        for (index, model) in allowed.iter().enumerate() {
            let id = model.variant.id.as_str();
            if (base_id(id) == id) == plain && named(false, id) && base_ids.insert(base_id(id)) {
                selected[index] = true;
            }
        }
    }
    let mut chosen: Vec<_> =
        allowed.into_iter().zip(selected).filter(|(_, selected)| *selected).map(|(model, _)| model).collect();
    chosen.sort_by_key(|model| patterns.iter().position(|pattern| pattern.matches(&model.variant.id)));
    match chosen.len() {
        MIN_NAMED..=MAX_ROSTER => Ok(chosen),
        0 => Err(Fault::invalid("exclude", "exclude leaves none of the named models: exclude fewer")),
        1 => Err(Fault::invalid(
            "models",
            format!("models match one model, {}; name {MIN_NAMED} to {MAX_ROSTER}", chosen[0].variant.id),
        )),
        count => Err(Fault::invalid(
            "models",
            format!("models match {count} models; name {MIN_NAMED} to {MAX_ROSTER}"),
        )),
    }
}

fn patterns(names: &ModelNames) -> Vec<Pattern> {
    names.as_slice().iter().map(|name| Pattern::from(name.clone())).collect()
}

/// Rejects names that match no model of the registry.
fn check_known(member: &str, names: &ModelNames, known: impl Fn(usize) -> bool) -> Result<(), Fault> {
    let unknown: Vec<(usize, &String)> =
        names.as_slice().iter().enumerate().filter(|(index, _)| !known(*index)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let text = format!(
        "{member}: the registry has no {}; see the model list for ids, and use * for any text",
        quoted(unknown.iter().map(|(_, name)| name.as_str()))
    );
    Err(unknown.iter().fold(Fault::new(Kind::InvalidInput, text), |fault, (index, _)| {
        fault.with_field(format!("{member}[{index}]"), "is not in the registry")
    }))
}
