#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

namespace lockstep::import {

/// Writes a TensorBoard event file: scalars with their step and wall time, as TensorBoard itself
/// does (TFRecord framing, checksums).
class EventFileWriter {
 public:
  /// Writes the version record. `out` must outlive the writer.
  EventFileWriter(std::ostream& out, std::int64_t wall_ns);

  /// Values that are not finite are left out.
  void scalar(std::string_view tag, std::int64_t step, double value, std::int64_t wall_ns);

 private:
  void record(std::string_view bytes);

  std::ostream& out_;
};

}  // namespace lockstep::import
