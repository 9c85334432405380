//! Rows of an account's data.

use ep_polling::time::Timestamp;

use super::unreadable;
use crate::error::failed;
use crate::ids::{CheckoutId, DepositId};
use crate::records::{
    CheckoutRecord, DepositRecord, NumberedTransfer, SessionRecord, StoreError, StoredBatchRecord,
    StoredFileRecord, TaskRecord, TransferRecord,
};

row! {
    /// An account.
    AccountRecordRow {
        email: String,
        created_at: i64,
        frozen: i64,
        confirm_above: Option<i64>,
        posted: i64,
        held: i64,
        funder: Option<String>,
        webhook_url: Option<String>,
    }
}

row! {
    /// A session without its hash.
    SessionRecordRow { created_at: i64, used_at: i64 }
}

row! {
    /// A card payment.
    CheckoutRecordRow {
        id: String,
        amount: i64,
        status: String,
        session_id: Option<String>,
        payment_id: Option<String>,
        created_at: i64,
    }
}

row! {
    /// A deposit without its signed payment.
    DepositRecordRow {
        id: String,
        payer: String,
        amount: i64,
        status: String,
        tx_hash: Option<String>,
        created_at: i64,
    }
}

row! {
    /// A file, complete or not.
    FileRecordRow { id: String, name: String, bytes: Option<i64>, created_at: i64, expires_at: i64 }
}

row! {
    /// A batch without its rows.
    BatchRecordRow {
        id: String,
        file: String,
        status: String,
        terms: String,
        created_at: i64,
        ended_at: Option<i64>,
    }
}

impl From<FileRecordRow> for StoredFileRecord {
    fn from(row: FileRecordRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            bytes: row.bytes,
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: Timestamp::from_millis(row.expires_at),
        }
    }
}

impl TryFrom<BatchRecordRow> for StoredBatchRecord {
    type Error = StoreError;

    fn try_from(row: BatchRecordRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id,
            file: row.file,
            status: row.status,
            terms: serde_json::from_str(&row.terms).map_err(failed)?,
            created_at: Timestamp::from_millis(row.created_at),
            ended_at: row.ended_at.map(Timestamp::from_millis),
        })
    }
}

row! {
    /// A transfer and its number.
    NumberedTransferRow {
        number: i64,
        reference: String,
        debit_account: String,
        credit_account: String,
        amount: i64,
        created_at: i64,
    }
}

row! {
    /// An agent task.
    TaskRecordRow {
        id: String,
        context_id: String,
        client_id: Option<String>,
        poll_id: Option<String>,
        batch_id: Option<String>,
        state: String,
        status_at: i64,
        content: String,
    }
}

row! {
    /// The push URL of an agent task.
    PushUrlRow { task_id: String, url: String }
}

impl From<SessionRecordRow> for SessionRecord {
    fn from(row: SessionRecordRow) -> Self {
        Self {
            created_at: Timestamp::from_millis(row.created_at),
            last_used_at: Timestamp::from_millis(row.used_at),
        }
    }
}

impl TryFrom<CheckoutRecordRow> for CheckoutRecord {
    type Error = StoreError;

    fn try_from(row: CheckoutRecordRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.parse::<CheckoutId>().map_err(failed)?,
            amount_micro_usd: row.amount,
            status: row.status,
            session_id: row.session_id,
            payment_id: row.payment_id,
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}

impl TryFrom<DepositRecordRow> for DepositRecord {
    type Error = StoreError;

    fn try_from(row: DepositRecordRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.parse::<DepositId>().map_err(failed)?,
            payer: row.payer,
            amount_micro_usd: row.amount,
            status: row.status,
            tx_hash: row.tx_hash,
            created_at: Timestamp::from_millis(row.created_at),
        })
    }
}

impl From<NumberedTransferRow> for NumberedTransfer {
    fn from(row: NumberedTransferRow) -> Self {
        Self {
            number: row.number,
            transfer: TransferRecord {
                reference: row.reference,
                from: row.debit_account,
                to: row.credit_account,
                amount_micro_usd: row.amount,
                at: Timestamp::from_millis(row.created_at),
            },
        }
    }
}

impl TryFrom<TaskRecordRow> for TaskRecord {
    type Error = StoreError;

    fn try_from(row: TaskRecordRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id,
            context_id: row.context_id,
            client_id: row.client_id,
            poll_id: row.poll_id,
            batch_id: row.batch_id,
            state: row.state,
            status_at: Timestamp::from_millis(row.status_at),
            content: serde_json::from_str(&row.content).map_err(|_| unreadable("a task"))?,
            push_urls: Vec::new(),
        })
    }
}
