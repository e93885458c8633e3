#include "lockstep/import/readers/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "lockstep/import/model/epoch_means.h"
#include "lockstep/import/scan/crc32c.h"
#include "lockstep/import/scan/protobuf_wire.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::uint64_t kLongestRecord = 64 * 1024 * 1024;
constexpr std::size_t kMostPoints = 500'000;

std::uint64_t little64(const char* data) {
  std::uint64_t value = 0;
  std::memcpy(&value, data, 8);
  return value;
}

std::uint32_t little32(const char* data) {
  std::uint32_t value = 0;
  std::memcpy(&value, data, 4);
  return value;
}

/// TFRecord: length, its checksum, bytes, their checksum.
class RecordSource {
 public:
  explicit RecordSource(Input& input) : input_(input) {}

  bool next(std::string& record) {
    const std::uint64_t at = input_.offset();
    char head[12];
    const std::size_t have = take(head, sizeof(head));
    if (have == 0) return false;
    if (have < sizeof(head)) return fail("ends inside a record's length", at);
    const std::uint64_t size = little64(head);
    if (masked_crc32c(head, 8) != little32(head + 8))
      return fail("has a record length that fails its checksum", at);
    if (size > kLongestRecord) return fail("has a record of more than 64 MB", at);
    record.resize(size);
    if (take(record.data(), size) < size) return fail("ends inside a record", at);
    char tail[4];
    if (take(tail, sizeof(tail)) < sizeof(tail)) return fail("ends inside a record", at);
    if (masked_crc32c(record.data(), size) != little32(tail)) {
      return fail("has a record that fails its checksum", at);
    }
    return true;
  }

  const std::string& problem() const { return problem_; }

 private:
  std::size_t take(char* data, std::size_t size) {
    std::size_t have = 0;
    while (have < size) {
      const std::size_t count = input_.read(data + have, size - have);
      if (count == 0) break;
      have += count;
    }
    return have;
  }

  bool fail(const char* what, std::uint64_t at) {
    problem_ =
        fmt::format("{} {} at byte {}; what came before it was read", input_.name(), what, at);
    return false;
  }

  Input& input_;
  std::string problem_;
};

/// A scalar in TensorProto form: float_val, double_val, int_val, or 4 or 8 raw bytes.
std::optional<double> tensor_scalar(std::string_view bytes) {
  WireMessage message(bytes);
  std::uint64_t type = 1;
  std::optional<double> value;
  while (const auto field = message.next()) {
    if (field->number == 1 && field->type == 0) type = field->value;
    if (field->number == 4 && field->type == 2) {
      if (type == 1 && field->bytes.size() == 4) {
        float raw = 0;
        std::memcpy(&raw, field->bytes.data(), 4);
        value = raw;
      } else if (type == 2 && field->bytes.size() == 8) {
        double raw = 0;
        std::memcpy(&raw, field->bytes.data(), 8);
        value = raw;
      }
    }
    if (field->number == 5 && field->type == 5) value = field->as_float();
    if (field->number == 5 && field->type == 2 && field->bytes.size() == 4) {
      float raw = 0;
      std::memcpy(&raw, field->bytes.data(), 4);
      value = raw;
    }
    if (field->number == 6 && field->type == 1) value = field->as_double();
    if (field->number == 6 && field->type == 2 && field->bytes.size() == 8) {
      double raw = 0;
      std::memcpy(&raw, field->bytes.data(), 8);
      value = raw;
    }
    if (field->number == 7 && field->type == 0)
      value = static_cast<double>(static_cast<std::int64_t>(field->value));
  }
  return value;
}

class EventFile {
 public:
  explicit EventFile(std::string_view path) {
    const std::string folders = lower(path);
    validation_ = contains(folders, "validation") || contains(folders, "/val/") ||
                  contains(folders, "/eval/");
  }

  void event(std::string_view record) {
    double wall = 0;
    std::int64_t step = 0;
    WireMessage message(record);
    std::string_view summary;
    while (const auto field = message.next()) {
      if (field->number == 1 && field->type == 1) wall = field->as_double();
      if (field->number == 2 && field->type == 0) step = static_cast<std::int64_t>(field->value);
      if (field->number == 5 && field->type == 2) summary = field->bytes;
    }
    if (wall > 0 && wall < 9e9) {
      const auto nanoseconds = static_cast<std::int64_t>(wall * 1e9);
      if (!run_.started_wall_ns) run_.started_wall_ns = nanoseconds;
      run_.ended_wall_ns = nanoseconds;
    }
    WireMessage values(summary);
    while (const auto value = values.next()) {
      if (value->number == 1 && value->type == 2) scalar(value->bytes, step, wall);
    }
    ++events_;
  }

  std::int64_t scalars() const { return scalars_; }

  ImportedRun finish() {
    for (const auto& [step, mark] : epochs_) ends_[number_of(mark.epoch) - 1] = mark.wall;
    for (const Point& point : points_) {
      const bool keras = point.tag->starts_with("epoch_");
      std::string name = keras ? point.tag->substr(6) : *point.tag;
      if (validation_ && metric_of(name).metric != Metric::kOther) name = "val_" + name;
      // Keras numbers by epoch, from 0; elsewhere the "epoch" scalar is the epoch that a step is
      // in.
      const std::optional<double> epoch =
          keras ? std::optional<double>(static_cast<double>(point.step) + 1) : epoch_at(point.step);
      means_.add(name, point.value, epoch, point.step, run_);
    }
    means_.finish(run_);
    epoch_times();
    return std::move(run_);
  }

 private:
  struct Point {
    const std::string* tag;
    std::int64_t step;
    double value;
  };

  struct EpochMark {
    double epoch;
    double wall;
  };

  void scalar(std::string_view bytes, std::int64_t step, double wall) {
    WireMessage message(bytes);
    std::string_view tag;
    std::optional<double> number;
    while (const auto field = message.next()) {
      if (field->number == 1 && field->type == 2) tag = field->bytes;
      if (field->number == 2 && field->type == 5) number = field->as_float();
      if (field->number == 8 && field->type == 2) number = tensor_scalar(field->bytes);
    }
    if (tag.empty() || !number || tag.starts_with("_hparams_") || tag == "hp_metric") return;
    ++scalars_;
    if (tag == "epoch" || tag == "train/epoch" || tag == "trainer/epoch") {
      if (*number >= 0 && *number < 1e6 && epochs_.size() < kMostPoints) {
        epochs_[step] = {*number, wall};
        fractions_ = fractions_ || *number != std::floor(*number);
      }
      return;
    }
    if (tags_.size() >= 1000 && tags_.find(tag) == tags_.end()) return;
    if (tag.starts_with("epoch_")) ends_[step] = wall;
    const std::string& name = *tags_.emplace(printable(tag, 120)).first;
    if (points_.size() < kMostPoints) points_.push_back({&name, step, *number});
  }

  std::optional<double> epoch_at(std::int64_t step) const {
    if (epochs_.empty()) return std::nullopt;
    const auto found = epochs_.lower_bound(step);
    const EpochMark& mark = found == epochs_.end() ? epochs_.rbegin()->second : found->second;
    return static_cast<double>(number_of(mark.epoch));
  }

  /// Beside every figure Lightning logs the epoch it is in, counting from 0, and the Trainer how
  /// many epochs are done: 1.0 at the end of the first.
  std::int64_t number_of(double epoch) const {
    if (!fractions_) return static_cast<std::int64_t>(epoch) + 1;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(epoch)));
  }

  /// The wall time between the ends of two epochs that follow each other.
  void epoch_times() {
    for (record::EpochResult& result : run_.epochs) {
      const auto found = ends_.find(result.epoch - 1);
      const auto before = ends_.find(result.epoch - 2);
      if (result.train_s > 0 || found == ends_.end() || before == ends_.end()) continue;
      if (found->second > before->second) {
        result.train_s = found->second - before->second;
        run_.notes["epoch_time"] = "wall time between the last entries of two epochs";
      }
    }
  }

  ImportedRun run_;
  EpochMeans means_;
  std::set<std::string, std::less<>> tags_;
  std::vector<Point> points_;
  std::map<std::int64_t, EpochMark> epochs_;  ///< by step
  std::map<std::int64_t, double> ends_;       ///< epoch -> wall time of its last entry
  bool fractions_ = false;                    ///< epochs are how many are done
  bool validation_ = false;
  std::int64_t events_ = 0;
  std::int64_t scalars_ = 0;
};

class TensorboardReader final : public Reader {
 public:
  std::string_view name() const override { return "tensorboard"; }
  std::string_view description() const override {
    return "TensorBoard event files: scalars and wall times";
  }

  Match recognise(const Sample& sample) const override {
    if (sample.text.size() < 12) return Match::kNo;
    const char* data = sample.text.data();
    return masked_crc32c(data, 8) == little32(data + 8) ? Match::kCertain : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    RecordSource records(input);
    EventFile file(input.name());
    std::string record;
    while (records.next(record)) file.event(record);
    if (!records.problem().empty()) sink.warn(records.problem());
    if (file.scalars() > 0) sink.add(file.finish());
  }
};

}  // namespace

std::unique_ptr<Reader> make_tensorboard_reader() {
  return std::make_unique<TensorboardReader>();
}

}  // namespace lockstep::import
