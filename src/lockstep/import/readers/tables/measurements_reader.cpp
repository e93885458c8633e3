#include "lockstep/import/readers/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <streambuf>

#include "lockstep/base/error.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/import/scan/csv_rows.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kTableHeaderSample = 64 * 1024;

/// An Input as the stream that the table's reader takes.
class InputBuffer final : public std::streambuf {
 public:
  explicit InputBuffer(Input& input) : input_(input) {}

 protected:
  int_type underflow() override {
    const std::size_t count = input_.read(buffer_.data(), buffer_.size());
    if (count == 0) return traits_type::eof();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
    return traits_type::to_int_type(buffer_[0]);
  }

 private:
  Input& input_;
  std::array<char, 64 * 1024> buffer_;
};

class MeasurementsReader final : public Reader {
 public:
  std::string_view name() const override { return "measurements"; }
  std::string_view description() const override {
    return "the measurements table: CSV with the columns metric and value, one row per value";
  }

  Match recognise(const Sample& sample) const override {
    std::vector<std::string> header = csv_header(sample.text, csv_delimiter(sample.text));
    for (std::string& name : header) name = lower(name);
    const auto has = [&](std::string_view name) {
      return std::find(header.begin(), header.end(), name) != header.end();
    };
    return has("metric") && has("value") ? Match::kCertain : Match::kNo;
  }

  void read(Input& input, ImportSink& sink) const override {
    if (csv_delimiter(input.peek(kTableHeaderSample)) != ',') {
      throw Error(ErrorKind::kData,
                  fmt::format("{} is a measurements table whose fields are not separated by commas "
                              "(line 1)",
                              input.name()),
                  "save it with commas, and with points in its numbers");
    }
    InputBuffer buffer(input);
    std::istream in(&buffer);
    MeasurementsTable table = read_measurements_table(in, input.name());
    if (table.rows.empty()) return;
    ImportedRun run;
    run.rows = std::move(table.rows);
    run.warnings = std::move(table.notices);
    sink.add(std::move(run));
  }
};

}  // namespace

std::unique_ptr<Reader> make_measurements_reader() {
  return std::make_unique<MeasurementsReader>();
}

}  // namespace lockstep::import
