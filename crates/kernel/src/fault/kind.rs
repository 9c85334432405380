//! The table of error kinds.

use crate::links::Links;

/// Status, codes and recovery actions of one kind: a row of the table.
#[derive(Debug)]
pub struct Row {
    /// The kind.
    pub kind: Kind,
    /// Stable code, used in every error body and in the catalogue.
    pub code: &'static str,
    /// Short, stable description.
    pub title: &'static str,
    /// HTTP status (RFC 9110).
    pub http: u16,
    /// JSON-RPC code if this is an MCP protocol error rather than a tool error. Our own codes lie outside
    /// −32768…−32000, which JSON-RPC, MCP and A2A reserve.
    pub mcp: i32,
    /// JSON-RPC code on A2A (specification 1.0, section 5.4).
    pub a2a: i32,
    /// Exit code of the command line.
    pub exit: u8,
    /// True if the same request may succeed later.
    pub retryable: bool,
    /// Actions that the caller can take.
    pub recovery: &'static [Recovery],
}

/// One recovery action.
#[derive(Debug, Clone, Copy)]
pub struct Recovery {
    /// Stable name of the action.
    pub action: &'static str,
    /// The action as a sentence.
    pub description: &'static str,
    /// Name of the operation, document, page or goal to request, if the action is a request.
    pub request: Option<&'static str>,
    /// True if the action is only the request, and means nothing where a protocol has no call for it.
    pub only_as_call: bool,
    /// The least kind of operation to whose faults it applies.
    pub applies_to: OperationKind,
}

/// The kind of a faulty operation. Actions for one kind apply to the kinds after it, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationKind {
    /// It asks no models at the caller's expense.
    #[default]
    Other,
    /// It asks models at the caller's expense.
    Metered,
    /// It also takes a poll request, which a dry run can check.
    Poll,
}

const fn advice(action: &'static str, description: &'static str) -> Recovery {
    Recovery { action, description, request: None, only_as_call: false, applies_to: OperationKind::Other }
}

const fn call(action: &'static str, description: &'static str, name: &'static str) -> Recovery {
    Recovery { request: Some(name), ..advice(action, description) }
}

/// Link name of the goal of funding an account and of its page.
pub const ADD_FUNDS: &str = "add_funds";

/// The operation that lists all kinds.
const CATALOGUE: &str = "list_errors";

const FIX: Recovery = advice("fix_input", "Change what the message names, then send the request again.");
const DRY_RUN: Recovery = Recovery {
    applies_to: OperationKind::Poll,
    ..call(
        "check_first",
        "Set dry_run to true to validate and price a poll of an account without asking any model.",
        "dry_run_poll",
    )
};
const LOWER_COST: Recovery = Recovery {
    applies_to: OperationKind::Metered,
    ..advice(
        "lower_cost",
        "Lower max_cost_usd or choose a cheaper preset, for example budget. Where free models are available, the preset free costs \
         nothing.",
    )
};
const ASK_FREE: Recovery = Recovery {
    only_as_call: true,
    ..call(
        "ask_free",
        "Ask open-weight free models without credentials, where they are available.",
        "poll_free",
    )
};
const WAIT: Recovery =
    advice("wait", "Wait for the time in retry_after or Retry-After, then send the same request again.");
const RETRY: Recovery = advice("retry", "Send the same request again later, with the same idempotency key.");
const REPORT: Recovery = advice("report", "If it persists, report the request id.");

/// Defines [`Kind`] and [`TABLE`] from rows of kind, code, title, (HTTP, MCP, A2A, exit), retryable and recovery.
macro_rules! kinds {
    ($($kind:ident $code:literal $title:literal
       ($http:literal, $mcp:literal, $a2a:literal, $exit:literal) $retryable:literal $recovery:tt;)*) => {
        /// A kind of error; its [`Row`] holds its status, codes and recovery actions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = $title] $kind,)*
        }

        static TABLE: &[Row] = &[$(Row {
            kind: Kind::$kind,
            code: $code,
            title: $title,
            http: $http,
            mcp: $mcp,
            a2a: $a2a,
            exit: $exit,
            retryable: $retryable,
            recovery: &$recovery,
        },)*];
    };
}

kinds! {
    InvalidInput "invalid_input" "The input is invalid" (400, -32602, -32602, 2) false [FIX, DRY_RUN];
    MalformedJson "malformed_json" "The body is not JSON" (400, -32700, -32700, 2) false [FIX];
    IncompleteBody "incomplete_body" "The request body did not arrive in full" (408, 40800, 40800, 9) true [RETRY];
    InvalidPreset "invalid_preset" "Unknown preset" (400, -32602, -32602, 2) false
        [FIX, call("list_models", "See which models the registry holds.", "list_models")];
    Unauthenticated "unauthenticated" "Sign in, or send an API key" (401, 40100, 40100, 5) false [
        call(
            "send_api_key",
            "Send Authorization: Bearer ep_k_… with an active API key; this guide says where to get one.",
            "auth_guide",
        ),
        advice("authorize", "Get an access token, where the header WWW-Authenticate names resource_metadata."),
        ASK_FREE,
    ];
    Forbidden "forbidden" "This origin or credential is not allowed to make the request" (403, 40300, 40300, 5) false [
        advice("use_own_address", "Call the service at its own address, or from an allowed origin."),
        advice("use_wider_key", "If the message names the key's scope, use a key with a wider scope."),
        advice("authorize_again", "If the message names scopes of an access token, authorize the token for them."),
    ];
    InsufficientBalance "insufficient_balance" "The balance does not cover the cost" (402, 40200, 40200, 6) false
        [LOWER_COST, call("add_funds", "Add funds to the account.", ADD_FUNDS)];
    AccountFrozen "account_frozen" "The account is frozen and cannot spend" (403, 40301, 40301, 6) false
        [advice("contact_operator", "Contact the operator: a payment to the account was reversed.")];
    SpendingCapReached "spending_cap_reached" "The API key has reached its spending cap" (403, 40302, 40302, 6) false [
        advice("wait", "Wait until running polls have ended or, for a daily cap, until 00:00 UTC."),
        call("use_other_key", "Ask the account's owner for a key with a higher cap.", "create_key"),
    ];
    NotFound "not_found" "We can't find this" (404, 40400, -32001, 7) false
        [advice("check_id", "Check the id: it is case-sensitive.")];
    UnknownRoute "unknown_route" "Unknown path" (404, -32601, -32601, 7) false
        [call("read_card", "Read the agent card of this service.", "agent_card")];
    MethodNotAllowed "method_not_allowed" "This path does not support this method" (405, -32601, -32601, 2) false
        [advice("use_allowed_method", "Use a method listed in the Allow header.")];
    NotAcceptable "not_acceptable" "None of the accepted media types is available" (406, 40600, 40600, 2) false
        [advice("widen_accept", "Send Accept: application/json.")];
    Conflict "conflict" "The request conflicts with an existing record" (409, 40900, 40900, 2) false [FIX];
    InProgress "in_progress" "The same request is still running" (409, 40901, 40901, 8) true [WAIT];
    PayloadTooLarge "payload_too_large" "The body is too large" (413, 41300, 41300, 2) false
        [advice("shorten", "Send a shorter body.")];
    UnsupportedMediaType "unsupported_media_type" "The media type of the body is not supported"
        (415, 41500, -32005, 2) false [advice("send_json", "Send Content-Type: application/json.")];
    IdempotencyMismatch "idempotency_mismatch" "The Idempotency-Key was used for another request"
        (422, 42200, 42200, 2) false [advice("new_key", "Use a new idempotency key for a new request.")];
    NoVotes "no_votes" "The votes give no answer" (422, 42201, 42201, 1) true [WAIT];
    NoProposals "no_proposals" "The models proposed too few options" (422, 42202, 42202, 1) true
        [advice("send_options", "Send two or more options with the question.")];
    RateLimited "rate_limited" "Too many requests" (429, 42900, 42900, 8) true [WAIT];
    Busy "busy" "Too many polls are running and waiting" (429, 42901, 42901, 8) true [WAIT];
    PollFailed "poll_failed" "The poll was interrupted or did not finish" (500, 50001, 50001, 1) true [RETRY, REPORT];
    Internal "internal" "Internal error" (500, -32603, -32603, 1) true [RETRY, REPORT];
    NotConfigured "not_configured" "The operator has not configured this" (503, 50300, 50300, 9) false
        [advice("tell_operator", "Ask the operator of this service to enable it.")];
    Unavailable "unavailable" "A required component (database or model upstream) is not available"
        (503, 50301, 50301, 9) true [WAIT];
    DeadlineExceeded "deadline_exceeded" "The response took too long" (504, 50400, 50400, 9) true [RETRY];
    StorageFull "storage_full" "The service has no room for more files and results" (507, 50700, 50700, 9) false [
        advice("free_room", "Delete files and results of batches that you do not need."),
        call("ask_without_file", "Ask single questions: they need no file and no batch.", "poll_question"),
        advice("tell_operator", "The operator can delete accounts, or raise the limit (EP_MAX_STORED_MIB)."),
    ];
}

impl Kind {
    /// Returns all kinds, in the order of the catalogue.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.kind)
    }

    /// Returns the row of this kind.
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Returns the kind with this stable code.
    pub fn from_code(code: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.code == code).map(|row| row.kind)
    }

    /// Returns the `type` URI of problem details, which resolves to the catalogue of errors. Returns
    /// `about:blank` (RFC 9457 §4.2.1) where nothing is served.
    pub fn uri(self, links: &Links) -> String {
        if links.has(CATALOGUE) {
            format!("{}#{}", Self::catalogue(links), self.row().code)
        } else {
            "about:blank".to_owned()
        }
    }

    /// Returns the URL of the catalogue of errors.
    pub fn catalogue(links: &Links) -> String {
        links.url(CATALOGUE, &[])
    }

    /// True if the service is at fault rather than the caller. These faults are logged as errors.
    pub fn is_ours(self) -> bool {
        self.row().http >= 500
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_kinds() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.kind as usize, index, "{}", row.code);
            assert_eq!(Kind::from_code(row.code), Some(row.kind));
        }
    }

    #[test]
    fn every_code_is_standard_or_outside_the_reserved_range() {
        let standard = [-32700, -32600, -32601, -32602, -32603];
        for row in TABLE {
            let reserved = |code: i32| (-32768..=-32000).contains(&code);
            assert!(!reserved(row.mcp) || standard.contains(&row.mcp), "{}", row.code);
            assert!(
                !reserved(row.a2a) || standard.contains(&row.a2a) || matches!(row.a2a, -32001 | -32005),
                "{}",
                row.code
            );
            assert!(
                (400..600).contains(&row.http) && row.exit != 0 && !row.recovery.is_empty(),
                "{}",
                row.code
            );
        }
    }
}
