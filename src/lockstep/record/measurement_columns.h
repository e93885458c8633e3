#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "lockstep/record/measurement.h"

namespace lockstep::record {

enum class ColumnRole {
  kAlways,   ///< written in every table: what DESIGN and docs/formats call the table's columns
  kSetting,  ///< written if a row has it; distinguishes configurations
  kRemark,   ///< written if a row has it; identifies the run, or limits the use of a value
};

/// One column of the measurements table and the field behind it.
struct MeasurementColumn {
  std::string_view name;
  ColumnRole role;
  /// What a field of this column has to be, for messages: "a whole number above zero".
  std::string_view wants;
  /// The field as text; empty when it is absent.
  std::string (*text)(const Measurement& row);
  /// Sets the field; false, and the row unchanged, when the text does not fit.
  bool (*set)(Measurement& row, const std::string& text);
};

/// All columns with a field, `metric`, `value` and `unit` among them, in the order in which they
/// are written.
std::span<const MeasurementColumn> measurement_columns();

/// Null for a column that is kept in the notes.
const MeasurementColumn* find_column(std::string_view name);

/// The text of any column of a row, of a field or a note; empty when the row has none.
std::string column_text(const Measurement& row, const std::string& name);

/// Sets a field, or a note if there is no field of that name or the text does not fit it.
/// Columns that are always written keep their value then.
void set_column(Measurement& row, const std::string& name, const std::string& text);

/// What distinguishes this row's configuration beyond the columns that are always written: settings
/// with a field, and notes that are not remarks (seed, file, comment, ...). By column name.
std::map<std::string, std::string> settings_of(const Measurement& row);

/// Without decimals where it is whole: "32", "0.25".
std::string batch_text(double batch);

}  // namespace lockstep::record
