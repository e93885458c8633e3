#include "lockstep/import/model/stated_facts.h"

#include <fmt/format.h>

#include "lockstep/import/model/stated_counts.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLongestFact = 4096;
constexpr std::size_t kLongestName = 60;
/// A command with all its options may be one. Headings are compared whole and shown cut.
constexpr std::size_t kLongestHeading = 1000;

/// The value of "name: value", "name=value", "'name': 'value'".
std::string_view named_value(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if (!word_begins(text, at) || (at > 0 && text[at - 1] == '_')) continue;
    std::string_view rest = text.substr(at + name.size());
    const std::size_t first = rest.find_first_not_of(" '\"");
    if (first == std::string_view::npos || (rest[first] != ':' && rest[first] != '=')) continue;
    rest.remove_prefix(first + 1);
    const std::size_t begin = rest.find_first_not_of(" '\"");
    if (begin == std::string_view::npos) continue;
    rest.remove_prefix(begin);
    const std::string_view from = rest;
    rest = rest.substr(0, rest.find_first_of(" '\",;|)\t:="));
    // "in val model: mean_dice : 0.25": a name whose value follows is none itself.
    const std::string_view next = trim(from.substr(rest.size()));
    if (next.starts_with(':') || next.starts_with('=')) continue;
    const bool word = !rest.empty() && is_letter(rest[0]) && rest.size() <= kLongestName &&
                      rest.find_first_of("(<{[/\\") == std::string_view::npos;
    if (word && rest != "None" && rest != "none") return rest;
  }
  return {};
}

/// "Quadro RTX 8000", cut where the line goes on.
std::string device_name(std::string_view text) {
  text = trim(text);
  std::size_t end = text.find_first_of(",|;()[]\t");
  end = std::min(end, text.find("  "));
  text = trim(text.substr(0, end));
  while (text.ends_with('.')) text.remove_suffix(1);
  return text.size() > 2 && text.size() <= kLongestName ? printable(text) : "";
}

bool names_a_device(std::string_view lowered) {
  return contains_any<"nvidia", "tesla", "quadro", "geforce", "titan", "rtx", "a100", "h100",
                      "v100", "instinct", "data center gpu", "radeon">(lowered);
}

void device_facts(std::string_view line, std::string_view text, std::vector<StatedFact>& facts) {
  if (!contains_any<"training on ", "device", "product name", "gpu", "|  ", "cpu">(text)) return;
  for (const std::string_view mark :
       {"training on ", "using device", "product name", "device name", "gpu name",
        "device:", "using gpu", "gpu available", "gpu:", "gpu 0:", "gpu  "}) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos || !word_begins(text, at)) continue;
    std::string_view rest = line.substr(at + mark.size());
    const std::size_t first = rest.find_first_not_of(" :=\t");
    if (first == std::string_view::npos) continue;
    std::string name = device_name(rest.substr(first));
    std::string lowered = lower(name);
    const std::size_t inside = rest.find('(');
    if (lowered.starts_with("cuda") && inside != std::string_view::npos) {  // "cuda (NVIDIA A100)"
      name = device_name(rest.substr(inside + 1));
      lowered = lower(name);
    }
    if (lowered == "cpu" || names_a_device(lowered)) {
      facts.push_back({FactKey::kDevice, 0, name});
      return;
    }
  }
  // A row of nvidia-smi: "|   0  Tesla K40m          On   |".
  if (line.starts_with("|  ") && line.size() > 40 && names_a_device(text.substr(0, 40))) {
    std::string_view rest = trim(line.substr(1));
    if (!rest.empty() && is_digit(rest[0])) {
      rest.remove_prefix(rest.find_first_not_of("0123456789"));
      const std::string name = device_name(rest);
      if (!name.empty()) facts.push_back({FactKey::kDevice, 0, name});
      return;
    }
  }
  // "indices should be either on cpu or on the same device" is an error, no statement.
  if (contains_any<"rror", "either", "expected", "same device", "cpu or ", " or on cpu">(text))
    return;
  if (text.ends_with(" on cpu") || contains(text, " on a cpu") || contains(text, " on cpu "))
    facts.push_back({FactKey::kDevice, 0, "cpu"});
}

/// "arch: resnet50", "dataset='cifar100'", "dtype=bf16".
void named_facts(std::string_view line, std::vector<StatedFact>& facts) {
  for (const std::string_view name : {"arch", "model", "model_name"}) {
    const std::string_view value = named_value(line, name);
    if (value.empty()) continue;
    facts.push_back({FactKey::kModel, 0, printable(value)});
    break;
  }
  const std::string_view data = named_value(line, "dataset");
  if (!data.empty()) facts.push_back({FactKey::kDataset, 0, printable(data)});
  for (const std::string_view name : {"dtype", "precision"}) {
    const std::string_view value = named_value(line, name);
    if (!value.empty()) facts.push_back({FactKey::kPrecision, 0, printable(value)});
  }
}

void name_facts_of(std::string_view line, std::string_view text, std::vector<StatedFact>& facts) {
  if (!contains_any<"arch", "model", "dataset", "dtype", "precision", "optimizer", "loading time",
                    "epoch">(text))
    return;
  if (contains_any<"arch", "model", "dataset", "dtype", "precision">(line))
    named_facts(line, facts);
  const std::size_t optimizer = text.find(" optimizer");
  const std::size_t use = text.find("using ");
  if (optimizer != std::string_view::npos && use != std::string_view::npos && use < optimizer &&
      optimizer - use < 30) {
    facts.push_back(
        {FactKey::kOptimizer, 0, std::string(trim(text.substr(use + 6, optimizer - use - 6)))});
  }
  const std::size_t loading = text.find("loading time for ");
  if (loading != std::string_view::npos && contains(text, " workers")) {
    std::string_view rest = text.substr(loading + 17);
    const auto count = take_number(rest);
    if (count && *count >= 0 && *count < 1e4 && trim(rest).starts_with("workers"))
      facts.push_back({FactKey::kLoaderWorkers, static_cast<std::int64_t>(*count), {}});
  }
  if (!contains(text, "epoch")) return;
  if (const auto count = count_after(text, {"num epochs", "num_epochs", "max_epochs"}))
    facts.push_back({FactKey::kEpochs, *count, {}});
  auto steps = count_after(
      text, {"steps per epoch", "steps_per_epoch", "batches per epoch", "iterations per epoch"});
  const std::string_view start = trim(text);
  if (!steps && start.starts_with("epoch")) steps = count_after(text, {"| steps:", ", steps:"});
  if (!steps && (start.ends_with(" batches") || start.ends_with(" steps")))
    steps = count_after(text, {"1 epoch ="});
  if (steps) facts.push_back({FactKey::kSteps, *steps, {}});
}

/// "===== DDP, 2 GPUs, fp16 =====": what stands between the rules, empty for any other line.
std::string_view between_rules(std::string_view line) {
  line = trim(line);
  if (line.size() < 9) return {};
  const char rule = line.front();
  if ((rule != '=' && rule != '-' && rule != '*' && rule != '#') || line.back() != rule) return {};
  const std::size_t begin = line.find_first_not_of(rule);
  const std::size_t end = line.find_last_not_of(rule);
  if (begin == std::string_view::npos || begin < 3 || line.size() - 1 - end < 3) return {};
  return trim(line.substr(begin, end - begin + 1));
}

bool is_about_a_part(std::string_view lowered) {
  return contains_any<"epoch", "step", "iter", "test", "valid", "eval", "memory", "result",
                      "summary", "available", "nvidia-smi">(lowered);
}

/// Headings between rules that name a way to train; others are about parts of a run.
void ruled_heading(std::string_view line, std::vector<StatedFact>& facts) {
  const std::string_view words = between_rules(line);
  if (words.empty() || words.size() > kLongestHeading) return;
  const std::string text = " " + lower(words);
  const bool way = contains_any<"gpu", "worker", "ddp", "fsdp", "deepspeed", "zero", " amp", "fp16",
                                "bf16", "fp32", "batch", "node">(text);
  if (!way || is_about_a_part(text)) return;
  facts.push_back({FactKey::kHeading, 0, printable(words, kLongestHeading)});
  const std::size_t unit = text.find(" gpu");
  std::size_t begin = unit;
  while (unit != std::string::npos && begin > 0 && is_digit(text[begin - 1])) --begin;
  if (unit == std::string::npos || begin == unit || text[begin - 1] != ' ') return;
  const auto count = parse_integer(std::string_view(text).substr(begin, unit - begin));
  if (count && *count > 0) facts.push_back({FactKey::kDevices, *count, {}});
}

void heading_facts(std::string_view line, std::string_view text, std::vector<StatedFact>& facts) {
  const std::string_view start = trim(text);
  if (contains(text, "initialized logger") || contains(text, "namespace(")) {
    facts.push_back({FactKey::kStart, 0, {}});
    return;
  }
  std::string_view words = trim(line);
  while (words.starts_with('#')) words.remove_prefix(1);
  words = trim(words);
  const bool marked = start.starts_with("### ") || start.starts_with("#### ");
  if (start.starts_with("started training") || start.starts_with("starting training"))
    facts.push_back({FactKey::kStart, 0, {}});
  const bool trains = start.starts_with("training ") && contains(text, " for ") &&
                      contains(text, " epochs") && !contains(text, "%");
  const bool runs = start.starts_with("running ") || trains || marked;
  if (runs && words.size() <= kLongestHeading) {
    facts.push_back({FactKey::kHeading, 0, printable(words, kLongestHeading)});
  } else {
    ruled_heading(line, facts);
  }
}

}  // namespace

void find_facts(std::string_view line, std::vector<StatedFact>& facts) {
  if (line.size() > kLongestFact) return;
  if (!contains_any<"atch", "ccum", "GPU", "gpu", "ORLD", "orld", "odes", "NTASKS", "rocess",
                    "ptimizer", "rain", "Product", "unning", "amespace", "nitialized", "arch",
                    "odel", "ataset", "type", "epochs", "orkers", "###", "===", "---", "***",
                    "parallel", "|   0", "n CPU", "n cpu", "a CPU", "a cpu", "evice", "Steps",
                    "steps", " per epoch">(line))
    return;
  const std::string text = lower(line);
  if (trim(text).starts_with("finished")) return;  // it repeats what was stated before
  heading_facts(line, text, facts);
  worker_facts(text, facts);
  split_facts(text, facts);
  batch_facts(text, facts);
  device_facts(line, text, facts);
  name_facts_of(line, text, facts);
}

std::string_view words_between_rules(std::string_view line) {
  const std::string_view words = between_rules(line);
  if (words.empty() || words.size() > 80) return {};
  const std::string text = lower(words);
  const bool ends = contains_any<"complete", "finish", "done", "saved",
                                 // one of several repeats
                                 "run ", "trial", "fold", "repeat", "seed", "sampling", "round",
                                 "attempt", "replica">(text);
  return ends || is_about_a_part(text) ? std::string_view() : words;
}

std::string fact_words(const StatedFact& fact) {
  switch (fact.key) {
    case FactKey::kHeading:
      return "heading";
    case FactKey::kStart:
      return "start of the program";
    case FactKey::kWorldSize:
      return fmt::format("world size {}", fact.number);
    case FactKey::kDevices:
      return fmt::format("{} devices", fact.number);
    case FactKey::kNodes:
      return fmt::format("{} nodes", fact.number);
    case FactKey::kDevicesPerNode:
      return fmt::format("{} devices per node", fact.number);
    case FactKey::kTasks:
      return fmt::format("{} tasks", fact.number);
    case FactKey::kAccumulate:
      return fmt::format("{} accumulated steps", fact.number);
    case FactKey::kBatch:
      return fmt::format("batch {}", fact.number);
    case FactKey::kBatchPerWorker:
      return fmt::format("batch per worker {}", fact.number);
    case FactKey::kGlobalBatch:
      return fmt::format("global batch {}", fact.number);
    case FactKey::kDevice:
      return "device " + fact.text;
    case FactKey::kModel:
      return "network " + fact.text;
    case FactKey::kDataset:
      return "dataset " + fact.text;
    case FactKey::kPrecision:
      return "precision " + fact.text;
    case FactKey::kOptimizer:
      return "optimizer " + fact.text;
    case FactKey::kEpochs:
      return fmt::format("{} epochs planned", fact.number);
    case FactKey::kLoaderWorkers:
      return fmt::format("{} loader workers", fact.number);
    case FactKey::kSteps:
      return fmt::format("{} steps per epoch", fact.number);
    case FactKey::kSplit:
      return fmt::format("examples split over {} workers", fact.number);
  }
  return {};
}

}  // namespace lockstep::import
