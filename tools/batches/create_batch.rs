//! `create_batch`: accepts many questions, and answers them in the background.

use ep_kernel::batches::{MAX_ROWS, RETENTION};
use ep_kernel::reading;
use ep_kernel::schema;
use ep_kernel::{BatchRequest, BatchRows, Entry, FieldFault, Models};
use ep_polling::{ModelChoice, ModelNames, Options, PanelRef, Question, Threshold, TieRule};
use ep_store::BatchTerms;
use serde::Deserializer;
use serde_json::{Map, Value, json};

use super::batch_state::BatchState;
use super::{operation_of_rows, with_defaults, without_models};
use crate::amount::Amount;
use crate::panels::{FoundPanel, find};
use crate::polls::{NamedModels, PollQuestion, ScaleRequest};
use crate::prelude::*;

/// Creates a batch.
pub struct CreateBatch;

/// Maximum number of rows in a request. A file can have more.
pub const MAX_INLINE_ROWS: usize = 1000;
/// Number of mistakes after which no more rows are checked.
const MAX_MISTAKES: usize = 10;
/// Minimum length of a row with its options, in bytes.
const LEAST_ROW: usize = 64;
/// Maximum size of a request with rows, in bytes.
pub const MAX_BODY: usize = 1 << 20;
/// Maximum number of labels, and their maximum lengths in characters (OpenAI's limits).
const METADATA: (usize, usize, usize) = (16, 64, 512);

/// The batch to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("anyOf" = [{ "required": ["rows"] }, { "required": ["input_file_id"] }]))]
pub struct BatchToCreate {
    /// 1 to 1000 questions; by MCP and A2A at most 64 KiB of them.
    #[serde(default, deserialize_with = "list")]
    #[schemars(length(min = 1, max = MAX_INLINE_ROWS))]
    pub rows: Vec<QuestionRow>,
    /// The id of an uploaded file instead of rows: one request on each line.
    pub input_file_id: Option<String>,
    /// The path of the file's requests (default /api/poll).
    pub endpoint: Option<String>,
    /// A panel of your account, or a preset with an order, for rows without their own. Its present version is used.
    pub panel: Option<PanelRef>,
    /// The preset of models, for rows without their own (default fast_and_cheap).
    pub preset: Option<String>,
    /// 2 to 150 models by id or name (claude), instead of a panel or preset.
    pub models: Option<ModelNames>,
    /// Confidence that an early answer matches the whole roster's (default 0.95).
    pub confidence_threshold: Option<Threshold>,
    /// Asks every model, even after the outcome is certain: for shares of votes, which an early stop biases.
    pub complete: Option<bool>,
    /// The rule for a tie.
    #[serde(default, deserialize_with = "schema::word")]
    pub on_tie: Option<TieRule>,
    /// Most to spend for the whole batch, in USD (default: the worst case of all rows).
    #[schemars(extend("x-limit" = true))]
    pub max_cost_usd: Option<Amount>,
    /// False publishes the results of the polls (default true: only you can read them).
    #[schemars(extend("x-limit" = true))]
    pub private: Option<bool>,
    /// An https URL notified of the end, signed (default: that of your webhook).
    pub notify_url: Option<String>,
    /// Up to 16 labels of your own.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// A question of a batch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct QuestionRow {
    /// A name for the row, unique in the batch (default: its number).
    #[serde(default, skip_serializing)]
    pub id: Option<String>,
    /// Neutral, self-contained: models see only it and the options.
    #[schemars(with = "Question")]
    pub question: String,
    /// Options to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Options")]
    pub options: Vec<String>,
    /// Instead of options: levels, lowest first, and pass, the lowest that passes. Their median decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScaleRequest")]
    pub scale: Option<ScaleRequest>,
    /// 2 to 150 models by id or name, instead of those of the batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelNames>,
    /// Most to spend for this row, in USD (default 1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<Amount>,
    /// Arguments that a row does not have. They are refused.
    #[serde(flatten, skip_serializing)]
    #[schemars(skip)]
    pub others: Map<String, Value>,
}

impl Tool for CreateBatch {
    const SPEC: Spec = Spec {
        name: "create_batch",
        title: "Create a batch",
        summary: "Accepts up to 1000 questions at once, or a file of up to 100,000, and answers them in the background \
                  within a day. Read the state with get_batch and the answers with get_batch_results.",
        manual: include_str!("create_batch.md"),
        example: include_str!("create_batch.example.json"),
        access: Access::ACCOUNT,
        effect: Effect::Consult,
        cost: Cost::Metered,
        rest: Some(Rest::post("/api/batches").status(202).max_body(MAX_BODY)),
        agents: Agents::Set(ToolSet::Labels),
        task: Task::StartBatch,
        intents: &[
            "create a batch",
            "label a list of texts",
            "classify hundreds of rows",
            "answer a file of questions",
        ],
        faults: &[Kind::NotFound, Kind::Conflict, Kind::NotConfigured, Kind::StorageFull],
        ..Spec::PLAIN
    };
    type Input = BatchToCreate;
    type Output = BatchState;
    const NEEDS_ACCOUNT: bool = true;

    async fn other_mistakes(cx: &Ctx, input: &Value) -> Option<Fault> {
        NamedModels::mistakes(cx, input).await
    }

    async fn call(cx: &Ctx, mut input: BatchToCreate) -> Result<BatchState, Fault> {
        let user = cx.account()?;
        has_models(cx.models()).await?;
        if let Some(names) = input.models.take() {
            input.models = Some(fixed(cx.models(), names).await?);
        }
        let panel = match &input.panel {
            Some(wanted) => Some(match find(cx, wanted).await? {
                FoundPanel::Own(own) => own.version.to_string(),
                FoundPanel::Preset(name) => name,
            }),
            None => None,
        };
        let defaults = defaults(&input, panel)?;
        let metadata = labels(input.metadata)?;
        let notify =
            input.notify_url.as_deref().map(|url| cx.webhooks().check("notify_url", url)).transpose()?;
        let polls = PollQuestion::SPEC.rest.map_or("", |rest| rest.path);
        let (rows, endpoint) = match (input.rows.is_empty(), &input.input_file_id) {
            (true, None) => {
                return Err(Fault::invalid(
                    "rows",
                    "is missing: send 1 to 1000 questions, or the id of a file in input_file_id",
                ));
            }
            (false, Some(_)) => {
                return Err(Fault::invalid("input_file_id", "replaces rows: send one of the two"));
            }
            (true, Some(id)) => {
                let file = id.parse().map_err(|_| {
                    Fault::invalid("input_file_id", "must be the id of a file: file- and 32 digits")
                })?;
                (BatchRows::File(file), input.endpoint.as_deref().unwrap_or(polls).to_owned())
            }
            (false, None) => {
                let lines = checked_lines(input.rows, &defaults, polls).await?;
                (BatchRows::Lines(lines), polls.to_owned())
            }
        };
        let terms = BatchTerms {
            endpoint,
            defaults,
            max_cost: input.max_cost_usd.map(|Amount(most)| most),
            metadata,
        };
        let request = BatchRequest {
            user,
            key: cx.caller.capped_key().map(|capped| capped.key),
            terms,
            keep: RETENTION,
            notify,
            request_ref: cx.request_ref.clone(),
        };
        let created = cx.batches().create(request, rows).await?;
        Ok(BatchState::of(cx, &created.record))
    }
}

/// Reads an optional list, whose absence many clients express by `null`.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<QuestionRow>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Fails if the service has no models. A list that cannot be read now can be read when the rows are asked.
pub async fn has_models(models: &dyn Models) -> Result<(), Fault> {
    match models.registry().await {
        Err(fault) if fault.kind() == Kind::NotConfigured => Err(fault),
        _ => Ok(()),
    }
}

/// Returns the ids of the models that these names stand for now, so that all rows ask the same. Names that cannot be looked up
/// now are looked up when the rows are asked.
async fn fixed(models: &dyn Models, names: ModelNames) -> Result<ModelNames, Fault> {
    match models.roster(&ModelChoice::named(names.clone())).await {
        Ok(roster) => {
            let ids: Vec<&str> = roster.members().iter().map(|member| member.model.as_str()).collect();
            ModelNames::new(&ids).map_err(Fault::internal)
        }
        Err(fault) if fault.kind().is_ours() => Ok(names),
        Err(fault) => Err(fault),
    }
}

/// Returns the arguments of all rows.
fn defaults(input: &BatchToCreate, panel: Option<String>) -> Result<Map<String, Value>, Fault> {
    let (preset, models) = (input.preset.clone(), input.models.clone());
    NamedModels { panel: input.panel.clone(), preset, models, exclude: None }.check()?;
    let members = json!({
        "panel": panel,
        "preset": input.preset,
        "models": input.models,
        "confidence_threshold": input.confidence_threshold.map(Threshold::get),
        "complete": input.complete,
        "on_tie": input.on_tie,
        "private": input.private.unwrap_or(true),
    });
    let Value::Object(mut members) = members else { return Ok(Map::new()) };
    members.retain(|_, value| !value.is_null());
    Ok(members)
}

/// Checks the labels.
pub fn labels(metadata: Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    let (count, name_length, value_length) = METADATA;
    let fits = |(name, value): (&String, &Value)| {
        let short = |text: &str, most: usize| text.chars().count() <= most;
        short(name, name_length) && value.as_str().is_some_and(|value| short(value, value_length))
    };
    if metadata.len() <= count && metadata.iter().all(fits) {
        return Ok(metadata);
    }
    let rule = format!(
        "must have at most {count} texts: names of up to {name_length} characters, values of up to {value_length}"
    );
    Err(Fault::invalid("metadata", rule))
}

/// Refuses arguments that a row does not have. Empty ones are ignored, except for the limits of a poll.
fn refuse_unknown(index: usize, others: &Map<String, Value>, limits: &[String]) -> Result<(), Fault> {
    let mut others = others.clone();
    let is_dropped =
        |name: &String, value: &Value| value.is_null() || (schema::is_empty(value) && !limits.contains(name));
    others.retain(|name, value| !is_dropped(name, value));
    if others.is_empty() {
        return Ok(());
    }
    let row = schema::input::<QuestionRow>();
    let names = schema::names(&row);
    let Some(unknown) = schema::unknown(&|_| false, &names, &others).into_iter().next() else {
        return Ok(());
    };
    let advice = if unknown.alike {
        format!("did you mean {}?", unknown.nearest)
    } else {
        format!("a row can have {}; other arguments are for the whole batch", names.join(", "))
    };
    Err(Fault::invalid(
        format!("rows[{index}].{}", unknown.given),
        format!("is not an argument of a row; {advice}"),
    ))
}

/// Returns the lines of a file of these questions, after checking each. Many are checked beside the async workers.
async fn checked_lines(
    rows: Vec<QuestionRow>,
    defaults: &Map<String, Value>,
    endpoint: &'static str,
) -> Result<String, Fault> {
    // The models of the batch are valid, and are not checked again for each row.
    let defaults = without_models(defaults.clone());
    let length = rows.iter().map(|row| LEAST_ROW + row.question.len()).sum();
    reading::read(length, move || lines(rows, &defaults, endpoint)).await?
}

/// Returns the lines of a file of these questions, after checking each.
fn lines(rows: Vec<QuestionRow>, defaults: &Map<String, Value>, endpoint: &str) -> Result<String, Fault> {
    if rows.len() > MAX_INLINE_ROWS {
        let rule = format!(
            "has {} questions; send at most {MAX_INLINE_ROWS}, or a file of up to {MAX_ROWS}",
            rows.len()
        );
        return Err(Fault::invalid("rows", rule));
    }
    let limits = operation_of_rows(endpoint).map_or(&[][..], Entry::limits);
    let mut lines = String::new();
    let mut wrong: Option<Fault> = None;
    for (index, row) in rows.into_iter().enumerate() {
        refuse_unknown(index, &row.others, limits)?;
        let id = row.id.clone().unwrap_or_else(|| (index + 1).to_string());
        let body = serde_json::to_value(&row).map_err(Fault::internal)?;
        let request = with_defaults(defaults.clone(), body.as_object().cloned().unwrap_or_default());
        if let Err(fault) = PollQuestion::check(Value::Object(request)) {
            let fault = in_row(index, &fault);
            let faults = match wrong {
                Some(wrong) => wrong.and(fault),
                None => fault,
            };
            let is_enough = faults.fields().len() >= MAX_MISTAKES;
            wrong = Some(faults);
            if is_enough {
                break;
            }
            continue;
        }
        let line = json!({ "custom_id": id, "method": "POST", "url": endpoint, "body": body });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    wrong.map_or(Ok(lines), Err)
}

/// Returns a fault about a question with the place of its row in the list.
fn in_row(index: usize, fault: &Fault) -> Fault {
    let mut fields = fault.fields().iter();
    let located =
        |field: &FieldFault| Fault::invalid(format!("rows[{index}].{}", field.field), &*field.detail);
    match fields.next() {
        Some(first) => fields.fold(located(first), |all, field| all.and(located(field))),
        None => Fault::invalid(format!("rows[{index}]"), fault.message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows are checked with what remains: else each of 1000 rows would read 150 names again.
    #[test]
    fn rows_are_checked_without_the_models_of_their_batch() {
        let defaults = json!({
            "models": vec!["m".repeat(200); 150], "preset": "p".repeat(1000), "panel": "trio", "private": true,
        });
        let checked = without_models(defaults.as_object().cloned().unwrap_or_default());
        assert_eq!(Value::Object(checked), json!({ "private": true }));
    }
}
