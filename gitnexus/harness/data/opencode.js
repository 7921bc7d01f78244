// git nexus in OpenCode: hands each event on, and stops a tool that is not clearly allowed.
// Nothing but what the runtime itself has is imported, so this file needs nothing installed.
import { spawn, spawnSync } from "node:child_process"

const CALL = ["git", "nexus"]
const GATE_SECONDS = 30
const OTHER_SECONDS = 15
const LARGEST = 8 * 1024 * 1024

const line = (event) => [...CALL.slice(1), "hook", "harness", "opencode", event]

// Calls git nexus with one event; answers what it said, or why nothing can be known.
const told = (event, payload, cwd, seconds) =>
  new Promise((resolve) => {
    let out = "", err = "", done = false
    const end = (answer) => {
      if (!done) {
        done = true
        clearTimeout(timer)
        resolve(answer)
      }
    }
    let child
    const timer = setTimeout(() => {
      child?.kill("SIGKILL")
      end({ failed: `git nexus did not answer within ${seconds} seconds` })
    }, seconds * 1000)
    try {
      child = spawn(CALL[0], line(event), { cwd, stdio: ["pipe", "pipe", "pipe"] })
    } catch (error) {
      end({ failed: `git nexus cannot be started: ${error.message}` })
      return
    }
    child.on("error", (error) => end({ failed: `git nexus cannot be started: ${error.message}` }))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => { if (out.length < LARGEST) out += data })
    child.stderr.on("data", (data) => { if (err.length < LARGEST) err += data })
    child.on("close", (status) => {
      if (status !== 0) return end({ failed: err.trim() || `git nexus left with status ${status}` })
      try {
        end({ said: out.trim() ? JSON.parse(out) : {} })
      } catch {
        end({ failed: "git nexus answered what is no JSON" })
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })

export const GitNexus = async ({ client, directory }) => {
  const sessions = new Map() // id → { parent, agent, begun, waiting: [text], last, coming: the snapshot being made }
  const known = (id) => {
    if (!sessions.has(id)) sessions.set(id, { parent: "", agent: "", begun: false, waiting: [], last: "", coming: null })
    return sessions.get(id)
  }
  // A sub-agent has a session of its own; it is told as part of the one that started it.
  const who = (id) => {
    const here = known(id)
    return here.parent ? { session: here.parent, agent: here.agent, agentId: id } : { session: id }
  }
  const note = async (event, name, id, more = {}) => {
    const { said } = await told(event, { event: name, cwd: directory, ...who(id), ...more }, directory, OTHER_SECONDS)
    if (said?.notice) {
      try {
        await client?.app?.log?.({ body: { service: "git-nexus", level: "warn", message: said.notice } })
      } catch {}
    }
    return said?.context ?? ""
  }
  // The end of a sub-agent is told by an event while the call that started it returns: the call waits, for its answer
  // carries what is said about that end.
  const ending = new Set()
  const ends = async (telling) => {
    ending.add(telling)
    try {
      await telling
    } finally {
      ending.delete(telling)
    }
  }
  const ended = new Set()
  process.on("exit", () => {
    for (const [id, here] of sessions) {
      if (here.parent || !here.begun || ended.has(id)) continue
      const payload = JSON.stringify({ event: "session.deleted", cwd: directory, session: id, source: "exit" })
      try {
        spawnSync(CALL[0], line("session_end"), { cwd: directory, input: payload, timeout: 5000 })
      } catch {}
    }
  })

  return {
    event: async ({ event }) => {
      const { type, properties = {} } = event
      const id = properties.sessionID ?? properties.info?.id ?? ""
      if (type === "session.created") {
        known(id).parent = properties.info?.parentID ?? ""
      } else if (type === "message.part.updated") {
        const part = properties.part ?? {}
        if (part.type === "text" && sessions.has(part.sessionID)) known(part.sessionID).last = part.text ?? ""
      } else if (type === "session.idle" && sessions.get(id)?.parent) {
        await ends(note("subagent_complete", type, id, { text: known(id).last }))
      } else if (type === "session.compacted") {
        // The program does not wait for this, and goes on at once: who speaks to the model next does.
        const here = known(id)
        here.coming = note("context_compact", type, id).then((context) => { if (context) here.waiting.push(context) })
        await here.coming
      } else if (type === "session.deleted" && !sessions.get(id)?.parent && !ended.has(id)) {
        ended.add(id)
        await note("session_end", type, id)
        sessions.delete(id)
      }
    },

    "chat.message": async ({ sessionID, agent }, output) => {
      const here = known(sessionID)
      here.agent = agent ?? output.message?.agent ?? here.agent
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const text = texts.map((part) => part.text).join("\n")
      await here.coming
      const found = here.waiting.splice(0)
      if (!here.begun) {
        here.begun = true
        const event = here.parent ? "subagent_spawn" : "session_start"
        found.push(await note(event, "session.created", sessionID, here.parent ? { text } : { source: "startup" }))
      }
      if (!here.parent) found.push(await note("user_message", "chat.message", sessionID, { text }))
      const context = found.filter(Boolean).join("\n\n")
      const like = texts[texts.length - 1]
      // Behind the person's own words, and marked as not theirs. Parts are kept in the order of their ids.
      if (context && like) output.parts.push({ ...like, id: `${like.id}n`, text: context, synthetic: true })
    },

    // After a compaction the agent goes on by itself: until the person's next message the snapshot goes with each call.
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      await sessions.get(sessionID)?.coming
      output.system.push(...(sessions.get(sessionID)?.waiting ?? []))
    },

    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      const payload = { event: "tool.execute.before", cwd: directory, ...who(sessionID), call: callID, tool, args }
      const { said, failed } = await told("pre_tool_use", payload, directory, GATE_SECONDS)
      if (failed) throw new Error(`not run: ${failed}`)
      if (said.verdict !== "allow") throw new Error(said.reason || "git nexus: not allowed")
    },

    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      const answer = { title: output?.title, output: output?.output, metadata: output?.metadata }
      const more = { call: callID, tool, args: args ?? {}, answer }
      await Promise.allSettled(ending)
      const context = await note("post_tool_use", "tool.execute.after", sessionID, more)
      if (context && typeof output?.output === "string") output.output += `\n\n${context}`
    },
  }
}
