#include "lockstep/watch/rank_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/base/error.h"

namespace lockstep::watch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using record::Phase;

/// Phases in the order of the Python watcher (clock.py).
constexpr std::array kWatchedPhases{Phase::kInputWait, Phase::kHostToDevice, Phase::kForward,
                                    Phase::kBackward,  Phase::kTransfer,     Phase::kOptimizer,
                                    Phase::kOther};

constexpr double kNano = 1e-9;

/// Absent and null are the same to the watcher.
template <class Number>
Number number_or(const json& line, const char* name, Number otherwise) {
  const auto found = line.find(name);
  return found != line.end() && found->is_number() ? found->get<Number>() : otherwise;
}

void read_start(const json& line, RankRecord& rank) {
  rank.rank = line.at("rank");
  rank.world = line.at("world");
  rank.devices = std::max(1, number_or(line, "devices", 1));
  rank.sharing = std::max(1, number_or(line, "sharing", 1));
  rank.host = line.value("host", "");
  rank.pid = line.value("pid", std::int64_t{0});
  rank.torch = line.value("torch", "");
  rank.device = line.value("device", "");
  rank.threads = line.value("threads", 0);
  rank.framework = line.value("framework", "");
  rank.backend = line.value("backend", "");
  rank.parameters = line.value("parameters", std::int64_t{0});
  rank.unit = line.value("unit", "");
  if (const auto loader = line.find("loader"); loader != line.end() && loader->is_object()) {
    rank.loader.workers = number_or(*loader, "workers", -1);
    rank.loader.batch = number_or(*loader, "batch", std::int64_t{0});
    rank.loader.batches = number_or(*loader, "batches", std::int64_t{0});
  }
  rank.wall_minus_monotonic_ns = line.value("wall_minus_monotonic_ns", std::int64_t{0});
}

std::optional<std::vector<CollectiveSpan>> read_spans(const json& spans) {
  if (spans.is_null()) return std::nullopt;
  std::vector<CollectiveSpan> list;
  for (const json& span : spans) list.push_back({span.at(0), span.at(1)});
  return list;
}

void read_steps(const json& line, RankRecord& rank) {
  const json& index = line.at("step");
  for (std::size_t i = 0; i < index.size(); ++i) {
    WatchedStep step;
    step.times.rank = rank.rank;
    step.times.step = index[i];
    step.times.epoch = line.at("epoch").at(i);
    const json& examples = line.at("examples").at(i);
    step.examples_known = examples.is_number();
    if (step.examples_known) step.times.examples = examples;
    if (const auto tokens = line.find("tokens"); tokens != line.end()) {
      if (tokens->at(i).is_number()) step.tokens = tokens->at(i);
    }
    step.times.start_ns = line.at("start_ns").at(i);
    const std::int64_t end_ns = line.at("end_ns").at(i);
    step.times.total_s = static_cast<double>(end_ns - step.times.start_ns) * kNano;
    const json& phases = line.at("phases_ns").at(i);
    for (std::size_t p = 0; p < kWatchedPhases.size(); ++p) {
      step.times[kWatchedPhases[p]] = phases.at(p).get<double>() * kNano;
    }
    step.collectives = read_spans(line.at("collectives_ns").at(i));
    rank.steps.push_back(std::move(step));
  }
  if (const auto evaluation = line.find("evaluation_ns"); evaluation != line.end()) {
    for (const auto& [epoch, ns] : evaluation->items()) {
      rank.evaluation_s[std::atoi(epoch.c_str())] = ns.get<double>() * kNano;
    }
  }
}

void read_noise(const json& line, RankRecord& rank) {
  for (const json& sample : line.at("samples")) {
    rank.norms.push_back({sample.at(0), sample.at(1), sample.at(2), sample.at(3)});
  }
}

void read_usage(const json& line, RankRecord& rank) {
  rank.usage.push_back({line.at("epoch"), line.at("from_ns"), line.at("to_ns"), line.at("cpu_s"),
                        line.at("resident_bytes")});
}

void read_energy(const json& line, RankRecord& rank) {
  EnergySample sample;
  sample.at_ns = line.at("at_ns");
  const auto joules = [&](const char* name) -> std::optional<double> {
    const double value = number_or(line, name, -1.0);
    return value >= 0 ? std::optional(value) : std::nullopt;
  };
  sample.processors_j = joules("processors_j");
  sample.gpu_j = joules("gpu_j");
  sample.gpu = line.value("gpu", "");
  sample.problem = line.value("problem", "");
  rank.energy.push_back(std::move(sample));
}

void read_end(const json& line, RankRecord& rank) {
  rank.peak_memory_bytes = line.at("peak_memory_bytes").get<std::int64_t>();
  if (line.contains("peak_cuda_bytes")) {
    rank.peak_cuda_bytes = line.at("peak_cuda_bytes").get<std::int64_t>();
  }
}

void read_line(const json& line, RankRecord& rank) {
  const std::string type = line.at("type");
  if (type == "steps") read_steps(line, rank);
  if (type == "noise") read_noise(line, rank);
  if (type == "usage") read_usage(line, rank);
  if (type == "energy") read_energy(line, rank);
  if (type == "work") rank.flops_per_example = line.at("flops_per_example");
  if (type == "ended") read_end(line, rank);
  if (type == "figure") {
    rank.figures.push_back({line.at("epoch"), line.at("name"), line.at("value")});
  }
  if (type == "stopped") rank.stopped = line.at("reason");
}

}  // namespace

void take_figure(const LoggedFigure& figure, record::EpochResult& epoch) {
  double* const known = figure.name == "train_loss"       ? &epoch.train_loss
                        : figure.name == "train_accuracy" ? &epoch.train_accuracy
                        : figure.name == "val_loss"       ? &epoch.val_loss
                        : figure.name == "val_accuracy"   ? &epoch.val_accuracy
                        : figure.name == "learning_rate"  ? &epoch.learning_rate
                                                          : nullptr;
  (known != nullptr ? *known : epoch.metrics[figure.name]) = figure.value;
}

void read_record_line(const std::string& text, std::optional<RankRecord>& rank) {
  // What a killed process was writing has no end and is no JSON.
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return;
  if (line.value("type", "") == "started") {
    read_start(line, rank.emplace());
  } else if (rank) {
    read_line(line, *rank);
  }
}

std::optional<RankRecord> read_rank_record(const fs::path& path) {
  std::ifstream in(path);
  if (!in) {
    throw Error(ErrorKind::kData, fmt::format("cannot read {}", path.string()),
                "keep the folder of the run until its processes have ended");
  }
  std::optional<RankRecord> rank;
  for (std::string text; std::getline(in, text);) {
    try {
      read_record_line(text, rank);
    } catch (const json::exception& problem) {
      throw Error(ErrorKind::kData,
                  fmt::format("{}: not written by the watcher: {}", path.string(), problem.what()));
    }
  }
  return rank;
}

RunRecords read_run_records(const fs::path& folder) {
  RunRecords records;
  std::error_code problem;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, problem)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    records.python_ran = true;
    if (path.filename().string().starts_with("python-")) continue;
    records.framework_imported = true;
    if (path.extension() == ".jsonl") {
      if (auto rank = read_rank_record(path); rank && !rank->steps.empty()) {
        records.ranks.push_back(std::move(*rank));
      }
    } else if (path.filename().string().starts_with("stopped-")) {
      std::ifstream in(path);
      std::getline(in, records.stopped.emplace_back());
    }
  }
  return records;
}

void keep_first_steps(RunRecords& records, std::int64_t count) {
  for (RankRecord& rank : records.ranks) {
    std::erase_if(rank.steps, [&](const WatchedStep& step) { return step.times.step >= count; });
  }
  std::erase_if(records.ranks, [](const RankRecord& rank) { return rank.steps.empty(); });
}

}  // namespace lockstep::watch
