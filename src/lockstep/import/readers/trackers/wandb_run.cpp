#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lockstep/import/model/config_facts.h"
#include "lockstep/import/model/history.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/tables/printed_output.h"
#include "lockstep/import/scan/protobuf_wire.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/scan/wandb_log.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kMostOutput = 32 * 1024 * 1024;

/// Numbers of fields in the messages that Weights & Biases writes.
enum RecordField : std::uint32_t {
  kHistoryRecord = 2,
  kSummaryRecord = 3,
  kOutputRecord = 4,
  kConfigRecord = 5,
  kRawOutputRecord = 13,
  kRunRecord = 17,
  kExitRecord = 18,
};
constexpr std::uint32_t kItem = 1;
constexpr std::uint32_t kKey = 1;
constexpr std::uint32_t kNestedKey = 2;
constexpr std::uint32_t kValueJson = 16;
constexpr std::uint32_t kRunConfig = 4;
constexpr std::uint32_t kRunName = 8;
constexpr std::uint32_t kOutputLine = 3;
constexpr std::uint32_t kExitCode = 1;
constexpr std::uint32_t kExitRuntime = 2;

/// A figure or a setting: a name and its value as JSON.
struct WandbItem {
  std::string name;
  std::string_view json;
};

std::optional<WandbItem> item_of(std::string_view bytes) {
  WireMessage message(bytes);
  WandbItem item;
  while (const auto field = message.next()) {
    if (field->type != 2) continue;
    if (field->number == kKey) item.name = std::string(field->bytes);
    if (field->number == kNestedKey)
      item.name += (item.name.empty() ? "" : "/") + std::string(field->bytes);
    if (field->number == kValueJson) item.json = field->bytes;
  }
  if (item.name.empty() || item.json.empty()) return std::nullopt;
  return item;
}

/// A JSON value without the quotes of a text.
std::string_view unquoted(std::string_view json) {
  if (json.size() >= 2 && json.front() == '"' && json.back() == '"')
    return json.substr(1, json.size() - 2);
  return json;
}

class WandbRun {
 public:
  void record(std::string_view bytes) {
    WireMessage message(bytes);
    while (const auto field = message.next()) {
      if (field->type != 2) continue;
      switch (field->number) {
        case kHistoryRecord:
          history(field->bytes);
          break;
        case kConfigRecord:
          config(field->bytes);
          break;
        case kRunRecord:
          run(field->bytes);
          break;
        case kOutputRecord:
        case kRawOutputRecord:
          output(field->bytes);
          break;
        case kExitRecord:
          exit(field->bytes);
          break;
        default:
          break;
      }
    }
  }

  const std::string& output() const { return output_; }

  ImportedRun finish() {
    ImportedRun run = history_.finish();
    if (runtime_ > 0) run.total_s = runtime_;
    if (run.total_s) run.notes["total_time"] = "run time of the process";
    if (exit_code_ && *exit_code_ != 0) {
      run.warnings.push_back(
          fmt::format("the program did not end by itself: its exit code is {}", *exit_code_));
    }
    return run;
  }

 private:
  void history(std::string_view bytes) {
    std::vector<WandbItem> items;
    WireMessage message(bytes);
    while (const auto field = message.next()) {
      if (field->number != kItem || field->type != 2) continue;
      if (auto item = item_of(field->bytes)) items.push_back(std::move(*item));
    }
    std::vector<JsonLineField> fields;
    for (const WandbItem& item : items) {
      // Objects are pictures and tables.
      if (item.json.starts_with('{') || item.json.starts_with('[') || item.json == "null") continue;
      const bool text = item.json.starts_with('"') || item.json == "true" || item.json == "false";
      fields.push_back({"", item.name, unquoted(item.json), text});
    }
    if (!fields.empty()) history_.row(fields);
  }

  void config(std::string_view bytes) {
    WireMessage message(bytes);
    while (const auto field = message.next()) {
      if (field->number != kItem || field->type != 2) continue;
      if (const auto item = item_of(field->bytes))
        offer_config(item->name, unquoted(item->json), history_.run());
    }
  }

  void run(std::string_view bytes) {
    WireMessage message(bytes);
    while (const auto field = message.next()) {
      if (field->type != 2) continue;
      if (field->number == kRunConfig) config(field->bytes);
      if (field->number == kRunName && !field->bytes.empty())
        history_.run().label = printable(field->bytes);
    }
  }

  void output(std::string_view bytes) {
    WireMessage message(bytes);
    while (const auto field = message.next()) {
      if (field->number == kOutputLine && field->type == 2 &&
          output_.size() + field->bytes.size() < kMostOutput)
        output_ += field->bytes;
    }
  }

  void exit(std::string_view bytes) {
    WireMessage message(bytes);
    exit_code_ = 0;  // zeros are not written
    while (const auto field = message.next()) {
      if (field->type != 0 || field->value > 1'000'000'000) continue;
      if (field->number == kExitCode) exit_code_ = static_cast<int>(field->value);
      if (field->number == kExitRuntime) runtime_ = static_cast<double>(field->value);
    }
  }

  History history_;
  std::string output_;
  std::optional<int> exit_code_;
  double runtime_ = 0;
};

class WandbRunReader final : public Reader {
 public:
  explicit WandbRunReader(const std::vector<std::unique_ptr<Reader>>& readers)
      : readers_(readers) {}

  std::string_view name() const override { return "wandb-run"; }
  std::string_view description() const override {
    return "Weights & Biases, a run's own record (run-*.wandb) or its folder: history, "
           "configuration, what it printed";
  }
  Match recognise(const Sample& sample) const override {
    return is_wandb_log(sample.text) ? Match::kCertain : Match::kNo;
  }
  void read(Input& input, ImportSink& sink) const override {
    WandbLog log(input);
    WandbRun run;
    std::string record;
    while (log.next(record)) run.record(record);
    if (!log.problem().empty()) sink.warn(log.problem());
    ImportedRun found = run.finish();
    add_printed_times(run.output(), input.name(), readers_, found);
    if (found.has_figures()) sink.add(std::move(found));
  }

 private:
  const std::vector<std::unique_ptr<Reader>>& readers_;
};

}  // namespace

std::unique_ptr<Reader> make_wandb_run_reader(const std::vector<std::unique_ptr<Reader>>& readers) {
  return std::make_unique<WandbRunReader>(readers);
}

}  // namespace lockstep::import
