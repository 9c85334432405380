//! Selection of models by name: those to ask and those to exclude.

use std::collections::{HashMap, HashSet};

use ep_kernel::{Fault, Kind};
use ep_polling::ModelNames;
use ep_polling::roster::MIN_NAMED;
use ep_polling::stopping::MAX_ROSTER;

use super::near::{Words, nearest};
use crate::pattern::Pattern;
use crate::registry::family::base_id;
use crate::registry::listing::ListedModel;

/// Maximum number of names quoted in a message; the rest are counted.
const QUOTED: usize = 10;
/// Maximum number of unknown names that are compared with all ids.
const COMPARED: usize = 3;

/// Formats names for a sentence.
pub(super) fn quoted<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let text = names.take(QUOTED).collect::<Vec<_>>().join(", ");
    if count > QUOTED { format!("{text} and {} more", count - QUOTED) } else { text }
}

/// Names with the models that each of them matches.
struct Matches {
    /// For each model, by its index: the first name that is its whole id, and the first one with `*` that matches it.
    first: Vec<(Option<usize>, Option<usize>)>,
    /// For each name: true if it matches a model.
    known: Vec<bool>,
}

impl Matches {
    /// Matches names with the ids of models, each pattern with each id once. With `or_base`, a name also matches a model whose
    /// base id it matches.
    fn of(names: &ModelNames, models: &[ListedModel], or_base: bool) -> Self {
        let names = names.as_slice();
        let mut known = vec![false; names.len()];
        let mut whole: HashMap<String, Vec<usize>> = HashMap::new();
        let mut patterns: Vec<(usize, Pattern)> = Vec::new();
        for (index, name) in names.iter().enumerate() {
            if name.contains('*') {
                patterns.push((index, Pattern::from(name.clone())));
            } else {
                whole.entry(name.to_lowercase()).or_default().push(index);
            }
        }
        let mut first = Vec::with_capacity(models.len());
        for model in models {
            let id = model.variant.id.as_str();
            let ids = [Some(id), Some(base_id(id)).filter(|base| or_base && *base != id)];
            let named = ids.into_iter().flatten().filter_map(|id| whole.get(&id.to_lowercase())).flatten();
            let named = named.inspect(|index| known[**index] = true).copied().min();
            let mut matched = None;
            for (index, pattern) in &patterns {
                if ids.into_iter().flatten().any(|id| pattern.matches(id)) {
                    known[*index] = true;
                    matched = matched.or(Some(*index));
                }
            }
            first.push((named, matched));
        }
        Self { first, known }
    }

    /// Looks up the names that match no model by their words. Returns a notice for each that is found. A name with a maker or a
    /// size (`/`, `:`) is an id, which never stands for another model.
    fn look_up(&mut self, names: &ModelNames, models: &[ListedModel]) -> Vec<String> {
        let mut notices = Vec::new();
        let mut words = None;
        for (number, name) in names.as_slice().iter().enumerate() {
            if self.known[number] || name.contains(['*', '/', ':']) {
                continue;
            }
            let words = words.get_or_insert_with(|| Words::of(models));
            if let Some(near) = words.find(name) {
                let (first, id) = (&mut self.first[near.index].0, &models[near.index].variant.id);
                *first = Some(first.map_or(number, |first| first.min(number)));
                self.known[number] = true;
                let reason = match near.alike {
                    1 => String::new(),
                    _ if near.is_newest => ", the newest model of that name".to_owned(),
                    alike => format!(", one of {alike} models of that name"),
                };
                notices.push(format!("“{name}” is read as {id}{reason}"));
            }
        }
        notices
    }

    /// Rejects names that match no model of the registry. `member` is the argument.
    fn check(&self, member: &str, names: &ModelNames, models: &[ListedModel]) -> Result<(), Fault> {
        check_known(member, names, models, |index| self.known[index])
    }
}

/// Returns the models of a list that are not excluded.
pub(super) fn without<'m>(
    models: &'m [ListedModel],
    exclude: Option<&ModelNames>,
) -> Result<Vec<&'m ListedModel>, Fault> {
    let indices = indices_without(models, exclude)?;
    Ok(indices.into_iter().filter_map(|index| models.get(index)).collect())
}

/// Returns the indices of the models that are not excluded.
fn indices_without(models: &[ListedModel], exclude: Option<&ModelNames>) -> Result<Vec<usize>, Fault> {
    let Some(names) = exclude else { return Ok((0..models.len()).collect()) };
    let excluded = Matches::of(names, models, true);
    excluded.check("exclude", names, models)?;
    let is_allowed =
        |(index, hits): (usize, &(Option<usize>, Option<usize>))| (*hits == (None, None)).then_some(index);
    Ok(excluded.first.iter().enumerate().filter_map(is_allowed).collect())
}

/// Returns the models that match these names, in the order of the names, and notices about names that are no ids. If a model is
/// served in several ways, a name with `*` selects one of them. With `are_ids`, a name stands for no model but its own.
pub(super) fn select<'m>(
    names: &ModelNames,
    are_ids: bool,
    models: &'m [ListedModel],
    exclude: Option<&ModelNames>,
) -> Result<(Vec<&'m ListedModel>, Vec<String>), Fault> {
    let mut matches = Matches::of(names, models, false);
    let notices = if are_ids { Vec::new() } else { matches.look_up(names, models) };
    matches.check("models", names, models)?;
    let allowed = indices_without(models, exclude)?;
    let mut base_ids = HashSet::new();
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    for index in allowed.iter().copied() {
        let (named, matched) = matches.first[index];
        if let Some(named) = named {
            base_ids.insert(base_id(&models[index].variant.id));
            chosen.push((matched.map_or(named, |matched| matched.min(named)), index));
        }
    }
    // Prefer a model's plain id to `:free` and other variants.
    for plain in [true, false] {
        for index in allowed.iter().copied() {
            let id = models[index].variant.id.as_str();
            let (named, matched) = matches.first[index];
            if let Some(matched) = matched
                && (base_id(id) == id) == plain
                && base_ids.insert(base_id(id))
            {
                chosen.push((named.map_or(matched, |named| named.min(matched)), index));
            }
        }
    }
    chosen.sort_unstable();
    let chosen: Vec<&ListedModel> = chosen.into_iter().map(|(_, index)| &models[index]).collect();
    match chosen.len() {
        MIN_NAMED..=MAX_ROSTER => Ok((chosen, notices)),
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

/// Rejects names that match no model of the registry.
fn check_known(
    member: &str,
    names: &ModelNames,
    models: &[ListedModel],
    known: impl Fn(usize) -> bool,
) -> Result<(), Fault> {
    let unknown: Vec<(usize, &String)> =
        names.as_slice().iter().enumerate().filter(|(index, _)| !known(*index)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let alike: Vec<Vec<&str>> =
        unknown.iter().take(COMPARED).map(|(_, name)| nearest(name, models)).collect();
    let nearest = |number: usize| alike.get(number).filter(|ids| !ids.is_empty()).map(|ids| ids.join(", "));
    let advice = match nearest(0).filter(|_| unknown.len() == 1) {
        Some(ids) => format!("the nearest are {ids}; list_models lists all"),
        None => "list_models lists the ids".to_owned(),
    };
    let text = format!(
        "{member}: the registry has no {}; {advice}, and * stands for any text",
        quoted(unknown.iter().map(|(_, name)| name.as_str()))
    );
    let fields = unknown.iter().enumerate();
    Err(fields.fold(Fault::new(Kind::InvalidInput, text), |fault, (number, (index, _))| {
        let detail = match nearest(number) {
            Some(ids) => format!("is not in the registry; the nearest are {ids}"),
            None => "is not in the registry".to_owned(),
        };
        fault.with_field(format!("{member}[{index}]"), detail)
    }))
}

#[cfg(test)]
mod tests {
    use ep_polling::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::pattern::MATCHED;
    use crate::registry::listing::{Rules, read};

    /// Each name with `*` is compared with each model once, and other names are looked up.
    #[test]
    fn work_on_names_is_linear_in_names_and_models() {
        let work = |names: usize, models: usize, ending: &str| {
            let list: Vec<_> = (0..models).map(|n| json!({ "id": format!("a/m{n}") })).collect();
            let list =
                read(&json!(list).to_string(), Timestamp::from_millis(0), &Rules::NONE).unwrap().models;
            let names: Vec<String> = (0..names).map(|n| format!("a/m{n}{ending}")).collect();
            let before = MATCHED.get();
            let _ = select(&ModelNames::new(&names).unwrap(), false, &list, None);
            MATCHED.get() - before
        };
        for (names, models) in [(20, 100), (40, 100), (80, 100), (20, 200), (20, 400)] {
            assert_eq!(work(names, models, "*"), names * models);
            assert_eq!(work(names, models, ""), 0);
        }
    }
}
