//! Polls with the client that openapi-generator's target `rust` has generated.

use polls_client::apis::configuration::Configuration;
use polls_client::apis::{Error, polls_api, results_api};
use polls_client::models::{AnyPollRequest, UncheckedPollRequest};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let [base_path, key] = std::env::args().skip(1).collect::<Vec<_>>().try_into().expect("a URL and a key");
    let service = Configuration { base_path, bearer_access_token: Some(key), ..Configuration::new() };
    let question = || Some(Some("Which of the two is the better one?".to_owned()));
    let preset = |name: &str| Some(Some(name.to_owned()));
    let options = vec!["Alpha".to_owned(), "Beta".to_owned()];
    let poll =
        AnyPollRequest { question: question(), preset: preset("budget"), ..AnyPollRequest::new(options, None) };
    let started = polls_api::start_poll(&service, poll, None).await.expect("the poll is opened");
    let result = results_api::get_poll_result(&service, &started.poll_id, None, Some(60_000), None).await;
    let result = result.expect("the result is read");
    let unchecked = UncheckedPollRequest { question: question(), preset: preset("none"), ..Default::default() };
    let priced = polls_api::dry_run_poll(&service, None, Some(unchecked)).await.expect("the poll is priced");
    let unknown = results_api::get_poll_result(&service, "EP-20260101-0000000000", None, None, None).await;
    let Err(Error::ResponseError(refused)) = unknown else { panic!("an unknown poll is refused") };
    assert!(result.votes.len() > 2 && result.outcome.is_some() && !priced.valid, "{result:?}");
    assert!(refused.status == 404 && refused.content.contains("there is no poll"), "{}", refused.content);
    println!("outcome {:?} of {} votes", result.outcome.unwrap_or_default(), result.votes.len());
}
