#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/tables/frame_runs.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostFrameText = 64 * 1024 * 1024;

/// Text with frames of runs and no other format: tables pasted from a notebook.
class FramesReader final : public Reader {
 public:
  std::string_view name() const override { return "frames"; }
  std::string_view description() const override {
    return "tables of runs as pandas prints them (batch_size, optimizer, avg_epoch_time, ...)";
  }
  Match recognise(const Sample& sample) const override {
    const bool may = contains(sample.text, "batch_size") || contains(sample.text, "gpus") ||
                     contains(sample.text, "optimizer") || contains(sample.text, "lr");
    return may && !runs_of_frames(find_frames(sample.text)).empty() ? Match::kPossible : Match::kNo;
  }
  void read(Input& input, ImportSink& sink) const override {
    const std::string text = without_escapes(input.peek(kMostFrameText));
    std::size_t number = 0;
    for (ImportedRun& run : runs_of_frames(find_frames(text), find_histories(text))) {
      if (++number > 1) run.label = "#" + std::to_string(number);
      sink.add(std::move(run));
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_frames_reader() {
  return std::make_unique<FramesReader>();
}

}  // namespace lockstep::import
