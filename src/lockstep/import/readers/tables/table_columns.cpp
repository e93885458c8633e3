#include "lockstep/import/readers/tables/table_columns.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "lockstep/import/model/measurement_units.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// A header in lower case, cut into its words and the unit in parentheses behind them.
struct Header {
  std::string text;
  std::string base;
  std::string unit;
  std::vector<std::string> words;
  bool counted = false;  ///< "#GPU", "GPU(s)"

  bool has(std::initializer_list<std::string_view> any) const {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return std::find(any.begin(), any.end(), word) != any.end();
    });
  }
  bool only(std::initializer_list<std::string_view> known) const {
    return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
      return std::find(known.begin(), known.end(), word) != known.end();
    });
  }
  bool is(std::string_view word) const { return words.size() == 1 && words[0] == word; }
};

Header header_of(std::string_view name) {
  Header header;
  for (const char c : lower(trim(name))) {
    if (c != '*' && c != '`') header.text += c;
  }
  std::string_view base = trim(header.text);
  while (base.starts_with('_') && base.ends_with('_') && base.size() > 2)
    base = base.substr(1, base.size() - 2);  // bold or italic
  while (base.starts_with('#')) {
    base = trim(base.substr(1));
    header.counted = true;
  }
  const std::size_t open = base.find_last_of("([");
  if (open != std::string_view::npos && open > 0) {
    const std::size_t close = base.find_first_of(")]", open);
    if (close == base.size() - 1)
      header.unit = std::string(trim(base.substr(open + 1, close - open - 1)));
    if (close != std::string_view::npos) base = trim(base.substr(0, open));
  }
  for (const std::string_view thing : {"gpu", "worker", "node", "process", "device", "rank"}) {
    if (header.unit != "s" || !base.ends_with(thing)) continue;
    header.counted = true;  // a plural, no seconds
    header.unit.clear();
  }
  header.base = std::string(base);
  std::string word;
  for (const char c : header.base + " ") {
    if (is_letter(c) || is_digit(c)) {
      word += c;
    } else if (!word.empty()) {
      header.words.push_back(std::move(word));
      word.clear();
    }
  }
  return header;
}

TableColumn of_role(TableRole role, std::string name = "") {
  TableColumn column;
  column.role = role;
  column.name = std::move(name);
  return column;
}

/// "speedup", "scaling efficiency": what the author derived.
TableColumn derived_column(const Header& header) {
  if (header.has({"ideal", "linear", "theoretical", "theory", "expected", "predicted", "perfect"}))
    return of_role(TableRole::kIgnored);
  // "Throughput speedup (TF32 to mixed precision)" is none of more workers.
  if (contains_any<" to ", " vs", " over ", "/">(header.text) &&
      contains_any<"precision", "fp16", "fp32", "tf32", "bf16", "amp">(header.text))
    return of_role(TableRole::kIgnored);
  const bool speedup = contains(header.text, "speedup") || contains(header.text, "speed-up") ||
                       contains(header.text, "speed up");
  TableColumn column =
      of_role(TableRole::kReported, speedup ? "reported_speedup" : "reported_efficiency");
  column.percent = header.unit == "%" || contains_any<"%", "percent", "pct">(header.text);
  return column;
}

bool counts_workers(const Header& header) {
  for (const std::string_view name :
       {"world size", "np", "nprocs", "ngpus", "ngpu", "gpu count", "gpu nums", "gpu num"}) {
    std::string base = header.base;
    std::replace(base.begin(), base.end(), '_', ' ');
    if (base == name) return true;
  }
  // "num_workers" is what PyTorch calls the processes of a loader.
  if (header.base == "num_workers" || header.has({"loader", "dataloader", "data", "loading"}))
    return false;
  const bool plural = header.has({"gpus", "workers", "processes", "procs", "ranks", "devices"});
  const bool single = header.has({"gpu", "worker", "process", "rank", "device"});
  const bool counted = header.counted || header.has({"num", "number", "n", "no", "count", "total"});
  return (plural || (single && counted)) &&
         header.only({"gpus",   "workers", "processes", "procs",  "ranks", "devices", "gpu",
                      "worker", "process", "rank",      "device", "num",   "number",  "of",
                      "n",      "no",      "count",     "total",  "used",  "parallel"});
}

std::optional<TableColumn> batch_column(const Header& header) {
  if (!header.has({"batch", "batchsize", "bs", "minibatch"})) return std::nullopt;
  if (!header.only({"batch", "batchsize", "bs", "minibatch", "size", "per", "gpu", "worker",
                    "device", "rank", "process", "global", "effective", "total", "local", "train",
                    "training", "mini"}))
    return std::nullopt;
  const bool whole =
      header.has({"global", "effective", "total"}) || contains_any<"global", "total">(header.unit);
  const bool each = header.has({"local", "gpu", "worker", "device", "rank", "process"}) ||
                    contains_any<"gpu", "worker", "device", "rank", "local">(header.unit);
  if (whole && each) return of_role(TableRole::kIgnored);
  return of_role(whole  ? TableRole::kGlobalBatch
                 : each ? TableRole::kBatchPerWorker
                        : TableRole::kBatch);
}

/// "Target tokens/s", "throughput (expected)": nobody measured it. "Time to target" was measured.
bool is_aim(const Header& header) {
  constexpr std::array<std::string_view, 6> kAims{"target",    "goal",      "expected",
                                                  "projected", "predicted", "theoretical"};
  return std::any_of(kAims.begin(), kAims.end(), [&](std::string_view aim) {
    return header.words.front() == aim || header.unit == aim;
  });
}

bool is_of_a_part(const Header& header) {
  return header.has(
      {"data",        "load",    "loading",  "comm",       "communication",   "compute",
       "computation", "forward", "backward", "sync",       "synchronization", "val",
       "validation",  "test",    "eval",     "evaluation", "inference",       "transfer",
       "wait",        "queue",   "compile",  "startup",    "allreduce",       "first"});
}

/// A time, by what it is of: "time per epoch (s)", "s/epoch", "ms/step", "Total time", "Time (s)".
std::optional<TableColumn> time_column(const Header& header) {
  const std::size_t slash = header.base.find('/');
  const auto before =
      slash == std::string::npos
          ? std::nullopt
          : unit_factor(Quantity::kTime, trim(std::string_view(header.base).substr(0, slash)));
  const bool named = header.has(
      {"time", "duration", "runtime", "elapsed", "seconds", "sec", "secs", "walltime", "latency"});
  if (!named && !before) return std::nullopt;
  if (contains_any<"/s", "per sec", "per_sec">(header.text) && !before) return std::nullopt;
  if (is_of_a_part(header)) return of_role(TableRole::kIgnored);
  TableColumn column;
  std::string_view unit = header.unit;
  if (const std::size_t per = unit.find('/'); per != std::string_view::npos)
    unit = trim(unit.substr(0, per));
  for (const std::string_view ending : {"ms", "sec", "seconds", "min", "minutes", "hours", "s"}) {
    if (unit.empty() && header.words.size() > 1 && header.words.back() == ending) unit = ending;
  }
  const auto factor = unit.empty() ? std::optional(1.0) : unit_factor(Quantity::kTime, unit);
  if (!factor && !before) return of_role(TableRole::kUnknown);
  column.scale = before.value_or(factor.value_or(1));
  column.unit_stated = before || !unit.empty() || header.has({"seconds", "sec", "secs"});
  const std::string all = header.base + " " + header.unit;
  const bool whole = header.has({"total", "overall", "whole", "sum"});
  if (contains(all, "epoch") && whole && !contains_any<"per epoch", "/epoch", "per_epoch">(all))
    return of_role(TableRole::kOtherFigure, header.base);  // "Total epoch time": of one or of all
  if (contains(all, "epoch") || all.ends_with("/ep ")) {
    column.role = TableRole::kMetric;
    column.metric = {Metric::kEpochTime};
  } else if (contains_any<"step", "iter", "batch", "/it">(all)) {
    column.role = TableRole::kMetric;
    column.metric = {Metric::kStepTime};
  } else {
    column.role =
        whole || header.has({"runtime"}) ? TableRole::kTotalTime : TableRole::kUnclearTime;
    column.name = column.role == TableRole::kTotalTime ? header.base : "time";
  }
  return column;
}

bool is_of_one_worker(std::string_view header) {
  return contains_any<"per gpu", "per-gpu", "per_gpu", "/gpu", "per worker", "per-worker",
                      "per_worker", "/worker", "per device", "per-device", "per_device", "/device",
                      "per rank", "per-rank", "per_rank", "/rank", "per process">(header);
}

/// A rate, by what it counts. Lockstep computes with examples; others keep their own names.
std::optional<TableColumn> rate_column(const Header& header) {
  const std::string& text = header.text;
  const bool per_second = contains_any<"/s", "per sec", "per_sec">(text);
  if (!per_second && !header.has({"throughput", "ips"})) return std::nullopt;
  if (is_of_a_part(header)) return of_role(TableRole::kIgnored);
  const bool scaled = contains_any<"ktok", "k tok", "mtok", "m tok", "million", "thousand">(text);
  if (contains(text, "tok") && per_second && !scaled && !is_of_one_worker(text) &&
      header.unit != "k" && header.unit != "m")
    return of_role(TableRole::kOtherFigure, "tokens_per_s");
  if (contains_any<"tok", "word", "flop", "gb/", "mb/", "gib", "mib", "bit", "byte", "k img",
                   "kimg", "x1000">(text))
    return of_role(TableRole::kOtherFigure, header.text);
  if (contains_any<"it/s", "iter/s", "iters/s", "its/s", "step/s", "steps/s", "batches/s",
                   "batch/s", "iterations/s", "steps per sec", "iterations per sec">(text))
    return of_role(TableRole::kStepRate);
  const bool examples =
      contains_any<"img", "image", "sampl", "exampl", "seq", "items", "ex/s">(text);
  if (per_second && !examples) return of_role(TableRole::kOtherFigure, header.text);
  if (contains_any<"/min", "/h">(text)) return of_role(TableRole::kOtherFigure, header.text);
  TableColumn column = of_role(TableRole::kMetric);
  const bool each = is_of_one_worker(text);
  column.metric = {each ? Metric::kThroughputPerWorker : Metric::kThroughput};
  column.unit_stated = examples;
  return column;
}

std::optional<TableColumn> fact_column(const Header& header) {
  struct Known {
    std::string_view word;
    const char* name;
  };
  for (const auto& [word, name] : {Known{"model", "model"},
                                   {"network", "model"},
                                   {"architecture", "model"},
                                   {"arch", "model"},
                                   {"dataset", "dataset"},
                                   {"device", "device"},
                                   {"precision", "precision"},
                                   {"dtype", "precision"},
                                   {"optimizer", "optimizer"},
                                   {"strategy", "strategy"},
                                   {"epochs", "epochs"}}) {
    if (header.is(word)) return of_role(TableRole::kFact, name);
  }
  if (header.has({"accum", "accumulation"}) && header.has({"grad", "gradient", "steps"}))
    return of_role(TableRole::kFact, "grad_accum");
  for (const std::string_view split :
       {"tp", "pp", "cp", "ep", "sp", "tensor parallel", "pipeline parallel", "model parallel",
        "context parallel", "expert parallel", "tensor_parallel", "pipeline_parallel", "tp_size",
        "pp_size", "tensor parallelism", "pipeline parallelism"}) {
    if (header.base == split) return of_role(TableRole::kSplit);
  }
  if (header.has({"lr", "cpus", "cores", "threads", "momentum", "dropout", "seed"}) ||
      header.base == "num_workers" || header.base == "learning rate" ||
      header.has({"loader", "dataloader"}))
    return of_role(TableRole::kSetting);
  return std::nullopt;
}

}  // namespace

bool is_configuration(TableRole role) {
  return role == TableRole::kWorkers || role == TableRole::kNamedWorkers ||
         role == TableRole::kNodes || role == TableRole::kWorkersPerNode ||
         role == TableRole::kBatch || role == TableRole::kBatchPerWorker ||
         role == TableRole::kGlobalBatch || role == TableRole::kFact ||
         role == TableRole::kSetting || role == TableRole::kSplit;
}

TableColumn table_column(std::string_view name) {
  const Header header = header_of(name);
  if (header.words.empty()) return {};
  if (header.is("epoch")) return of_role(TableRole::kEpoch);
  if (header.is("step") || header.is("iteration") || header.is("iter") ||
      header.base == "global_step")
    return of_role(TableRole::kStep);
  if (contains_any<"speedup", "speed-up", "speed up", "efficiency">(header.text))
    return derived_column(header);
  if (header.has({"std", "stdev", "sd", "min", "max", "best", "ideal", "ratio", "diff", "ci"}) ||
      is_aim(header))
    return of_role(TableRole::kIgnored);
  if (counts_workers(header)) return of_role(TableRole::kWorkers);
  if (header.has({"gpus", "workers", "processes"}) && header.has({"node"}))
    return of_role(TableRole::kWorkersPerNode);
  if (header.has({"nodes", "hosts", "machines"}) || (header.is("node") && header.counted))
    return of_role(TableRole::kNodes);
  if (auto batch = batch_column(header)) return *batch;
  if (auto time = time_column(header)) return *time;
  if (auto rate = rate_column(header)) return *rate;
  if (auto fact = fact_column(header)) return *fact;
  TableColumn column;
  column.metric = metric_of(header.base);
  column.percent = header.unit == "%" || contains(header.text, "%");
  column.name = header.base;
  switch (column.metric.metric) {
    case Metric::kTrainLoss:
    case Metric::kTrainAccuracy:
    case Metric::kValLoss:
    case Metric::kValAccuracy:
      column.role = TableRole::kMetric;
      return column;
    case Metric::kLearningRate:
      column.role = TableRole::kSetting;
      return column;
    default:
      return of_role(TableRole::kUnknown, header.base);
  }
}

}  // namespace lockstep::import
