/** In-memory storage for oidc-provider that can delete every signed-in session. */
export function memoryStorage() {
  const records = new Map()

  class MemoryAdapter {
    constructor(model) {
      this.prefix = `${model}:`
    }

    async upsert(id, payload) {
      records.set(this.prefix + id, payload)
    }

    async find(id) {
      const payload = records.get(this.prefix + id)
      return payload?.exp <= Date.now() / 1000 ? undefined : payload
    }

    async findByUid(uid) {
      for (const [key, payload] of records) {
        if (key.startsWith(this.prefix) && payload.uid === uid) return payload
      }
    }

    async consume(id) {
      records.get(this.prefix + id).consumed = Math.floor(Date.now() / 1000)
    }

    async destroy(id) {
      records.delete(this.prefix + id)
    }

    async revokeByGrantId(grantId) {
      for (const [key, payload] of records) {
        if (key.startsWith(this.prefix) && payload.grantId === grantId) records.delete(key)
      }
    }
  }

  function forgetSessions() {
    for (const key of records.keys()) {
      if (key.startsWith('Session:')) records.delete(key)
    }
  }

  return { MemoryAdapter, forgetSessions }
}
