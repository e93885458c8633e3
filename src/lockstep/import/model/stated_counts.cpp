#include "lockstep/import/model/stated_counts.h"

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// The whole number at the front of `text`, after blanks and any of ":='\".(is of to": none where
/// decimals, a ratio or a unit of something else follows.
std::optional<std::int64_t> count_at(std::string_view text) {
  // "125 iterations per epoch. 12500 max iterations": a sentence ended. Dots may lead to a number.
  if (text.starts_with(". ")) return std::nullopt;
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view word : {" ", "\t", ":", "=", "'", "\"", ".", "is ", "of ", "to "}) {
      if (!text.starts_with(word)) continue;
      text.remove_prefix(word.size());
      again = true;
    }
  }
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  const auto number = take_number(text);
  if (!number || *number < 1 || *number > 1e7) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*number);
  if (static_cast<double>(whole) != *number) return std::nullopt;
  if (!text.empty() && (text[0] == '/' || text[0] == '%')) return std::nullopt;
  // "--gpus 1,2" lists their numbers.
  if (text.size() > 1 && text[0] == ',' && is_digit(text[1])) return std::nullopt;
  return whole;
}

/// "Running with 4 GPUs", "Training on 8 GPUs", "set to 256 on 8 GPUs", "Starting Single-GPU
/// Training"; not "4 GPUs available", "for 2 GPUs and batch size 32", "1 GPU (+ 8 CPUs)".
std::optional<std::int64_t> devices_in_use(std::string_view text) {
  const bool acts = contains_any<"running", "training", "using", "launching", "starting", "set to",
                                 "train on", "trained on", "results with", "results on">(text);
  if (!acts || contains_any<"available", "visible", "found", "detected", "recommend">(text))
    return std::nullopt;
  for (const std::string_view unit :
       {" gpu", "-gpu", " devices", " processes", " ranks", " workers"}) {
    // "Using 4 workers" are those of a data loader more often.
    if (unit == " workers" && !contains_any<"horovod", "distributed", "ddp", "hvd">(text)) continue;
    for (std::size_t at = text.find(unit); at != std::string_view::npos;
         at = text.find(unit, at + 1)) {
      if (unit.ends_with("gpu") && text.substr(0, at).ends_with("single")) return 1;
      std::size_t begin = at;
      while (begin > 0 && is_digit(text[begin - 1])) --begin;
      if (begin == at || begin == 0 || text[begin - 1] != ' ') continue;
      const std::string_view before = trim(text.substr(0, begin));
      const bool joined = before.ends_with("with") || before.ends_with("on") ||
                          before.ends_with("using") || before.ends_with("across");
      if (!joined) continue;
      if (const auto count = parse_integer(text.substr(begin, at - begin)); count && *count > 0)
        return count;
    }
  }
  return std::nullopt;
}

/// "device:gpu:" in the list in parentheses that begins `text`.
std::int64_t devices_listed(std::string_view text) {
  text = text.substr(0, text.find(')'));
  std::int64_t count = 0;
  for (std::size_t at = text.find("/device:"); at != std::string_view::npos;
       at = text.find("/device:", at + 1))
    ++count;
  return count;
}

/// What TensorFlow prints about its strategy: "Using MirroredStrategy with devices (...)", and of a
/// cluster "num_workers = 2, local_devices = (...)", each process with the same devices.
std::optional<std::int64_t> tensorflow_replicas(std::string_view text) {
  const std::size_t strategy = text.find("mirroredstrategy with ");
  if (strategy == std::string_view::npos) return std::nullopt;
  constexpr std::string_view kMirrored = "with devices ('/job:localhost";
  constexpr std::string_view kLocal = "local_devices = (";
  std::int64_t count = 0;
  if (const std::size_t at = text.find(kMirrored, strategy); at != std::string_view::npos) {
    count = devices_listed(text.substr(at));
  } else if (const std::size_t local = text.find(kLocal); local != std::string_view::npos) {
    const auto processes = integer_after(text, "num_workers = ");
    if (processes && *processes > 0 && *processes < 1'000'000)
      count = *processes * devices_listed(text.substr(local));
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

}  // namespace

bool word_begins(std::string_view text, std::size_t at) {
  return at == 0 || (!is_letter(text[at - 1]) && !is_digit(text[at - 1]));
}

std::optional<std::int64_t> count_after(std::string_view text,
                                        std::initializer_list<std::string_view> marks) {
  for (const std::string_view mark : marks) {
    for (std::size_t at = text.find(mark); at != std::string_view::npos;
         at = text.find(mark, at + 1)) {
      const bool joined = at > 0 && text[at - 1] == '_' && !mark.starts_with("accum");
      if (!word_begins(text, at) || joined) continue;
      if (const auto count = count_at(text.substr(at + mark.size()))) return count;
    }
  }
  return std::nullopt;
}

void worker_facts(std::string_view text, std::vector<StatedFact>& facts) {
  if (!contains_any<"gpu", "world", "process", "hvd", "replica", "device", "nodes", "nproc",
                    "slurm_ntasks", "ranks", "horovod with">(text))
    return;
  auto world = count_after(text, {"world size", "world_size", "worldsize", "number of processes",
                                  "num processes", "num_processes", "hvd.size()",
                                  "number of replicas", "num_replicas_in_sync", "dist_world_size"});
  if (const auto replicas = tensorflow_replicas(text)) world = replicas;
  if (world) facts.push_back({FactKey::kWorldSize, *world, {}});
  auto devices =
      count_after(text, {"number of gpus", "number of devices", "num_gpus", "num gpus",
                         "--num-gpus", "n_gpus", "ngpus", "--gpus", "data parallel gpus"});
  if (!devices) devices = devices_in_use(text);
  // "GPUs: 2 | throughput: 601.2 samples/sec"; alone it may be what the machine has.
  if (!devices && trim(text).starts_with("gpus") && contains_any<"throughput", "/s">(text))
    devices = count_after(text, {"gpus"});
  if (devices) facts.push_back({FactKey::kDevices, *devices, {}});
  // "model nodes: 4" of a script of its own, "graph nodes": no machines.
  const bool machines =
      !contains_any<"model nodes", "batch nodes", "graph", "edges", "hidden">(text);
  if (const auto count = machines ? count_after(text, {"nodes", "num_nodes", "nnodes", "num nodes"})
                                  : std::nullopt)
    facts.push_back({FactKey::kNodes, *count, {}});
  if (const auto count = count_after(text, {"gpus/node", "gpus per node", "gpus_per_node",
                                            "nproc_per_node", "nproc-per-node"}))
    facts.push_back({FactKey::kDevicesPerNode, *count, {}});
  if (const auto count = count_after(text, {"slurm_ntasks"}))
    facts.push_back({FactKey::kTasks, *count, {}});
}

void split_facts(std::string_view text, std::vector<StatedFact>& facts) {
  if (!contains_any<"parallel">(text)) return;
  // "number of parameters on (tensor, pipeline) model parallel rank (1, 0): 210753280".
  if (const std::size_t rank = text.find("model parallel rank ("); rank != std::string_view::npos) {
    const std::string_view ranks = text.substr(rank + 21, text.find(')', rank) - rank - 21);
    if (ranks.find_first_of("123456789") != std::string_view::npos)
      facts.push_back({FactKey::kSplit, 2, {}});
    return;
  }
  for (const std::string_view what : {"sequence", "tensor", "tensor model", "pipeline", "model",
                                      "pipeline model", "context", "expert"}) {
    for (const std::string_view size : {" parallel size", "_parallel_size", "-parallel-size",
                                        "_model_parallel_size", "-model-parallel-size"}) {
      const std::string mark = std::string(what) + std::string(size);
      const auto count = count_after(text, {mark});
      if (!count || *count < 2) continue;
      facts.push_back({FactKey::kSplit, *count, {}});
      return;
    }
  }
}

void batch_facts(std::string_view text, std::vector<StatedFact>& facts) {
  if (contains_any<"accum">(text)) {
    const auto accumulate =
        count_after(text, {"accumulation steps", "accumulation_steps", "accumulation-steps",
                           "gradient accumulation", "accum steps", "accum_steps", "grad_accum",
                           "accumulate_grad_batches"});
    if (accumulate && *accumulate < 1'000'000)
      facts.push_back({FactKey::kAccumulate, *accumulate, {}});
  }
  for (std::size_t at = text.find("batch"); at != std::string_view::npos;
       at = text.find("batch", at + 1)) {
    if (!word_begins(text, at) && text[at - 1] != '_') continue;
    std::string_view rest = text.substr(at + 5);
    bool sized = false;
    for (const std::string_view size : {" size", "_size", "-size", "size"}) {
      if (sized || !rest.starts_with(size)) continue;
      rest.remove_prefix(size.size());
      sized = true;
    }
    bool each = false;
    for (const std::string_view per :
         {" per gpu", " per device", " per worker", " per rank", " per process", " (per gpu)",
          " (per device)", " (per worker)", "_per_gpu", "_per_rank", "_per_device", "/gpu"}) {
      if (!rest.starts_with(per)) continue;
      rest.remove_prefix(per.size());
      each = true;
    }
    const std::size_t before_begin = at > 24 ? at - 24 : 0;
    const std::string_view before = text.substr(before_begin, at - before_begin);
    const bool whole = contains_any<"effective", "global", "total">(before);
    if (!sized && !each && !whole) continue;
    if (contains_any<"val", "test", "eval", "micro", "mini", "max", "seconds">(before)) continue;
    if (rest.starts_with(" is set")) rest.remove_prefix(7);
    // "Total batch size (32 x 2 x 1) = 64".
    if (const std::size_t close = rest.find(") ="); whole && rest.starts_with(" (") && close < 60)
      rest.remove_prefix(close + 1);
    const auto count = count_at(rest);
    if (!count) continue;
    each = each || before.ends_with("local ") || before.ends_with("local_") ||
           before.ends_with("per-gpu ") || before.ends_with("per-device ");
    const FactKey key = whole  ? FactKey::kGlobalBatch
                        : each ? FactKey::kBatchPerWorker
                               : FactKey::kBatch;
    facts.push_back({key, *count, {}});
  }
}

}  // namespace lockstep::import
