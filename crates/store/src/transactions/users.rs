//! Users.

use async_trait::async_trait;
use futures::FutureExt;

use ep_kernel::caller::UserId;
use ep_kernel::email::Email;
use ep_kernel::ports::{NewUser, StoreError, UserStore};

use super::{Database, ledger};
use crate::engine::{Connection, Durability, Engine};
use crate::rows::{self, IdRow};
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl<E: Engine> UserStore for Database<E> {
    async fn create_user(&self, user: &NewUser) -> Result<(), StoreError> {
        let user = user.clone();
        self.0.transact(Durability::PowerLoss, move |db| async move { create(db, &user).await }.boxed()).await
    }

    async fn user_by_email(&self, email: &Email) -> Result<Option<UserId>, StoreError> {
        let user: Option<IdRow> = self.0.fetch_optional(sql::USER_BY_EMAIL, values![email.as_str()]).await?;
        user.map(|row| rows::user_id(&row.id)).transpose()
    }
}

async fn create<C: Connection>(db: &mut C, user: &NewUser) -> Result<(), StoreError> {
    db.execute(sql::ADD_USER, values![user.id, user.email.as_str(), user.created_at]).await?;
    db.execute(sql::ADD_ACCOUNT, values![user.id]).await?;
    if !user.starter_credit.is_zero() {
        let reference = format!("starter:{}", user.id);
        ledger::credit(db, user.id, user.starter_credit, &reference, user.created_at).await?;
    }
    Ok(())
}
