#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lockstep/import/import_summary.h"

namespace lockstep::import {

/// Keeps the runs of all files in one transaction: an import is in the store whole or not at all.
/// Fills in what became of each.
void store_outcomes(const std::string& store_path, const std::string& study, bool replace,
                    std::vector<FileOutcome>& outcomes);

struct ImportTotals {
  std::size_t added = 0;
  std::size_t known = 0;
};

ImportTotals import_totals(const std::vector<FileOutcome>& outcomes);

/// Imports one file that was sent to us under `name`. Gives {"added", "known", "file"}; throws
/// kData when it cannot be read and kUsage when there is no run in it.
nlohmann::json import_sent_file(const std::string& store_path, const std::string& name,
                                const std::string& path);

/// The same file as it is understood, without storing it: {"summary", "lines", "hidden"}; each of
/// the first lines that something was taken from is {"line", "part", "words", "text"}, `hidden`
/// counts the others. Throws as import_sent_file() does.
nlohmann::json explain_sent_file(const std::string& name, const std::string& path);

}  // namespace lockstep::import
