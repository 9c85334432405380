//! What operations share: schemas, error responses, headers.

use std::collections::BTreeMap;

use ep_kernel::fault::{ErrorBody, Problem};
use ep_kernel::schema;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::super::Site;
use super::schemas::{Schemas, Side};
use super::{headers, parameters, security};

/// The parts of a description that operations refer to.
pub(super) struct Pieces<'a> {
    pub(super) site: &'a Site,
    pub(super) schemas: Schemas,
    /// Responses to errors, by name.
    pub(super) errors: BTreeMap<String, Value>,
    /// The plain form of an error.
    pub(super) plain_error: Value,
    /// Problem details.
    pub(super) problem: Value,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(site: &'a Site) -> Self {
        let mut schemas = Schemas::default();
        let plain_error = schemas.add(schema::output::<ErrorBody>().as_value(), Side::Response);
        let problem = schemas.add(schema::output::<Problem>().as_value(), Side::Response);
        Self { site, schemas, errors: BTreeMap::new(), plain_error, problem }
    }

    /// A reference to the schema of a type that is answered.
    pub(super) fn response<T: JsonSchema>(&mut self) -> Value {
        self.schema(&schema::output::<T>(), Side::Response)
    }

    /// A reference to this schema.
    pub(super) fn schema(&mut self, schema: &Schema, side: Side) -> Value {
        self.schemas.add(schema.as_value(), side)
    }

    /// What the description keeps under `components`.
    pub(super) fn components(self) -> Value {
        json!({
            "schemas": self.schemas.into_value(),
            "responses": self.errors,
            "parameters": parameters::shared(),
            "headers": headers::all(),
            "securitySchemes": security::schemes(self.site),
        })
    }
}
