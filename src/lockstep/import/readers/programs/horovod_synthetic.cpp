#include "lockstep/import/readers/readers.h"

#include <string>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

class SyntheticParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    if (text.size() > 1024) return false;
    const std::size_t model = text.find("Model: ");
    if (model != std::string_view::npos) {
      end_run();
      run_.model.offer(printable(trim(text.substr(model + 7))));
      return true;
    }
    if (contains(text, "Batch size: ")) {
      const auto batch = integer_after(text, "Batch size: ");
      if (batch && *batch > 0) run_.batch_per_worker.offer(*batch);
      return true;
    }
    if (contains(text, "Number of ")) {
      const std::size_t colon = text.find(": ");
      const auto count =
          colon == std::string_view::npos ? std::nullopt : parse_integer(text.substr(colon + 2));
      if (count && *count > 0) run_.workers.offer(*count);
      return count.has_value();
    }
    return rate_line(text);
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    return std::move(runs_);
  }

 private:
  bool rate_line(std::string_view text) {
    if (contains(text, "Total img/sec on ")) {
      const auto count = integer_after(text, "Total img/sec on ");
      const std::size_t colon = text.find("): ");
      const auto rate = colon == std::string_view::npos ? std::nullopt : number_after(text, "): ");
      if (rate && run_.reported_throughput && *run_.reported_throughput != *rate) end_run();
      if (count && *count > 0) run_.workers.offer(*count);
      if (rate && *rate > 0) run_.reported_throughput = *rate;
      const std::size_t kind = text.find_last_of('(');
      const std::size_t word = text.find_last_of(' ', kind);
      if (word != std::string_view::npos && kind != std::string_view::npos && word < kind) {
        run_.device.offer(lower(trim(text.substr(word, kind - word))));
      }
      return true;
    }
    if (contains(text, "Iter #") && contains(text, "img/sec per ")) {
      if (run_.reported_throughput) end_run();  // the total was the last line of its run
      const auto step = integer_after(text, "Iter #");
      const auto rate = number_after(text, ": ");
      if (rate && *rate > 0) run_.throughput_per_worker.add(step.value_or(0), *rate);
      return true;
    }
    return contains(text, "Img/sec per ");
  }

  void end_run() {
    if (!run_.throughput_per_worker.empty() || run_.reported_throughput) {
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
    }
    run_ = ImportedRun();
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
};

Match recognise_synthetic(const Sample& sample) {
  const bool found = contains(sample.text, "Total img/sec on ") ||
                     (contains(sample.text, "Iter #") && contains(sample.text, "img/sec per "));
  return found ? Match::kCertain : Match::kNo;
}

}  // namespace

LogFormat horovod_synthetic_format() {
  return {"horovod-synthetic",
          "Horovod's synthetic benchmarks (Total img/sec on 4 GPU(s): 855.0 +-4.3)",
          recognise_synthetic,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<SyntheticParser>(); }};
}

}  // namespace lockstep::import
