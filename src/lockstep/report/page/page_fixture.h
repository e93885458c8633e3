#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "lockstep/analyze/measurement_rows.h"
#include "lockstep/report/page/page.h"

namespace lockstep::report {

/// For tests: a page about the rows of a table.
inline PageSource source_of(const analyze::MeasurementRows& rows) {
  PageSource source;
  source.rows = rows.rows;
  return source;
}

/// For tests: the view of a page document that has this id.
inline const nlohmann::json& view(const nlohmann::json& page, const std::string& id) {
  for (const nlohmann::json& one : page["views"]) {
    if (one["id"] == id) return one;
  }
  throw std::runtime_error("no view " + id);
}

}  // namespace lockstep::report
