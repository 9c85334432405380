//! Imports of every operation.

pub use ep_kernel::ctx::Ctx;
pub use ep_kernel::fault::{Fault, Kind};
pub use ep_kernel::tool::{
    Access, Agents, Cost, Effect, Latency, Nothing, Presentation, Rate, Rest, SessionChange, Spec, Task,
    Tool, ToolOutput, ToolSet,
};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
