//! The operations section of the reference.

use serde_json::{Map, Value};

use super::markup::Markup;
use super::schemas;
use crate::layout::below as prose;

/// The operations of one tag.
pub(super) struct Group<'a> {
    name: &'a str,
    about: &'a str,
    operations: Vec<Operation<'a>>,
}

struct Operation<'a> {
    method: String,
    path: &'a str,
    described: &'a Value,
}

/// Groups the operations by tag.
pub(super) fn groups(description: &Value) -> Vec<Group<'_>> {
    let paths = description["paths"].as_object().into_iter().flatten();
    let mut left: Vec<Operation<'_>> = paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, described)| Operation {
                method: method.to_ascii_uppercase(),
                path,
                described,
            })
        })
        .collect();
    let tags = description["tags"].as_array().into_iter().flatten();
    let mut groups = Vec::new();
    for tag in tags {
        let name = text(tag, "name");
        let (operations, others) =
            left.into_iter().partition(|operation| operation.described["tags"][0] == name);
        left = others;
        groups.push(Group { name, about: text(tag, "description"), operations });
    }
    groups
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

fn slug(name: &str) -> String {
    format!("group-{}", name.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-"))
}

/// Writes the table of contents.
pub(super) fn contents(page: &mut Markup, groups: &[Group<'_>]) {
    page.raw("<nav class=\"contents\" aria-label=\"Operations\" data-contents>\n<ul>\n");
    for group in groups {
        page.raw("<li>").anchor(&format!("#{}", slug(group.name)), group.name).raw("\n<ul>\n");
        for Operation { method, path, described } in &group.operations {
            page.raw("<li><a href=\"#").text(text(described, "operationId")).raw("\">");
            page.element("span", " class=\"method\"", method).raw(" ").text(path).raw("</a></li>\n");
        }
        page.raw("</ul></li>\n");
    }
    page.raw(
        "<li><a href=\"#headers\">Headers</a></li>\n<li><a href=\"#errors\">Errors</a></li>\n<li><a href=\"#schemas\">Schemas</a></li>\n</ul>\n</nav>\n",
    );
}

/// Writes the section on credentials.
pub(super) fn credentials(page: &mut Markup, description: &Value) {
    page.raw("<section aria-labelledby=\"credentials\" data-item>\n<h2 id=\"credentials\">Credentials</h2>\n<dl>\n");
    for (name, scheme) in description["components"]["securitySchemes"].as_object().into_iter().flatten() {
        page.raw("<dt id=\"credential-").text(name).raw("\"><code>").text(name).raw("</code></dt><dd>");
        page.raw(&prose(text(scheme, "description"))).raw("</dd>\n");
    }
    page.raw("</dl>\n</section>\n");
}

/// Writes the section of a group.
pub(super) fn section(page: &mut Markup, description: &Value, group: &Group<'_>) {
    let id = slug(group.name);
    page.raw(&format!("<section aria-labelledby=\"{id}\" data-group>\n<h2 id=\"{id}\">"))
        .text(group.name)
        .raw("</h2>\n");
    page.element("p", "", group.about).raw("\n");
    for operation in &group.operations {
        operation_section(page, description, operation);
    }
    page.raw("</section>\n");
}

fn operation_section(page: &mut Markup, description: &Value, operation: &Operation<'_>) {
    let Operation { method, path, described } = operation;
    let id = text(described, "operationId");
    page.raw("<article data-item aria-labelledby=\"")
        .text(id)
        .raw("\">\n<h3 id=\"")
        .text(id)
        .raw("\"><a href=\"#")
        .text(id)
        .raw("\">");
    page.element("code", "", &format!("{method} {path}"))
        .raw("</a> ")
        .text(text(described, "summary"))
        .raw("</h3>\n");
    accepted_credentials(page, described);
    page.raw(&prose(text(described, "description")));
    parameters(page, description, described);
    for (kind, media) in described["requestBody"]["content"].as_object().into_iter().flatten() {
        page.raw("<h4>Body</h4>\n<p><code>").text(kind).raw("</code>: ");
        schemas::shape(page, &media["schema"]);
        page.raw("</p>\n");
        examples(page, media);
    }
    responses(page, described);
    page.raw("</article>\n");
}

/// Writes the accepted credentials, each linked to its description.
fn accepted_credentials(page: &mut Markup, described: &Value) {
    page.raw("<p class=\"small\">");
    let schemes = described["security"].as_array().map_or(&[][..], Vec::as_slice);
    page.raw(if schemes.is_empty() { "No credential is looked at." } else { "Credential: " });
    for (index, scheme) in schemes.iter().enumerate() {
        page.raw(if index > 0 { " or " } else { "" });
        match scheme.as_object().and_then(|scheme| scheme.keys().next()) {
            Some(name) => page.anchor(&format!("#credential-{name}"), name),
            None => page.raw("none"),
        };
    }
    page.raw(if schemes.is_empty() { "</p>\n" } else { ".</p>\n" });
}

/// Follows a reference within the description.
fn resolved<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    let target =
        value["$ref"].as_str().and_then(|reference| description.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(value)
}

fn parameters(page: &mut Markup, description: &Value, described: &Value) {
    let all = described["parameters"].as_array().into_iter().flatten();
    let (shared, own): (Vec<_>, Vec<_>) = all.partition(|parameter| parameter.get("$ref").is_some());
    if !own.is_empty() {
        table(page, &own);
    }
    for (index, parameter) in shared.iter().enumerate() {
        page.raw(if index > 0 { ", " } else { "<p>Headers: " });
        let name = text(resolved(description, parameter), "name");
        page.anchor(&format!("#parameter-{name}"), name);
    }
    page.raw(if shared.is_empty() { "" } else { "</p>\n" });
}

/// Writes the parameters that several operations share.
pub(super) fn shared_parameters(page: &mut Markup, description: &Value) {
    page.raw("<section aria-labelledby=\"headers\" data-group>\n<h2 id=\"headers\">Headers</h2>\n");
    for parameter in description["components"]["parameters"].as_object().into_iter().flat_map(Map::values) {
        let name = text(parameter, "name");
        page.raw("<article data-item aria-labelledby=\"parameter-")
            .text(name)
            .raw("\">\n<h3 id=\"parameter-")
            .text(name);
        page.raw("\"><code>").text(name).raw("</code></h3>\n");
        page.raw(&prose(text(parameter, "description")));
        page.raw("<p>");
        schemas::shape(page, &parameter["schema"]);
        page.raw("</p>\n</article>\n");
    }
    page.raw("</section>\n");
}

fn table(page: &mut Markup, parameters: &[&Value]) {
    page.raw("<table>\n<caption>Parameters</caption>\n<thead><tr><th scope=\"col\">Name</th><th scope=\"col\">In</th><th scope=\"col\">Type</th><th scope=\"col\">What it is</th></tr></thead>\n<tbody>\n");
    for parameter in parameters {
        page.raw("<tr><th scope=\"row\"><code>").text(text(parameter, "name")).raw("</code>");
        page.raw(if parameter["required"] == true { " <em>required</em>" } else { "" }).raw("</th><td>");
        page.text(text(parameter, "in")).raw("</td><td>");
        schemas::shape(page, &parameter["schema"]);
        page.raw("</td><td>").text(text(parameter, "description")).raw("</td></tr>\n");
    }
    page.raw("</tbody>\n</table>\n");
}

fn examples(page: &mut Markup, media: &Value) {
    let several = media["examples"].as_object();
    let several = several.into_iter().flat_map(Map::values).map(|example| &example["value"]);
    for example in media.get("example").into_iter().chain(several) {
        let shown = serde_json::to_string_pretty(example).unwrap_or_default();
        page.raw("<pre><code>").text(&shown).raw("</code></pre>\n");
    }
}

fn responses(page: &mut Markup, described: &Value) {
    let all = described["responses"].as_object().into_iter().flatten();
    let (shared, own): (Vec<_>, Vec<_>) = all.partition(|(_, response)| response.get("$ref").is_some());
    page.raw("<table>\n<caption>Responses</caption>\n");
    page.raw("<thead><tr><th scope=\"col\">Status</th><th scope=\"col\">Body</th><th scope=\"col\">When</th></tr></thead>\n<tbody>\n");
    for (status, response) in own {
        page.raw("<tr><th scope=\"row\">").text(status).raw("</th><td>");
        bodies(page, response);
        page.raw("</td><td>").text(text(response, "description")).raw("</td></tr>\n");
    }
    page.raw("</tbody>\n</table>\n<p>Errors:");
    for (status, response) in shared {
        let name = text(response, "$ref").rsplit('/').next().unwrap_or_default();
        page.raw(" ").anchor(&format!("#error-{name}"), status);
    }
    page.raw("</p>\n");
}

/// Writes the media types of a response's body.
fn bodies(page: &mut Markup, response: &Value) {
    let forms = response["content"].as_object().into_iter().flatten();
    for (index, (kind, media)) in forms.enumerate() {
        page.raw(if index > 0 { "<br>" } else { "" }).raw("<code>").text(kind).raw("</code> ");
        schemas::shape(page, &media["schema"]);
    }
}

/// Writes the section on error responses.
pub(super) fn errors(page: &mut Markup, description: &Value) {
    page.raw("<section aria-labelledby=\"errors\" data-group>\n<h2 id=\"errors\">Errors</h2>\n");
    for (name, response) in description["components"]["responses"].as_object().into_iter().flatten() {
        page.raw("<article data-item aria-labelledby=\"error-")
            .text(name)
            .raw("\">\n<h3 id=\"error-")
            .text(name)
            .raw("\">");
        page.text(name).raw("</h3>\n").raw(&prose(text(response, "description"))).raw("<p>");
        bodies(page, response);
        page.raw("</p>\n</article>\n");
    }
    page.raw("</section>\n");
}
