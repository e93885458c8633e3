#include <cmath>
#include <string>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// "1epoch results: [train] iter_time=0.164, loss=480.4, acc=0.1, train_time=2.105, time=1 minute
/// and 43.19 seconds, total_count=49, [valid] loss=479.9, acc=0.1, time=50.5 seconds, ...". The
/// "train_time" is of one step.
class EspnetParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::size_t at = position_of("epoch results: [", line.text);
    if (at == std::string_view::npos) return false;
    std::size_t begin = at;
    while (begin > 0 && is_digit(line.text[begin - 1])) --begin;
    const auto epoch = parse_integer(line.text.substr(begin, at - begin));
    if (!epoch || *epoch < 1 || *epoch > EpochTable::kMostEpochs) return true;
    std::string_view text = line.text.substr(at + 15);
    while (text.starts_with('[')) {
      const std::size_t next = text.find(" [", 1);
      section(*epoch, text.substr(0, next));
      if (next == std::string_view::npos) break;
      text = text.substr(next + 1);
    }
    return true;
  }

  std::vector<ImportedRun> finish() override {
    run_.epochs = table_.results();
    if (run_.epochs.empty()) return {};
    return {run_};
  }

 private:
  void section(std::int64_t epoch, std::string_view text) {
    const bool train = text.starts_with("[train]");
    if (!train && !text.starts_with("[valid]")) return;
    const auto figure = [&](std::string_view mark, Metric metric) {
      const auto value = number_after(text, mark);
      if (value && std::isfinite(*value)) table_.set(epoch, metric, *value);
    };
    figure(" loss=", train ? Metric::kTrainLoss : Metric::kValLoss);
    figure(" acc=", train ? Metric::kTrainAccuracy : Metric::kValAccuracy);
    if (!train) return;
    const auto step = number_after(text, " train_time=");
    if (step && *step > 0) run_.step_time.add(epoch, *step);
    const std::size_t time = text.find(" time=");
    if (time == std::string_view::npos) return;
    if (const auto seconds = spelt_seconds(text.substr(time + 6)))
      table_.set(epoch, Metric::kEpochTime, *seconds);
  }

  ImportedRun run_;
  EpochTable table_;
};

Match recognise_espnet(const Sample& sample) {
  return contains(sample.text, "epoch results: [train] ") ? Match::kCertain : Match::kNo;
}

}  // namespace

LogFormat espnet_format() {
  return {"espnet", "ESPnet (3epoch results: [train] loss=80.4, time=1 minute and 43.19 seconds)",
          recognise_espnet,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<EspnetParser>(); }};
}

}  // namespace lockstep::import
