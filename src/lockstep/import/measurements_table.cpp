#include "lockstep/import/measurements_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/base/text/csv.h"
#include "lockstep/base/text/text.h"
#include "lockstep/import/model/measurement_units.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/record/measurement_columns.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLongestMessage = 500;

struct Synonym {
  std::string_view name;
  std::string_view column;
};

constexpr std::array kSynonyms = std::to_array<Synonym>({{"batch_global", "global_batch"},
                                                         {"batch", "global_batch"},
                                                         {"local_batch", "batch_per_worker"},
                                                         {"batch_per_gpu", "batch_per_worker"},
                                                         {"batch_per_device", "batch_per_worker"},
                                                         {"network", "model"},
                                                         {"recipe", "model"},
                                                         {"data", "dataset"},
                                                         {"gpu", "device"},
                                                         {"gpus", "workers"},
                                                         {"num_workers", "workers"},
                                                         {"world_size", "workers"},
                                                         {"num_nodes", "nodes"},
                                                         {"train_examples", "examples"},
                                                         {"num_examples", "examples"},
                                                         {"num_epochs", "epochs"}});

/// Reads one table; keeps where it is for messages.
class TableReader {
 public:
  TableReader(std::istream& in, std::string name, BadRow bad_row)
      : in_(in), name_(std::move(name)), bad_row_(bad_row) {}

  MeasurementsTable read() {
    read_header();
    std::vector<std::string> fields;
    for (std::size_t before = lines_; read_csv_record(in_, fields, lines_); before = lines_) {
      line_ = before + 1;
      if (fields.size() == 1 && trim(fields[0]).empty()) continue;
      if (trim(fields[0]).starts_with('#')) continue;
      try {
        read_row(fields);
      } catch (const Error& error) {
        if (bad_row_ == BadRow::kRefuse) throw;
        table_.left_out.emplace_back(error.what());
      }
    }
    if (table_.rows.empty() && !table_.left_out.empty()) {
      fail(table_.left_out.front(), name_ + " has no other measurement: correct this one");
    }
    if (table_.rows.empty()) fail(name_ + " has no measurements", "add rows below the header");
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& hint = "") const {
    // Fields may contain anything, lines too.
    throw Error(ErrorKind::kData, printable(message, kLongestMessage), hint);
  }
  /// "table.csv, line 3".
  std::string place() const { return fmt::format("{}, line {}", name_, line_); }

  void read_header() {
    std::vector<std::string> fields;
    line_ = 1;
    do {
      line_ = lines_ + 1;
      if (!read_csv_record(in_, fields, lines_)) {
        fail(name_ + " is empty", "a measurements table begins with a line of column names");
      }
    } while ((fields.size() == 1 && trim(fields[0]).empty()) || fields[0].starts_with('#'));
    if (fields[0].starts_with("\xEF\xBB\xBF")) fields[0].erase(0, 3);
    for (const std::string& field : fields) columns_.push_back(column_for(field));
    std::set<std::string> seen;
    for (const std::string& column : columns_) {
      if (!column.empty() && !seen.insert(column).second) {
        fail(fmt::format("{}: the column {} appears twice", place(), column), "remove one of them");
      }
    }
    for (const char* needed : {"metric", "value"}) {
      if (seen.count(needed) > 0) continue;
      fail(
          fmt::format("{}: column '{}' is missing; the columns are {}", place(), needed,
                      printable(fmt::format("{}", fmt::join(columns_, ", ")), 200)),
          "a measurements table has one row per value, with the columns metric and value; lockstep "
          "import reads tables with one row per run");
    }
  }

  /// The column of the table that a name means; notes keep their own name.
  std::string column_for(const std::string& field) {
    std::string name = lower(trim(field));
    if (record::find_column(name) != nullptr) return name;
    const auto synonym = std::find_if(kSynonyms.begin(), kSynonyms.end(),
                                      [&](const Synonym& entry) { return entry.name == name; });
    if (synonym != kSynonyms.end()) {
      table_.notices.push_back(
          fmt::format("column '{}' is read as {}", trim(field), synonym->column));
      return std::string(synonym->column);
    }
    if (name == "batch_size") {
      table_.notices.push_back(
          "column 'batch_size' may be of one worker or of all: name it batch_per_worker or "
          "global_batch to state which");
      return "stated_batch";
    }
    if (!name.empty()) {
      table_.notices.push_back(fmt::format("column '{}' is kept as a note", trim(field)));
    }
    return std::string(trim(field));
  }

  void read_row(const std::vector<std::string>& fields) {
    if (fields.size() > columns_.size()) {
      fail(fmt::format("{}: {} fields, but the header has {}", place(), fields.size(),
                       columns_.size()),
           "quote fields that contain a comma");
    }
    record::Measurement row;
    row.line = line_;
    std::string value;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string text(trim(fields[i]));
      if (columns_[i] == "value") {
        value = text;
      } else if (!text.empty()) {
        set_field(row, columns_[i], text);
      }
    }
    if (row.metric.empty()) fail(fmt::format("{}: the metric is missing", place()));
    set_value(row, value);
    table_.rows.push_back(std::move(row));
  }

  void set_field(record::Measurement& row, const std::string& column, const std::string& text) {
    if (column.empty()) return;
    const record::MeasurementColumn* known = record::find_column(column);
    const bool needed = known != nullptr && known->role == record::ColumnRole::kAlways;
    if (!needed) {
      record::set_column(row, column, text);
    } else if (!known->set(row, text)) {
      fail(fmt::format("{}: {} '{}' is not {}", place(), column, text, known->wants),
           "leave the field empty if it is unknown");
    }
  }

  double number(const std::string& what, const std::string& text) const {
    double value = 0;
    const char* first = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, problem] = std::from_chars(first, text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) {
      fail(fmt::format("{}: {} '{}' is not a number", place(), what, text),
           "use a decimal point, no unit and no thousands separator");
    }
    return value;
  }

  /// "items/s (images or sequences)" is items/s.
  static void drop_remark(std::string& unit) {
    const std::size_t remark = unit.find(" (");
    if (remark != std::string::npos) unit.resize(remark);
  }

  void set_value(record::Measurement& row, const std::string& text) {
    if (text.empty()) fail(fmt::format("{}: the value of {} is missing", place(), row.metric));
    row.value = number("the value of " + row.metric, text);
    const Quantity quantity = quantity_of(row.metric);
    if (quantity == Quantity::kUnknown) {
      if (unused_.insert(row.metric).second) {
        table_.notices.push_back(
            fmt::format("metric '{}' is stored but not used in computations", row.metric));
      }
      return;
    }
    drop_remark(row.unit);
    const auto factor = unit_factor(quantity, row.unit);
    if (!factor && quantity == Quantity::kRate && other_rate(row)) return;
    if (!factor) {
      fail(row.unit.empty()
               ? fmt::format("{}: {} has no unit", place(), row.metric)
               : fmt::format("{}: '{}' is not a unit of {}", place(), row.unit, row.metric),
           fmt::format("give it in {}", units_of(quantity)));
    }
    row.value *= *factor;
    row.unit = canonical_unit(quantity);
    check_range(row, quantity, text);
  }

  /// Rates of something else than examples. Steps per second are a step time; all others (tokens,
  /// operations, ...) are kept under their own name, since examples do not follow from them.
  bool other_rate(record::Measurement& row) {
    const std::size_t slash = row.unit.find('/');
    if (slash == std::string::npos || slash == 0 || row.metric != "throughput" ||
        !(row.value > 0)) {
      return false;
    }
    const auto seconds = unit_factor(Quantity::kTime, row.unit.substr(slash + 1));
    if (!seconds) return false;
    const std::string things = row.unit.substr(0, slash);
    const auto among = [&](std::initializer_list<std::string_view> names) {
      return std::find(names.begin(), names.end(), things) != names.end();
    };
    if (among({"steps", "step", "it", "its", "iter", "iters", "iterations", "batches", "batch"})) {
      row.metric = "step_time";
      row.value = *seconds / row.value;
      row.unit = "s";
      record::set_column(row, "basis", "1 / steps per second");
      return true;
    }
    row.metric = things + "_per_s";
    row.value /= *seconds;
    row.unit = things + "/s";
    return true;
  }

  void check_range(const record::Measurement& row, Quantity quantity,
                   const std::string& text) const {
    // A loss that is not finite is a result: the run diverged.
    if (!std::isfinite(row.value) && row.metric.ends_with("loss")) return;
    if (!std::isfinite(row.value)) {
      fail(fmt::format("{}: {} '{}' is not a finite number", place(), row.metric, text));
    }
    const bool positive =
        quantity == Quantity::kTime || quantity == Quantity::kRate || row.metric == "parameters";
    // What a source derived may be any number: that is for the audit to judge.
    // A part of a step may take no time: nothing was exposed, or one worker had nobody to wait for.
    const bool part = quantity == Quantity::kTime && row.metric != "step_time" &&
                      row.metric != "epoch_time" && row.metric != "total_time";
    if (positive && (row.value < 0 || (row.value == 0 && !part)) &&
        !row.metric.starts_with("reported_")) {
      fail(fmt::format("{}: {} is {}, which is impossible", place(), row.metric, text),
           "times, rates and counts are above zero; omit the row if the value is unknown");
    }
    if (row.metric.ends_with("accuracy") && (row.value < 0 || row.value > 1)) {
      fail(fmt::format("{}: {} {} is not a fraction", place(), row.metric, text),
           "give fractions from 0 to 1, or percent with the unit %");
    }
  }

  std::istream& in_;
  std::string name_;
  BadRow bad_row_;
  std::size_t lines_ = 0;
  std::size_t line_ = 0;
  std::vector<std::string> columns_;
  std::set<std::string> unused_;
  MeasurementsTable table_;
};

}  // namespace

MeasurementsTable read_measurements_table(std::istream& in, const std::string& name,
                                          BadRow bad_row) {
  return TableReader(in, name, bad_row).read();
}

MeasurementsTable read_measurements_file(const std::string& path, BadRow bad_row) {
  std::ifstream in(path, std::ios::binary);
  std::error_code ignored;
  if (!in) {
    throw Error(ErrorKind::kData, fmt::format("cannot read {}: {}", path, std::strerror(errno)),
                "give the path of a table, a notebook or a log");
  }
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(
        ErrorKind::kData, fmt::format("cannot read {}: it is a folder", path),
        fmt::format("give one file, or store the runs of the folder: lockstep import {}", path));
  }
  return read_measurements_table(in, path, bad_row);
}

}  // namespace lockstep::import
