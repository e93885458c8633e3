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

}  // namespace

void merge_ranks(std::vector<ImportedFile>& files) {
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
