#include "lockstep/watch/live_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

namespace lockstep::watch {
namespace {

namespace fs = std::filesystem;

/// R of "rank-R-HOST-PID.jsonl"; nothing for other files.
std::optional<int> rank_in_name(const std::string& name) {
  constexpr std::string_view kStem = "rank-";
  int rank = 0;
  if (!name.starts_with(kStem) || !name.ends_with(".jsonl")) return std::nullopt;
  const auto parsed = std::from_chars(name.data() + kStem.size(), name.data() + name.size(), rank);
  return parsed.ec == std::errc{} ? std::optional(rank) : std::nullopt;
}

std::int64_t steps_per_epoch(const LoaderFacts& loader, std::int64_t examples) {
  if (loader.batches == 0 || loader.batch == 0 || examples == 0) return loader.batches;
  // Several batches make a step where gradients are accumulated.
  const std::int64_t all = loader.batches * loader.batch;
  return (all + examples - 1) / examples;
}

}  // namespace

void LiveSteps::find_file() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const auto rank = rank_in_name(entry.path().filename().string());
    if (!rank || (!file_.empty() && *rank >= rank_)) continue;
    *this = LiveSteps(folder_);
    file_ = entry.path();
    rank_ = *rank;
  }
}

void LiveSteps::take(const WatchedStep& step) {
  if (step.times.epoch != now_.epoch) {
    if (now_.epoch > 0) longest_epoch_ = std::max(longest_epoch_, now_.step);
    now_.epoch = step.times.epoch;
    epoch_began_ = step.times.step;
  }
  steps_ = step.times.step + 1;
  now_.step = step.times.step - epoch_began_ + 1;
  now_.steps_per_epoch =
      longest_epoch_ > 0 ? longest_epoch_ : steps_per_epoch(record_->loader, step.times.examples);
  now_.steps_per_epoch = std::max(now_.steps_per_epoch, now_.step);
  examples_ += step.times.examples;
  examples_known_ = examples_known_ && step.examples_known;
  seconds_ += step.times.total_s;
  record::EpochResult& epoch = epochs_[step.times.epoch];
  epoch.epoch = step.times.epoch;
  epoch.examples += step.times.examples * record_->world;
  epoch.train_s += step.times.total_s;
  if (epoch.train_s > 0) epoch.examples_per_s = static_cast<double>(epoch.examples) / epoch.train_s;
}

void LiveSteps::take(const LoggedFigure& figure) {
  record::EpochResult& epoch = epochs_[figure.epoch];
  epoch.epoch = figure.epoch;
  take_figure(figure, epoch);
  logged_.insert(figure.epoch);
  if (figure.name != "train_loss") return;
  losses_ += figure.value;
  ++loss_count_;
}

std::vector<record::EpochResult> LiveSteps::logged_epochs() {
  std::vector<record::EpochResult> epochs;
  for (const int epoch : std::exchange(logged_, {})) epochs.push_back(epochs_[epoch]);
  return epochs;
}

std::optional<record::Progress> LiveSteps::poll() {
  if (file_.empty() || rank_ > 0) find_file();
  if (file_.empty()) return std::nullopt;
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(read_));
  bool news = false;
  for (std::string line; std::getline(in, line);) {
    read_ += line.size() + (in.eof() ? 0 : 1);
    rest_ += line;
    if (in.eof()) break;
    try {
      read_record_line(rest_, record_);
    } catch (const nlohmann::json::exception&) {
      // What this line has is told, or not, when the run has ended.
    }
    rest_.clear();
    if (!record_) continue;
    for (const WatchedStep& step : record_->steps) take(step);
    news = news || !record_->steps.empty();
    record_->steps.clear();
    for (const LoggedFigure& figure : record_->figures) take(figure);
    record_->figures.clear();
  }
  if (!news) return std::nullopt;
  const bool known = examples_known_ && examples_ > 0 && seconds_ > 0;
  now_.examples_per_s =
      known ? static_cast<double>(examples_) * record_->world / seconds_ : record::kUnknown;
  now_.loss = loss_count_ > 0 ? losses_ / static_cast<double>(loss_count_) : record::kUnknown;
  losses_ = 0;
  loss_count_ = 0;
  examples_ = 0;
  seconds_ = 0;
  examples_known_ = true;
  return now_;
}

std::string LiveSteps::rate_unit() const {
  return (record_ && !record_->unit.empty() ? record_->unit : "examples") + "/s";
}

std::string progress_text(const record::Progress& progress, const std::string& rate_unit) {
  std::string text = progress.epoch > 0 ? fmt::format("epoch {}, ", progress.epoch) : "";
  text += fmt::format("step {}", progress.step);
  if (progress.steps_per_epoch > progress.step)
    text += fmt::format("/{}", progress.steps_per_epoch);
  if (progress.examples_per_s > 0) {
    text += fmt::format(", {:.{}f} {}", progress.examples_per_s,
                        progress.examples_per_s < 10 ? 1 : 0, rate_unit);
  }
  return text;
}

}  // namespace lockstep::watch
