// ---- a column and what it knows of its run --------------------------------------------------------

// The server that this page came from. A run that was saved brings the facts of its own machine.
let info = { workers: 1, file_bytes: 0, pool_bytes: 0, device_reads_per_s: null };
let dirty = true;

class Column {
  constructor(mode) {
    this.mode = mode;
    const root = this.root = el("article", null, "column");
    root.dataset.mode = mode.id;
    root.append($("column").content.cloneNode(true));
    const part = name => root.querySelector(name);
    this.parts = { fill: part(".bar i") };
    for (const name of ["time", "speed", "state", "counts", "bar", "cpu", "io", "trace", "start", "cpu-now", "io-now", "trace-now"])
      this.parts[name] = part("." + name);
    const title = part("h2");
    title.append(mode.title + " ");
    if (mode.id === "static") {
      this.parts.n = el("input");
      Object.assign(this.parts.n, { type: "number", min: 1, max: 1024, value: 2, title: "How many parts" });
      this.parts.n.setAttribute("aria-label", "Number of static parts");
      title.append(this.parts.n, " ");
    }
    title.append(el("small", mode.hint));
    this.parts.start.setAttribute("aria-label", "Start " + mode.title);
    this.parts.start.onclick = () => this.active() && !this.replaying ? this.cancel() : runOne(this);
    $("columns").append(root);
    this.clear();
  }
  clear() {
    // Cumulative figures by time, from the samples; the dots of the trace; what came last.
    this.t = [0]; this.cpu = [0]; this.reads = [0]; this.bytes = [0]; this.latency = [0];
    this.tasks = [0, 0, 0, 0];
    this.dots = { t: [], page: [], rank: [] };
    this.requests = 0; this.limit = FULL_RANK;
    this.plan = null; this.nodes = []; this.end = null; this.problem = null;
    this.run = null; this.started = 0; this.recording = []; this.replaying = false;
    // How it ran: on which machine, what, from an empty pool, beside the others.
    this.wish = { info: null, sql: null, cold: false, together: false };
    this.state = "idle";
    dirty = true;
  }
  info() { return this.wish.info || info; }
  active() { return this.state === "running"; }
  begin(wish, replaying) {
    this.clear();
    Object.assign(this, { state: "running", wish, replaying, started: performance.now() });
  }
  elapsed() {
    if (this.state === "done") return this.end.elapsed_us;
    return Math.max(this.t[this.t.length - 1], 0);
  }
  // One event of the run; the same whether it comes from the server or from a recording.
  take(name, data) {
    dirty = true;
    if (name === "plan") this.plan = data;
    if (name === "tick") this.tick(data);
    if (name === "end") { this.end = data; this.state = data.status; this.problem = data.error; }
  }
  tick(data) {
    const s = data.samples;
    for (let i = 0; i + 8 < s.length; i += 9) {
      if (s[i] <= this.t[this.t.length - 1]) continue;
      this.t.push(s[i]); this.cpu.push(s[i + 5]); this.reads.push(s[i + 6]); this.bytes.push(s[i + 7]); this.latency.push(s[i + 8]);
    }
    if (s.length) this.tasks = s.slice(s.length - 8, s.length - 4);
    if (data.nodes.length) this.nodes = data.nodes;
    this.requests = data.requests;
    const dots = this.dots, p = data.points;
    if (data.rank_limit < this.limit) {
      // The server dropped a random half: drop the same ones here, so that the sample stays uniform.
      this.limit = data.rank_limit;
      const stays = dots.rank.map(rank => rank <= this.limit);
      for (const key of ["t", "page", "rank"]) dots[key] = dots[key].filter((_, i) => stays[i]);
    }
    for (let i = 0; i + 3 < p.length; i += 4) {
      if (p[i + 3] > this.limit) continue;
      dots.t.push(p[i]); dots.page.push(p[i + 1]); dots.rank.push(p[i + 3]);
    }
  }
  async start(wish, partitions) {
    this.begin(wish, false);
    try {
      const body = { sql: wish.sql, mode: this.mode.id, cold: wish.cold, writes: $("writes").checked, partitions };
      this.run = (await (await call("POST", "/api/run", body)).json()).id;
      await this.follow(await call("GET", `/api/runs/${this.run}/events`));
      if (!this.end) throw { message: "the connection ended before the run did" };
    } catch (error) {
      this.fail({ message: String(error.message || error), ...error });
    }
  }
  fail(problem) { this.state = "failed"; this.problem = problem; dirty = true; }
  async follow(response) {
    const reader = response.body.getReader(), decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const [first, second] = text.slice(0, end).split("\n");
        const name = first.slice(7), data = JSON.parse(second.slice(6));
        this.recording.push({ at: performance.now() - this.started, name, data });
        this.take(name, data);
      }
    }
  }
  cancel() {
    stopped = true;
    if (this.active() && this.run && !this.replaying) call("POST", `/api/runs/${this.run}/cancel`, {}).catch(() => {});
  }
  // Plays a recording in its own time, or to its end at once when the playback is skipped.
  async play(recording, wish, playback) {
    this.begin(wish, true);
    this.recording = recording;
    for (const { at, name, data } of recording) {
      await playback.until(this.started + at);
      if (playback.given_up) return;
      this.take(name, data);
    }
    this.replaying = false;
    if (this.active()) this.fail({ message: "the recording ends before the run does" });
  }
  // Mean number of reads in flight, by Little's law: the sum of all latencies over the time.
  inflight() { const last = this.t.length - 1; return this.t[last] ? this.latency[last] / this.t[last] : 0; }
  // Mean number of cores that it kept busy.
  cores() { const last = this.t.length - 1; return this.t[last] ? this.cpu[last] / this.t[last] : 0; }
  read_count() { return this.reads[this.reads.length - 1]; }
  // Rows that have left the operators.
  row_count() { let sum = 0; for (let i = 0; i < this.nodes.length; i += 6) sum += this.nodes[i]; return sum; }
  // The done share of its work, or null. All modes run the same operators over the same rows, so
  // what has left the operators of a run that is over is what will have left those of another.
  progress() {
    if (this.state === "done") return 1;
    const whole = columns.find(other => other !== this && other.state === "done" && other.wish.sql === this.wish.sql);
    const rows = whole ? whole.row_count() : 0;
    return rows ? Math.min(this.row_count() / rows, .99) : null;
  }
}

// Recordings that are played: they can be skipped, and given up for something else.
class Playback {
  constructor() {
    this.over = this.given_up = false;
    this.skipped = new Promise(done => { this.wake = done; });
  }
  skip() { this.over = true; this.wake(); }
  give_up() { this.given_up = true; this.skip(); }
  async until(moment) {
    const wait = moment - performance.now();
    if (this.over || !(wait > 4)) return;
    await Promise.race([new Promise(done => setTimeout(done, Math.min(wait, 2 ** 31 - 1))), this.skipped]);
  }
}
