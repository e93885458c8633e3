#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lockstep/import/model/reader.h"
#include "lockstep/import/scan/line_source.h"

namespace lockstep::import {

/// Takes the lines that one process wrote, in order.
class LogParser {
 public:
  virtual ~LogParser() = default;
  /// Whether the line was one of the format; others are searched for general facts.
  virtual bool line(const Line& line) = 0;
  /// The runs found, in the order they began. Called once, after the last line.
  virtual std::vector<ImportedRun> finish() = 0;
};

/// A line format: how to recognise it and how to parse what one process wrote. LogReader does the
/// rest: rank prefixes of any launcher, facts found in any log, binary and cut lines.
struct LogFormat {
  std::string_view name;
  std::string_view description;
  Match (*recognise)(const Sample&);
  std::unique_ptr<LogParser> (*make)();
};

/// Every rank that a launcher's prefix names is parsed on its own, and the one with the most
/// figures (rank 0 of equals) represents the run.
class LogReader final : public Reader {
 public:
  explicit LogReader(LogFormat format) : format_(format) {}

  std::string_view name() const override { return format_.name; }
  std::string_view description() const override { return format_.description; }
  Match recognise(const Sample& sample) const override { return format_.recognise(sample); }
  void read(Input& input, ImportSink& sink) const override;

 private:
  LogFormat format_;
};

/// Says what is wrong with the text that `lines` went over, if anything.
void warn_of_damage(const LineSource& lines, const Input& input, ImportSink& sink);

}  // namespace lockstep::import
