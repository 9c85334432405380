//! Rendered documents, as snapshots: a change shows itself in review.

use ensemble_poll::documents::{DOCUMENTS, Site};

#[test]
fn every_document_as_it_is_served() {
    let site = Site::new("https://polls.example.com", ep_tools::TOOLS);
    for document in DOCUMENTS {
        let name = document.paths[0].trim_matches('/').replace(['/', '.'], "_");
        insta::assert_snapshot!(name.clone(), (document.render)(&site));
        if let Some(other) = &document.variant {
            insta::assert_snapshot!(
                format!("{name}_{}_{}", other.header, other.prefix),
                (other.render)(&site)
            );
        }
    }
}

#[test]
fn the_schema_of_the_main_operation() {
    let entry = ep_tools::find("poll_question").unwrap();
    insta::assert_json_snapshot!("poll_question_input", entry.input());
}
