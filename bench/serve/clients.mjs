// Many clients of `lockstep serve` that watch live: one process, so that they cost little themselves.
// usage: node clients.mjs URL COUNT SECONDS     prints JSON: connected, messages, bytes, what
// ended early, and the seconds of processor time that the clients themselves took
import http from "node:http";

const [url, count, seconds] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const agent = new http.Agent({ maxSockets: Infinity });
const totals = { clients: count, connected: 0, refused: 0, messages: 0, bytes: 0, ended_early: 0 };
let ending = false;
const requests = [];
for (let i = 0; i < count; ++i) {
  const request = http.get(new URL("/api/live", url), { agent }, (answer) => {
    if (answer.statusCode !== 200) {
      ++totals.refused;
      answer.resume();
      return;
    }
    ++totals.connected;
    answer.on("data", (data) => {
      totals.bytes += data.length;
      totals.messages += data.includes("event: runs") ? 1 : 0;
    });
    answer.on("close", () => { if (!ending) ++totals.ended_early; });
  });
  request.on("error", () => { if (!ending) ++totals.refused; });
  requests.push(request);
}
setTimeout(() => {
  ending = true;
  for (const request of requests) request.destroy();
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ ...totals, cpu_s: (user + system) / 1e6 }));
}, seconds * 1000);
