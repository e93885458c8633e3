#include "lockstep/import/model/name_facts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

struct Token {
  std::string word;  ///< lower case; empty for a number
  std::int64_t number = -1;
  bool after_separator = false;
  std::size_t begin = 0;  ///< place in the name
  std::size_t end = 0;
};

/// "5bdc3988-496c-4232-b4ef-53764cb81c92": the length of an identifier that counts nothing, or 0.
std::size_t length_of_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() < kForm.size()) return 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const char c = text[i];
    const bool digit = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (kForm[i] == '-' ? c != '-' : !digit) return 0;
  }
  return kForm.size();
}

std::vector<Token> tokens_of(std::string_view name) {
  std::vector<Token> tokens;
  bool separated = true;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    if (const std::size_t length = separated ? length_of_uuid(name.substr(i)) : 0; length > 0) {
      i += length;
      continue;
    }
    if (is_digit(name[i])) {
      while (end < name.size() && is_digit(name[end])) ++end;
      const auto value = end - i <= 9 ? parse_integer(name.substr(i, end - i)) : std::nullopt;
      tokens.push_back({"", value.value_or(-1), separated, i, end});
    } else if (is_letter(name[i])) {
      while (end < name.size() && is_letter(name[end])) ++end;
      tokens.push_back({lower(name.substr(i, end - i)), -1, separated, i, end});
    } else {
      separated = true;
      ++i;
      continue;
    }
    separated = false;
    i = end;
  }
  return tokens;
}

template <std::size_t N>
bool among(const std::string& word, const std::array<std::string_view, N>& words) {
  for (std::string_view candidate : words) {
    if (word == candidate) return true;
  }
  return false;
}

// Units that follow a count, and names that precede one. "rank" and "worker" before a
// number name one of them; "ranks" and "workers" count them.
constexpr std::array<std::string_view, 18> kWorkerUnits{
    "g",     "gpu", "gpus", "rank",    "ranks",     "worker", "workers", "proc", "procs",
    "nproc", "np",  "w",    "process", "processes", "device", "devices", "way",  "tpus"};
// "workers_8" may as well count the processes that load data.
constexpr std::array<std::string_view, 11> kWorkerNames{
    "gpu", "gpus", "gpux", "np", "n", "ngpu", "ngpus", "w", "ranks", "nproc", "ws"};
constexpr std::array<std::string_view, 3> kNodeWords{"node", "nodes", "nnodes"};
constexpr std::array<std::string_view, 6> kBatchNames{"b",   "bs",        "batch",
                                                      "bsz", "batchsize", "mbs"};
constexpr std::array<std::string_view, 12> kDevices{
    "h100", "h200", "a100", "v100", "p100", "k80", "t4", "l4", "a10", "l40s", "mi250", "a6000"};

constexpr std::array<std::string_view, 10> kSizedNetworks{
    "vit",      "deit", "beit",   "swin",         "mixer",
    "convnext", "clip", "effnet", "efficientnet", "segformer"};

class NameFacts {
 public:
  explicit NameFacts(std::vector<Token> tokens)
      : tokens_(std::move(tokens)), told_(tokens_.size(), false) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) look(i);
  }

  /// `name`, which the tokens are of, without those that stated a fact and without numbers of jobs
  /// and days.
  std::string rest_of(std::string_view name) const {
    std::string kept(name);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      const bool long_number = token.word.empty() && token.end - token.begin >= 5;
      if (told_[i] || long_number)
        std::fill(kept.begin() + static_cast<std::ptrdiff_t>(token.begin),
                  kept.begin() + static_cast<std::ptrdiff_t>(token.end), '\0');
    }
    std::string rest;
    bool gap = false;
    char joint = '\0';  // what stood first in the gap
    for (const char c : kept) {
      if (is_letter(c) || is_digit(c)) {
        if (gap && !rest.empty()) rest += joint == '\0' ? '-' : joint;
        rest += c;
        gap = false;
        joint = '\0';
      } else {
        gap = true;
        if (joint == '\0') joint = c;
      }
    }
    return rest;
  }

  void offer(ImportedRun& run) const {
    if (nodes_) run.nodes.offer(*nodes_, Provenance::kName);
    const bool ambiguous = nodes_ && *nodes_ > 1 && !product_;
    if (workers_ && !ambiguous) run.workers.offer(*workers_, Provenance::kName);
    if (batch_) run.batch_per_worker.offer(*batch_, Provenance::kName);
    if (!device_.empty()) run.device.offer(device_, Provenance::kName);
  }
  bool any() const { return workers_ || nodes_; }

 private:
  const std::string& word(std::size_t i) const {
    static const std::string kNone;
    return i < tokens_.size() ? tokens_[i].word : kNone;
  }
  std::int64_t number(std::size_t i) const { return i < tokens_.size() ? tokens_[i].number : -1; }

  /// "h100": the letters and the number of a device's name.
  std::optional<std::string> device_at(std::size_t i) const {
    if (number(i + 1) < 0) return std::nullopt;
    const std::string name = word(i) + std::to_string(number(i + 1));
    if (!among(name, kDevices)) return std::nullopt;
    return name;
  }

  void look(std::size_t i) {
    if (const std::size_t last = end_of_stamp(i); last > 0) {
      told(i, last);
    } else if (word(i) == "serial") {
      workers_ = workers_.value_or(1);
      told(i, i);
    } else if (told_[i]) {
      return;  // part of a stamp
    } else if (number(i) > 0) {
      after_number(i);
    } else if (word(i) == "single" && (word(i + 1) == "gpu" || word(i + 1) == "process")) {
      workers_ = workers_.value_or(1);
      told(i, i + 1);
    } else if (number(i + 1) > 0) {
      before_number(i);
    }
  }

  /// "Apr30_23-29-32_node07", as TensorBoard names its runs: the last token of the time and the
  /// host. 0 for anything else.
  std::size_t end_of_stamp(std::size_t i) const {
    constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
    const bool day = among(word(i), kMonths) && number(i + 1) > 0 && number(i + 1) < 32 &&
                     !tokens_[i + 1].after_separator;
    if (!day || number(i + 2) < 0 || number(i + 3) < 0 || number(i + 4) < 0) return 0;
    if (number(i + 2) > 23 || number(i + 3) > 59 || number(i + 4) > 59) return 0;
    if (word(i + 5).empty()) return i + 4;
    const bool numbered = number(i + 6) >= 0 && !tokens_[i + 6].after_separator;
    return numbered ? i + 6 : i + 5;
  }

  void told(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last && i < told_.size(); ++i) told_[i] = true;
  }

  void after_number(std::size_t i) {
    const std::int64_t count = number(i);
    const std::string& unit = word(i + 1);
    if (among(unit, kNodeWords)) {
      nodes_ = count;
      told(i, i + 1);
    } else if (among(unit, kWorkerUnits)) {
      // "resnet50_gpu_1": the number belongs to the word before it.
      if (number(i + 2) >= 0 && tokens_[i + 1].after_separator) return;
      workers_ = workers_.value_or(count);
      told(i, i + 1);
    } else if (unit == "x" && number(i + 2) > 0 && among(word(i + 3), kWorkerUnits)) {
      nodes_ = count;
      workers_ = count * number(i + 2);
      product_ = true;
      told(i, i + 3);
    } else if (unit.size() > 1 && unit[0] == 'x' && number(i + 2) > 0) {
      const std::string device = unit.substr(1) + std::to_string(number(i + 2));
      if (among(device, kDevices)) {
        workers_ = workers_.value_or(count);
        device_ = device;
        told(i, i + 2);
      } else if (among(unit.substr(1), kWorkerUnits)) {
        workers_ = workers_.value_or(count);
        told(i, i + 1);
      }
    } else if (unit.size() > 1 && unit[0] == 'x' && among(unit.substr(1), kWorkerUnits)) {
      workers_ = workers_.value_or(count);
      told(i, i + 1);
    }
  }

  /// "vit_b_16", "efficientnet_b4", and "b4ef" of some identifier: no batch.
  bool is_size_of_network(std::size_t i) const {
    if (word(i).size() > 1) return false;
    const bool goes_on = !word(i + 2).empty() && !tokens_[i + 2].after_separator;
    return goes_on || tokens_[i + 1].after_separator ||
           (i > 0 && among(word(i - 1), kSizedNetworks));
  }

  void before_number(std::size_t i) {
    const std::string& name = word(i);
    const std::int64_t count = number(i + 1);
    // "2nodes_8gpus": the word belongs to the number before it.
    if (i > 0 && number(i - 1) > 0 && !tokens_[i].after_separator) return;
    // "single_gpu_20ep": the number has a unit of its own.
    if (tokens_[i + 1].after_separator && !word(i + 2).empty() && !tokens_[i + 2].after_separator)
      return;
    if (const auto device = device_at(i)) {
      device_ = *device;
    } else if (among(name, kNodeWords)) {
      nodes_ = count;
    } else if (among(name, kWorkerNames)) {
      if (among(word(i + 2), kWorkerUnits) && !tokens_[i + 2].after_separator) return;
      workers_ = workers_.value_or(count);
    } else if (among(name, kBatchNames) && !is_size_of_network(i)) {
      batch_ = count;
    } else {
      return;
    }
    told(i, i + 1);
  }

  std::vector<Token> tokens_;
  std::vector<bool> told_;  ///< which of them state a fact
  std::optional<std::int64_t> workers_;
  std::optional<std::int64_t> nodes_;
  std::optional<std::int64_t> batch_;
  std::string device_;
  bool product_ = false;
};

/// "exp_4gpus.log.gz" -> "exp_4gpus".
std::string_view without_extensions(std::string_view file) {
  constexpr std::array<std::string_view, 15> kExtensions{
      ".gz",    ".log", ".txt", ".out",    ".err", ".csv",   ".tsv",     ".json",
      ".jsonl", ".o",   ".e",   ".stdout", ".md",  ".ipynb", ".pt.trace"};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view extension : kExtensions) {
      if (file.size() <= extension.size() || !file.ends_with(extension)) continue;
      file.remove_suffix(extension.size());
      again = true;
    }
  }
  return file;
}

/// Names that tools give all their files: they carry no information about what was run.
bool says_nothing(std::string_view name) {
  constexpr std::array<std::string_view, 29> kGeneric{
      "",       "events", "metrics", "trainer_state", "stdout",   "stderr",  "out",     "log",
      "logs",   "output", "outputs", "train",         "training", "main",    "history", "run",
      "runs",   "rank",   "version", "slurm",         "nohup",    "console", "job",     "results",
      "result", "tmp",    "worker",  "trace",         "readme"};
  while (!name.empty() && !is_letter(name.back())) name.remove_suffix(1);  // "rank-0"
  return among(lower(name), kGeneric);
}

std::string rest_of_name(std::string_view name) {
  return NameFacts(tokens_of(name)).rest_of(name);
}

}  // namespace

std::string name_of_series(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (file.starts_with("events.out.tfevents")) file = "events";
  const std::string name = rest_of_name(without_extensions(file));
  if (!says_nothing(name) || slash == std::string_view::npos) return printable(name, 60);
  const std::string_view folders = path.substr(0, slash);
  const std::size_t before = folders.find_last_of('/');
  const std::string folder =
      rest_of_name(before == std::string_view::npos ? folders : folders.substr(before + 1));
  return printable(says_nothing(folder) ? name : folder, 60);
}

void facts_from_name(std::string_view path, ImportedRun& run) {
  const std::size_t slash = path.find_last_of('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const NameFacts from_file(tokens_of(file));
  from_file.offer(run);
  if (from_file.any() || slash == std::string_view::npos) return;
  const std::string_view folders = path.substr(0, slash);
  const std::size_t before = folders.find_last_of('/');
  NameFacts(tokens_of(before == std::string_view::npos ? folders : folders.substr(before + 1)))
      .offer(run);
}

}  // namespace lockstep::import
