#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lockstep/base/error.h"
#include "lockstep/store/database.h"
#include "lockstep/store/store.h"

namespace lockstep::store {

/// The columns that read_summary() reads, of all runs; a condition may follow.
extern const std::string_view kSummaryQuery;

/// Without telling killed from running, for which the query must be over.
RunSummary read_summary(const Statement& row, const std::string& path);

/// Throws kData, as the others here, for a run that cannot be read.
RunState stored_state(const std::string& status, std::int64_t id, const std::string& path);

/// "run 3 of the store lockstep.db is damaged: ...".
Error damaged_run(std::int64_t id, const std::string& path, const char* detail);

template <class Record>
Record from_text(const std::string& text, std::int64_t id, const std::string& path) {
  try {
    return nlohmann::json::parse(text).get<Record>();
  } catch (const nlohmann::json::exception& problem) {
    throw damaged_run(id, path, problem.what());
  } catch (const Error& unknown_choice) {
    throw damaged_run(id, path, unknown_choice.what());
  }
}

}  // namespace lockstep::store
