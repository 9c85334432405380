//! How far each model obeys a forced vote.
//!
//! Models and servers differ in how a tool call can be demanded of them. Each model starts at the first
//! rung its registry entry promises (or the one remembered), moves down when a request is refused or
//! its answers ignore the form, and stays there: the rung is remembered per upstream and model. What
//! else a server refuses (optional parameters) is remembered for the life of the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use ep_kernel::ports::UpstreamCache;
use ep_polling::roster::ModelId;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

/// The ways to demand a vote, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Rung {
    /// One tool and `tool_choice: "required"`.
    Required = 0,
    /// One tool and `tool_choice: {"type": "function", …}`.
    Object = 1,
    /// One tool, `tool_choice: "auto"` and an instruction.
    Auto = 2,
    /// No tool, `response_format: json_schema` with the codes as an enum.
    Schema = 3,
    /// An instruction alone.
    Prose = 4,
}

impl Rung {
    pub(crate) const ALL: [Self; 5] = [Self::Required, Self::Object, Self::Auto, Self::Schema, Self::Prose];

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether the vote is a tool call.
    pub(crate) const fn has_tool(self) -> bool {
        matches!(self, Self::Required | Self::Object | Self::Auto)
    }

    /// The stable word for metrics and traces.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Object => "object",
            Self::Auto => "auto",
            Self::Schema => "json_schema",
            Self::Prose => "prose",
        }
    }
}

/// What a server said it does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The way in which the tool was demanded.
    ToolChoice,
    /// Tools at all.
    Tools,
    /// `response_format: json_schema`.
    ResponseFormat,
    /// An optional parameter.
    Parameter(Parameter),
}

/// Parameters that a vote can do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Parameter {
    /// `parallel_tool_calls`.
    ParallelToolCalls = 1,
    /// `strict` in the tool or the schema.
    Strict = 2,
    /// `reasoning`.
    Reasoning = 4,
    /// `max_tokens`; `max_completion_tokens` is sent instead.
    MaxTokens = 8,
    /// `provider`.
    Provider = 16,
    /// A system message; its words begin the user's message instead.
    System = 32,
}

/// What is known of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Habit {
    /// Where its next first request goes out.
    pub(crate) rung: Rung,
    misses: u8,
    refused: u8,
    dropped: u8,
}

impl Habit {
    fn at(rung: Rung) -> Self {
        Self { rung, misses: 0, refused: 0, dropped: 0 }
    }

    /// Whether this parameter is to be sent.
    pub(crate) fn sends(self, parameter: Parameter) -> bool {
        self.dropped & parameter as u8 == 0
    }

    fn refuses(self, rung: Rung) -> bool {
        self.refused & (1 << rung as u8) != 0
    }

    /// The first rung from `rung` down that is not known to be refused; prose never is.
    fn from(self, rung: Rung) -> Rung {
        Rung::ALL.into_iter().find(|&lower| lower >= rung && !self.refuses(lower)).unwrap_or(Rung::Prose)
    }

    /// Where a repair goes out: below tools, because a model that ignored one tool call ignores two.
    pub(crate) fn repair(self, at: Rung) -> Rung {
        self.from(if at.has_tool() { Rung::Schema } else { Rung::Prose })
    }

    /// What to do once `refused` was said about a request at `at`; the rung for the next request.
    fn refuse(&mut self, at: Rung, refused: Refused) -> Rung {
        let mut refuse = |rungs: &[Rung]| {
            for &rung in rungs {
                self.refused |= 1 << rung as u8;
            }
        };
        match refused {
            Refused::Parameter(parameter) => {
                self.dropped |= parameter as u8;
                return at;
            }
            // `auto` asks for nothing: a server that refuses it there takes no tools.
            Refused::ToolChoice if at != Rung::Auto => refuse(&[at]),
            Refused::ToolChoice | Refused::Tools => refuse(&[Rung::Required, Rung::Object, Rung::Auto]),
            Refused::ResponseFormat => refuse(&[Rung::Schema]),
        }
        self.move_to(self.from(self.rung));
        self.from(at)
    }

    fn move_to(&mut self, rung: Rung) {
        if rung != self.rung {
            self.rung = rung;
            self.misses = 0;
        }
    }
}

/// Answers that ignored the form before a model moves down.
const MISSES: u8 = 2;

/// The habits of all models of one upstream.
pub(crate) struct Ladder {
    upstream: Arc<str>,
    memory: Arc<dyn UpstreamCache>,
    tasks: TaskTracker,
    remembered: OnceCell<HashMap<ModelId, Rung>>,
    habits: RwLock<HashMap<ModelId, Arc<Mutex<Habit>>>>,
}

/// One model's place on the ladder.
#[derive(Clone)]
pub(crate) struct Place<'l> {
    ladder: &'l Ladder,
    model: &'l ModelId,
    habit: Arc<Mutex<Habit>>,
}

impl Ladder {
    pub(crate) fn new(upstream: Arc<str>, memory: Arc<dyn UpstreamCache>, tasks: TaskTracker) -> Self {
        Self { upstream, memory, tasks, remembered: OnceCell::new(), habits: RwLock::default() }
    }

    /// Where this model stands: as remembered, else at `start`.
    pub(crate) async fn place<'l>(&'l self, model: &'l ModelId, start: impl FnOnce() -> Rung) -> Place<'l> {
        let known = self.habits.read().unwrap_or_else(PoisonError::into_inner).get(model).cloned();
        let habit = if let Some(habit) = known {
            habit
        } else {
            let rung = self.remembered(model).await.unwrap_or_else(start);
            let mut habits = self.habits.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(habits.entry(model.clone()).or_insert_with(|| Arc::new(Mutex::new(Habit::at(rung)))))
        };
        Place { ladder: self, model, habit }
    }

    /// The rung kept in the database. A vote never fails for it: without an answer in a moment, nothing
    /// is remembered, and the next model asks again.
    async fn remembered(&self, model: &ModelId) -> Option<Rung> {
        let load = self.remembered.get_or_try_init(|| async {
            let rungs = self.memory.fallback_levels(&self.upstream).await?;
            let known = |(model, number)| Rung::from_number(number).map(|rung| (model, rung));
            Ok::<_, ep_kernel::ports::StoreError>(rungs.into_iter().filter_map(known).collect())
        });
        match tokio::time::timeout(Duration::from_secs(2), load).await {
            Ok(Ok(rungs)) => rungs.get(model).copied(),
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the remembered rungs cannot be read"
                );
                None
            }
            Err(_) => {
                tracing::warn!("the remembered rungs cannot be read in time");
                None
            }
        }
    }
}

impl Place<'_> {
    /// What is known now.
    pub(crate) fn habit(&self) -> Habit {
        *self.habit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server refused a request at this rung; the rung for the next one.
    pub(crate) fn refused(&self, at: Rung, refused: Refused) -> Rung {
        self.change(|habit| habit.refuse(at, refused))
    }

    /// An answer at this rung kept the form or ignored it.
    pub(crate) fn answered(&self, at: Rung, kept_the_form: bool) {
        self.change(|habit| {
            if habit.rung != at || at == Rung::Prose {
                return;
            }
            habit.misses = if kept_the_form { 0 } else { habit.misses + 1 };
            if habit.misses >= MISSES
                && let Some(lower) = Rung::from_number(at as u8 + 1)
            {
                habit.move_to(habit.from(lower));
            }
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut Habit) -> T) -> T {
        let mut habit = self.habit.lock().unwrap_or_else(PoisonError::into_inner);
        let before = habit.rung;
        let result = change(&mut habit);
        let after = habit.rung;
        drop(habit);
        if before != after {
            self.keep(after);
        }
        result
    }

    fn keep(&self, rung: Rung) {
        tracing::info!(model = %self.model, rung = rung.as_str(), "model moved down the ladder");
        let (memory, upstream) = (Arc::clone(&self.ladder.memory), Arc::clone(&self.ladder.upstream));
        let (model, habit) = (self.model.clone(), Arc::clone(&self.habit));
        self.ladder.tasks.spawn(async move {
            // Read now, so that of two writes in flight neither keeps an older rung.
            let rung = habit.lock().unwrap_or_else(PoisonError::into_inner).rung;
            if let Err(error) = memory.save_fallback_level(&upstream, &model, rung as u8).await {
                tracing::warn!(%model, error = &error as &dyn std::error::Error, "a rung could not be kept");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_lead_down_and_end_at_prose() {
        let mut habit = Habit::at(Rung::Required);
        assert_eq!(habit.refuse(Rung::Required, Refused::Parameter(Parameter::Strict)), Rung::Required);
        assert!(!habit.sends(Parameter::Strict) && habit.sends(Parameter::Reasoning));
        assert_eq!(habit.refuse(Rung::Required, Refused::ToolChoice), Rung::Object);
        assert_eq!(habit.refuse(Rung::Object, Refused::ToolChoice), Rung::Auto);
        assert_eq!(habit.refuse(Rung::Auto, Refused::ToolChoice), Rung::Schema);
        assert_eq!(habit.refuse(Rung::Schema, Refused::ResponseFormat), Rung::Prose);
        assert_eq!(habit.rung, Rung::Prose);
    }

    #[test]
    fn a_refused_repair_does_not_move_the_model() {
        let mut habit = Habit::at(Rung::Required);
        assert_eq!(habit.repair(Rung::Required), Rung::Schema);
        assert_eq!(habit.refuse(Rung::Schema, Refused::ResponseFormat), Rung::Prose);
        assert_eq!(habit.rung, Rung::Required);
        assert_eq!(habit.repair(Rung::Required), Rung::Prose);
        assert_eq!(habit.refuse(Rung::Required, Refused::Tools), Rung::Prose);
        assert_eq!(habit.rung, Rung::Prose);
    }
}
