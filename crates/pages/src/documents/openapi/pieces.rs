//! Shared components: schemas, error responses and headers.

use std::collections::BTreeMap;

use ep_kernel::schema;
use ep_kernel::{ErrorBody, Problem};
use ep_site::Site;
use schemars::Schema;
use serde_json::{Value, json};

use super::schemas::{Schemas, Side};
use super::{headers, parameters, security};

/// The components that operations refer to.
pub(super) struct Pieces<'a> {
    pub(super) site: &'a Site,
    pub(super) schemas: Schemas,
    /// Error responses, by name.
    pub(super) errors: BTreeMap<String, Value>,
    /// The schema of a plain error.
    pub(super) plain_error: Value,
    /// The schema of problem details.
    pub(super) problem: Value,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(site: &'a Site) -> Self {
        let mut schemas = Schemas::default();
        let plain_error = schemas.add(schema::output::<ErrorBody>().as_value(), Side::Response);
        let problem = schemas.add(schema::output::<Problem>().as_value(), Side::Response);
        Self { site, schemas, errors: BTreeMap::new(), plain_error, problem }
    }

    /// Adds a schema and returns a reference to it.
    pub(super) fn schema(&mut self, schema: &Schema, side: Side) -> Value {
        self.schemas.add(schema.as_value(), side)
    }

    /// Returns the `components` object.
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
