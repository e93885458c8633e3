#include <array>
#include <optional>
#include <vector>

#include "lockstep/import/model/epoch_table.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/scan/ratio.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// What follows epoch and memory on a line of results.txt. The fourth is the sum of the first
/// three; labels and image size are no figures of a run.
constexpr std::array<std::string_view, 13> kYoloColumns{
    "train/box_loss", "train/obj_loss", "train/cls_loss", "train/total_loss",
    "labels",         "image_size",     "precision",      "recall",
    "mAP50",          "mAP50-95",       "val/box_loss",   "val/obj_loss",
    "val/cls_loss"};
constexpr std::size_t kYoloTotal = 3;
constexpr std::size_t kYoloLabels = 4;
constexpr std::size_t kYoloImageSize = 5;

struct YoloLine {
  std::int64_t epoch = 0;
  std::int64_t last = 0;
  std::array<double, kYoloColumns.size()> values{};
};

/// "     0/299     1.81G   0.06945   0.03649 ...": epoch, memory, 13 numbers.
std::optional<YoloLine> yolo_line(std::string_view text) {
  text = trim(text);
  const auto place = take_ratio(text);
  if (!place || place->done > place->of || place->of > EpochTable::kMostEpochs) return std::nullopt;
  text = trim(text);
  const auto memory = take_number(text);
  if (!memory || !text.starts_with('G')) return std::nullopt;
  text.remove_prefix(1);
  YoloLine line{place->done, place->of, {}};
  for (double& value : line.values) {
    const auto number = take_number(text);
    if (!number) return std::nullopt;
    value = *number;
  }
  if (!trim(text).empty()) return std::nullopt;
  return line;
}

class YoloResultsParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const auto found = yolo_line(line.text);
    if (!found) return false;
    run_.epochs_planned.offer(found->last + 1);
    for (std::size_t i = 0; i < kYoloColumns.size(); ++i) {
      if (i == kYoloLabels || i == kYoloImageSize) continue;
      if (i == kYoloTotal) {
        table_.set(found->epoch, Metric::kTrainLoss, found->values[i]);
      } else {
        run_.other[std::string(kYoloColumns[i])].add(found->epoch, found->values[i]);
      }
    }
    return true;
  }

  std::vector<ImportedRun> finish() override {
    run_.epochs = table_.results();
    if (!run_.has_figures()) return {};
    return {std::move(run_)};
  }

 private:
  ImportedRun run_;
  EpochTable table_;
};

}  // namespace

LogFormat yolo_results_format() {
  return {"yolo-results", "results.txt of YOLOv5 and YOLOv7: epoch, memory, 13 figures per line",
          [](const Sample& sample) {
            const std::string_view text = sample.text;
            std::string_view first = text.substr(0, text.find('\n'));
            return yolo_line(first) ? Match::kCertain : Match::kNo;
          },
          []() -> std::unique_ptr<LogParser> { return std::make_unique<YoloResultsParser>(); }};
}

}  // namespace lockstep::import
