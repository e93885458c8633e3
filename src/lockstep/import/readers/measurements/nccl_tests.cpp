#include "lockstep/import/readers/readers.h"

#include <set>
#include <string>

#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostFields = 16;

/// Words of a line; at most kMostFields.
std::size_t split(std::string_view text, std::string_view (&fields)[kMostFields]) {
  std::size_t count = 0;
  while (count < kMostFields) {
    text = trim(text);
    if (text.empty()) break;
    const std::size_t stop = text.find_first_of(" \t");
    fields[count++] = text.substr(0, stop);
    if (stop == std::string_view::npos) break;
    text.remove_prefix(stop);
  }
  return count;
}

class NcclTestsParser final : public LogParser {
 public:
  bool line(const Line& line) override {
    std::string_view text = trim(line.text);
    if (text.size() > 1024) return false;
    while (!text.empty() && (text[0] == '#' || text[0] == '>')) text = trim(text.substr(1));
    const std::size_t perf = text.find("_perf");
    if (perf != std::string_view::npos) {
      std::size_t begin = perf;
      while (begin > 0 && (is_letter(text[begin - 1]) || text[begin - 1] == '_')) --begin;
      if (begin < perf) collective_ = text.substr(begin, perf - begin);
    }
    if (text.starts_with("nThread ")) {
      end_run();
      return true;
    }
    if (text.starts_with("size ") && contains(text, "busbw")) {
      counts_wrong_ = contains(text, "#wrong");
      return true;
    }
    if (text.starts_with("Rank ") && contains(text, " on ")) return rank_line(text);
    if (text.starts_with("Avg bus bandwidth")) {
      if (const auto mean = number_after(text, ":"))
        run_.notes["avg_busbw_gb_s"] = std::to_string(*mean);
      return true;
    }
    if (!text.empty() && is_digit(text[0])) return row(text);
    return false;
  }

  std::vector<ImportedRun> finish() override {
    end_run();
    return std::move(runs_);
  }

 private:
  /// "Rank  8 Group  0 Pid 6733 on host device  0 [0000:04:00] NVIDIA H100 80GB HBM3".
  bool rank_line(std::string_view text) {
    const auto rank = integer_after(text, "Rank ");
    if (!rank || *rank < 0 || *rank > 10'000'000) return false;
    ranks_ = std::max(ranks_, *rank + 1);
    std::string_view host = text.substr(text.find(" on ") + 4);
    host = host.substr(0, host.find(' '));
    if (hosts_.size() < 100'000) hosts_.emplace(host);
    const std::size_t close = text.find("] ");
    if (close != std::string_view::npos) device_ = printable(trim(text.substr(close + 2)));
    return true;
  }

  /// size count type [redop [root]] then time algbw busbw #wrong twice: the last eight are figures.
  bool row(std::string_view text) {
    std::string_view fields[kMostFields];
    const std::size_t count = split(text, fields);
    if (count < 10 || count > 14) return false;
    const auto bytes = parse_integer(fields[0]);
    const auto elements = parse_integer(fields[1]);
    if (!bytes || !elements || *bytes < 0 || !is_letter(fields[2][0])) return false;
    const bool both = count >= 11;
    bool any = false;
    for (std::size_t side = 0; side < (both ? 2u : 1u); ++side) {
      const std::size_t at = count - 8 + side * 4;
      const auto time = parse_number(fields[at]);
      const auto algbw = parse_number(fields[at + 1]);
      const auto busbw = parse_number(fields[at + 2]);
      if (!time || !algbw || !busbw || *time < 0) continue;
      run_.link.push_back({*bytes, *time * 1e-6, *algbw * 1e9, *busbw * 1e9, side == 1});
      // Older versions print the largest rounding error in this column.
      const auto wrong = counts_wrong_ ? parse_number(fields[at + 3]) : std::nullopt;
      if (wrong && *wrong > 0) {
        run_.warnings.push_back("results were wrong at " + std::to_string(*bytes) + " bytes");
      }
      any = true;
    }
    return any;
  }

  void end_run() {
    if (!run_.link.empty()) {
      if (ranks_ > 0) run_.workers.offer(ranks_);
      if (!hosts_.empty()) run_.nodes.offer(static_cast<std::int64_t>(hosts_.size()));
      if (!device_.empty()) run_.device.offer(device_);
      run_.collective = collective_;
      run_.label = runs_.empty() ? "" : "#" + std::to_string(runs_.size() + 1);
      runs_.push_back(std::move(run_));
      ranks_ = 0;
      hosts_.clear();
    }
    run_ = ImportedRun();
  }

  std::vector<ImportedRun> runs_;
  ImportedRun run_;
  std::string collective_;
  std::string device_;
  std::set<std::string, std::less<>> hosts_;
  std::int64_t ranks_ = 0;
  bool counts_wrong_ = true;
};

Match recognise_nccl(const Sample& sample) {
  if (contains(sample.text, "algbw") && contains(sample.text, "busbw")) return Match::kCertain;
  return contains(sample.text, "nThread ") && contains(sample.text, "nGpus ") ? Match::kLikely
                                                                              : Match::kNo;
}

}  // namespace

LogFormat nccl_tests_format() {
  return {"nccl-tests",
          "nccl-tests tables (all_reduce_perf: size, time, algbw, busbw), as a link calibration",
          recognise_nccl,
          []() -> std::unique_ptr<LogParser> { return std::make_unique<NcclTestsParser>(); }};
}

}  // namespace lockstep::import
