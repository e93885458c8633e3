#include "lockstep/import/readers/readers.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// What a line is about: "| INFO | train | epoch 001 | ...", "| train_inner | epoch 001: 10 / 99
/// ...",
/// "| valid | epoch 001 | valid on 'valid' subset | ...", and "| epoch 001 | ..." of old versions.
enum class FairseqLine { kNone, kEpoch, kWithin, kValidation };

FairseqLine line_kind(std::string_view text) {
  if (contains(text, "| train_inner | ")) return FairseqLine::kWithin;
  if (contains(text, "valid on '") || contains(text, "| valid | "))
    return contains(text, "| test | ") ? FairseqLine::kNone : FairseqLine::kValidation;
  const bool epoch = contains(text, "| train | ") ||
                     (contains(text, "| epoch ") && contains(text, " | num_updates "));
  return epoch ? FairseqLine::kEpoch : FairseqLine::kNone;
}

/// The figures of a line by name: "loss 3.6 | wps 31000", "loss=3.6, wps=31000" or
/// {"train_loss": "3.6", "train_wps": "31000"}.
std::map<std::string, double> figures_on(std::string_view text) {
  std::map<std::string, double> figures;
  while (!text.empty()) {
    const std::size_t stop = text.find_first_of("|,{}");
    std::string_view part = trim(text.substr(0, stop));
    text = stop == std::string_view::npos ? std::string_view() : text.substr(stop + 1);
    const std::size_t blank = part.find_last_of(" =:");
    if (blank == std::string_view::npos) continue;
    std::string_view value = part.substr(blank + 1);
    std::string_view name = trim(part.substr(0, blank));
    const auto unquote = [](std::string_view& word) {
      while (!word.empty() && (word[0] == '"' || word[0] == ' ')) word.remove_prefix(1);
      while (!word.empty() && (word.back() == '"' || word.back() == ':')) word.remove_suffix(1);
    };
    unquote(value);
    unquote(name);
    const std::size_t last = name.find_last_of(" :");  // "epoch 001:  100 / 487 loss"
    if (last != std::string_view::npos) name.remove_prefix(last + 1);
    for (const std::string_view prefix : {"train_", "valid_"}) {
      if (name.starts_with(prefix) && name != "train_wall") name.remove_prefix(prefix.size());
    }
    const auto number = parse_number(value);
    if (number && std::isfinite(*number) && !name.empty() && name.size() < 40)
      figures.emplace(std::string(name), *number);
  }
  return figures;
}

std::optional<std::int64_t> epoch_on(std::string_view text) {
  auto epoch = integer_after(text, "epoch ");
  if (!epoch) epoch = integer_after(text, "\"epoch\"");
  return epoch && *epoch >= 0 && *epoch < EpochTable::kMostEpochs ? epoch : std::nullopt;
}

class FairseqParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (text.size() > 8192) return false;
    const FairseqLine kind = line_kind(text);
    if (kind == FairseqLine::kNone) return fact(text);
    const auto epoch = epoch_on(text);
    if (!epoch) return false;
    const std::map<std::string, double> figures = figures_on(text);
    if (kind == FairseqLine::kEpoch) {
      train(*epoch, figures);
    } else if (kind == FairseqLine::kValidation) {
      if (const auto loss = figures.find("loss"); loss != figures.end())
        table_.set(*epoch, Metric::kValLoss, loss->second);
    } else {
      const auto update = figures.find("num_updates");
      rates(update == figures.end() ? 0 : std::llround(update->second), figures);
    }
    return true;
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    return std::move(runs_);
  }

 private:
  void train(std::int64_t epoch, const std::map<std::string, double>& figures) {
    // The program was started again from the beginning and writes into the same file.
    if (epoch <= last_epoch_) end_run();
    last_epoch_ = epoch;
    const auto take = [&](const char* name, Metric metric) {
      const auto found = figures.find(name);
      if (found != figures.end()) table_.set(epoch, metric, found->second);
    };
    take("loss", Metric::kTrainLoss);
    take("lr", Metric::kLearningRate);
    if (const auto wall = figures.find("train_wall"); wall != figures.end() && wall->second > 0)
      walls_.emplace_back(epoch, wall->second);
    const auto update = figures.find("num_updates");
    rates(update == figures.end() ? epoch : std::llround(update->second), figures);
  }

  /// wps and wpb are tokens per second and per update of all workers, bsz sentences per update.
  void rates(std::int64_t update, const std::map<std::string, double>& figures) {
    const auto get = [&](const char* name) {
      const auto found = figures.find(name);
      return found == figures.end() ? 0.0 : found->second;
    };
    const double tokens_per_s = get("wps");
    const double tokens = get("wpb");
    if (!(tokens_per_s > 0)) return;
    run_.other["tokens_per_s"].add(update, tokens_per_s);
    if (!(tokens > 0)) return;
    run_.step_time.add(update, tokens / tokens_per_s);
    run_.notes["step_time"] = "wpb / wps";
    if (!(get("bsz") > 0)) return;
    run_.throughput.add(update, get("bsz") * tokens_per_s / tokens);
    run_.notes["throughput"] = "sentences: bsz x wps / wpb";
  }

  bool fact(std::string_view text) {
    if (const auto devices = integer_after(text, "training on "); devices && *devices > 0) {
      if (contains(text, " devices") || contains(text, " GPUs")) run_.workers.offer(*devices);
    }
    for (const std::string_view mark :
         {"max sentences per device = ", "max sentences per GPU = "}) {
      if (const auto each = integer_after(text, mark); each && *each > 0)
        run_.batch_per_worker.offer(*each);
    }
    for (const std::string_view mark : {"model params: ", "shared model params: "}) {
      if (const auto count = number_after(text, mark); count && *count >= 1 && *count < 1e15)
        run_.parameters.offer(std::llround(*count));
    }
    if (const std::size_t name = text.find("; name = "); name != std::string_view::npos)
      run_.device.offer(printable(trim(text.substr(name + 9)), 60));
    if (const auto total = number_after(text, "done training in "); total && *total > 0)
      run_.total_s = *total;
    return false;
  }

  /// Old versions count train_wall through all epochs, later ones from the beginning of each.
  void take_walls() {
    bool rises = walls_.size() > 1;
    for (std::size_t i = 1; i < walls_.size(); ++i)
      rises = rises && walls_[i].second > walls_[i - 1].second + 0.5 * walls_[0].second;
    for (std::size_t i = 0; i < walls_.size(); ++i) {
      const double before = rises && i > 0 ? walls_[i - 1].second : 0;
      table_.set(walls_[i].first, Metric::kEpochTime, walls_[i].second - before);
    }
    if (rises) run_.notes["epoch_time"] = "difference of two values of train_wall";
  }

  void end_run() {
    take_walls();
    run_.epochs = table_.results();
    if (run_.has_figures()) {
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(run_);
    }
    run_ = ImportedRun();
    table_ = EpochTable();
    walls_.clear();
    last_epoch_ = -1;
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  EpochTable table_;
  std::vector<std::pair<std::int64_t, double>> walls_;
  std::int64_t last_epoch_ = -1;
};

Match recognise_fairseq(const Sample& sample) {
  const std::string_view text = sample.text;
  const bool simple = contains(text, " num_updates ") && contains(text, "| epoch ");
  const bool inner = contains(text, "| train_inner | ") && contains(text, "num_updates");
  const bool json = contains(text, "| train | {\"epoch\"");
  return simple || inner || json ? Match::kCertain : Match::kNo;
}

}  // namespace

LogFormat fairseq_format() {
  return {"fairseq", "fairseq-train (| train | epoch 001 | loss 3.6 | wps 31000 | train_wall 392)",
          recognise_fairseq,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<FairseqParser>(); }};
}

}  // namespace lockstep::import
