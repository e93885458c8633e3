#include "lockstep/import/merge_ranks.h"

#include <algorithm>
#include <map>
#include <string>

namespace lockstep::import {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string combined_digest(const std::string& digests) {
  Input input("", bytes_in_memory(digests));
  input.drain();
  return input.digest();
}

void merge(const std::vector<ImportedFile*>& members) {
  ImportedFile& first = *members.front();
  ImportedRun& run = first.runs.front();
  std::string digests;
  double exposed = 0;
  for (ImportedFile* member : members) {
    digests += member->digest;
    const ImportedRun& other = member->runs.front();
    exposed += other.sync_s.value_or(0);
    if (member != &first) {
      run.ranks.push_back(other.ranks.front());
      run.warnings.insert(run.warnings.end(), other.warnings.begin(), other.warnings.end());
      member->warnings.push_back("is rank " + std::to_string(other.ranks.front().rank) +
                                 " of the run in " + first.path);
      member->runs.clear();
    }
  }
  if (run.sync_s) run.sync_s = exposed / static_cast<double>(members.size());
  first.digest = combined_digest(digests);
}

/// Where the number of "rank.0" begins in the name of a file; npos without.
std::size_t rank_number(const std::string& path) {
  const std::size_t name = path.find_last_of('/') + 1;
  const std::size_t at = path.rfind("rank");
  if (at == std::string::npos || at < name) return std::string::npos;
  std::size_t digit = at + 4;
  if (digit < path.size() && (path[digit] == '.' || path[digit] == '_' || path[digit] == '-'))
    ++digit;
  return digit < path.size() && path[digit] >= '0' && path[digit] <= '9' ? digit
                                                                         : std::string::npos;
}

/// Logs that differ only in the rank in their names, with a run each, are what the ranks of one run
/// printed: the first is kept.
void merge_rank_logs(std::vector<ImportedFile>& files) {
  std::map<std::string, ImportedFile*> first;
  for (ImportedFile& file : files) {
    const std::size_t digit = rank_number(file.path);
    if (digit == std::string::npos || file.runs.size() != 1 || file.format == "kineto") continue;
    std::size_t end = digit;
    while (end < file.path.size() && file.path[end] >= '0' && file.path[end] <= '9') ++end;
    const std::string rank = file.path.substr(digit, end - digit);
    const std::string key =
        file.format + '|' + file.path.substr(0, digit) + '|' + file.path.substr(end);
    const auto [found, fresh] = first.emplace(key, &file);
    if (fresh) continue;
    file.warnings.push_back("is rank " + rank + " of the run in " + found->second->path);
    file.runs.clear();
  }
}

}  // namespace

void merge_ranks(std::vector<ImportedFile>& files) {
  merge_rank_logs(files);
  std::map<std::pair<std::string, std::int64_t>, std::vector<ImportedFile*>> worlds;
  for (ImportedFile& file : files) {
    if (file.format != "kineto" || file.runs.size() != 1 || file.runs.front().ranks.size() != 1)
      continue;
    const Fact<std::int64_t>& workers = file.runs.front().workers;
    if (workers) worlds[{folder_of(file.path), *workers}].push_back(&file);
  }
  const auto rank = [](const ImportedFile* file) { return file->runs.front().ranks.front().rank; };
  for (auto& [key, members] : worlds) {
    std::stable_sort(
        members.begin(), members.end(),
        [&](const ImportedFile* a, const ImportedFile* b) { return rank(a) < rank(b); });
    // The same rank twice is another run.
    members.erase(std::unique(members.begin(), members.end(),
                              [&](const ImportedFile* a, const ImportedFile* b) {
                                return rank(a) == rank(b);
                              }),
                  members.end());
    if (members.size() > 1) merge(members);
  }
}

}  // namespace lockstep::import
