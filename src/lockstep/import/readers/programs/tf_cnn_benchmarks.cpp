#include "lockstep/import/readers/readers.h"

#include <cmath>
#include <string>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::string_view kRate = "images/sec: ";

/// "Model:       resnet50" -> "resnet50".
std::optional<std::string_view> header(std::string_view text, std::string_view name) {
  text = trim(text);
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ':')
    return std::nullopt;
  return trim(text.substr(name.size() + 1));
}

class TfCnnParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    const std::string_view text = line.text;
    const std::size_t rate = position_of(kRate, text);
    if (rate != std::string_view::npos) return rate_line(text, rate);
    if (text.size() > 2048) return false;
    return header_line(text);
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    return std::move(runs_);
  }

 private:
  bool rate_line(std::string_view text, std::size_t at) {
    std::string_view rest = text.substr(at + kRate.size());
    const auto value = take_number(rest);
    if (!value || *value <= 0) return false;
    if (text.substr(0, at).ends_with("total ")) {
      run_.reported_throughput = *value;
      return true;
    }
    const auto step = parse_integer(last_word(text.substr(0, at)));
    if (!step || !rest.starts_with(" +/-")) return false;
    run_.throughput.add(*step, *value);
    const std::size_t close = rest.find(')');  // of "(jitter = 12.2)"
    if (close != std::string_view::npos) {
      rest.remove_prefix(close + 1);
      if (const auto loss = take_number(rest)) run_.train_loss.add(*step, *loss);
    }
    return true;
  }

  static std::string_view last_word(std::string_view text) {
    text = trim(text);
    const std::size_t blank = text.find_last_of(" \t:");
    return blank == std::string_view::npos ? text : text.substr(blank + 1);
  }

  bool header_line(std::string_view text) {
    if (const auto version = header(text, "TensorFlow")) {
      if (!run_.throughput.empty() || run_.reported_throughput) end_run();
      run_.notes["framework"] = "TensorFlow " + printable(*version, 20);
    } else if (const auto model = header(text, "Model")) {
      run_.model.offer(printable(*model));
    } else if (const auto data = header(text, "Dataset")) {
      run_.dataset.offer(printable(*data));
    } else if (const auto batch = header(text, "Batch size")) {
      std::string_view number = *batch;
      const auto value = take_number(number);
      if (value && *value > 0 && *value < 1e12) run_.global_batch.offer(std::llround(*value));
      in_batch_ = true;
      return true;
    } else if (in_batch_ && contains(text, "per device")) {
      std::string_view number = trim(text);
      const auto value = take_number(number);
      if (value && *value > 0 && *value < 1e12) run_.batch_per_worker.offer(std::llround(*value));
    } else if (const auto devices = header(text, "Devices")) {
      devices_ = 0;
      for (std::size_t at = devices->find('\''); at != std::string_view::npos;
           at = devices->find('\'', at + 1)) {
        ++devices_;
      }
      devices_ /= 2;
      run_.notes["devices"] = printable(*devices, 200);
    } else if (const auto variables = header(text, "Variables")) {
      run_.notes["variables"] = printable(*variables);
      horovod_ = *variables == "horovod";
    } else if (const auto reduce = header(text, "AllReduce")) {
      run_.notes["all_reduce"] = printable(*reduce);
    } else {
      return false;
    }
    in_batch_ = false;
    return true;
  }

  void end_run() {
    if (!run_.throughput.empty() || run_.reported_throughput) {
      if (run_.global_batch && run_.batch_per_worker) {
        // Over several machines each lists its own devices only: the batches show how many there
        // are.
        run_.workers.offer(std::max<std::int64_t>(1, *run_.global_batch / *run_.batch_per_worker));
      } else if (devices_ > 0) {
        run_.workers.offer(devices_);
      }
      if (rates_are_of_one_process()) rate_of_all();
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
    }
    run_ = ImportedRun();
    devices_ = 0;
    horovod_ = false;
  }

  /// Under Horovod each process prints its own rate step by step, and the total at the end.
  bool rates_are_of_one_process() const {
    if (!run_.workers || *run_.workers < 2 || run_.throughput.empty()) return false;
    if (!run_.reported_throughput) return horovod_;
    const double ratio = *run_.reported_throughput / run_.throughput.median();
    return std::abs(ratio / static_cast<double>(*run_.workers) - 1) < 0.2;
  }

  void rate_of_all() {
    Series all;
    for (const Series::Point& point : run_.throughput.sample())
      all.add(point.position, point.value * static_cast<double>(*run_.workers));
    run_.throughput_per_worker = std::move(run_.throughput);
    run_.throughput = std::move(all);
    run_.notes["throughput"] = "rate of one process x processes";
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  std::int64_t devices_ = 0;
  bool in_batch_ = false;
  bool horovod_ = false;
};

Match recognise_tf_cnn(const Sample& sample) {
  if (contains(sample.text, "images/sec: ") &&
      (contains(sample.text, "(jitter = ") || contains(sample.text, "total images/sec: "))) {
    return Match::kCertain;
  }
  return contains(sample.text, "per device") && contains(sample.text, "SingleSess:")
             ? Match::kLikely
             : Match::kNo;
}

}  // namespace

LogFormat tf_cnn_benchmarks_format() {
  return {"tf-cnn-benchmarks",
          "tf_cnn_benchmarks stdout (10 images/sec: 4305.5 +/- 3.7 (jitter = 12.2))",
          recognise_tf_cnn,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<TfCnnParser>(); }};
}

}  // namespace lockstep::import
