//! `get_current_user`: identifies the signed-in user.

use ep_store::UserId;

use crate::prelude::*;

/// Identifies the signed-in user.
pub struct GetCurrentUser;

/// The signed-in user.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentUser {
    /// The account.
    pub user_id: UserId,
    /// Its email address. A wallet's account has one under `wallet.invalid`, which receives no mail.
    #[schemars(extend("format" = "email"))]
    pub email: String,
}

impl ToolOutput for CurrentUser {}

impl Tool for GetCurrentUser {
    const SPEC: Spec = Spec {
        name: "get_current_user",
        title: "Get the signed-in user",
        summary: "Returns the account that this browser is signed in to. Free.",
        manual: include_str!("get_current_user.md"),
        access: Access::COOKIE,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/auth/me")),
        intents: &[
            "who am I",
            "which user is logged in",
            "who am I logged in as",
            "which account is this browser signed in to",
            "what is my user id",
        ],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = CurrentUser;

    async fn call(cx: &Ctx, _: Nothing) -> Result<CurrentUser, Fault> {
        let user_id = cx.account()?;
        let email = cx.store().email_of(user_id).await?;
        let gone = || Fault::new(Kind::NotFound, "this account no longer exists");
        Ok(CurrentUser { user_id, email: email.ok_or_else(gone)?.as_str().to_owned() })
    }
}
